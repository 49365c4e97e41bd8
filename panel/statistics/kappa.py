"""Agreement on categories: tables of values, Cohen's and Fleiss' κ, majorities and confusion.

Sources: J. Cohen (1960), "A coefficient of agreement for nominal scales", and (1968), "Weighted
kappa"; J. L. Fleiss (1971), "Measuring nominal scale agreement among many raters", with gaps K. L.
Gwet (2014), *Handbook of Inter-Rater Reliability*, 4th ed., ch. 2; D. V. Cicchetti & A. R.
Feinstein (1990), "High agreement but low kappa: II", and J. L. Fleiss et al. (2003), *Statistical
Methods for Rates and Proportions*, 3rd ed., ch. 18 (agreement on a category); A. Agresti (2010),
*Analysis of Ordinal Categorical Data*, ch. 7 and 8 (tables of values).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    DistinctValues,
    EstimateKind,
    IntArray,
    Mask,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    check_choice,
    count_by_item,
    divide,
    has_several_values,
    mean_there,
    paired_scores,
    why_few,
)

MOST_VALUES = 32
"""With more values, the tables would cost more than they save."""
LEAST_ITEMS = 16
"""With fewer items, as in one prompt, all pairs of items are few."""

Sums = tuple[Array, Array]
"""The sums that two raters share, and those of the first rater alone: `(raters, raters)` each."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueTables:
    """The counts of each pair of values that two raters gave to an item: over all items `(raters,
    values, raters, values)`; `has_value` is whether a rater gave a value to an item, 1 or 0
    `(items, raters × values)`, `values` ascend."""

    has_value: Array
    counts: Array
    values: Array

    @classmethod
    def of(cls, ratings: Array) -> Self | None:
        """Count the pairs of values in ratings `(items, raters)`; return None where there are so
        many values that comparing all pairs of items is as fast."""
        n_items, n_raters = ratings.shape
        if n_items < LEAST_ITEMS:
            return None
        values = np.unique(ratings[~np.isnan(ratings)])
        if len(values) > MOST_VALUES or len(values) ** 2 > n_items or not len(values):
            return None
        has_value: Mask = ratings[:, :, None] == values
        flat = has_value.reshape(n_items, -1).astype(np.float64)
        shape = n_raters, len(values), n_raters, len(values)
        return cls(flat, (flat.T @ flat).reshape(shape), values)

    def without(self, missing: Array) -> Array:
        """Return the counts `(raters, values, raters, values)` less this share of each item
        `(items,)`."""
        items = np.flatnonzero(missing)
        rows = self.has_value[items]
        less = rows.T @ (rows * missing[items, None])
        return self.counts - less.reshape(self.counts.shape)


def resampled_mean_of(
    tables: ValueTables, matrix: Callable[[Array], Array], pairs: IntArray
) -> Resampled:
    """Return the mean over pairs of raters `(pairs, 2)` of what `matrix` makes `(raters, raters)`
    of counts, as a function of resampling weights."""

    def statistic(weights: Array) -> Array:
        matrices = [matrix(tables.without(missing)) for missing in 1 - weights]
        return mean_over_pairs(np.array(matrices), pairs)

    return statistic


def mean_over_pairs(matrices: Array, pairs: IntArray) -> Array:
    """Return the mean over pairs of raters `(pairs, 2)` of what each matrix `(resamples, raters,
    raters)` has; a pair without a value does not enter."""
    return mean_there(matrices[:, pairs[:, 0], pairs[:, 1]], 1)


def counts_of_the_first(counts: Array) -> Array:
    """Return how often the first of two raters gave each value to the items that the second rated
    `(raters, values, raters)`; as the tables are symmetric, from a sum that is ten times as fast as
    the sum over their last axis."""
    return counts.sum(axis=1).transpose(1, 2, 0)


def tau_b_sums(counts: Array) -> Sums:
    """Return the agreements of two raters over ordered pairs of items, and the pairs that the first
    tells apart among those that the second rated, from counts `(raters, values, raters,
    values)`."""
    n_raters, n_values = counts.shape[:2]
    signs = _signs(n_values)
    # Of each pair of values the concordant less the discordant items.
    beside = (signs @ counts.reshape(n_raters, n_values, -1)).reshape(-1, n_values) @ signs.T
    agreement = (counts * beside.reshape(counts.shape)).sum(axis=(1, 3))
    first = counts_of_the_first(counts)
    untied = first.sum(axis=1) ** 2 - (first**2).sum(axis=1)
    return agreement, np.maximum(untied, 0)


