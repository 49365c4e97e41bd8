"""How two sets of scores go together: τ_b, τ_c, Spearman's ρ, Pearson's r.

The values are scipy's. The resampled forms are ours, since scipy has none: each equals
scipy's statistic on the resampled pairs, and takes all resamples at once.

Sources: M. G. Kendall (1945), "The treatment of ties in ranking problems" (τ_b; the form
in the SCRuB paper, section 14.5); A. Stuart (1953), "The estimation and comparison of
strengths of association in contingency tables" (τ_c).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    DistinctValues,
    Labels,
    Resampled,
    divide,
    has_several_values,
    items_by_label,
    paired_scores,
    scaled_to_unit,
)
from persona_panel.statistics.core.options import check_choice
from persona_panel.statistics.core.statistic import Reason, Statistic

CorrelationKind = Literal["tau_b", "tau_c", "spearman", "pearson"]

ROWS_AT_ONCE = 256
"""Rows of an item × item matrix held at a time."""


def correlation(x: ArrayLike, y: ArrayLike, kind: CorrelationKind) -> Statistic:
    """The correlation of two sets of scores over the items that both have.

    How to read it: 1 the same order (`pearson`: points on a rising line), 0 none in common, −1
    the opposite order. τ_b: (1 + τ_b) / 2 of the pairs of items are ordered alike, where there
    are no ties; it is smaller than ρ by nature (ρ is about 1.5 τ around 0). Where one side has
    few values, τ_b cannot reach 1 and τ_c can. `pearson` alone takes ratings as an interval
    scale; none of them sees that one side's scores are all higher or wider than the other's.

    Args:
        x, y: `(items,)`, NaN where missing.
        kind: `tau_b` corrects for ties on either side; `tau_c` suits scores with
            different numbers of possible values; `spearman` and `pearson`.

    Returns:
        A value in [−1, 1] and scipy's two-sided p-value, which takes items as
        independent (see `permutation.correlation_test` for responses to shared prompts).
        Undefined without two shared items, or where either side is constant on them.

    Raises:
        ValueError: the shapes differ, a value is infinite, or an unknown kind.

    >>> correlation([1, 2, 3, 4], [10, 30, 20, 40], "spearman").value
    0.7999999999999999
    >>> round(correlation([1, 2, 3, 4], [10, 30, 20, 40], "tau_b").value, 3)
    0.667
    """
    _check(kind)
    first, second, both = paired_scores(x, y)
    first, second = first[both], second[both]
    n_items = len(first)
    reason = _why_undefined(first, second)
    if reason:
        return Statistic.undefined(reason, n_items=n_items, n_raters=2)
    if kind == "pearson":
        result = scipy.stats.pearsonr(_centred(first), _centred(second))
    elif kind == "spearman":
        result = scipy.stats.spearmanr(first, second)
    else:
        result = scipy.stats.kendalltau(first, second, variant=kind[-1])
    # scipy's rounding can pass the bounds by a hair.
    value = float(np.clip(result.statistic, -1, 1))
    # With two pairs there is no distribution to take a p-value from.
    p_value = float(result.pvalue) if n_items > 2 else float("nan")
    return Statistic(value, n_items, n_raters=2, p_value=p_value)


def resampled_correlation(x: ArrayLike, y: ArrayLike, kind: CorrelationKind) -> Resampled:
    """The correlation as a function of resampling weights; args as for `correlation`."""
    _check(kind)
    first, second, both = paired_scores(x, y)
    if not both.any():
        return lambda weights: np.full(len(weights), np.nan)
    function = _RESAMPLED[kind](first[both], second[both])
    return lambda weights: np.clip(function(weights[:, both]), -1, 1)


def within_prompts(
    x: ArrayLike, y: ArrayLike, prompts: Labels, kind: CorrelationKind
) -> tuple[tuple[object, Statistic], ...]:
    """The correlation inside each prompt, in order of appearance; their mean is taken by
    `prompts.over_prompts`. Args and errors as for `correlation`, and one label an item.

    How to read it: as `correlation`, of the items of one prompt; the difference between easy and
    hard prompts does not enter. Few items make values of few sizes (two items: 1 or −1).

    >>> found = within_prompts([1, 2, 5, 6], [2, 1, 5, 7], "aabb", "tau_b")
    >>> [(prompt, statistic.value) for prompt, statistic in found]
    [('a', -1.0), ('b', 1.0)]
    """
    first, second, _ = paired_scores(x, y)
    return tuple(
        (name, correlation(first[items], second[items], kind))
        for name, items in items_by_label(prompts, len(first))
    )


def _check(kind: str) -> None:
    check_choice("kind", kind, CorrelationKind)


def _why_undefined(x: Array, y: Array) -> Reason | None:
    if len(x) == 0:
        return Reason.NO_SHARED_ITEMS
    if len(x) < 2:
        return Reason.FEW_ITEMS
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return Reason.CONSTANT_RATER
    return None


def _agreement(x: Array, y: Array, weights: Array) -> Array:
    """The concordant less the discordant of the ordered pairs of items, weighted
    `(resamples,)`; whole numbers, so exact."""
    total = np.zeros(len(weights))
    for start in range(0, len(x), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        signs = np.sign(x[rows, None] - x[None, :]) * np.sign(y[rows, None] - y[None, :])
        total += np.einsum("rj,rj->r", weights[:, rows] @ signs, weights)
    return total


def _tau_b(x: Array, y: Array) -> Resampled:
    sides = (DistinctValues.of(x), DistinctValues.of(y))

    def statistic(weights: Array) -> Array:
        pairs = weights.sum(axis=1) ** 2
        # Ordered pairs of different values, those of an item with itself never among them.
        first, second = (pairs - (side.count(weights) ** 2).sum(axis=1) for side in sides)
        return divide(_agreement(x, y, weights), np.sqrt(first) * np.sqrt(second))

    return statistic


def _tau_c(x: Array, y: Array) -> Resampled:
    """τ_c = 2 (concordant − discordant) / (n² (m − 1) / m), m the smaller number of
    distinct values; the sum over ordered pairs already holds the 2."""
    sides = (DistinctValues.of(x), DistinctValues.of(y))

    def statistic(weights: Array) -> Array:
        smaller = np.minimum(*((side.count(weights) > 0).sum(axis=1) for side in sides))
        return divide(_agreement(x, y, weights) * smaller, weights.sum(axis=1) ** 2 * (smaller - 1))

    return statistic


def _spearman(x: Array, y: Array) -> Resampled:
    sides = (DistinctValues.of(x), DistinctValues.of(y))

    def statistic(weights: Array) -> Array:
        counts = [side.count(weights) for side in sides]
        # Mid-ranks up to a constant, which r does not see.
        rank_x, rank_y = (
            (np.cumsum(count, axis=1) - count / 2)[:, side.codes]
            for side, count in zip(sides, counts, strict=True)
        )
        values = _weighted_pearson(rank_x, rank_y, weights)
        return np.where(
            has_several_values(counts[0]) & has_several_values(counts[1]), values, np.nan
        )

    return statistic


def _pearson(x: Array, y: Array) -> Resampled:
    sides = (DistinctValues.of(x), DistinctValues.of(y))
    centred_x, centred_y = _centred(x)[None], _centred(y)[None]

    def statistic(weights: Array) -> Array:
        values = _weighted_pearson(centred_x, centred_y, weights)
        defined = has_several_values(sides[0].count(weights)) & has_several_values(
            sides[1].count(weights)
        )
        return np.where(defined, values, np.nan)

    return statistic


def _centred(scores: Array) -> Array:
    """Scores about their median and of magnitude one, which leaves r as it is.

    The difference of two nearly equal scores is exact, so scores that differ in their
    last digits only do not lose them (nor does scipy warn of it).
    """
    return scaled_to_unit(scores - np.median(scores))


def _weighted_pearson(x: Array, y: Array, weights: Array) -> Array:
    """Pearson's r of each row of x and y `(resamples or 1, items)`, weighted."""
    n = weights.sum(axis=1, keepdims=True)
    x = x - divide((weights * x).sum(axis=1, keepdims=True), n)
    y = y - divide((weights * y).sum(axis=1, keepdims=True), n)
    covariance, variance_x, variance_y = (
        (weights * product).sum(axis=1) for product in (x * y, x * x, y * y)
    )
    return divide(covariance, np.sqrt(variance_x) * np.sqrt(variance_y))


_RESAMPLED: dict[CorrelationKind, Callable[[Array, Array], Resampled]] = {
    "tau_b": _tau_b,
    "tau_c": _tau_c,
    "spearman": _spearman,
    "pearson": _pearson,
}
