"""Weights of items: which clusters a resample has, and statistics as functions of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from panel.statistics.core.arrays import Array, IntArray, Resampled, divide


def resampled_mean(values: Array) -> Resampled:
    """The mean over items of values `(items,)` that no resample changes, NaN left out."""
    defined = ~np.isnan(values)

    def statistic(weights: Array) -> Array:
        kept = weights[:, defined]
        return divide(kept @ values[defined], kept.sum(axis=1))

    return statistic


def by_items(function: Callable[[IntArray], float]) -> Resampled:
    """A statistic of items (indices, repeated as drawn) as one of weights.

    >>> resampled = by_items(lambda items: float(np.mean(items)))
    >>> resampled(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]])).tolist()
    [0.5, 2.0]
    """

    def statistic(weights: Array) -> Array:
        counts = weights.astype(np.intp)
        items = np.arange(weights.shape[1])
        return np.array([function(np.repeat(items, row)) for row in counts])

    return statistic


def left_out_weights(codes: IntArray, n_clusters: int) -> Array:
    """Item weights `(clusters, items)` with one cluster left out in each row."""
    weights: Array = (codes[None, :] != np.arange(n_clusters)[:, None]).astype(np.float64)
    return weights
