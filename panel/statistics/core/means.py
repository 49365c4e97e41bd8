"""The mean of few values, of values on a scale with two ends, and over prompts; detectable means.

Sources: R. Ibragimov & U. K. Müller (2010), "t-statistic based correlation and heterogeneity robust
inference", section 2 (Student's t over groups); D. B. Owen (1965), "The power of Student's t-test"
(noncentral t); E. B. Wilson (1927), "Probable inference, the law of succession, and statistical
inference", and E. L. Korn & B. I. Graubard (1998), "Confidence intervals for proportions with small
expected number of positive counts" (scales with two ends); P. Hall (1992), "On the removal of
skewness by transformation" (means at an end).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isinf, isnan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    Resampled,
    Statistic,
    encode_labels,
    items_by_label,
    mean_there,
    resampled_ratio,
)
from persona_panel.statistics.core.estimate import MOST, POWER
from persona_panel.statistics.core.significance import binomial_interval

_PRECISION = 1e-6


def two_sided_p(t: float, df: float) -> float:
    """Return the two-sided p-value of Student's t with `df` degrees of freedom."""
    return 2 * float(special.stdtr(df, -abs(t)))


def critical_t(df: float, confidence: float = 0.95) -> float:
    """Return how many standard errors a two-sided interval by Student's t reaches to a side."""
    return float(special.stdtrit(df, (1 + confidence) / 2))


@dataclass(frozen=True, slots=True)
class Assurance:
    """The probability that new data show what the present do not (`assurance`).

    Attributes:
        n: how many values there are now.
        needed: with how many new ones the probability is `POWER`; None where that is more than
            `MOST`, or no number.
        limit: the probability with any number of new values.
        as_observed: with how many it is `POWER` if the mean and the standard deviation are exactly
            those of the present values; None where that is not computed.
    """

    n: int
    needed: int | None
    limit: float
    as_observed: int | None = None


PRIOR = 4
"""The number of values at the bound that the prior is worth: before the data a mean is within half
a standard deviation of the bound with a probability of 68 %, and beyond one with 5 % (of
differences Cohen calls 0.2 small, 0.5 medium and 0.8 large)."""
_ALL = 10**9
"""So many values leave nothing open."""
_QUANTILES = (np.arange(32) + 0.5) / 32


def assurance(
    mean: float,
    error: float,
    n: int,
    n_new: ArrayLike,
    level: float,
    of_new: tuple[ArrayLike, ArrayLike] | None = None,
) -> Array:
    """Return the probability that the mean of as many new values, by themselves, is significant in
    the direction of this one.

    It is the power of Student's test, averaged over the posterior distribution of the mean and the
    standard deviation, with a prior worth `PRIOR` values at the bound and none about the standard
    deviation (A. O'Hagan, J. W. Stevens & M. J. Campbell 2005, "Assurance in clinical trial
    design"; D. J. Spiegelhalter & L. S. Freedman 1986). `python -m benchmarks.independent.planning`
    counts how often it is so.

    Args:
        mean: the distance of the mean from the bound that the test is of.
        error: its standard error, of n values.
        n_new: `(cases,)`, each at least 2.
        level: of the two-sided test.
        of_new: `(cases,)` each: the standard error that is expected of the new mean, and its
            degrees of freedom; None: those of n_new values.

    Returns:
        `(cases,)`; 1 where there is no error.

    >>> assurance(0.5, 0.25, 16, [16, 64, 10_000], 0.05).round(2).tolist()
    [0.36, 0.71, 0.94]
    """
    new = np.asarray(n_new, dtype=np.float64)
    if error <= 0:
        return np.ones(new.shape)
    expected, df = of_new if of_new is not None else (error * np.sqrt(n / new), new - 1)
    weight = n / (n + PRIOR)
    # The new mean varies about the old one by both errors.
    spread = error * np.sqrt(weight + n / new)
    critical = special.stdtrit(df, 1 - level / 2) * np.asarray(expected) / spread
    # The standard deviation, beside the one that was estimated.
    more = np.sqrt((n - 1) / special.chdtri(n - 1, _QUANTILES))
    shift = weight * abs(mean) / spread[..., None] / more
    # Far out the noncentral t loses its digits, and nothing is in doubt there.
    shift = np.minimum(shift, critical[..., None] + 30)
    below = special.nctdtr(np.asarray(df)[..., None], shift, critical[..., None])
    return np.asarray(1 - below.mean(axis=-1))


