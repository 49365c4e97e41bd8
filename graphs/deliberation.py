"""Deliberation by pure rules: when a panel goes on about a response, what each judge then sees, and
what changes between rounds.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Literal, Protocol, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator

from persona_panel.graphs.aggregate import count, summarise
from persona_panel.graphs.records import Judge, Judgment
from persona_panel.personas import Persona
from persona_panel.rubrics import CategoryScale, Rubric
from persona_panel.rubrics.extensions import extension_names, load_extension
from persona_panel.rubrics.rubric import Dimension
from persona_panel.rubrics.wording import Peer, ratings_in_words

_REAL_STEPS = 10


def latest_judgments(judgments: Sequence[Judgment]) -> dict[Judge, Judgment]:
    """Return each judge's last judgment."""
    return {judgment.judge: judgment for judgment in sorted(judgments, key=attrgetter("round"))}


def may_revise(judgment: Judgment) -> bool:
    """Return whether there is a judgment to revise."""
    return judgment.status in ("scored", "abstained")


def has_changed(before: Judgment, after: Judgment, rubric: Rubric) -> bool:
    """Return whether two judgments differ: by half a step (see `step`), by a category, by a rating
    that one of them lacks, or in what they say of abstention."""
    if before.abstained != after.abstained or before.labels != after.labels:
        return True
    if before.scores.keys() != after.scores.keys():
        return True
    return any(
        abs(after.scores[dimension.id] - before.scores[dimension.id]) >= step(dimension) / 2
        for dimension in rubric.numeric
        if dimension.id in before.scores
    )


def step(dimension: Dimension) -> float:
    """Return the size of a step on a numeric scale: 1 on integers, a tenth of a range of reals."""
    scale = dimension.scale
    if isinstance(scale, CategoryScale):
        raise ValueError(f"{dimension.id} is rated by categories, which have no steps")
    return 1.0 if scale.kind == "integer" else (scale.max - scale.min) / _REAL_STEPS


Reveal = Literal["scores", "rationales", "both"]
_RULES, _GROUP = "persona_panel.graphs.stopping_rules", "persona_panel.stopping_rules"


class StoppingRule(Protocol):
    """A module of `persona_panel.graphs.stopping_rules`, or of another distribution."""

    def should_stop(self, judgments: Sequence[Judgment], rubric: Rubric) -> bool:
        """Return whether there is to be no further round."""


def stopping_rule_names() -> tuple[str, ...]:
    """Return the names of the rules there are, in alphabetical order."""
    return extension_names(_RULES, _GROUP)


def load_stopping_rule(name: str) -> StoppingRule:
    """Return the rule called `name`.

    Raises:
        KeyError: there is none of that name.
        ExtensionError: another distribution's cannot be imported.
    """
    return cast(StoppingRule, load_extension(_RULES, _GROUP, name))


class Deliberation(BaseModel):
    """The rules by which a panel deliberates after each judge has read alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rounds: int = Field(
        ge=1,
        le=20,
        description="Let judges deliberate for at most N rounds. Each sees the ratings of the "
        "others, anonymous and in random order, and may revise its own.",
    )
    reveal: Reveal = Field(
        default="scores",
        description="What judges see of each other; rationales need the elicitation justified.",
    )
    stop_when: str | None = Field(
        default=None,
        description="Stop before N rounds by a rule. The rule settled stops when no judge changes "
        "a rating.",
    )
    spread_above: float | None = Field(
        default=None,
        ge=0,
        description="Deliberate only on responses for which the ratings of some dimension have a "
        "standard deviation above S points.",
    )
    named: bool = Field(default=False, description="Show judges whose ratings they see.")

    @field_validator("stop_when")
    @classmethod
    def _is_a_rule(cls, value: str | None) -> str | None:
        if value is not None and value not in (names := stopping_rule_names()):
            raise ValueError(f"{value!r}; one of {', '.join(names)}")
        return value


class StoppingRuleError(Exception):
    """A stopping rule raised an error; the message names both."""


def should_continue(judgments: Sequence[Judgment], rules: Deliberation, rubric: Rubric) -> bool:
    """Return whether there is to be another round.

    Raises:
        StoppingRuleError: the rule of `stop_when` raises an error.
    """
    last = max(judgment.round for judgment in judgments)
    now = [judgment for judgment in latest_judgments(judgments).values() if may_revise(judgment)]
    if last > rules.rounds or len(now) < 2:
        return False
    if last == 1 and rules.spread_above is not None and spread(now, rubric) <= rules.spread_above:
        return False
    if rules.stop_when is None:
        return True
    try:
        return not load_stopping_rule(rules.stop_when).should_stop(judgments, rubric)
    # Another package's, whatever it does.
    except Exception as error:
        raise StoppingRuleError(
            f"the stopping rule {rules.stop_when!r} raised {type(error).__name__}: {error}"
        ) from error


def spread(judgments: Sequence[Judgment], rubric: Rubric) -> float:
    """Return the spread of the judges on the dimension where it is largest.

    The standard deviation (n − 1) of the ratings, in points of the scale; for categories,
    the share of judges (0 to 1) outside the most frequent one. 0 with fewer than two ratings.
    """
    return max(_spread_on(dimension, judgments) for dimension in rubric.dimensions)


def peers_of(
    judgment: Judgment,
    judgments: Sequence[Judgment],
    rules: Deliberation,
    rubric: Rubric,
    personas: Mapping[str, Persona],
    seed: int,
) -> list[Peer]:
    """Return the others' last judgments as a judge sees them, in an order of its own.

    The order depends on the seed, the response, the judge and the round, and on nothing else.
    """
    others = [
        other
        for judge, other in latest_judgments(judgments).items()
        if judge != judgment.judge and may_revise(other)
    ]
    others.sort(key=lambda other: other.judge.id)
    places = [judgment.prompt_id, judgment.id, judgment.judge.id, str(judgment.round)]
    random.Random(f"{seed}\n" + "\n".join(places)).shuffle(others)
    return [
        Peer(
            name=peer_name(other.judge, personas)
            if rules.named
            else rubric.asked_in.instructions.peer.format(number=number),
            ratings=None
            if rules.reveal == "rationales"
            else ratings_in_words(other.scores, other.labels, other.abstained, rubric),
            rationale=None if rules.reveal == "scores" else _reasons(other),
        )
        for number, other in enumerate(others, start=1)
    ]


def _reasons(judgment: Judgment) -> str | None:
    return "\n".join(filter(None, (judgment.rationale, judgment.changed_because))) or None


def peer_name(judge: Judge, personas: Mapping[str, Persona]) -> str:
    """Return the name of a judge where peers are named."""
    return f"{personas[judge.persona].label}, {judge.model}"


def _spread_on(dimension: Dimension, judgments: Sequence[Judgment]) -> float:
    if isinstance(dimension.scale, CategoryScale):
        labels = [j.labels[dimension.id] for j in judgments if dimension.id in j.labels]
        counts = count(labels, dimension.scale.names).counts.values()
        return 1 - max(counts) / len(labels) if labels else 0.0
    ratings = [j.scores[dimension.id] for j in judgments if dimension.id in j.scores]
    return summarise(ratings).sd if len(ratings) > 1 else 0.0
