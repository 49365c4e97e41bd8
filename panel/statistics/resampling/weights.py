"""Weights of items: which clusters a resample has, and statistics as functions of them."""

from __future__ import annotations

import numpy as np

from persona_panel.statistics.core.arrays import Array, IntArray, Resampled, divide


def resampled_mean(values: Array) -> Resampled:
    """The mean over items of values `(items,)` that no resample changes, NaN left out."""
    defined = ~np.isnan(values)

    def statistic(weights: Array) -> Array:
        kept = weights[:, defined]
        return divide(kept @ values[defined], kept.sum(axis=1))

    return statistic


def left_out_weights(codes: IntArray, n_clusters: int) -> Array:
    """Item weights `(clusters, items)` with one cluster left out in each row."""
    weights: Array = (codes[None, :] != np.arange(n_clusters)[:, None]).astype(np.float64)
    return weights