def assured(mean: float, sd: float, n: int, bound: float, level: float) -> Assurance:
    """Return with how many new values a two-sided test at `level` shows on which side of `bound`
    the mean lies; `needed` is None and `limit` NaN where the mean is the bound, or one is NaN."""
    away, error = abs(mean - bound), sd / math.sqrt(max(n, 1))
    if not away or isnan(away) or isnan(sd) or n < 2:
        return Assurance(n, None, math.nan)
    limit = assurance_limit(away, error, n)
    if limit < POWER:  # and no number of values comes nearer
        return Assurance(n, None, limit)
    needed = fewest(lambda new: float(assurance(away, error, n, new, level)))
    of_all = sd / math.sqrt(_ALL)
    as_observed = fewest(lambda new: float(assurance(away, of_all, _ALL, new, level)))
    return Assurance(n, needed, limit, as_observed)


def assurance_limit(mean: float, error: float, n: int, reach: float = 0.0) -> float:
    """Return the assurance of any number of new values: the probability that there is a mean on
    this side, where it has to be farther than `reach` from 0."""
    weight = n / (n + PRIOR)
    away = weight * abs(mean) - reach
    return float(special.stdtr(n - 1, away / (error * sqrt(weight)))) if error else 1.0


def fewest(probability: Callable[[int], float]) -> int | None:
    """Return the smallest number, up to `MOST`, whose probability, which rises with it, is at least
    `POWER`; None where there is none."""
    low, high = 1, MOST

    def apart(number: int) -> float:
        return float(special.ndtri(probability(number)) - special.ndtri(POWER))

    below, above, was_enough = -inf, apart(high), False
    if above < 0:
        return None
    while high - low > 1:
        # The secant of probits over the logarithm; an end that stays again counts half (the
        # Illinois method). Six probabilities on average, where halving takes ten.
        part = 0.5 if isinf(above - below) else below / (below - above)
        middle = min(max(round(low * (high / low) ** part), low + 1), high - 1)
        between = apart(middle)
        if between >= 0:
            high, above, below = middle, between, below / (1 + was_enough)
        else:
            low, below, above = middle, between, above / (2 - was_enough)
        was_enough = between >= 0
    return high


def detectable_effect(n: int, level: float) -> float:
    """Return the mean of n values, in their standard deviations, that a two-sided t-test at `level`
    detects in its own direction with a probability of `POWER`; NaN of one."""
    critical = special.stdtrit(n - 1, 1 - level / 2)
    return float(special.nctdtrinc(n - 1, 1 - POWER, critical)) / math.sqrt(n)


def spread_of_interval(
    low: float, high: float, n: int, df: float, confidence: float = 0.95
) -> float:
    """Return the standard deviation of n values whose mean has this Student's interval with `df`
    degrees of freedom; NaN where there is no interval."""
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
    """Return an interval of `value` by Student's t with `df` degrees of freedom, widened so that
    `n_tests` such intervals hold together (Bonferroni); `widened_df`: those of the widened one."""
    each = 1 - (1 - confidence) / max(n_tests, 1)
    ratio = critical_t(df if widened_df is None else widened_df, each) / critical_t(df, confidence)
    return value - ratio * (value - low), value + ratio * (high - value)


