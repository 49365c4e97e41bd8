"""What goes through the steps of a prompt set, and what is dropped on the way, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from persona_panel.files.digests import sha256_of

StepUnit = Literal["item", "prompt"]


@dataclass(frozen=True, slots=True)
class SeedItem:
    """What prompts are made from: an item of an existing set, or a filled template.

    `origin` is the source's or template's id, and `values` what its places were filled with.
    """

    id: str
    text: str
    origin: str
    stratum: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CandidatePrompt:
    """A prompt on its way into the set.

    Attributes:
        id: unique in the set; the same for the same text of the same item.
        text: the prompt.
        origin: the source's or template's id.
        bundle: what its functional diversity is measured within: its item, or its template.
        stratum: what the draw is spread over.
        values: what the places of its item or template were filled with.
        writer: the model that wrote it; None of a template or an item as it is.
        angle: what the writer says of it in a few words.
        votes: of each model that judged it, whether it meets each criterion; None of one that gave
            no answer that could be used.
        passed: how many models passed it.
        facts: what later steps found out: diversity, place on the map.
    """

    id: str
    text: str
    origin: str
    bundle: str
    stratum: str
    values: Mapping[str, Any] = field(default_factory=dict)
    writer: str | None = None
    angle: str | None = None
    votes: Mapping[str, Mapping[str, bool] | None] = field(default_factory=dict)
    passed: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)

    def with_facts(self, **facts: Any) -> CandidatePrompt:
        """The same with more that was found out."""
        return replace(self, facts={**self.facts, **facts})

    @property
    def disagreement(self) -> float | None:
        """The share of pairs of judging models and criteria in which the two differ, from 0 to 1;
        None below two judges."""
        given = [vote for vote in self.votes.values() if vote is not None]
        if len(given) < 2:
            return None
        pairs = [
            one[criterion] != other[criterion]
            for place, one in enumerate(given)
            for other in given[:place]
            for criterion in one
        ]
        return sum(pairs) / len(pairs)

    def row(self) -> dict[str, Any]:
        """As a line of the set's file."""
        row: dict[str, Any] = {
            "prompt_id": self.id,
            "prompt": self.text,
            "stratum": self.stratum,
            "origin": self.origin,
            "bundle": self.bundle,
            "values": dict(self.values),
            "writer": self.writer,
            "angle": self.angle,
        }
        if self.votes:
            given = sum(vote is not None for vote in self.votes.values())
            judged = {"passed": self.passed, "judged": given, "disagreement": self.disagreement}
            row |= judged | {"votes": dict(self.votes)}
        return row | dict(self.facts)


def candidate_id(seed: str, text: str) -> str:
    """The id of a prompt: its item's and the first digits of its text's SHA-256."""
    return f"{seed}-{sha256_of(text)[:6]}"


@dataclass(frozen=True, slots=True)
class DroppedPrompt:
    """An item or a prompt that went no further: at which step, and why.

    `kind` is the reason without what is particular to it, by which a funnel counts.
    """

    step: str
    unit: StepUnit
    kind: str
    reason: str
    what: SeedItem | CandidatePrompt

    def row(self) -> dict[str, Any]:
        """As a line of the file of what was dropped."""
        head = {"step": self.step, "reason": self.reason, "unit": self.unit}
        if isinstance(self.what, CandidatePrompt):
            return head | self.what.row()
        what = self.what
        return head | {
            "item_id": what.id,
            "text": what.text,
            "stratum": what.stratum,
            "origin": what.origin,
        }


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A step of the funnel: how many entered it, and how many were dropped for which reason."""

    step: str
    unit: StepUnit
    entered: int
    reasons: Mapping[str, int]

    @property
    def kept(self) -> int:
        """How many went on."""
        return self.entered - sum(self.reasons.values())


def funnel_step(
    step: str, unit: StepUnit, entered: int, dropped: Sequence[DroppedPrompt]
) -> FunnelStep:
    """The step by those that were dropped in it."""
    return FunnelStep(step, unit, entered, dict(Counter(one.kind for one in dropped).most_common()))
