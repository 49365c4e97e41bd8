"""Whether a difference between groups means something item by item: its split-half reliability.

The raters of each group are dealt into two halves at random, and the difference on each item by one
half is correlated with that by the other. Near 0, differences on single items are noise, however
sure their mean is.
"""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, as_ratings, divide

SPLITS = 100
RELIABLE = 0.5
"""From which split-half correlation on a difference is called usable item by item: the two halves
together then have a reliability of 2/3 (Spearman-Brown)."""
_LEAST_ITEMS = 10


def split_half(a: ArrayLike, b: ArrayLike, *, splits: int = SPLITS, seed: int = 0) -> float:
    """The mean Pearson correlation over items of the difference A − B by two halves of the raters.

    How to read it: the share of the variance of single items' differences that is no noise, with
    half of the raters; with all of them it is 2r / (1 + r).

    Args:
        a, b: `(items, raters of the group)`, NaN where missing.
        splits: how often raters are dealt into halves.

    Returns:
        From −1 to 1; NaN where fewer than ten items have two ratings by each group that fall into
        different halves, or all differences are the same.

    Raises:
        ValueError: numbers of items differ, or a value is infinite.

    >>> by_item = [[item % 3.0] * 4 for item in range(12)]
    >>> round(split_half(by_item, [[1.0] * 4] * 12), 3)
    1.0
    """
    ours, theirs = as_ratings(a), as_ratings(b)
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} items cannot be paired with {len(theirs)}")
    rng = np.random.default_rng(seed)
    first_a, second_a = _halves(ours, splits, rng)
    first_b, second_b = _halves(theirs, splits, rng)
    first, second = first_a - first_b, second_a - second_b
    found = []
    for x, y in zip(first.T, second.T, strict=True):
        there = ~np.isnan(x) & ~np.isnan(y)
        if there.sum() >= _LEAST_ITEMS and np.ptp(x[there]) > 0 and np.ptp(y[there]) > 0:
            found.append(float(np.corrcoef(x[there], y[there])[0, 1]))
    return float(np.mean(found)) if found else nan


def _halves(ratings: Array, splits: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Each item's mean by either half of the raters, `(items, splits)`; NaN where nobody rated."""
    n = ratings.shape[1]
    order = rng.random((n, splits)).argsort(axis=0).argsort(axis=0)
    chosen = (order < (n + 1) // 2).astype(np.float64)
    there = (~np.isnan(ratings)).astype(np.float64)
    values = np.nan_to_num(ratings)
    return (
        divide(values @ chosen, there @ chosen),
        divide(values @ (1 - chosen), there @ (1 - chosen)),
    )