def scaled_interval(
    mean: float,
    errors: Sequence[tuple[float, float]],
    limits: tuple[float, float] = (-inf, inf),
    confidence: float = 0.95,
    values: Array | None = None,
) -> tuple[float, float]:
    """Return the interval of a mean, never beyond its scale: Student's; on a scale with two ends
    Wilson's, with as many observations as give the mean these errors, and the exact one of a share
    where that is farther. Where at least half of the values lie at an end (and not all at both), it
    is Hall's, corrected for skewness, where that is farther.

    How often it covers: docs/explanation/statistics.md.

    Args:
        errors: the mean's standard errors with their degrees of freedom; the widest counts.
        limits: the ends of the scale.
        values: `(n,)`, of which it is the mean; None: skewness is not corrected for.
    """
    low, high = limits
    share, reach = _share(mean, limits), reach_of(errors, confidence)
    if not 0 < share < 1:
        return max(mean - reach, low), min(mean + reach, high)
    ends = [*wilson_ends(share, reach / (high - low))]
    for error, _ in errors:
        trials = share * (1 - share) * ((high - low) / error) ** 2
        ends += binomial_interval(trials * share, trials, confidence)
    ends = [low + (high - low) * end for end in ends]
    if values is not None and off_the_end(values, limits) <= len(values) / 2:
        ends += _without_skewness(mean, errors, values, confidence)
    return max(min(ends), low), min(max(ends), high)


FAR_OFF = "a few prompts lie far from the others"
AT_THE_END = "three quarters lie at an end of the scale"
NEAR_THE_END = "few prompts, mean less than a tenth of the scale from its end"
STRONG = "r within prompts beyond ±0.6"
FEW_OFF_AN_END = "too few ratings differ from the highest, or from the lowest, that were given"
_FEW_PROMPTS = 12


def unusual_coverage(values: Array, limits: tuple[float, float]) -> str | None:
    """Return of what kind a mean is whose `scaled_interval` may cover far from as often as it
    says (`python -m benchmarks.independent intervals`); None where its values show no such kind.

    Far off is at most a quarter of the values, by a gap of more than a third of the scale and
    half of their range.

    Args:
        values: `(n,)`, not all alike.
        limits: the ends of their scale.
    """
    (low, high), n = limits, len(values)
    ordered = np.sort(values)
    # Those that have two values only are a share, whose interval is exact.
    if n < 3 or isinf(high - low) or np.isin(ordered, limits).all():
        return None
    gaps = np.diff(ordered)
    widest = int(gaps.argmax())
    apart = min(widest + 1, n - widest - 1) <= n / 4
    if apart and gaps[widest] > max((high - low) / 3, (ordered[-1] - ordered[0]) / 2):
        return FAR_OFF
    off = off_the_end(values, limits)
    if off <= n / 4:
        return AT_THE_END
    share = _share(float(values.mean()), limits)
    near = min(share, 1 - share) < 1 / 10 and off > n / 2
    return NEAR_THE_END if near and n <= _FEW_PROMPTS else None


def few_off_an_end(ratings: Array, clusters: Labels) -> bool:
    """Return whether ratings that are not the highest, or not the lowest, that were given are as
    many as fewer than 1.5 prompts have, and not none: intervals of Krippendorff's α then cover in
    78 to 93 %, and those that miss often lie below it.

    Args:
        ratings: `(items, raters)`, NaN where there is none.
        clusters: a label an item: its prompt, or itself.
    """
    # Of six kinds of boards (5 to 48 prompts, half to 95 % at an end) it leaves 27 % undecided, the
    # fewest of rules on this number or on the share alone outside of which coverage is 0.93 or more
    # (but in 1 of 1,335 cases) and false claims 5 % or less. From 60 % at an end on was 81 %.
    # Where nearly all that differs is prompts, coverage begins at 0.86 (with 60 %: at 0.89).
    rated = ~np.isnan(ratings)
    there = ratings[rated]
    if not there.size or there.min() == there.max():
        return False
    n = len({clusters[place] for place in np.flatnonzero(rated.sum(axis=1)).tolist()})
    share = min(np.mean(there > there.min()), np.mean(there < there.max()))
    return bool(n * share < 1.5)


