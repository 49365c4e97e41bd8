"""Many correlations at once: each column of one matrix with that of another."""

from __future__ import annotations

import numpy as np

from panel.statistics.core.arrays import Array, divide
from panel.statistics.core.ranks import ranks_within
from panel.statistics.humans.correlation import CorrelationKind, correlation

MOST_ITEMS = 64
"""Of more items τ is computed column by column: its pairs of items are too many to be held."""


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
        if len(x) > MOST_ITEMS:
            pairs = zip(x.T, y.T, strict=True)
            return np.array([correlation(a, b, kind).value for a, b in pairs])
        return taus(x, y, kind)
    several = np.minimum(_n_values(x), _n_values(y)) > 1
    if kind == "spearman":
        x, y = ranks_within(x).ranks, ranks_within(y).ranks
    return np.where(several, _pearson(x, y), np.nan)


def _n_values(x: Array) -> Array:
    """How many values each column has, gaps aside."""
    rises = (np.diff(np.sort(x, axis=0), axis=0) > 0).sum(axis=0)
    values: Array = (rises + ~np.isnan(x).all(axis=0)).astype(np.float64)
    return values


def _pearson(x: Array, y: Array) -> Array:
    n = np.sum(~np.isnan(x), axis=0).astype(np.float64)
    x, y = (np.nan_to_num(side - divide(np.nansum(side, axis=0), n)) for side in (x, y))
    scale = np.sqrt((x * x).sum(axis=0)) * np.sqrt((y * y).sum(axis=0))
    return np.clip(divide((x * y).sum(axis=0), scale), -1, 1)


def taus(x: Array, y: Array, kind: CorrelationKind) -> Array:
    """τ_b or τ_c of each column of `x` with that of `y` `(columns,)`, by all pairs of items; the
    definitions are those of `correlation`.

    Args:
        x, y: `(items, columns)`, NaN where one of the two is missing; a single column of `x` is
            that of all.
    """
    i, j = np.triu_indices(len(x), 1)
    signs_x, signs_y = (np.nan_to_num(np.sign(side[i] - side[j])) for side in (x, y))
    agreement = np.einsum("pc,pc->c", np.broadcast_to(signs_x, signs_y.shape), signs_y)
    untied = [np.abs(signs).sum(axis=0) for signs in (signs_x, signs_y)]
    if kind == "tau_b":
        return divide(agreement, np.sqrt(untied[0]) * np.sqrt(untied[1]))
    smaller = np.minimum(_n_values(x), _n_values(y))
    n = np.sum(~np.isnan(x), axis=0)
    return divide(2 * agreement * smaller, n**2 * (smaller - 1))
