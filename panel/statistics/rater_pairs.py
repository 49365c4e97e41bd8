"""Agreement on categories, and of every two raters: Cohen's and Fleiss' κ, majorities, confusion;
τ_b, ρ and κ of all pairs at once, and their mean.

Sources: J. Cohen (1960), "A coefficient of agreement for nominal scales", and (1968), "Weighted
kappa"; J. L. Fleiss (1971), "Measuring nominal scale agreement among many raters", with gaps K. L.
Gwet (2014), *Handbook of Inter-Rater Reliability*, 4th ed., ch. 2; D. V. Cicchetti & A. R.
Feinstein (1990), "High agreement but low kappa: II", and J. L. Fleiss et al. (2003), *Statistical
Methods for Rates and Proportions*, 3rd ed., ch. 18 (agreement on a category); A. Agresti (2010),
*Analysis of Ordinal Categorical Data*, ch. 7 and 8 (tables of values).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from persona_panel.statistics.core.arrays import (
    Array,
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
    has_ratings,
    mean_of,
    mean_there,
    paired_scores,
    resampled_ratio,
    why_few,
)
from persona_panel.statistics.core.correlation import (
    CorrelationKind,
    correlations,
    resampled_correlations,
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

    def matrix(self, counts: Array, statistic: PairStatistic) -> Array:
        """Return a statistic of every two raters `(raters, raters)` from counts such as these."""
        if statistic in _KAPPAS:
            values = self.values
            return _kappas(counts, _distance(values[:, None], values, _KAPPAS[statistic]))
        return _quotient(*(tau_b_sums if statistic == "tau_b" else spearman_sums)(counts))


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
        weights: how a disagreement counts: `none` (all alike), `linear` (by its
            distance), `quadratic` (by its square). Distances are between the values: a pair
            who never use a 3 are two apart at 2 and 4.

    Returns:
        κ in [−1, 1] without weights; with them, at most 1. Undefined without a shared
        item or where either rater gives one value only: the formula then gives 0 however
        much the other agrees, or nothing at all.

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
    values = [np.unique(side) for side in (first, second)]
    has_x, has_y = (
        count_by_item(side[:, None], own) for side, own in zip((first, second), values, strict=True)
    )
    distance = _distance(first, second, weights)
    apart = _distance(values[0][:, None], values[1], weights)

    def statistic(drawn: Array) -> Array:
        drawn = drawn[:, both]
        counts_x, counts_y = drawn @ has_x, drawn @ has_y
        observed = (drawn @ distance) * drawn.sum(axis=1)
        expected = ((counts_x @ apart) * counts_y).sum(axis=1)
        defined = ((counts_x > 0).sum(axis=1) > 1) & ((counts_y > 0).sum(axis=1) > 1)
        return np.where(defined, 1 - divide(observed, expected), np.nan)

    kind: EstimateKind = "kappa" if weights == "none" else "number"
    limits = (-1.0 if weights == "none" else -inf, 1.0)
    return Statistic.of_weights(statistic, both, 2, Reason.CONSTANT_RATER, kind, limits)


def _kappas(counts: Array, apart: Array) -> Array:
    """Return κ of every two raters from counts, with the distances of the values."""
    first, second = counts_of_the_first(counts), counts.sum(axis=1)
    observed = np.tensordot(counts, apart, axes=((1, 3), (0, 1))) * first.sum(axis=1)
    # Rater, value of the first, rater, as what the second gives on average is apart from it.
    expected = (first * (second @ apart).transpose(0, 2, 1)).sum(axis=1)
    several = ((first > 0).sum(axis=1) > 1) & ((second > 0).sum(axis=2) > 1)
    return np.where(several, 1 - divide(observed, expected), np.nan)


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
    return resampled_ratio(joined, ratings_each)


CELLS_AT_ONCE = 2_000_000
"""Shuffled ranks, or differences between items, that are held at a time: 16 MB."""
_Signs = NDArray[np.float32]


def tau_b_matrix(ratings: ArrayLike) -> Array:
    """Return τ_b of every two raters over the items that both rated: `(raters, raters)`.

    NaN where a pair shares no two items or one of them is constant on those.

    >>> tau_b_matrix([[1, 3], [2, 2], [3, 1]]).round(3).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    array = as_ratings(ratings)
    if (tables := ValueTables.of(array)) is not None:
        return _quotient(*tau_b_sums(tables.counts))
    return _quotient(*_weighted_sums(array, np.zeros((1, len(array)))))[0]


def _quotient(together: Array, own: Array) -> Array:
    return divide(together, np.sqrt(own) * np.sqrt(np.swapaxes(own, -1, -2)))


def _weighted_sums(array: Array, missing: Array) -> Sums:
    """Return the sums over pairs of items, less what is `missing` `(resamples, items)`."""
    n_raters = array.shape[1]
    square = n_raters * n_raters
    total = np.zeros((2, 1, square))
    less = np.zeros((2, len(missing), square))
    for rows, signs, rated in _blocks(array):
        sides = np.swapaxes(signs, 1, 2) @ signs, np.swapaxes(np.abs(signs), 1, 2) @ rated
        for place, by_item in enumerate(sides):
            of_items = by_item.reshape(len(signs), square).astype(np.float64)
            total[place] += of_items.sum(axis=0)
            less[place] += missing[:, rows] @ of_items
    sums = total - 2 * less
    for row, of_row in enumerate(missing):
        items = np.flatnonzero(of_row)
        share = of_row[items]
        for rows, signs, rated in _blocks(array[items]):
            both = (share[rows, None] * share[None, :]).reshape(-1, 1)
            flat, there = signs.reshape(-1, n_raters), rated.reshape(-1, n_raters)
            sums[0, row] += ((flat * both).T @ flat).ravel()
            sums[1, row] += ((np.abs(flat) * both).T @ there).ravel()
    shape = (len(missing), n_raters, n_raters)
    # A sum of whole numbers, which rounding of fractional weights alone can bring below 0.
    return sums[0].reshape(shape), np.maximum(sums[1], 0).reshape(shape)