def reach_of(errors: Sequence[tuple[float, float]], confidence: float) -> float:
    """Return how far an interval reaches to either side: the farthest of these standard errors."""
    return max(error * critical_t(df, confidence) for error, df in errors)


def off_the_end(values: Array, limits: tuple[float, float]) -> int:
    """Return how many values do not lie at the end of the scale where most do; of values that all
    lie at one end or the other, all of them."""
    low, high = (int(np.sum(np.abs(values - end) <= ROUNDING)) for end in limits)
    return len(values) if low + high == len(values) else len(values) - max(low, high)


def _without_skewness(
    mean: float, errors: Sequence[tuple[float, float]], values: Array, confidence: float
) -> list[float]:
    """Return the ends by Hall's cubic transformation of Student's t, for each error."""
    away = values - values.mean()
    skewness = float(np.mean(away**3)) / float(np.mean(away**2)) ** 1.5
    a = skewness / sqrt(len(values))

    def reach(t: float) -> float:
        return t if abs(a) < ROUNDING else 3 * (float(np.cbrt(1 + a * (t - a / 6))) - 1) / a

    return [
        mean - error * reach(side * critical_t(df, confidence))
        for error, df in errors
        for side in (1.0, -1.0)
    ]


def wilson_ends(share: float, reach: float) -> tuple[float, float]:
    """Return Wilson's interval of a share in (0, 1), with as many observations as give the share a
    symmetric interval that reaches `reach` to either side."""
    spread = reach**2 / (share * (1 - share))
    centre = (share + spread / 2) / (1 + spread)
    half = sqrt(reach**2 + spread**2 / 4) / (1 + spread)
    return centre - half, centre + half


def spread_at(mean: float, bound: float, limits: tuple[float, float]) -> float:
    """Return the factor by which the values' spread would grow if their mean were the bound; 1
    where it would not, or there are not two ends with both inside."""
    here, there = (_share(value, limits) for value in (mean, bound))
    if not 0 < here < 1 or not 0 < there < 1:
        return 1.0
    return max(1.0, sqrt(there * (1 - there) / (here * (1 - here))))


def _share(value: float, limits: tuple[float, float]) -> float:
    """Return a value's position between the ends, 0 to 1; infinite where there are none."""
    low, high = limits
    return inf if isinf(high - low) else (value - low) / (high - low)


@dataclass(frozen=True, slots=True, eq=False)
class PairedScores:
    """Scores of systems by prompt, to be subtracted.

    Attributes:
        scores: `(prompts, systems)`, NaN where there is none.
        influence: `(prompts, systems, judges)`, how much a score changes as a judge counts more;
            None where no judges are known.
        apart: `(prompts, systems, systems)`, whether no judge connects the two: none rated both, or
            both are connected with no third. They then have no difference. None: nowhere.
    """

    scores: Array
    influence: Array | None = None
    apart: Mask | None = None


