"""Framings: the prompts and conditions of a sweep, and the degradation of judgments under them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from persona_panel.graphs.records import Judgment

BASELINE = "baseline"
"""The condition of a prompt as it was given."""


@dataclass(frozen=True, slots=True)
class Degradation:
    """The effect of one condition on one system's answer to one prompt.

    `delta` is by dimension, NaN where no judge rated both responses; `n_judges` counts
    those that did. `n_abstained` judges called one of the two an abstention; `n_missing`
    have no usable judgment of one of them for another reason.
    """

    prompt_id: str
    system: str
    condition: str
    delta: Mapping[str, float]
    n_judges: Mapping[str, int]
    n_abstained: int
    n_missing: int


def degradation(
    judged: Mapping[tuple[str, str], Sequence[Judgment]],
    prompt_id: str,
    systems: Sequence[str],
    conditions: Sequence[str],
    dimensions: Sequence[str],
    n_judges: int,
) -> list[Degradation]:
    """Compute Δ = baseline − framed for each system and condition (scrub.txt, appendix 15.4).

    Δ is the mean over the judges that rated both responses. Where all of them did, that is
    the difference of the panel's means, as in the paper; where one is missing, a stern
    judge's absence does not pass for an improvement.

    Args:
        judged: the judgments of each (system, condition), one a judge; may lack some.
        conditions: the framed ones.
        n_judges: how many judgments each response should have.
    """
    degradations = []
    for system in systems:
        before = {judgment.judge.id: judgment for judgment in judged.get((system, BASELINE), ())}
        for condition in conditions:
            after = {
                judgment.judge.id: judgment for judgment in judged.get((system, condition), ())
            }
            pairs = [(before[judge], after[judge]) for judge in sorted(before.keys() & after)]
            abstained = sum(_abstained(first) or _abstained(other) for first, other in pairs)
            scored = [
                (first.scores, other.scores)
                for first, other in pairs
                if first.status == other.status == "scored"
            ]
            delta, counts = {}, {}
            for name in dimensions:
                gaps = [a[name] - b[name] for a, b in scored if name in a and name in b]
                counts[name] = len(gaps)
                delta[name] = math.fsum(gaps) / len(gaps) if gaps else math.nan
            degradations.append(
                Degradation(
                    prompt_id=prompt_id,
                    system=system,
                    condition=condition,
                    delta=delta,
                    n_judges=counts,
                    n_abstained=abstained,
                    n_missing=n_judges - abstained - len(scored),
                )
            )
    return degradations


def _abstained(judgment: Judgment) -> bool:
    return judgment.status == "abstained"


_ID = r"^[a-z][a-z0-9_]*$"


class Prompt(BaseModel):
    """One question as it is asked without any pressure; `id` is unique in a sweep."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1)
    text: str

    @field_validator("text")
    @classmethod
    def _is_not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty; a prompt's text")
        return value


class Condition(BaseModel):
    """One way of framing a prompt. `instruction` tells a rewriter how."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=_ID, max_length=64)
    label: str = Field(min_length=1, max_length=40)
    instruction: str

    @field_validator("instruction")
    @classmethod
    def _is_not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a blank instruction; what a rewriter is to do")
        return value

    @field_validator("id")
    @classmethod
    def _is_not_the_baseline(cls, value: str) -> str:
        if value == BASELINE:
            raise ValueError(f"{value!r}, the prompt as it is given; another id")
        return value


class Contrast(BaseModel):
    """Two groups of conditions whose degradation is compared: mean Δ of `plus` − of `minus`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=_ID, max_length=64)
    label: str = Field(min_length=1, max_length=60)
    plus: tuple[str, ...] = Field(min_length=1)
    minus: tuple[str, ...] = Field(min_length=1)


class Framings(BaseModel):
    """A set of conditions that one call rewrites a prompt into.

    `placebo` names the condition that is reworded without pressure. The two conditions of
    an `opposed` pair must take opposite sides. `contrasts` say what is compared with what.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    label: str = Field(min_length=1)
    conditions: tuple[Condition, ...] = Field(min_length=1)
    placebo: str | None = None
    opposed: tuple[tuple[str, str], ...] = ()
    contrasts: tuple[Contrast, ...] = ()

    @model_validator(mode="after")
    def _names_are_known_and_unique(self) -> Framings:
        ids = [condition.id for condition in self.conditions]
        for what, names in (
            ("condition", ids),
            ("contrast", [contrast.id for contrast in self.contrasts]),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"two {what}s have the id {name!r}; an id of its own for each")
        for where, name in self._mentions():
            if name not in ids:
                raise ValueError(f"{where} names {name!r}; one of {', '.join(ids)}")
        return self

    def _mentions(self) -> Iterator[tuple[str, str]]:
        if self.placebo is not None:
            yield "placebo", self.placebo
        for pair in self.opposed:
            yield from (("opposed", name) for name in pair)
        for contrast in self.contrasts:
            for name in (*contrast.plus, *contrast.minus):
                yield f"the contrast {contrast.id!r}", name

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the conditions' ids, in the order of the file."""
        return tuple(condition.id for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class Variant:
    """A prompt as a rewriter framed it, with what was found when it was checked.

    `attempt` is 1, or 2 for the one retry. `checks` holds what the checking model said:
    `stands_alone`, `keeps_question` and, for opposed conditions, `opposes`. `faults` says
    in words what is wrong; a variant with none is `used`. `text` is None where the
    rewriter gave no variant.
    """

    prompt_id: str
    condition: str
    rewriter: str
    checker: str
    attempt: int
    text: str | None
    checks: dict[str, bool]
    faults: tuple[str, ...]

    @property
    def used(self) -> bool:
        """Return whether targets are asked with the condition."""
        return self.text is not None and not self.faults


class FramedResponse(BaseModel):
    """A response that is there already. `prompt` is what the system was asked under this
    condition: for the baseline the prompt itself, else a framed one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_id: str = Field(min_length=1)
    prompt: str
    condition: str = Field(min_length=1)
    system: str = Field(min_length=1)
    text: str

    @field_validator("prompt", "text")
    @classmethod
    def _is_not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty; text")
        return value
