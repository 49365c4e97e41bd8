"""Score distributions side by side: how lenient, and how spread, each group is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, IntArray, divide


@dataclass(frozen=True, slots=True)
class Distributions:
    """`values` are all scores that occur, ascending; `counts` and `shares` are
    `(groups, values)`, `missing` and `means` `(groups,)`. Shares and mean of a group
    without ratings are NaN."""

    values: Array
    counts: IntArray
    shares: Array
    means: Array
    missing: IntArray


def score_distributions(*groups: ArrayLike) -> Distributions:
    """Return how often each group of raters gives each score.

    How to read it: each row of `shares` adds up to 1; rows that are alike mean that the groups
    use the scale alike, whatever they rate high or low.

    Args:
        groups: each an array of ratings of any shape, NaN where missing.

    >>> found = score_distributions([1, 1, 2], [2, 3])
    >>> found.values.tolist(), found.shares.round(2).tolist()
    ([1.0, 2.0, 3.0], [[0.67, 0.33, 0.0], [0.0, 0.5, 0.5]])
    """
    flat = [np.asarray(group, dtype=np.float64).ravel() for group in groups]
    rated = [scores[~np.isnan(scores)] for scores in flat]
    values = np.unique(np.concatenate([np.empty(0), *rated]))
    counts = np.array(
        [np.bincount(np.searchsorted(values, s), minlength=len(values)) for s in rated],
        dtype=np.intp,
    ).reshape(len(groups), len(values))
    totals = counts.sum(axis=1)
    return Distributions(
        values,
        counts,
        divide(counts, totals[:, None]),
        divide(counts @ values, totals),
        np.array([len(scores) for scores in flat], dtype=np.intp) - totals,
    )