def spearman_sums(counts: Array) -> Sums:
    """Return products of two raters' centred ranks, times four, and squares of the first's, over
    the items that both rated; counts as for `tau_b_sums`."""
    first = counts_of_the_first(counts)
    # Twice the centred rank of each value of the first, `(raters, values, raters)`.
    ranks = (_signs(counts.shape[1]) @ first.reshape(*first.shape[:2], -1)).reshape(first.shape)
    others = (counts * ranks.transpose(2, 0, 1)[:, None]).sum(axis=3)
    return (ranks * others).sum(axis=1), (first * ranks**2).sum(axis=1)


def _signs(n_values: int) -> Array:
    places = np.arange(n_values)
    return np.sign(places[:, None] - places).astype(np.float64)


KappaWeights = Literal["none", "linear", "quadratic"]


def cohen_kappa(x: ArrayLike, y: ArrayLike, weights: KappaWeights = "quadratic") -> Statistic:
    """Return Cohen's κ of two raters over the items that both rated.

    How to read it: 1 is perfect agreement, 0 what two raters with these shares of each category
    would reach by chance. `none` is for categories without an order.

    Args:
        x, y: `(items,)`, NaN where missing.
        weights: how a disagreement counts: `none` (all alike), `linear` (by its
            distance), `quadratic` (by its square). Distances are between the values: a pair
            who never use a 3 are two apart at 2 and 4.

    Returns:
        κ in [−1, 1] without weights; with them, at most 1. Undefined without a shared
        item or where either rater gives one value only: the formula then gives 0 however
        much the other agrees, or nothing at all.

    Raises:
        ValueError: the shapes differ, a value is infinite, or unknown weights.

    >>> cohen_kappa([1, 1, 2, 2], [1, 1, 2, 1], "none").value
    0.5
    >>> cohen_kappa([1, 2, 3], [3, 2, 1]).value
    -1.0
    """
    check_choice("weights", weights, KappaWeights)
    first, second, both = paired_scores(x, y)
    first, second = first[both], second[both]
    if not both.any():
        return Statistic.undefined(Reason.NO_SHARED_ITEMS, n_raters=2)
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

    kind: EstimateKind = "kappa" if weights == "none" else "number"
    limits = (-1.0 if weights == "none" else -inf, 1.0)
    return Statistic.of_weights(statistic, both, 2, Reason.CONSTANT_RATER, kind, limits)


def kappa_matrix(ratings: ArrayLike, weights: KappaWeights) -> Array | None:
    """Return Cohen's κ of every two raters `(raters, raters)`, NaN where it is undefined; None
    where ratings have too many values for it to be faster than one pair after the other."""
    tables = ValueTables.of(as_ratings(ratings))
    return None if tables is None else _kappa_of(tables, weights)(tables.counts)


def resampled_mean_kappa(
    ratings: ArrayLike, pairs: IntArray, weights: KappaWeights
) -> Resampled | None:
    """Return the mean Cohen's κ of these pairs of raters `(pairs, 2)` as a function of resampling
    weights; None as for `kappa_matrix`."""
    tables = ValueTables.of(as_ratings(ratings))
    return None if tables is None else resampled_mean_of(tables, _kappa_of(tables, weights), pairs)