def within_judges(
    paired: PairedScores, ratings: Array, shares: Array, chosen: Mask | None = None
) -> PairedScores:
    """Return scores that severity does not move where judges rated some systems of a prompt only.

    There they are by least squares on systems and judges within the prompt, and a judge who rated
    one system moves nothing. Where each judge rated all or none, they stay. The terms of a score
    are taken one by one, and averaged.

    Args:
        paired: the means of what there is.
        ratings: of which they are the means `(prompts, systems, judges, terms)`, NaN where there is
            none.
        shares: of a system's responses, how many a judge rated, of the same shape.
        chosen: for several choices of judges, whom each takes `(choices, judges)`: what `paired`
            has, without influence, and what is returned then begin with an axis of choices.

    >>> rated = np.array([[5.0, 9.0], [4.0, np.nan]])[None, :, :, None]
    >>> within = within_judges(PairedScores(np.array([[7.0, 4.0]])), rated, 1.0 - np.isnan(rated))
    >>> within.scores.tolist()
    [[6.0, 5.0]]
    """
    taken = np.ones((1, ratings.shape[2])) if chosen is None else chosen.astype(np.float64)
    least, most = np.nan_to_num(shares, nan=1.0).min(axis=1), np.nan_to_num(shares).max(axis=1)
    is_uneven = taken @ ((least < most) | (most % 1 > 0)).any(axis=2).T > 0
    rows = np.flatnonzero(is_uneven.any(axis=0))
    if not len(rows):
        return paired
    by_term = np.moveaxis(ratings[rows], 3, 1)
    there = ~np.isnan(by_term)
    about = np.where(there, by_term - mean_there(by_term, 2, keepdims=True), 0.0)
    # Most judges rate all terms or none: the terms then have the same equations.
    rated = there[:, :1] if (there == there[:, :1]).all() else there
    of_judge = rated / np.maximum(rated.sum(axis=2, keepdims=True), 1)
    normal = np.tensordot(taken, rated, (1, 3))[..., None] * np.eye(rated.shape[2])
    normal = normal - (of_judge * taken[:, None, None, None]) @ rated.swapaxes(2, 3)
    inverse = np.linalg.pinv(normal, rcond=ROUNDING, hermitian=True)
    values = inverse @ np.moveaxis(about @ taken.T, 3, 0)[..., None]
    # Their product projects out what is constant where judges connect.
    connected = (np.abs(normal @ inverse) > _PRECISION).all(axis=2)
    influence = paired.influence
    scores = paired.scores.reshape(len(taken), *ratings.shape[:2]).copy()
    own, moves = scores[:, rows], is_uneven[:, rows, None]
    level = mean_there(np.where(connected, own[:, :, None], np.nan), 3)
    moved = values[..., 0].mean(axis=2) + level
    scores[:, rows] = np.where(moves & ~np.isnan(level), moved, own)
    if influence is not None:
        influence = influence.copy()
        rest = about - values[0] + (of_judge * values[0]).sum(axis=2, keepdims=True)
        influence[rows] = (inverse[0] @ np.where(there, rest, 0.0)).mean(axis=1)
    apart = np.zeros((*scores.shape, scores.shape[2]), dtype=bool)
    apart[:, rows] = moves[..., None] & ~connected
    if chosen is None:
        return PairedScores(scores[0], influence, apart[0])
    return PairedScores(scores, None, apart)


@dataclass(frozen=True, slots=True)
class OverPrompts:
    """Prompts count alike; those whose own value is undefined do not enter `mean`, and
    `n_undefined` counts them."""

    mean: Statistic
    prompts: tuple[object, ...]
    values: tuple[Statistic, ...]
    n_undefined: int


def over_prompts(within: Sequence[tuple[object, Statistic]]) -> OverPrompts:
    """Return the mean of the prompts' values `within`, each with its prompt. Items are counted over
    the prompts that have a value; raters are the most that any prompt has.

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


def by_prompt(
    function: Callable[[IntArray], Statistic], prompts: Labels | None, n_items: int
) -> OverPrompts:
    """Return a statistic of the items of each prompt, and its mean over prompts.

    >>> values = np.array([1.0, 3.0, 6.0])
    >>> by_prompt(lambda items: Statistic(values[items].mean(), len(items), 1), "ppq", 3).mean.value
    4.0
    """
    return over_prompts(
        [(name, function(items)) for name, items in items_by_label(prompts, n_items)]
    )


def resampled_over_prompts(result: OverPrompts, prompts: Labels) -> Resampled:
    """Return the mean over prompts as a function of resampling weights, in which a prompt counts as
    its items do on average. `prompts`: those that `result` was made with, a label an item."""
    names, codes = encode_labels(prompts, len(prompts))
    values = dict(zip(result.prompts, (e.value for e in result.values), strict=True))
    by_item = np.array([values[name] for name in names])[codes]
    shares = np.where(np.isnan(by_item), 0.0, 1 / np.bincount(codes)[codes])
    return resampled_ratio(shares * np.nan_to_num(by_item), shares)


def items_needed(level: float) -> int:
    """Return the fewest items at which a two-sided p-value can be below `level`."""
    return 2 + math.floor(math.log2(1 / level))
