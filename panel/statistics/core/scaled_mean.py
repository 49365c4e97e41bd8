"""The mean of values on a scale with two ends: an interval that stays true near an end.

Near the end of a scale values are skewed, and a sample that happens to lack the few far ones has a
mean too near to the end and a spread too small: Student's interval then leaves out the true mean
in up to 13 % of the cases, always on the far side. Wilson's form of interval takes the spread that
the values would have if their mean were the end of the interval, by m (1 − m), as of a share; with
as many observations as leave a share as unsure as this mean is, one value fewer than there are: by
simulation, without that it misses in up to 6 % on the far side.

Sources: E. B. Wilson (1927), "Probable inference, the law of succession, and statistical
inference"; the number of observations as in Korn & Graubard (1998), "Confidence intervals for
proportions with small expected number of positive counts". `benchmarks/null_gate.py` measures what
it does for means of ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf, sqrt

from persona_panel.statistics.core.student_t import critical_t


def scaled_interval(
    mean: float,
    errors: Sequence[tuple[float, float]],
    limits: tuple[float, float],
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Wilson's interval of a mean; Student's where the scale has no two ends.

    Args:
        errors: the mean's standard errors with their degrees of freedom; the widest counts.
        limits: the ends of the scale.

    In the middle of a scale it is little wider than Student's; near an end it reaches farther from
    that:

    >>> [round(end, 2) for end in scaled_interval(3.0, [(0.1, 11)], (1, 5))]
    [2.77, 3.23]
    >>> [round(end, 2) for end in scaled_interval(4.9, [(0.05, 11)], (1, 5))]
    [4.71, 4.97]
    """
    lows, highs = zip(*(_interval(mean, *one, limits, confidence) for one in errors), strict=True)
    return min(lows), max(highs)


def wilson_ends(share: float, reach: float) -> tuple[float, float]:
    """Wilson's interval of a share in (0, 1) that a symmetric interval reaches so far from, with as
    many observations as would leave a share as unsure as that."""
    spread = reach**2 / (share * (1 - share))
    centre = (share + spread / 2) / (1 + spread)
    half = sqrt(reach**2 + spread**2 / 4) / (1 + spread)
    return centre - half, centre + half


def spread_at(mean: float, bound: float, limits: tuple[float, float]) -> float:
    """By how much values spread more, were their mean the bound, than around their mean: 1 where
    they would spread less, or the scale has no two ends, or one of the two is none of its inside.

    >>> spread_at(4.9, 4.0, (1, 5)) > 2, spread_at(3.0, 4.0, (1, 5))
    (True, 1.0)
    """
    here, there = (_share(value, limits) for value in (mean, bound))
    if not 0 < here < 1 or not 0 < there < 1:
        return 1.0
    return max(1.0, sqrt(there * (1 - there) / (here * (1 - here))))


def _interval(
    mean: float, error: float, df: float, limits: tuple[float, float], confidence: float
) -> tuple[float, float]:
    low, high = limits
    quantile = critical_t(df, confidence)
    share = _share(mean, limits)
    if not 0 < share < 1:
        return mean - quantile * error, mean + quantile * error
    of_one_fewer = error * sqrt((df + 1) / df)
    ends = wilson_ends(share, quantile * of_one_fewer / (high - low))
    return low + (high - low) * ends[0], low + (high - low) * ends[1]


def _share(value: float, limits: tuple[float, float]) -> float:
    """Return where a value lies between the ends, 0 to 1; infinite where there are none."""
    low, high = limits
    return inf if isinf(high - low) else (value - low) / (high - low)
