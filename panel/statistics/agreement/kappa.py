"""Agreement beyond chance on categories: Cohen's κ of two raters, Fleiss' κ of many.

Sources: J. Cohen (1960), "A coefficient of agreement for nominal scales", and (1968),
"Weighted kappa"; J. L. Fleiss (1971), "Measuring nominal scale agreement among many
raters"; for items with gaps, K. L. Gwet (2014), *Handbook of Inter-Rater Reliability*,
4th ed., ch. 2, which is Fleiss' κ where nobody skipped an item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.agreement.value_tables import (
    ValueTables,
    counts_of_the_first,
    resampled_mean_of,
)
from persona_panel.statistics.core.arrays import (
    Array,
    DistinctValues,
    IntArray,
    Resampled,
    as_ratings,
    count_by_item,
    divide,
    has_several_values,
    paired_scores,
    unit_weights,
)
from persona_panel.statistics.core.options import check_choice
from persona_panel.statistics.core.statistic import Reason, Statistic

KappaWeights = Literal["none", "linear", "quadratic"]


def cohen_kappa(
    x: ArrayLike,
    y: ArrayLike,
    weights: KappaWeights = "quadratic",
    categories: Sequence[float] | None = None,
) -> Statistic:
    """Cohen's κ of two raters over the items that both rated.

    How to read it: 1 is perfect agreement, 0 what two raters with these shares of each category
    would reach by chance, below 0 less than that. `none` is for categories without an order;
    `linear` and `quadratic` for ordered ones, where near misses count less than far ones. κ is
    low where one category is very common, however often the two agree. Quadratic κ is close to
    Pearson's r, less what differing means and spreads cost.

    Args:
        x, y: `(items,)`, NaN where missing.
        weights: how a disagreement counts: `none` (all alike), `linear` (by its
            distance), `quadratic` (by its square).
        categories: the scale in order; distances are then between places on it. If None,
            they are between the values, so that a pair who never use a 3 are still two
            apart at 2 and 4.

    Returns:
        κ in [−1, 1] without weights; with them, at most 1. Undefined without a shared
        item or where either rater gives one value only: the formula then gives 0 however
        much the other agrees, or nothing at all.

    Raises:
        ValueError: the shapes differ, a value is infinite or not among the categories, or
            unknown weights.

    >>> cohen_kappa([1, 1, 2, 2], [1, 1, 2, 1], "none").value
    0.5
    >>> cohen_kappa([1, 2, 3], [3, 2, 1]).value
    -1.0
    """
    first, second, both = paired_scores(x, y)
    value = float(
        resampled_cohen_kappa(first, second, weights, categories)(unit_weights(len(first)))[0]
    )
    n_items = int(both.sum())
    if not np.isnan(value):
        return Statistic(value, n_items, n_raters=2)
    reason = Reason.CONSTANT_RATER if n_items else Reason.NO_SHARED_ITEMS
    return Statistic.undefined(reason, n_items=n_items, n_raters=2)


def resampled_cohen_kappa(
    x: ArrayLike,
    y: ArrayLike,
    weights: KappaWeights = "quadratic",
    categories: Sequence[float] | None = None,
) -> Resampled:
    """Cohen's κ as a function of resampling weights; args and errors as `cohen_kappa`."""
    check_choice("weights", weights, KappaWeights)
    first, second, both = paired_scores(x, y)
    first, second = first[both], second[both]
    if categories is not None:
        first, second = _places(first, categories), _places(second, categories)

    if not both.any():
        return lambda drawn: np.full(len(drawn), np.nan)
    values_x, values_y = DistinctValues.of(first), DistinctValues.of(second)
    distance = _distance(first, second, weights)
    apart = _distance(values_x.values[:, None], values_y.values[None, :], weights)

    def statistic(drawn: Array) -> Array:
        drawn = drawn[:, both]
        counts_x, counts_y = values_x.count(drawn), values_y.count(drawn)
        observed = (drawn @ distance) * drawn.sum(axis=1)
        expected = ((counts_x @ apart) * counts_y).sum(axis=1)
        defined = has_several_values(counts_x) & has_several_values(counts_y)
        return np.where(defined, 1 - divide(observed, expected), np.nan)

    return statistic


def kappa_matrix(ratings: ArrayLike, weights: KappaWeights) -> Array | None:
    """Cohen's κ of every two raters `(raters, raters)`, NaN where it is undefined; None where
    ratings have too many values for it to be faster than one pair after the other."""
    tables = ValueTables.of(as_ratings(ratings))
    return None if tables is None else _kappa_of(tables, weights)(tables.counts)


