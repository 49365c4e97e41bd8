"""The mean of few values, of values on a scale with two ends, and over prompts; detectable means.

The mean of few values against a bound: Student's interval, its tests, and how many would do.

Sources: Student's t over the means of few groups, valid however their spreads differ, is
Ibragimov and Müller (2010), "t-statistic based correlation and heterogeneity robust inference",
section 2. Rounding to steps of h adds h²/12 to a variance: Sheppard (1898). The power of a t test
is that of the noncentral t distribution: Owen (1965), "The power of Student's t-test".

The mean of values on a scale with two ends: an interval that stays true near an end.

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

How large a mean difference a test by flipped signs would find.

The power is that of normal differences, simulated. For few items p-values are exact; for more they
are approximated by a saddlepoint, which is exact again where all signs are the same; for many the
test comes close to Student's t-test, whose power is known.

Source of the saddlepoint: Robinson (1982), "Saddlepoint approximations for permutation tests and
confidence intervals", with the tail of Lugannani and Rice (1980).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isinf, sqrt

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    Resampled,
    Statistic,
    as_scores,
    divide,
    encode_labels,
)
from persona_panel.statistics.core.levels import MOST, POWER
from persona_panel.statistics.core.significance import sign_flip_p_values

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
        """Return the mean and standard deviation of `(n,)` values, NaN left out; at least two.

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
        """Return the standard error of the mean."""
        return self.sd / math.sqrt(self.n)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the two-sided interval of the mean, whose error rate is `level`."""
        reach = self.error * float(scipy.special.stdtrit(self.n - 1, 1 - level / 2))
        return self.mean - reach, self.mean + reach

    def p_value(self, null: float) -> float:
        """Return the two-sided p-value of the mean being `null`. It is below a level exactly where
        that level's interval leaves `null` out."""
        away = abs(self.mean - null)
        if away < ROUNDING:
            return 1.0
        if not self.sd:
            return 0.0
        return two_sided_p(away / self.error, self.n - 1)


def two_sided_p(t: float, df: float) -> float:
    """Return the two-sided p-value of Student's t with `df` degrees of freedom.

    >>> round(two_sided_p(-2.776, 4), 3)
    0.05
    """
    return 2 * float(scipy.special.stdtr(df, -abs(t)))


def critical_t(df: float, confidence: float = 0.95) -> float:
    """Return how many standard errors a two-sided interval of this confidence reaches to either
    side, by Student's t with `df` degrees of freedom.

    >>> round(critical_t(4), 3)
    2.776
    """
    return float(scipy.special.stdtrit(df, (1 + confidence) / 2))


