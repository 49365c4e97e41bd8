"""Many correlations at once: each column of one matrix with that of another.

Source: W. R. Knight (1966), "A computer method for calculating Kendall's tau with ungrouped data",
for τ of many items: by sorting, in place of all pairs.
"""

from __future__ import annotations

import numpy as np

from persona_panel.statistics.core.arrays import Array, IntArray, divide
from persona_panel.statistics.core.ranks import ranks_within
from persona_panel.statistics.humans.correlation import CorrelationKind

MOST_ITEMS = 64
"""Of more items τ is computed column by column, by sorting."""
BLOCK = 64
"""Items of which all pairs are compared when values that stand in the other order are counted."""
MOST_COUNTS = 4_000_000
"""Counts of values that are held at a time: 32 MB."""
_LATER = np.triu(np.ones((BLOCK, BLOCK), dtype=np.bool_), 1)


def correlations(x: Array, y: Array, kind: CorrelationKind) -> Array:
    """The correlation of each column of `x` with that of `y` `(columns,)`, NaN where it is
    undefined.

    How to read it: as `correlation`, to which each value is equal.

    Args:
        x, y: `(items, columns)`, NaN where missing.
        kind: see `correlation`.

    >>> correlations(np.array([[1.0, 1], [2, 2], [3, 3]]), np.array([[1.0, 2], [2, 2], [4, 2]]),
    ...              "tau_b")
    array([ 1., nan])
    """
    missing = np.isnan(x + y)
    x, y = (np.where(missing, np.nan, side) for side in (x, y))
    if kind in ("tau_b", "tau_c"):
        return taus(x, y, kind)
    several = np.minimum(_n_values(x), _n_values(y)) > 1
    if kind == "spearman":
        x, y = ranks_within(x).ranks, ranks_within(y).ranks
    return np.where(several, _pearson_by_column(x, y), np.nan)


def _n_values(x: Array) -> Array:
    """Return how many values each column has, gaps aside."""
    rises = (np.diff(np.sort(x, axis=0), axis=0) > 0).sum(axis=0)
    values: Array = (rises + ~np.isnan(x).all(axis=0)).astype(np.float64)
    return values


def _pearson_by_column(x: Array, y: Array) -> Array:
    n = np.sum(~np.isnan(x), axis=0).astype(np.float64)
    x, y = (np.nan_to_num(side - divide(np.nansum(side, axis=0), n)) for side in (x, y))
    scale = np.sqrt((x * x).sum(axis=0)) * np.sqrt((y * y).sum(axis=0))
    return np.clip(divide((x * y).sum(axis=0), scale), -1, 1)


def taus(x: Array, y: Array, kind: CorrelationKind) -> Array:
    """τ_b or τ_c of each column of `x` with that of `y` `(columns,)`; the definitions are those of
    `correlation`.

    Args:
        x, y: `(items, columns)`, NaN where one of the two is missing; a single column of `x` is
            that of all.
    """
    agreement, untied_x, untied_y = (_of_all_pairs if len(x) <= MOST_ITEMS else _of_sorted)(x, y)
    if kind == "tau_b":
        return divide(agreement, np.sqrt(untied_x) * np.sqrt(untied_y))
    smaller = np.minimum(_n_values(x), _n_values(y))
    n = np.sum(~np.isnan(x), axis=0)
    return divide(2 * agreement * smaller, n**2 * (smaller - 1))


_PairSums = tuple[Array, Array, Array]
"""Over pairs of items, of each column: the concordant less the discordant, and those that `x`, and
that `y`, tells apart."""


def _of_all_pairs(x: Array, y: Array) -> _PairSums:
    i, j = np.triu_indices(len(x), 1)
    signs_x, signs_y = (np.nan_to_num(np.sign(side[i] - side[j])) for side in (x, y))
    agreement = np.einsum("pc,pc->c", np.broadcast_to(signs_x, signs_y.shape), signs_y)
    untied_x, untied_y = (np.abs(signs).sum(axis=0) for signs in (signs_x, signs_y))
    return agreement, untied_x, untied_y


def _of_sorted(x: Array, y: Array) -> _PairSums:
    """Knight's way: where items are sorted by `x`, ties by `y`, a pair is discordant where its
    values of `y` stand in the other order."""
    rows = []
    missing = np.isnan(x + y)
    every_x = [np.unique(column, return_inverse=True)[1] for column in x.T]
    if len(every_x) == 1:
        every_x *= y.shape[1]
    for codes, second, gaps in zip(every_x, y.T, missing.T, strict=True):
        codes_x = codes[~gaps]
        values, codes_y = np.unique(second[~gaps], return_inverse=True)
        keys = np.sort(codes_x * len(values) + codes_y)
        n_pairs = len(keys) * (len(keys) - 1) // 2
        tied_x, tied_y = (_pairs_within(np.bincount(codes)) for codes in (codes_x, codes_y))
        tied_in_both = _pairs_within(np.diff(np.flatnonzero(np.diff(keys, prepend=-1, append=-1))))
        differ = n_pairs - tied_x - tied_y + tied_in_both
        discordant = _inversions(keys % max(len(values), 1), len(values))
        rows.append((differ - 2 * discordant, n_pairs - tied_x, n_pairs - tied_y))
    agreement, untied_x, untied_y = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return agreement, untied_x, untied_y


def _pairs_within(sizes: IntArray) -> int:
    return int((sizes * (sizes - 1)).sum()) // 2


def _inversions(codes: IntArray, n_values: int) -> int:
    """Return how many pairs have the larger of their values 0, 1, … first: inside blocks of items
    all pairs, and of an item and the blocks before it by how often these have each value."""
    if len(codes) < 2:
        return 0
    n_blocks = -(-len(codes) // BLOCK)
    if n_blocks * n_values > MOST_COUNTS:
        # Too many counts to be held: half of the items, the others, and one half to the other.
        halves = codes[: len(codes) // 2], codes[len(codes) // 2 :]
        first = np.sort(halves[0])
        across = len(first) * len(halves[1]) - np.searchsorted(first, halves[1], "right").sum()
        return int(across) + sum(_inversions(half, n_values) for half in halves)
    padded = np.full(n_blocks * BLOCK, n_values, dtype=np.min_scalar_type(n_values))
    padded[: len(codes)] = codes
    blocks = padded.reshape(n_blocks, BLOCK)
    inside = np.count_nonzero((blocks[:, :, None] > blocks[:, None, :]) & _LATER)
    place = np.arange(n_blocks)[:, None]
    cells = (place * (n_values + 1) + blocks).ravel()
    counts = np.bincount(cells, minlength=n_blocks * (n_values + 1)).reshape(n_blocks, -1)
    before = counts.cumsum(axis=0) - counts
    larger = before.sum(axis=1, keepdims=True) - before.cumsum(axis=1)
    return int(inside + larger[place, blocks].sum())