def resampled_mean_kappa(
    ratings: ArrayLike, pairs: IntArray, weights: KappaWeights
) -> Resampled | None:
    """The mean Cohen's κ of these pairs of raters `(pairs, 2)` as a function of resampling weights;
    None as for `kappa_matrix`."""
    tables = ValueTables.of(as_ratings(ratings))
    return None if tables is None else resampled_mean_of(tables, _kappa_of(tables, weights), pairs)


def _kappa_of(tables: ValueTables, weights: KappaWeights) -> Callable[[Array], Array]:
    """κ of every two raters from counts `(raters, values, raters, values)`."""
    apart = _distance(tables.values[:, None], tables.values[None, :], weights)

    def kappa(counts: Array) -> Array:
        first, second = counts_of_the_first(counts), counts.sum(axis=1)
        observed = np.tensordot(counts, apart, axes=((1, 3), (0, 1))) * first.sum(axis=1)
        # Rater, value of the first, rater, as what the second gives on average is apart from it.
        expected = (first * (second @ apart).transpose(0, 2, 1)).sum(axis=1)
        several = ((first > 0).sum(axis=1) > 1) & ((second > 0).sum(axis=2) > 1)
        return np.where(several, 1 - divide(observed, expected), np.nan)

    return kappa


def fleiss_kappa(ratings: ArrayLike) -> Statistic:
    """Fleiss' κ: categories are nominal, raters interchangeable.

    Agreement is over the items with at least two ratings; how common a category is, over
    all rated items, each counting alike.

    How to read it: 1 is perfect agreement, 0 what raters would reach by chance who all use the
    categories as often as they were used in all, below 0 less than that. It ignores any order of
    the categories, so for ratings on a scale it is far below α. With two raters it is Scott's π,
    not Cohen's κ; without gaps it comes near nominal α as items grow many.

    Args:
        ratings: `(items, raters)`, NaN where missing.

    Returns:
        κ, at most 1. Undefined when fewer than two items have two ratings (of one item κ would be
        −1 / (raters − 1) whatever they are), or when all have one value.

    Raises:
        ValueError: a wrong shape or an infinite value.

    >>> round(fleiss_kappa([[1, 1, 1], [2, 2, 1], [2, 2, 2]]).value, 3)
    0.55
    """
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    pairable = rated.sum(axis=1) >= 2
    n_items, n_raters = int(pairable.sum()), int(rated.any(axis=0).sum())
    value = float(resampled_fleiss_kappa(array)(unit_weights(len(array)))[0])
    if not np.isnan(value):
        return Statistic(value, n_items, n_raters)
    if n_raters < 2:
        reason = Reason.FEW_RATERS
    elif n_items == 0:
        reason = Reason.NO_SHARED_ITEMS
    elif n_items == 1:
        reason = Reason.FEW_ITEMS
    else:
        reason = Reason.ONE_VALUE
    return Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)


def resampled_fleiss_kappa(ratings: ArrayLike) -> Resampled:
    """Fleiss' κ as a function of resampling weights; args and errors as `fleiss_kappa`."""
    array = as_ratings(ratings)
    counts = count_by_item(array, np.unique(array[~np.isnan(array)]))
    sizes = counts.sum(axis=1)
    pairable = (sizes >= 2).astype(np.float64)
    agreement = np.nan_to_num(divide((counts * (counts - 1)).sum(axis=1), sizes * (sizes - 1)))
    shares = np.nan_to_num(divide(counts, sizes[:, None]))

    def statistic(weights: Array) -> Array:
        observed = divide(weights @ agreement, weights @ pairable)
        common = divide(weights @ shares, (weights @ (sizes > 0))[:, None])
        several = ((common > 0).sum(axis=1) > 1) & (weights @ pairable > 1)
        expected = (common**2).sum(axis=1)
        return np.where(several, divide(observed - expected, 1 - expected), np.nan)

    return statistic


def _places(scores: Array, categories: Sequence[float]) -> Array:
    scale = np.asarray(categories, dtype=np.float64)
    found = scores[:, None] == scale[None, :]
    if not found.any(axis=1).all():
        stray = scores[~found.any(axis=1)][0]
        raise ValueError(f"{stray:g} is not among the categories {list(categories)}")
    places: Array = found.argmax(axis=1).astype(np.float64)
    return places


def _distance(x: Array, y: Array, weights: KappaWeights) -> Array:
    distance: Array = np.abs(x - y)
    if weights == "none":
        return np.sign(distance)
    return distance if weights == "linear" else distance**2