def student_interval(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Return Student's interval of the mean of `(n,)` values, NaN left out; NaN where there are
    fewer than two values or all are equal, as their spread then says nothing of the mean's error.

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
    """Return the mean of n values, in their standard deviations, that a two-sided t-test at `level`
    detects in its own direction with a probability of `POWER`.

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
    """Return the probability that a two-sided test finds an effect in its own direction."""
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
    """Return the standard deviation of n values whose mean has this Student's interval; for an
    interval of the jackknife, that of its pseudovalues. NaN where there is no interval.

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
    """Return an interval of `value` by Student's t, widened so that `n_tests` such intervals all
    hold what they are of in a share `confidence` of the cases, at least (Bonferroni).

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


def scaled_interval(
    mean: float,
    errors: Sequence[tuple[float, float]],
    limits: tuple[float, float],
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Return Wilson's interval of a mean; Student's where the scale has no two ends.

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
    lows, highs = zip(
        *(_interval(mean, *error, limits, confidence) for error in errors), strict=True
    )
    return min(lows), max(highs)


def wilson_ends(share: float, reach: float) -> tuple[float, float]:
    """Return Wilson's interval of a share in (0, 1), with as many observations as give the share a
    symmetric interval that reaches `reach` to either side."""
    spread = reach**2 / (share * (1 - share))
    centre = (share + spread / 2) / (1 + spread)
    half = sqrt(reach**2 + spread**2 / 4) / (1 + spread)
    return centre - half, centre + half


def spread_at(mean: float, bound: float, limits: tuple[float, float]) -> float:
    """Return the factor by which the values' spread would grow if their mean were the bound: 1
    where it would not grow, where the scale has no two ends, or where `mean` or `bound` is not
    inside it.

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
    """Return a value's position between the ends, 0 to 1; infinite where there are none."""
    low, high = limits
    return inf if isinf(high - low) else (value - low) / (high - low)


@dataclass(frozen=True, slots=True)
class OverPrompts:
    """Prompts count alike, whatever their number of items. Those whose own value is
    undefined do not enter `mean`; `n_undefined` counts them."""

    mean: Statistic
    prompts: tuple[object, ...]
    values: tuple[Statistic, ...]
    n_undefined: int


def over_prompts(within: Sequence[tuple[object, Statistic]]) -> OverPrompts:
    """Return the mean of the prompts' values.

    Args:
        within: each prompt with its value. Items of the mean are counted over the prompts
            that have one; raters are the most that any prompt has.

    >>> within = [("p", Statistic(0.5, 4, 3)), ("q", Statistic(1.0, 2, 3))]
    >>> over_prompts(within).mean.value
    0.75
    """
    defined = [estimate for _, estimate in within if estimate.reason is None]
    if defined:
        n_items = sum(estimate.n_items for estimate in defined)
        n_raters = max(estimate.n_raters for estimate in defined)
        value = float(np.mean([estimate.value for estimate in defined]))
        mean = Statistic(value, n_items, n_raters)
    else:
        reasons = {estimate.reason for _, estimate in within}
        # One reason shared by all prompts says more than that no prompt has a value.
        reason = next(iter(reasons)) if len(reasons) == 1 else None
        if reason is Reason.FEW_ITEMS and len(within) > 1:
            # There may be many items, one to a prompt.
            reason = Reason.ONE_ITEM_A_PROMPT
        mean = Statistic.undefined(reason or Reason.FEW_PROMPTS)
    return OverPrompts(
        mean,
        tuple(name for name, _ in within),
        tuple(estimate for _, estimate in within),
        len(within) - len(defined),
    )


def resampled_over_prompts(result: OverPrompts, prompts: Labels) -> Resampled:
    """Return the mean over prompts as a function of resampling weights.

    A prompt is drawn whole, so its own value stays and only how often it counts changes.

    Args:
        result: the prompts' values.
        prompts: a label an item, those that `result` was made with.

    Raises:
        ValueError: from the returned function, when weights differ inside a prompt.
    """
    names, codes = encode_labels(prompts, len(prompts))
    values = dict(zip(result.prompts, (e.value for e in result.values), strict=True))
    by_prompt = np.array([values[name] for name in names])
    defined = ~np.isnan(by_prompt)

    def statistic(weights: Array) -> Array:
        kept = weights_of_prompts(weights, codes)[:, defined]
        return divide(kept @ by_prompt[defined], kept.sum(axis=1))

    return statistic


def weights_of_prompts(weights: Array, codes: IntArray) -> Array:
    """Return how often each prompt was drawn, `(resamples, prompts)`, from how often its items were
    drawn.

    Args:
        weights: `(resamples, items)`.
        codes: each item's prompt, all of 0, 1, … occurring.

    Raises:
        ValueError: items of a prompt were not drawn equally often.
    """
    _, first = np.unique(codes, return_index=True)
    drawn = weights[:, first]
    if (drawn[:, codes] != weights).any():
        raise ValueError("a statistic within prompts is resampled by whole prompts")
    return drawn


_EXACT = 11
_STUDENT_FROM = 50
_DRAWS = 2_000
_STEPS = 8
_HALVINGS = 40


@lru_cache
def smallest_effect(n: int, level: float) -> float:
    """Return the mean of n differences, in their standard deviations, that a two-sided test at
    `level` detects with a probability of `POWER`; NaN where no mean of any size can be detected.

    For a test among m that are adjusted by Holm, `level` is the wanted one over m: what then
    stands out alone among them is found.

    Raises:
        ValueError: a level outside (0, 1).

    >>> round(smallest_effect(100, 0.05), 2), smallest_effect(5, 0.05)
    (0.28, nan)
    """
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, found {level}")
    if n < items_needed(level):
        return math.nan
    by_t = detectable_effect(n, level)
    if n >= _STUDENT_FROM:
        return by_t
    noise = np.random.default_rng(0).normal(size=(_DRAWS, n))
    low, high = 0.9 * by_t, 1.1 * by_t
    while _flip_power(noise + high, level) < POWER:
        low, high = high, 1.5 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _flip_power(noise + middle, level) < POWER else (low, middle)
    return high


def items_needed(level: float) -> int:
    """Return the fewest items at which a two-sided p-value can be below `level`.

    All signs the same, one way or the other, are 2 of 2ⁿ patterns.

    >>> items_needed(0.05), items_needed(0.05 / 25)
    (6, 10)
    """
    return 2 + math.floor(math.log2(1 / level))


def _flip_power(differences: Array, level: float) -> float:
    """Return the share of samples `(samples, n)` with a mean above 0 and p below `level`."""
    above = differences[differences.sum(axis=1) > 0]
    if differences.shape[1] <= _EXACT:
        p_values = sign_flip_p_values(above.T)
    else:
        p_values = 2 * _upper_tails(above)
    return float((p_values < level).sum()) / len(differences)


def _upper_tails(differences: Array) -> Array:
    """Return the share of patterns of signs whose sum is each sample's or more; sums above 0."""
    n, sums, sizes = differences.shape[1], differences.sum(axis=1), np.abs(differences)
    tails = np.full(len(differences), 2.0**-n)
    mixed = (differences < 0).any(axis=1)
    sums, sizes = sums[mixed, None], sizes[mixed]
    # The saddlepoint t has Σ|x| tanh(t|x|) = Σx, which rises in t. |x| is scaled by its largest.
    scale = sizes.max(axis=1, keepdims=True)
    sums, sizes = sums / scale, sizes / scale

    def below(t: Array) -> Mask:
        reached: Array = (sizes * np.tanh(t * sizes)).sum(axis=1, keepdims=True)
        short: Mask = reached < sums
        return short

    low, high = np.zeros_like(sums), np.ones_like(sums)
    while (short := below(high)).any():
        high = np.where(short, 2 * high, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = below(middle)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    t, at = high[:, 0], high * sizes
    log_moment = (np.logaddexp(at, -at) - math.log(2)).sum(axis=1)
    curvature = np.square(sizes * (1 - np.tanh(at)) ** 0.5 * (1 + np.tanh(at)) ** 0.5).sum(axis=1)
    w = np.sqrt(np.maximum(2 * (t * sums[:, 0] - log_moment), 1e-12))
    u = np.maximum(t * np.sqrt(curvature), 1e-6)
    density = np.exp(-(w**2) / 2) / math.sqrt(2 * math.pi)
    # Half of the pattern itself, which a continuous tail leaves out.
    tails[mixed] = scipy.special.ndtr(-w) + density * (1 / u - 1 / w) + 0.5 * 2.0**-n
    return tails
