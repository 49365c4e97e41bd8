"""The agreement of every two raters: τ_b, ρ and κ of all pairs at once, and their mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from persona_panel.statistics.core.arrays import (
    Array,
    EstimateKind,
    IntArray,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    check_choice,
    divide,
    has_two_ratings,
    lazily,
    mean_of,
    why_few,
)
from persona_panel.statistics.core.correlation import CorrelationKind, correlation
from persona_panel.statistics.kappa import (
    KappaWeights,
    Sums,
    ValueTables,
    cohen_kappa,
    kappa_matrix,
    mean_over_pairs,
    resampled_mean_kappa,
    resampled_mean_of,
    spearman_sums,
    tau_b_sums,
)

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
    agreement, untied = (np.zeros((array.shape[1], array.shape[1])) for _ in range(2))
    for _, signs, rated in _blocks(array):
        flat, there = signs.reshape(-1, signs.shape[2]), rated.reshape(-1, rated.shape[2])
        agreement += (flat.T @ flat).astype(np.float64)
        untied += (np.abs(flat).T @ there).astype(np.float64)
    return _quotient(agreement, untied)


def spearman_matrix(ratings: ArrayLike) -> Array:
    """Return ρ of every two raters over the items that both rated: `(raters, raters)`."""
    array = as_ratings(ratings)
    if (tables := ValueTables.of(array)) is not None:
        return _quotient(*spearman_sums(tables.counts))
    together, squares = (np.zeros((array.shape[1], array.shape[1])) for _ in range(2))
    for _, signs, rated in _blocks(array):
        # Twice the centred rank that the first gives an item among those that the second rated.
        ranks = (np.swapaxes(signs, 1, 2) @ rated).astype(np.float64)
        together += (ranks * np.swapaxes(ranks, 1, 2)).sum(axis=0)
        squares += (ranks**2).sum(axis=0)
    return _quotient(together, squares)


def same_rankings(ratings: ArrayLike) -> tuple[Array, Array]:
    """Return whether every two raters order the items that both rated alike, ties included, and
    whether they have the same best items: `(raters, raters)` each, 1 or 0, NaN where they share no
    two items."""
    array = as_ratings(ratings)
    n_raters = array.shape[1]
    otherwise, other_best = (np.zeros((n_raters, n_raters)) for _ in range(2))
    there = (~np.isnan(array)).astype(np.float64)
    shared = there.T @ there
    for _, signs, rated in _blocks(array):
        # Of two signs, the first is another than the second: the pairs, less those alike.
        kinds = [(signs == sign) & (rated > 0) for sign in (-1, 0, 1)]
        pairs = rated.reshape(-1, n_raters)
        otherwise += (pairs.T @ pairs).astype(np.float64)
        for kind in kinds:
            flat = kind.reshape(-1, n_raters).astype(np.float32)
            otherwise -= (flat.T @ flat).astype(np.float64)
        below = np.swapaxes(kinds[0].astype(np.float32), 1, 2) @ rated
        own = rated.max(axis=1)
        best = (below == 0) & (own[:, :, None] > 0) & (own[:, None, :] > 0)
        other_best += (best != np.swapaxes(best, 1, 2)).sum(axis=0)
    return tuple(  # type: ignore[return-value]
        np.where(shared >= 2, differing == 0, np.nan) for differing in (otherwise, other_best)
    )


def resampled_mean_tau_b(ratings: ArrayLike, pairs: IntArray) -> Resampled:
    """Return the mean τ_b of these pairs of raters `(pairs, 2)` as a function of resampling
    weights; a pair that a resample leaves undefined does not enter that resample's mean."""
    array = as_ratings(ratings)
    if (tables := ValueTables.of(array)) is not None:
        return resampled_mean_of(tables, lambda counts: _quotient(*tau_b_sums(counts)), pairs)
    return lambda weights: mean_over_pairs(_quotient(*_weighted_sums(array, 1 - weights)), pairs)


def resampled_mean_spearman(ratings: ArrayLike, pairs: IntArray) -> Resampled | None:
    """Return the same of Spearman's ρ; None where ratings have too many values for it to be faster
    than one pair after the other."""
    tables = ValueTables.of(as_ratings(ratings))
    if tables is None:
        return None
    return resampled_mean_of(tables, lambda counts: _quotient(*spearman_sums(counts)), pairs)


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
        ratings: `(items, raters)`, NaN where missing.
        statistic: a correlation, or Cohen's κ by its weights.
        min_shared: pairs who share fewer items are left out.

    Returns:
        The pairs as columns `(pairs, 2)` and their values `(pairs,)`.

    Raises:
        ValueError: a wrong shape, an infinite value, or an unknown statistic.

    >>> result = pairwise([[1, 1, 3], [2, 2, 2], [3, 3, 1]], "tau_b")
    >>> result.values.round(3).tolist()
    [1.0, -1.0, -1.0]
    >>> round(result.mean.value, 3)
    -0.333
    """
    array = as_ratings(ratings)
    pairs = _pairs(array, statistic, min_shared)
    matrix = _matrix(array, statistic)
    if matrix is not None:
        values = matrix[pairs[:, 0], pairs[:, 1]]
    else:
        values = np.array([_of_pair(array[:, a], array[:, b], statistic).value for a, b in pairs])
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
    limits = (-inf, 1.0 if statistic in _KAPPAS else inf)
    resampled = lazily(lambda: _resampled(array, pairs, statistic))
    mean = mean.with_weights(resampled, has_two_ratings(array), kind, limits)
    return Pairwise(mean, pairs, values, int((~defined).sum()))


def _resampled(array: Array, pairs: IntArray, statistic: PairStatistic) -> Resampled:
    """Return the mean over pairs; one that a resample leaves undefined does not enter its mean."""
    together = None
    if statistic == "tau_b":
        together = resampled_mean_tau_b(array, pairs)
    elif statistic == "spearman":
        together = resampled_mean_spearman(array, pairs)
    elif statistic in _KAPPAS:
        together = resampled_mean_kappa(array, pairs, _KAPPAS[statistic])
    of_pairs = (_of_pair(array[:, a], array[:, b], statistic) for a, b in pairs)
    return together or mean_of([pair.resampled for pair in of_pairs])


def _matrix(array: Array, statistic: PairStatistic) -> Array | None:
    """Return the values of all pairs at once; of κ only where ratings have few values."""
    if statistic == "tau_b":
        return tau_b_matrix(array)
    if statistic == "spearman":
        return spearman_matrix(array)
    return kappa_matrix(array, _KAPPAS[statistic]) if statistic in _KAPPAS else None


def _of_pair(x: Array, y: Array, statistic: PairStatistic) -> Statistic:
    if statistic in _KAPPAS:
        return cohen_kappa(x, y, _KAPPAS[statistic])
    return correlation(x, y, cast(CorrelationKind, statistic))


def _pairs(array: Array, statistic: str, min_shared: int) -> IntArray:
    """Return the pairs of raters who share enough items `(pairs, 2)`."""
    check_choice("statistic", statistic, PairStatistic)
    rated = (~np.isnan(array)).astype(np.float64)
    return np.argwhere(np.triu(rated.T @ rated >= min_shared, 1))