def _kappa_of(tables: ValueTables, weights: KappaWeights) -> Callable[[Array], Array]:
    """Return κ of every two raters from counts `(raters, values, raters, values)`."""
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
    """Return Fleiss' κ of `(items, raters)`: categories are nominal, raters interchangeable.

    Agreement is over the items with at least two ratings; how common a category is, over all rated
    items, each counting alike. How to read it: 1 is perfect agreement, 0 what raters would reach by
    chance who all use the categories as often as they were used in all.

    Returns:
        κ, at most 1. Undefined when fewer than two items have two ratings (of one item κ would be
            −1 / (raters − 1) whatever they are), or when all have one value.

    >>> round(fleiss_kappa([[1, 1, 1], [2, 2, 1], [2, 2, 2]]).value, 3)
    0.55
    """
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    counts = count_by_item(array, np.unique(array[~np.isnan(array)]))
    sizes = counts.sum(axis=1)
    pairable = sizes >= 2
    agreement = np.nan_to_num(divide((counts * (counts - 1)).sum(axis=1), sizes * (sizes - 1)))
    shares = np.nan_to_num(divide(counts, sizes[:, None]))

    def statistic(weights: Array) -> Array:
        observed = divide(weights @ agreement, weights @ pairable)
        common = divide(weights @ shares, (weights @ (sizes > 0))[:, None])
        several = ((common > 0).sum(axis=1) > 1) & (weights @ pairable > 1)
        expected = (common**2).sum(axis=1)
        return np.where(several, divide(observed - expected, 1 - expected), np.nan)

    n_raters = int(rated.any(axis=0).sum())
    why = why_few(rated, Reason.FEW_ITEMS if pairable.sum() < 2 else Reason.ONE_VALUE)
    return Statistic.of_weights(statistic, pairable, n_raters, why, "kappa", (-inf, 1))


def _distance(x: Array, y: Array, weights: KappaWeights) -> Array:
    distance: Array = np.abs(x - y)
    if weights == "none":
        return np.sign(distance)
    return distance if weights == "linear" else distance**2


def majority(labels: ArrayLike) -> Array:
    """Return the label that more raters gave to an item than any other `(items,)`, of `(items,
    raters)`; NaN where two labels share the first place, or nobody gave one.

    >>> majority([[0, 1, 1], [0, 1, float("nan")]]).tolist()
    [1.0, nan]
    """
    array = as_ratings(labels)
    values = np.unique(array[~np.isnan(array)])
    if not len(values):
        return np.full(len(array), np.nan)
    counts = count_by_item(array, values)
    most = counts.max(axis=1, keepdims=True)
    alone = ((counts == most).sum(axis=1) == 1) & (most[:, 0] > 0)
    return np.where(alone, values[counts.argmax(axis=1)], np.nan)


def confusion(x: ArrayLike, y: ArrayLike, n_categories: int) -> Array:
    """Return how often each pair of labels occurs: `(n_categories, n_categories)`, rows by x.

    Args:
        x, y: `(items,)`, codes from 0 to n_categories − 1, NaN where missing.

    Raises:
        ValueError: the shapes differ, or a code is not of a category.

    >>> confusion([0, 0, 1], [0, 1, 1], 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    first, second, both = paired_scores(x, y)
    pairs = np.stack([first[both], second[both]])
    if not np.isin(pairs, np.arange(n_categories)).all():
        raise ValueError(f"codes of categories are whole numbers from 0 to {n_categories - 1}")
    cells = pairs[0] * n_categories + pairs[1]
    counts = np.bincount(cells.astype(np.intp), minlength=n_categories**2)
    return counts.reshape(n_categories, n_categories).astype(np.float64)


def agreement_on(labels: ArrayLike, category: float) -> Resampled:
    """Return the agreement of raters on one category, as a function of resampling weights: values
    in [0, 1], NaN where nobody gave the label.

    How to read it: where one rater gave this label, the probability that another one of the same
    item did. Of two raters it is the F1 of the category. Items with fewer than two labels do not
    enter.

    >>> float(agreement_on([[0, 0], [0, 1], [1, 1]], 0)(np.ones((1, 3)))[0])
    0.6666666666666666
    """
    array = as_ratings(labels)
    sizes = np.sum(~np.isnan(array), axis=1)
    own = np.sum(array == category, axis=1)
    # Each item's pairs count by 1 / (n − 1), so that a rating counts alike however many there are.
    others = np.maximum(sizes - 1, 1)
    joined = np.where(sizes > 1, own * (own - 1) / others, 0.0)
    ratings_each = np.where(sizes > 1, own, 0).astype(np.float64)
    return lambda weights: divide(weights @ joined, weights @ ratings_each)


def same_label(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether two raters gave an item one label: 1 or 0 `(items,)`, NaN where either is
    missing.

    >>> same_label([0, 1, 2, np.nan], [0, 2, 2, 1])
    array([ 1.,  0.,  1., nan])
    """
    first, second, both = paired_scores(x, y)
    return np.where(both, (first == second).astype(np.float64), np.nan)
