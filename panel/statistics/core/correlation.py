"""Correlations: τ_b, τ_c, Spearman's ρ and Pearson's r, one or many at once, and their tests.

The values are scipy's; the resampled forms equal them on the resampled pairs. Sources: M. G.
Kendall (1945), "The treatment of ties in ranking problems" (τ_b); A. Stuart (1953), "The estimation
and comparison of strengths of association in contingency tables" (τ_c); B. Phipson & G. K. Smyth
(2010), "Permutation p-values should never be zero"; R. A. Fisher (1925), *Statistical Methods for
Research Workers*, §29 and §40 (correlation within classes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from math import ceil, inf, isnan, nan, sqrt
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    IntArray,
    Labels,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    check_choice,
    check_confidence,
    divide,
    encode_labels,
    group_count,
    items_by_label,
    paired_scores,
    scaled_to_unit,
    unit_weights,
)
from persona_panel.statistics.core.jackknife import Interval, too_few
from persona_panel.statistics.core.means import PRIOR, OverPrompts, over_prompts

CorrelationKind = Literal["tau_b", "tau_c", "spearman", "pearson"]


def correlation(x: ArrayLike, y: ArrayLike, kind: CorrelationKind) -> Statistic:
    """Return the correlation of two sets of scores over the items that both have.

    How to read it: 1 the same order (`pearson`: points on a rising line), 0 none in common, −1 the
    opposite order. Without ties (1 + τ_b) / 2 of the pairs of items are ordered alike.

    Args:
        kind: `tau_b` corrects for ties on either side; `tau_c` suits scores with
            different numbers of possible values; `spearman` and `pearson`.

    Returns:
        A value in [−1, 1] and scipy's two-sided p-value, which takes items as independent.
        Undefined without two shared items, or where either side is constant on them.

    >>> correlation([1, 2, 3, 4], [10, 30, 20, 40], "spearman").value
    0.7999999999999999
    >>> round(correlation([1, 2, 3, 4], [10, 30, 20, 40], "tau_b").value, 3)
    0.667
    """
    check_choice("kind", kind, CorrelationKind)
    first, second, both = paired_scores(x, y)
    resampled = resampled_correlation(first, second, kind)
    first, second = first[both], second[both]
    n_items = len(first)
    if reason := _why_undefined(first, second):
        undefined = Statistic.undefined(reason, n_items=n_items, n_raters=2)
        return undefined.with_weights(resampled, both, "correlation", _LIMITS)
    if kind == "pearson":
        result = scipy.stats.pearsonr(_centred(first), _centred(second))
    elif kind == "spearman":
        result = scipy.stats.spearmanr(first, second)
    else:
        result = scipy.stats.kendalltau(first, second, variant=kind[-1])
    # scipy's rounding can pass the bounds by a hair.
    value = float(np.clip(result.statistic, -1, 1))
    # With two pairs there is no distribution to take a p-value from.
    p_value = float(result.pvalue) if n_items > 2 else nan
    whole = Statistic(value, n_items, n_raters=2, p_value=p_value)
    return whole.with_weights(resampled, both, "correlation", _LIMITS)


def resampled_correlation(
    x: Array, y: Array, kind: CorrelationKind, groups: Labels | None = None
) -> Resampled:
    """Return the `correlation`, or with groups that of `correlation_within`, as a function of
    resampling weights alone; args as for them."""

    def resampled(weights: Array) -> Array:
        return resampled_correlations(x[:, None], y[:, None], kind, weights, groups)[:, 0]

    return resampled


def correlation_by_prompt(
    x: ArrayLike, y: ArrayLike, prompts: Labels, kind: CorrelationKind
) -> OverPrompts:
    """Return the correlation inside each prompt, without p-values, and its mean over prompts; args
    and errors as for `correlation`, and one label an item.

    >>> correlation_by_prompt([1, 2, 5, 6], [2, 1, 5, 7], "aabb", "tau_b").mean.value
    0.0
    """
    first, second, both = paired_scores(x, y)
    values = correlations_by_prompt(first[:, None], second[:, None], prompts, kind)[:, 0]
    within = []
    for (name, items), value in zip(
        items_by_label(prompts, len(first)), values.tolist(), strict=True
    ):
        there = items[both[items]]
        reason = _why_undefined(first[there], second[there]) if isnan(value) else None
        within.append((name, Statistic(value, len(there), 2, reason=reason)))
    return over_prompts(within)


def correlations_by_prompt(x: Array, y: Array, prompts: Labels, kind: CorrelationKind) -> Array:
    """Return `correlations` inside each prompt `(prompts, columns)`, in the order of labels."""
    names, codes = encode_labels(prompts, len(x))
    order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes, minlength=len(names))
    starts = np.cumsum(sizes) - sizes
    values = np.empty((len(names), x.shape[1]))
    for size in np.unique(sizes):
        # A column of the items of each prompt of this size.
        [same] = np.nonzero(sizes == size)
        items = order[starts[same] + np.arange(size)[:, None]]
        first, second = (side[items].reshape(size, -1) for side in (x, y))
        values[same] = correlations(first, second, kind).reshape(len(same), -1)
    return values


def _why_undefined(x: Array, y: Array) -> Reason | None:
    if len(x) == 0:
        return Reason.NO_SHARED_ITEMS
    if len(x) < 2:
        return Reason.FEW_ITEMS
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return Reason.CONSTANT_RATER
    return None


def _centred(scores: Array) -> Array:
    return scaled_to_unit(scores - np.median(scores))


@dataclass(frozen=True, slots=True)
class Ranks:
    """`ranks` is `(items, raters)`: 1 is the lowest rating of that rater in that prompt,
    ties share their mean rank, gaps stay gaps. `ties` is `(prompts, raters)`: Σ(t³ − t)
    over that rater's groups of t tied items, which tie corrections need."""

    ranks: Array
    ties: Array


