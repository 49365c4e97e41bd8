"""Kendall's τ_b and Spearman's ρ of every two raters, and whether they rank alike.

Each rater becomes the signs of all differences between items, zero where a rating is missing.
Products of those signs count the agreements of two raters, and the pairs of items that one tells
apart among those that the other rated. Both are sums over pairs of items, so what leaving out a
few items takes away needs only the pairs that those items are in. Twice a centred rank is the
sum of an item's signs, so that ρ needs no more. Where ratings have few values, both sums come from
`persona_panel.statistics.agreement.value_tables`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from persona_panel.statistics.agreement.value_tables import (
    Sums,
    ValueTables,
    mean_over_pairs,
    resampled_mean_of,
    spearman_sums,
    tau_b_sums,
)
from persona_panel.statistics.core.arrays import Array, IntArray, Resampled, as_ratings, divide

CELLS_AT_ONCE = 2_000_000
"""Differences between items that are held at a time: 8 MB an array."""

_Signs = NDArray[np.float32]


def tau_b_matrix(ratings: ArrayLike) -> Array:
    """τ_b of every two raters over the items that both rated: `(raters, raters)`.

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
    """Spearman's ρ of every two raters over the items that both rated: `(raters, raters)`.

    NaN as in `tau_b_matrix`.

    >>> spearman_matrix([[1, 3], [2, 2], [3, 1]]).round(3).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
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
    have the same best ones: `(raters, raters)` each, 1 or 0, NaN where they share no two items.

    >>> same_rankings([[3, 3], [1, 2], [2, 1]])[1].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
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
    """The mean τ_b of these pairs of raters `(pairs, 2)` as a function of resampling weights; a
    pair that a resample leaves undefined does not enter that resample's mean."""
    array = as_ratings(ratings)
    if (tables := ValueTables.of(array)) is not None:
        return resampled_mean_of(tables, lambda counts: _quotient(*tau_b_sums(counts)), pairs)
    return lambda weights: mean_over_pairs(_quotient(*_weighted_sums(array, 1 - weights)), pairs)


def resampled_mean_spearman(ratings: ArrayLike, pairs: IntArray) -> Resampled | None:
    """The same of Spearman's ρ; None where ratings have too many values for it to be faster than
    one pair after the other."""
    tables = ValueTables.of(as_ratings(ratings))
    if tables is None:
        return None
    return resampled_mean_of(tables, lambda counts: _quotient(*spearman_sums(counts)), pairs)


def _quotient(together: Array, own: Array) -> Array:
    """Return what two raters share over the root of what each has of its own."""
    return divide(together, np.sqrt(own) * np.sqrt(np.swapaxes(own, -1, -2)))


def _weighted_sums(array: Array, missing: Array) -> Sums:
    """The sums over pairs of items, weighted by what `missing` `(resamples, items)` leaves of
    each item: with w = 1 − d, Σ wᵢ wⱼ xᵢⱼ is Σ xᵢⱼ − 2 Σ dᵢ xᵢⱼ + Σ dᵢ dⱼ xᵢⱼ."""
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
    """Some items at a time against all: which, the signs of their differences
    `(some, items, raters)`, and 1 where a rater rated both, else 0."""
    rows = max(1, CELLS_AT_ONCE // max(1, array.size))
    for start in range(0, len(array), rows):
        some = slice(start, start + rows)
        differences = array[some, None, :] - array[None, :, :]
        rated = ~np.isnan(differences)
        signs = np.sign(differences, where=rated, out=np.zeros_like(differences))
        yield some, signs.astype(np.float32), rated.astype(np.float32)
