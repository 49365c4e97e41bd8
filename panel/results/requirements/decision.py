"""The decision whether a figure meets a requirement: by the unfavourable end of its 95 % interval,
or of that at the level that the requirement names.

That is a one-sided test at 2.5 %: where the figure is in truth on the wrong side of the bound, an
interval that misses in 5 % of the cases, either way alike, lies wholly on the right side in 2.5 %.
That holds of each requirement; that all of several are met although one of them is not in truth is
no more frequent. `benchmarks/null_gate.py` measures it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Literal

from persona_panel.results.requirements.figures import Figure
from persona_panel.results.requirements.requirement import Requirement
from persona_panel.statistics.core.means import (
    Assurance,
    assured,
    spread_at,
    spread_of_interval,
)
from persona_panel.statistics.core.ranking import SampledMean, prompts_assured, takes_more_judges

Why = Literal[
    "value", "interval", "estimate", "beyond", "open", "contrary", "no interval", "undefined"
]
"""What a decision rests on: the value of a figure that is known without error, the interval, or
the estimate, as `by_point` asks for. Not met: the interval lies wholly `beyond` the bound, the
estimate is on the right side and the interval is `open`, or the estimate is `contrary`; there is
no interval, or no figure."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision on whether a figure meets a requirement, with its reason.

    Attributes:
        end: the end of the interval that decided; NaN where none did.
        assured: where more prompts could settle it (`why` is `open`), how likely new ones meet the
            requirement; None where that is not known.
        takes_judges: whether with these judges no number of prompts would do.
    """

    requirement: Requirement
    figure: Figure
    met: bool
    why: Why
    end: float = nan
    assured: Assurance | None = None
    takes_judges: bool = False


def decide(requirement: Requirement, figure: Figure, *, by_point: bool = False) -> Decision:
    """Return whether the figure meets the requirement.

    Args:
        by_point: by the estimate instead of the unfavourable end of the interval. What is wrong
            then passes in up to half of the cases.
    """
    if figure.words:
        met = (figure.word == requirement.word) == (requirement.comparison == "==")
        return Decision(requirement, figure, met, "value")
    if isnan(figure.value):
        return Decision(requirement, figure, False, "undefined")
    figure = figure.at(requirement.level)
    right = requirement.holds_for(figure.value)
    if figure.is_exact:
        return Decision(requirement, figure, right, "value")
    if by_point:
        return Decision(requirement, figure, right, "estimate")
    if not figure.has_interval:
        return Decision(requirement, figure, False, "no interval")
    ends = figure.low, figure.high
    worst, best = ends if requirement.at_least else ends[::-1]
    if requirement.holds_for(worst):
        return Decision(requirement, figure, True, "interval", worst)
    if not requirement.holds_for(best):
        return Decision(requirement, figure, False, "beyond", worst)
    if not right or abs(figure.value - requirement.bound) < 1e-9:
        return Decision(requirement, figure, False, "contrary", worst)
    return _open(Decision(requirement, figure, False, "open", worst))


def spread_of(figure: Figure) -> float:
    """The standard deviation over prompts behind a figure's interval."""
    # An end that was cut at a limit is nearer than it would be; of an interval that is longer on
    # one side the longer side errs toward more prompts.
    reach = max(figure.value - figure.low, figure.high - figure.value)
    return spread_of_interval(-reach, reach, figure.n_prompts or 0, figure.df, figure.level)


def _open(open_: Decision) -> Decision:
    """With how many prompts it would be settled."""
    requirement, figure = open_.requirement, open_.figure
    level = 1 - figure.level
    more = spread_at(figure.value, requirement.bound, figure.limits)
    if figure.sampled is not None and figure.sampled.errors:
        beyond = _spread(figure.sampled, figure.sampled.mean - requirement.bound, more)
        if takes_more_judges(beyond, level):
            return replace(open_, takes_judges=True)
        return replace(open_, assured=prompts_assured(beyond, level))
    if figure.n_prompts is None or isnan(figure.df):
        return open_
    sd = more * spread_of(figure)
    assurance = assured(figure.value, sd, figure.n_prompts, requirement.bound, level)
    return replace(open_, assured=assurance)


def _spread(sampled: SampledMean, mean: float, more: float) -> SampledMean:
    """With another mean, and so many times the standard errors."""
    judges = tuple(
        replace(part, variance=part.variance * more**2, by_prompt=part.by_prompt * more**2)
        for part in sampled.judges
    )
    errors = tuple((error * more, df) for error, df in sampled.errors)
    return replace(sampled, mean=mean, errors=errors, judges=judges)