def ranks_within(ratings: ArrayLike, prompts: Labels | None = None) -> Ranks:
    """Rank the items of each prompt that a rater rated, for each rater.

    >>> ranks_within([[7.0], [9.0], [7.0]]).ranks.ravel().tolist()
    [1.5, 3.0, 1.5]
    """
    array = as_ratings(ratings)
    names, codes = encode_labels(prompts, len(array))
    n_raters = array.shape[1]
    items, raters = np.nonzero(~np.isnan(array))
    values = array[items, raters]
    rankings = codes[items] * n_raters + raters
    order = np.lexsort((values, rankings))
    items, raters, values, rankings = items[order], raters[order], values[order], rankings[order]

    # A run is a group of tied ratings of one rater in one prompt.
    place = np.arange(len(values))
    opens_ranking = np.diff(rankings, prepend=-1) != 0
    opens_run = opens_ranking | (np.diff(values, prepend=np.nan) != 0)
    run = np.cumsum(opens_run) - 1
    lengths = np.bincount(run)
    ranking_start = np.maximum.accumulate(np.where(opens_ranking, place, 0))
    run_start = place[opens_run][run]

    ranks = np.full(array.shape, np.nan)
    ranks[items, raters] = run_start - ranking_start + (lengths[run] + 1) / 2
    sizes = lengths.astype(np.float64)
    ties = np.zeros(len(names) * n_raters)
    np.add.at(ties, rankings[opens_run], sizes**3 - sizes)
    return Ranks(ranks, ties.reshape(len(names), n_raters))


MOST_CELLS = 2**19
"""Columns are correlated together up to this number of weights, or of pairs of items."""
MOST_WEIGHTS = 2**22
"""So many weights of pairs of items are held at a time."""
MOST_PAIRS = 2**16
"""Above this number of ordered pairs of items a resample τ is computed by sorting."""


def correlations(x: Array, y: Array, kind: CorrelationKind) -> Array:
    """Return the `correlation` of each column of `x` with that of `y` `(columns,)`, NaN where it is
    undefined.

    Args:
        x, y: `(items, columns)`, NaN where missing; a single column is that of all of the other.
    """
    return resampled_correlations(x, y, kind, unit_weights(len(x)))[0]


