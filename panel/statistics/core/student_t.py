"""The mean of few values against a bound: Student's interval, its tests, and how many would do.

Sources: Student's t over the means of few groups, valid however their spreads differ, is
Ibragimov and Müller (2010), "t-statistic based correlation and heterogeneity robust inference",
section 2. Rounding to steps of h adds h²/12 to a variance: Sheppard (1898). The power of a t test
is that of the noncentral t distribution: Owen (1965), "The power of Student's t-test".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import ROUNDING, as_scores
from persona_panel.statistics.core.tested import MOST, POWER

_NORMAL_FROM = 2_000
_PRECISION = 1e-6


@dataclass(frozen=True, slots=True)
class MeanOfFew:
    """The mean of n values and their standard deviation (n − 1), both in the values' unit.

    >>> few = MeanOfFew.of([1.0, 2.0, 3.0])
    >>> few.mean, few.sd, round(few.p_value(0.0), 3)
    (2.0, 1.0, 0.074)
    """

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: ArrayLike, *, least_sd: float = 0.0) -> MeanOfFew:
        """Of `(n,)` values, NaN left out, two at least.

        `least_sd` is the standard deviation that rounding alone leaves: values that are equal
        because they were rounded must not count as known without error.

        Raises:
            ValueError: fewer than two values, or an infinite one.
        """
        there = as_scores(values)
        there = there[~np.isnan(there)]
        if len(there) < 2:
            raise ValueError(f"a spread takes two values, found {len(there)}")
        sd = max(float(there.std(ddof=1)), least_sd)
        # A spread that is only the rounding of a sum is none.
        return cls(float(there.mean()), sd if sd > ROUNDING else 0.0, len(there))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.sd / math.sqrt(self.n)

    def interval(self, level: float) -> tuple[float, float]:
        """Return where the mean of all such values lies, but for a share `level` of intervals."""
        reach = self.error * float(scipy.special.stdtrit(self.n - 1, 1 - level / 2))
        return self.mean - reach, self.mean + reach

    def p_value(self, null: float) -> float:
        """Two-sided, of the mean being `null`. Below a level exactly where that level's interval
        leaves `null` out."""
        away = abs(self.mean - null)
        if away < ROUNDING:
            return 1.0
        if not self.sd:
            return 0.0
        return two_sided_p(away / self.error, self.n - 1)


def two_sided_p(t: float, df: float) -> float:
    """The p-value of Student's t at so many degrees of freedom, whichever its sign.

    >>> round(two_sided_p(-2.776, 4), 3)
    0.05
    """
    return 2 * float(scipy.special.stdtr(df, -abs(t)))


def critical_t(df: float, confidence: float = 0.95) -> float:
    """Return how many standard errors a two-sided interval of this confidence reaches to either
    side, by Student's t at so many degrees of freedom.

    >>> round(critical_t(4), 3)
    2.776
    """
    return float(scipy.special.stdtrit(df, (1 + confidence) / 2))


def student_interval(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean of `(n,)` values, NaN left out; NaN where there are fewer
    than two, or all are the same: nothing then tells how unsure their mean is.

    >>> low, high = student_interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    there = as_scores(values)
    there = there[~np.isnan(there)]
    if len(there) < 2 or not (few := MeanOfFew.of(there)).sd:
        return math.nan, math.nan
    return few.interval(1 - confidence)


def values_needed(mean: float, sd: float, bound: float, level: float) -> int | None:
    """Return how many values would put `bound` outside of the interval of their mean.

    The smallest n whose interval at `level` leaves out the bound with a probability of `POWER`,
    if their mean is `mean` and their spread `sd`, as observed. None where it is more than `MOST`,
    where the mean is the bound, and where one of them is NaN.

    >>> values_needed(0.0, 1.0, 0.5, 0.05)
    34
    """
    away = abs(mean - bound)
    if not away or math.isnan(away) or math.isnan(sd):
        return None
    effect = away / sd if sd else math.inf
    # As many as if the spread were known; a few more, as it is not. Above some thousand values
    # that makes no difference.
    fewest = (scipy.special.ndtri(1 - level / 2) + scipy.special.ndtri(POWER)) / effect
    if fewest**2 > MOST:
        return None
    n: int = max(2, math.ceil(fewest**2))
    while n <= _NORMAL_FROM and _power(effect, n, level) < POWER:
        n += 1
    return n


def detectable_effect(n: int, level: float) -> float:
    """The mean of n values, in their standard deviations, that a two-sided t-test at `level` tells
    from 0 with a probability of `POWER`, in its own direction.

    Raises:
        ValueError: fewer than two values.

    As G*Power 3.1 (Faul et al. 2007) gives it for 20 pairs:

    >>> round(detectable_effect(20, 0.05), 4)
    0.6604
    """
    if n < 2:
        raise ValueError(f"a spread takes two values, found {n}")
    low, high = 0.0, 1.0
    while _power(high, n, level) < POWER:
        low, high = high, 2 * high
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, n, level) < POWER else (low, middle)
    return high


def _power(effect: float, n: int, level: float) -> float:
    """The probability that a two-sided test finds an effect in its own direction."""
    if math.isinf(effect):
        return 1.0
    shift = effect * math.sqrt(n)
    critical = float(scipy.special.stdtrit(n - 1, 1 - level / 2))
    # Far out the noncentral t loses its digits, and nothing is in doubt there.
    if shift - critical > 30:
        return 1.0
    return 1 - float(scipy.special.nctdtr(n - 1, shift, critical))


def spread_of_interval(
    low: float, high: float, n: int, df: float, confidence: float = 0.95
) -> float:
    """The standard deviation of n values whose mean has this Student's interval; for an interval
    of the jackknife, that of its pseudovalues. NaN where there is no interval.

    Args:
        df: degrees of freedom of the interval.

    >>> low, high = student_interval([1.0, 2.0, 3.0])
    >>> round(spread_of_interval(low, high, 3, 2), 3)
    1.0
    """
    if n < 2:
        return math.nan
    return (high - low) / 2 * math.sqrt(n) / critical_t(df, confidence)


def widened(
    value: float,
    low: float,
    high: float,
    df: float,
    n_tests: int,
    confidence: float = 0.95,
    *,
    widened_df: float | None = None,
) -> tuple[float, float]:
    """An interval of `value` by Student's t, widened so that `n_tests` such intervals all hold
    what they are of in a share `confidence` of the cases, at least (Bonferroni).

    Args:
        value: what the interval is of; an end that was cut at a limit stays nearer to it.
        df: degrees of freedom; fewer than there are give a wider interval.
        widened_df: those that the widened interval has; by default `df`.

    >>> few = MeanOfFew.of([1.0, 2.0, 3.0])
    >>> [round(end, 3) for end in widened(few.mean, *few.interval(0.05), 2, 5)]
    [-3.73, 7.73]
    >>> [round(end, 3) for end in few.interval(0.01)]
    [-3.73, 7.73]
    """
    each = 1 - (1 - confidence) / max(n_tests, 1)
    ratio = critical_t(df if widened_df is None else widened_df, each) / critical_t(df, confidence)
    return value - ratio * (value - low), value + ratio * (high - value)