def _blocks(array: Array) -> Iterator[tuple[slice, _Signs, _Signs]]:
    rows = max(1, CELLS_AT_ONCE // max(1, array.size))
    for start in range(0, len(array), rows):
        some = slice(start, start + rows)
        differences = array[some, None, :] - array[None, :, :]
        rated = ~np.isnan(differences)
        signs = np.sign(differences, where=rated, out=np.zeros_like(differences))
        yield some, signs.astype(np.float32), rated.astype(np.float32)


PairStatistic = Literal[
    "tau_b",
    "spearman",
    "pearson",
    "cohen_kappa_none",
    "cohen_kappa_linear",
    "cohen_kappa_quadratic",
]
_KAPPAS: Mapping[str, KappaWeights] = {
    f"cohen_kappa_{weights}": weights for weights in get_args(KappaWeights)
}


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Every pair counts alike, whatever the number of items shared. A pair with a constant
    rater has no value (NaN) and does not enter `mean`; `n_undefined` counts those."""

    mean: Statistic
    pairs: IntArray
    values: Array
    n_undefined: int


def pairwise(ratings: ArrayLike, statistic: PairStatistic, *, min_shared: int = 2) -> Pairwise:
    """Return a statistic of each pair of raters, and the mean over pairs.

    How to read it: 1 where every two raters agree in full, 0 no agreement beyond chance; −1 is
    possible for two raters only, as of three or more not all pairs can be opposed.

    Args:
        statistic: a correlation, or Cohen's κ by its weights.
        min_shared: pairs who share fewer items are left out.

    Returns:
        The pairs as columns `(pairs, 2)` and their values `(pairs,)`.

    >>> result = pairwise([[1, 1, 3], [2, 2, 2], [3, 3, 1]], "tau_b")
    >>> result.values.round(3).tolist()
    [1.0, -1.0, -1.0]
    >>> round(result.mean.value, 3)
    -0.333
    """
    array = as_ratings(ratings)
    pairs = _pairs(array, statistic, min_shared)
    tables = None if statistic == "pearson" else ValueTables.of(array)
    first, second = pairs.T
    if tables is not None:
        values = tables.matrix(tables.counts, statistic)[first, second]
    elif statistic == "tau_b":
        values = tau_b_matrix(array)[first, second]
    elif statistic in _KAPPAS:
        values = np.array(
            [cohen_kappa(array[:, a], array[:, b], _KAPPAS[statistic]).value for a, b in pairs]
        )
    else:
        values = correlations(array[:, first], array[:, second], cast(CorrelationKind, statistic))
    defined = ~np.isnan(values)
    raters = np.unique(pairs[defined])
    rated = ~np.isnan(array)
    n_items = int((rated[:, raters].sum(axis=1) >= 2).sum())
    if defined.any():
        mean = Statistic(float(values[defined].mean()), n_items, len(raters))
    else:
        mean = Statistic.undefined(
            why_few(rated, Reason.CONSTANT_RATER if len(pairs) else Reason.NO_PAIRS)
        )
    kind: EstimateKind = "correlation"
    if statistic in _KAPPAS:
        kind = "kappa" if statistic == "cohen_kappa_none" else "number"
    limits = (-inf if statistic in _KAPPAS else -1.0, 1.0)
    mean = mean.with_weights(
        lambda weights: _resampled(array, tables, pairs, statistic, weights),
        has_ratings(array, 2),
        kind,
        limits,
    )
    return Pairwise(mean, pairs, values, int((~defined).sum()))


def _resampled(
    array: Array,
    tables: ValueTables | None,
    pairs: IntArray,
    statistic: PairStatistic,
    weights: Array,
) -> Array:
    """Return the mean over pairs; one that a resample leaves undefined does not enter its mean."""
    first, second = pairs.T
    if tables is not None:
        left_out = (tables.without(missing) for missing in 1 - weights)
        matrices = np.array([tables.matrix(counts, statistic) for counts in left_out])
    elif statistic == "tau_b":
        matrices = _quotient(*_weighted_sums(array, 1 - weights))
    elif (kappa := _KAPPAS.get(statistic)) is not None:
        kappas = [cohen_kappa(array[:, a], array[:, b], kappa).resampled for a, b in pairs]
        return mean_of(kappas)(weights)
    else:
        kind = cast(CorrelationKind, statistic)
        sides = array[:, first], array[:, second]
        return mean_there(resampled_correlations(*sides, kind, weights), 1)
    return mean_there(matrices[:, first, second], 1)


def _pairs(array: Array, statistic: str, min_shared: int) -> IntArray:
    """Return the pairs of raters who share enough items `(pairs, 2)`."""
    check_choice("statistic", statistic, PairStatistic)
    rated = (~np.isnan(array)).astype(np.float64)
    return np.argwhere(np.triu(rated.T @ rated >= min_shared, 1))