def resampled_correlations(
    x: Array, y: Array, kind: CorrelationKind, draws: Array, groups: Labels | None = None
) -> Array:
    """Return `correlations` in each resample `(resamples, columns)`.

    Args:
        draws: how often a resample draws an item, whole numbers `(resamples, items)`.
        groups: for `pearson`, a label an item: deviations are from the groups' means.
    """
    order, starts = np.arange(len(x)), np.zeros(1, dtype=np.intp)
    if groups is not None:
        codes = encode_labels(groups, len(x))[1]
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    n_columns = y.shape[1] if x.shape[1] == 1 else x.shape[1]
    if not len(x) or not n_columns:
        return np.full((len(draws), n_columns), nan)
    of_tau = kind in ("tau_b", "tau_c")
    at_once = max(1, MOST_CELLS // (len(x) * (len(x) // 2 + 1 if of_tau else len(draws))))
    values = []
    for first in range(0, n_columns, at_once):
        columns = [
            side if side.shape[1] == 1 else side[:, first : first + at_once] for side in (x, y)
        ]
        missing = np.isnan(columns[0] + columns[1])
        if missing.any():
            columns = [np.where(missing, nan, side) for side in columns]
        if of_tau:
            values.append(_taus(columns[0], columns[1], draws, kind))
            continue
        drawn = draws[:, None, order]
        if missing.any():
            drawn = drawn * ~missing[order].T
        columns = [side[order].T for side in columns]
        if kind == "spearman":
            columns = [_ranks_of_distinct(side, drawn) for side in columns]
        values.append(_products([_shifted(side, starts) for side in columns], drawn, starts))
    return np.clip(np.concatenate(values, axis=1), -1, 1)


def distinct(rows: Array) -> tuple[IntArray, IntArray]:
    """Return which rows are the first of those that are alike, gaps included, and which of these
    each row is alike."""
    _, first, alike = np.unique(
        [row.tobytes() for row in rows], return_index=True, return_inverse=True
    )
    return first, alike


def _ranks_of_distinct(x: Array, drawn: Array) -> Array:
    """Return the ranks of `_ranks`, each column's once: a rater is in many comparisons."""
    first, alike = distinct(x)
    own = drawn if drawn.shape[1] == 1 else drawn[:, first]
    return _ranks(x[first], own)[0][:, alike]


def _ranks(x: Array, drawn: Array) -> tuple[Array, Array]:
    """Return the ranks of what is drawn `(resamples, columns, items)` of columns `(columns,
    items)`, and the number of its values `(resamples, columns)`. Gaps are not drawn."""
    order = np.argsort(x, axis=1)
    ordered = np.take_along_axis(x, order, 1)
    opens = np.diff(ordered, axis=1, prepend=nan) != 0
    closes = np.roll(opens, -1, axis=1)
    closes[:, -1] = True
    own = np.take_along_axis(drawn, order[None], 2)
    there = own.cumsum(axis=2)
    # Places are from the first to the last of those that are tied.
    before = np.maximum.accumulate(np.where(opens, there - own, 0), axis=2)
    upto = np.minimum.accumulate(np.where(closes, there, inf)[:, :, ::-1], axis=2)[:, :, ::-1]
    ranks = np.empty(there.shape)
    np.put_along_axis(ranks, order[None], (before + upto + 1) / 2, 2)
    return ranks, (closes & (upto > before)).sum(axis=2)


def _shifted(x: Array, starts: IntArray) -> Array:
    """Return columns `(…, items)` less the highest value of each group, which begin at `starts`,
    in units in which no square is too large or small; 0 where there is none."""
    sizes = np.diff(starts, append=x.shape[-1])
    apart = np.nan_to_num(x - np.repeat(np.fmax.reduceat(x, starts, axis=-1), sizes, axis=-1))
    return scaled_to_unit(apart, axis=-1)


def _products(sides: Sequence[Array], drawn: Array, starts: IntArray) -> Array:
    """Return Pearson's r of deviations from the groups' means `(resamples, columns)`."""
    n_items = drawn.shape[-1]
    sizes = np.diff(starts, append=n_items)
    totals = np.maximum(np.add.reduceat(drawn, starts, axis=-1), 1)
    about, lengths = [], []
    for side in sides:
        means = np.add.reduceat(drawn * side, starts, axis=-1) / totals
        deviations = side - np.repeat(means, sizes, axis=-1)
        squares = (drawn * deviations**2).sum(axis=-1)
        spread = squares > _INSIDE * (drawn * side**2).sum(axis=-1)
        about.append(deviations)
        lengths.append(np.sqrt(np.where(spread, squares, 0.0)))
    return divide((drawn * about[0] * about[1]).sum(axis=-1), lengths[0] * lengths[1])


def _taus(x: Array, y: Array, draws: Array, kind: CorrelationKind) -> Array:
    """Return τ of columns `(items, columns)`, NaN where either is missing, in each resample
    `(resamples, columns)`."""
    if len(x) ** 2 > min(MOST_PAIRS * len(draws), MOST_CELLS):
        columns = [*zip(*(side.T for side in np.broadcast_arrays(x, y)), strict=True)]
        return np.array([[_tau(a, b, own, kind) for a, b in columns] for own in draws])
    i, j = np.triu_indices(len(x), 1)
    signs = [np.sign(side[i] - side[j]) for side in (x, y)]
    if np.isnan(x + y).any():
        signs = [np.nan_to_num(sign) for sign in signs]
    whole = len(draws) == 1 and bool((draws == 1).all())

    def over_pairs(of_x: Array, of_y: Array) -> Array:
        if whole:
            return np.einsum("pc,pc->c", *np.broadcast_arrays(of_x, of_y))[None]
        products = of_x * of_y
        # The weights of pairs, of as many resamples as there is room for.
        rows = np.array_split(draws, len(draws) * len(i) // MOST_WEIGHTS + 1)
        return np.concatenate([(of[:, i] * of[:, j]) @ products for of in rows])

    agreement = over_pairs(*signs)
    if kind == "tau_b":
        untied = [over_pairs(sign, sign) for sign in signs]
        return divide(agreement, np.sqrt(untied[0] * untied[1]))
    there = draws[:, None] * ~np.isnan(x + y).T
    smaller = np.minimum(*(_ranks(side.T, there)[1] for side in (x, y)))
    return divide(2 * agreement * smaller, there.sum(axis=2) ** 2 * (smaller - 1))


def _tau(x: Array, y: Array, drawn: Array, kind: CorrelationKind) -> float:
    items = np.repeat(np.arange(len(x)), np.where(np.isnan(x + y), 0, drawn).astype(np.intp))
    if len(items) < 2:
        return nan
    return float(scipy.stats.kendalltau(x[items], y[items], variant=kind[-1]).statistic)


Alternative = Literal["greater", "less", "two-sided"]
MOST_LISTED = 6
"""Up to this number of items, all n! orders are listed."""


def permutation_p_value(
    observed: float, shuffled: ArrayLike, alternative: Alternative = "two-sided"
) -> float:
    """Return the share of shuffles at least as extreme as what was observed; `two-sided` doubles
    the smaller tail. `shuffled` `(shuffles,)` are the statistic's values under the null hypothesis.

    >>> permutation_p_value(3, [1, 2, 3, 4], "greater")
    0.6
    """
    values = np.asarray(shuffled, dtype=np.float64)
    # A shuffle that gives the data back must count, whatever the order of its sums.
    slack = ROUNDING * max(1.0, abs(observed))
    above = (1 + np.sum(values >= observed - slack)) / (1 + len(values))
    below = (1 + np.sum(values <= observed + slack)) / (1 + len(values))
    tails = {"greater": above, "less": below, "two-sided": min(1.0, 2 * min(above, below))}
    return float(tails[alternative])


_LIMITS = (-1.0, 1.0)
_INSIDE = 1e-24
"""The share of a quantity's sum of squares inside groups below which it is the rounding of the
groups' means."""


def correlation_within(x: ArrayLike, y: ArrayLike, groups: Labels) -> Statistic:
    """Return Pearson's r of the deviations from the groups' means.

    How to read it: as Pearson's r, of differences inside groups alone: 1, every item above its
    group's mean on one quantity is above it on the other.

    Args:
        x, y: `(items,)`, NaN where missing.
        groups: a label an item.

    Returns:
        A value in [−1, 1], without a p-value: `correlation_test` has one where it is groups that
        are a sample. `n_items` are those with both quantities, in groups of two or more.
        Undefined where there are none, or where either quantity is the same throughout each group.

    >>> round(correlation_within([1, 2, 11, 12], [1, 2, 2, 3], "aabb").value, 3)
    1.0
    """
    first, second, both = paired_scores(x, y)
    codes = encode_labels(groups, len(first))[1]
    kept = both & (np.bincount(codes[both], minlength=group_count(codes))[codes] > 1)
    if not kept.any():
        reason = Reason.FEW_ITEMS if both.any() else Reason.NO_SHARED_ITEMS
        return Statistic.undefined(reason, n_items=0, n_raters=2)
    resampled = resampled_correlation(first, second, "pearson", groups)
    return Statistic.of_weights(resampled, kept, 2, Reason.NO_VARIANCE, "correlation", _LIMITS)


def correlation_test(
    x: ArrayLike,
    y: ArrayLike,
    kind: CorrelationKind,
    prompts: Labels | None = None,
    *,
    n_permutations: int = 1999,
    confidence: float = 0.95,
    seed: int = 0,
) -> Statistic:
    """Return a correlation with a two-sided permutation p-value, and the interval of the same test.

    With prompts τ and ρ are the mean over prompts of the correlation inside each, r is that of
    deviations from the prompts' means (J. Z. Bakdash & L. R. Marusich 2017, "Repeated measures
    correlation"), and the scores of `y` are shuffled among the items of the same prompt: what comes
    only from prompts being easy or hard enters none of them. Without, it is over all items, any two
    of which may be exchanged.

    Shuffles are compared by the correlation over its standard error, whose variance is that over
    prompts (of r without prompts, over items) and, with the weight of `PRIOR` prompts, that of
    shuffles (G. K. Smyth 2004, "Linear models and empirical Bayes methods", section 3; C. J.
    DiCiccio & J. P. Romano 2017, "Robust permutation tests for correlation"). The interval holds
    the correlations θ that this test accepts, the variance of shuffles times 1 − θ² (Wilson's
    form): it leaves 0 out where p is below 1 − confidence. τ and ρ over all items are compared
    themselves, and have no interval here. Without permutations there is neither.

    Args and errors as for `correlation`, one prompt label an item, and a confidence in (0, 1).

    Returns:
        A value in [−1, 1], undefined as that of `correlation`, and with prompts where none has two
            items or a value.

    >>> scores = [1, 2, 3, 4, 5, 6]
    >>> result = correlation_test(scores, scores, "tau_b", n_permutations=99)
    >>> result.value, result.p_value
    (0.9999999999999999, 0.02)
    """
    check_confidence(confidence)
    first, second, both = paired_scores(x, y)
    if prompts is None or not both.any():
        result = correlation(x, y, kind)
    elif kind == "pearson":
        result = correlation_within(first, second, prompts)
        if result.reason:
            # Why there is none is seen prompt by prompt.
            result = correlation_by_prompt(first, second, prompts, kind).mean
    else:
        result = correlation_by_prompt(first, second, prompts, kind).mean
    if result.reason or not n_permutations:
        return replace(result, p_value=nan)
    rng, parts = np.random.default_rng(seed), list[tuple[Array, Array]]()
    of_tau = kind in ("tau_b", "tau_c")
    for _, items in items_by_label(prompts, len(first)):
        ours, theirs = (side[items[both[items]]] for side in (first, second))
        if len(ours) < 2:
            continue
        if kind == "spearman":
            ours, theirs = ranks_within(np.column_stack([ours, theirs])).ranks.T
        if not of_tau:
            # Deviations of what is constant are 0, whatever the rounding of its mean.
            ours, theirs = (
                side - side.mean() if np.ptp(side) else 0 * side for side in (ours, theirs)
            )
        # Shuffling gives no value to a prompt that has none.
        if kind == "pearson" or (np.ptp(ours) and np.ptp(theirs)):
            shuffles = rng.permuted(np.tile(theirs, (n_permutations, 1)), axis=1)
            parts.append((ours, np.concatenate([theirs[None], shuffles]).T))
    if kind == "pearson":
        return _inverted(result, _pearson_parts(parts, of_items=prompts is None), confidence)
    values = np.array(
        [
            correlations(ours[:, None], orders, kind)
            if of_tau
            else ours @ orders / sqrt(ours @ ours * (orders[:, 0] @ orders[:, 0]))
            for ours, orders in parts
        ]
    )
    if prompts is None:
        return replace(result, p_value=permutation_p_value(values[0, 0], values[0, 1:]))
    at_random = float(values[:, 1:].var(axis=1).mean())
    return _inverted(result, _Parts.of(values, np.ones((len(values), 1)), at_random), confidence)


class _Parts(NamedTuple):
    """A correlation as the mean of n parts, in the order that there is and in each shuffle
    `(orders,)`: the mean, the parts' sum of squares about it, and their variance by shuffling."""

    n: int
    means: Array
    squares: Array
    at_random: float

    @classmethod
    def of(cls, values: Array, shares: Array, at_random: float) -> _Parts:
        """Return the moments of parts `(n, orders)`, with what of the mean is each one's share
        `(n, orders or 1)`, n in all."""
        means = values.mean(axis=0)
        return cls(len(values), means, ((values - means * shares) ** 2).sum(axis=0), at_random)


def _pearson_parts(parts: Sequence[tuple[Array, Array]], *, of_items: bool) -> _Parts:
    """Return the parts of r: prompts' products of deviations, or those of all items."""
    if of_items:
        [(ours, orders)] = parts
        products, own = ours[:, None] * orders, ours[:, None] ** 2
        others, n = orders**2, len(ours)
        at_random = n / (n - 1)
    else:
        parts = [(ours, orders) for ours, orders in parts if np.any(ours) or np.any(orders)]
        n = len(parts)
        products = np.array([ours @ orders for ours, orders in parts])
        own, others = (
            np.array([[float(np.sum(side**2))] for side in sides])
            for sides in zip(*((ours, orders[:, 0]) for ours, orders in parts), strict=True)
        )
        degrees = np.array([[len(ours) - 1] for ours, _ in parts])
        at_random = n * float((own * others / degrees).sum() / own.sum() / others.sum())
    x, y = own.sum(), others[:, 0].sum()
    return _Parts.of(n * products / np.sqrt(x * y), n / 2 * (own / x + others / y), at_random)


def _inverted(result: Statistic, parts: _Parts, confidence: float) -> Statistic:
    """Return a correlation with the p-value and the interval of its studentized shuffles."""
    n, value = parts.n, result.value
    degrees = PRIOR + n - 1
    at_random, own = PRIOR * parts.at_random / (degrees * n), parts.squares / (degrees * n)
    ratios = parts.means**2 / (at_random + own)
    slack = ROUNDING * max(1.0, ratios[0])
    p_value = float((1 + np.sum(ratios[1:] >= ratios[0] - slack)) / len(ratios))
    result = replace(result, p_value=p_value)
    if reason := too_few("mean_correlation", n, result.n_items):
        return replace(result, ci=Interval(n_clusters=n, reason=reason))
    # So many shuffles may reach further where p is below the level.
    most = ceil(round((1 - confidence) * len(ratios), 6)) - 1
    low, high = -1.0, 1.0
    if most > 0:
        critical = float(np.partition(ratios[1:], -most)[-most]) + slack
        width = 1 + critical * at_random
        apart = value**2 - width * (value**2 - critical * (at_random + own[0]))
        reach = sqrt(max(float(apart), 0.0))
        low, high = (value - reach) / width, (value + reach) / width
    ends = float(max(min(low, value), -1)), float(min(max(high, value), 1))
    error = sqrt(at_random + own[0])
    return replace(result, ci=Interval(*ends, error, degrees, n))


def shuffled_sums(values: Array, n_shuffles: int, rng: np.random.Generator) -> Array:
    """Shuffle each rater's values among the items, independently, and return the sum over raters:
    `(n_shuffles, items)`. `values` is `(items, raters)`, without gaps; the orders of few items are
    drawn from the list of all."""
    n_items, n_raters = values.shape
    if n_items > MOST_LISTED:
        shuffles = rng.permuted(np.broadcast_to(values, (n_shuffles, *values.shape)), axis=1)
        return shuffles.sum(axis=2)
    orders = _orders(n_items)
    drawn = rng.integers(0, len(orders), (n_raters, n_shuffles), dtype=np.uint16)
    places = drawn + len(orders) * np.arange(n_raters)[:, None]
    # What each rater gives to an item in each order, rater after rater.
    shares = [values[order].T.ravel() for order in orders.T]
    return np.stack([own.take(places).sum(axis=0) for own in shares], axis=1)


@cache
def _orders(n_items: int) -> IntArray:
    """Return all orders of n items `(orders, items)`."""
    return np.array(list(permutations(range(n_items))), dtype=np.intp)
