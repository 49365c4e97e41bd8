"""What a ratio of differences says: do personas differ as people do?"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Literal, get_args

from persona_panel.statistics.core.display import number

FidelityVerdict = Literal[
    "as people", "exaggerated", "caricature", "flattened", "reversed", "not measurable"
]
VERDICTS: tuple[FidelityVerdict, ...] = get_args(FidelityVerdict)

FLATTENED_BELOW, CARICATURE_ABOVE = 0.5, 2.0
"""Personas that differ by less than half, and by more than twice, what people do."""


@dataclass(frozen=True, slots=True)
class JudgedRatio:
    """A verdict, and where it is `not measurable`, why."""

    verdict: FidelityVerdict
    reason: str | None = None


def verdict_on(
    people: tuple[float, float],
    ratio: tuple[float, float],
    equivalence: tuple[float, float],
    *,
    of: int = 1,
) -> JudgedRatio:
    """The verdict that intervals allow, all widened for the contrasts that are judged together.

    `caricature`, the ratio's lower end is above 2; `exaggerated`, above 1; `reversed`, its upper
    end is below 0; `flattened`, below 0.5. `as people`, the ratio is shown to lie from 0.5 to 2: by
    two one-sided tests at 5 %, that is, by its 90 % interval (D. J. Schuirmann 1987). Everything
    else is `not measurable`: people's interval holds 0, or that of the ratio is too wide for any of
    these. So each of the others is shown, not merely left open.

    Args:
        people: the ends of the 95 % interval of people's difference; NaN where there is none.
        ratio: those of panel / people; NaN where there are none.
        equivalence: those of its 90 % interval.
        of: for how many contrasts they are widened.

    >>> verdict_on((-0.3, -0.1), (1.2, 3.0), (1.3, 2.8)).verdict
    'exaggerated'
    >>> verdict_on((-0.3, -0.1), (0.4, 3.0), (0.5, 2.6)).verdict
    'not measurable'
    """
    widened = f", widened for {of:,} contrasts," if of > 1 else ""
    if isnan(people[0]):
        return JudgedRatio("not measurable", "people's difference has no interval")
    if people[0] <= 0 <= people[1]:
        return JudgedRatio("not measurable", f"people's interval{widened} holds 0")
    low, high = ratio
    if isnan(low) or isnan(high):
        return JudgedRatio("not measurable", "the ratio has no interval")
    if low > CARICATURE_ABOVE:
        return JudgedRatio("caricature")
    if low > 1:
        return JudgedRatio("exaggerated")
    if high < 0:
        return JudgedRatio("reversed")
    if high < FLATTENED_BELOW:
        return JudgedRatio("flattened")
    if equivalence[0] >= FLATTENED_BELOW and equivalence[1] <= CARICATURE_ABOVE:
        return JudgedRatio("as people")
    return JudgedRatio(
        "not measurable",
        f"the ratio's interval{widened} is too wide: {number(low)} to {number(high)}",
    )
