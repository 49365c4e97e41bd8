"""Krippendorff's α, fast enough to be resampled thousands of times.

Source: K. Krippendorff (2011), "Computing Krippendorff's alpha-reliability", and (2018)
*Content Analysis*, 4th ed., ch. 12; α = 1 − Dₒ/Dₑ over the values that can be paired.

Everything is said with how often each value occurs in each item. Two facts keep a
resample cheap. First, the squared ordinal distance between two values is the squared
difference of their mid-ranks among all pairable ratings, so ordinal is interval on
mid-ranks, which are new in every resample. Second, a sum of squared differences needs
only sums and sums of squares, so no value × value matrix is built (ratio aside).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Resampled,
    as_ratings,
    count_by_item,
    divide,
    scaled_to_unit,
    unit_weights,
)
from persona_panel.statistics.core.options import MeasurementLevel, check_choice
from persona_panel.statistics.core.statistic import Reason, Statistic

CELLS_AT_ONCE = 2_000_000
"""Items × resamples held at a time: 16 MB an array, so memory does not grow with resamples."""


def krippendorff_alpha(ratings: ArrayLike, level: MeasurementLevel = "ordinal") -> Statistic:
    """Krippendorff's α of the raters.

    Items with fewer than two ratings cannot be paired and do not enter. Of a single item that can,
    α would be 0 whatever the ratings: what is expected by chance is then what was observed.

    How to read it: 1 is perfect agreement, 0 what raters would reach who drew their ratings at
    random from all that were given, below 0 systematic disagreement. Content analysts commonly
    ask for 0.8, and draw tentative conclusions from 0.667. Take `nominal` for categories,
    `ordinal` for ratings and ranks, `interval` where a step means the same everywhere on the
    scale, `ratio` where 0 means none. For two raters without gaps and many items α comes near
    Cohen's κ (nominal: Scott's π) and, at the interval level, ICC(1,1); unlike those it takes any
    number of raters and gaps.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        level: how far apart two values are: `nominal` (the same or not), `ordinal` (by
            rank), `interval` (by difference), `ratio` (by difference over sum).

    Returns:
        α in (−∞, 1]: 1 is perfect agreement, 0 what chance gives. Undefined when fewer than
        two items have two ratings or all pairable ratings have one value.

    Raises:
        ValueError: a wrong shape, an infinite value, an unknown level, or a negative
            rating at the ratio level.

    >>> round(krippendorff_alpha([[1, 1], [2, 2], [3, 3], [1, 2]], "nominal").value, 6)
    0.666667
    """
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    pairable = rated.sum(axis=1) >= 2
    n_raters = int(rated[pairable].any(axis=0).sum())
    n_items = int(pairable.sum())
    value = float(resampled_alpha(array, level)(unit_weights(len(array)))[0])
    if not np.isnan(value):
        return Statistic(value, n_items, n_raters)
    if rated.any(axis=0).sum() < 2:
        reason = Reason.FEW_RATERS
    elif n_items == 0:
        reason = Reason.NO_SHARED_ITEMS
    elif n_items == 1:
        reason = Reason.FEW_ITEMS
    else:
        reason = Reason.ONE_VALUE
    return Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)


def resampled_alpha(ratings: ArrayLike, level: MeasurementLevel = "ordinal") -> Resampled:
    """α as a function of resampling weights, for `jackknife`.

    Args and errors are those of `krippendorff_alpha`. The ratings are counted once, here.
    """
    check_choice("level", level, MeasurementLevel)
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    pairable = rated.sum(axis=1) >= 2
    values = np.unique(array[pairable][rated[pairable]])
    if level == "ratio" and len(values) and values[0] < 0:
        raise ValueError(f"a ratio scale has no negative values, found {values[0]:g}")
    if not len(values):
        return lambda weights: np.full(len(weights), np.nan)
    counts = count_by_item(array[pairable], values)

    def alpha(weights: Array) -> Array:
        drawn = weights[:, pairable]
        block = max(1, CELLS_AT_ONCE // len(counts))
        return np.concatenate(
            [
                _alpha(counts, values, drawn[start : start + block], level)
                for start in range(0, len(drawn), block)
            ]
        )

    return alpha


def _alpha(counts: Array, values: Array, weights: Array, level: MeasurementLevel) -> Array:
    """α of each resample.

    `marginals` is how often each value occurs in a resample, `(resamples, values)`. Both
    disagreements are sums over ordered pairs: Dₒ over pairs in the same item, each item
    divided by its number of ratings less one; Dₑ over all pairs, divided by their number
    less one.
    """
    sizes = counts.sum(axis=1)
    marginals = weights @ counts
    totals = marginals.sum(axis=1)
    if level == "nominal":
        within = sizes**2 - (counts**2).sum(axis=1)
        observed = weights @ (within / (sizes - 1))
        expected = totals**2 - (marginals**2).sum(axis=1)
    elif level == "ratio":
        sums = values[:, None] + values[None, :]
        # Zero against zero is 0/0: two equal values, so no distance.
        distances = np.nan_to_num(divide(values[:, None] - values[None, :], sums)) ** 2
        within = ((counts @ distances) * counts).sum(axis=1)
        observed = weights @ (within / (sizes - 1))
        expected = ((marginals @ distances) * marginals).sum(axis=1)
    elif level == "interval":
        # Centred on a value that occurs: integers stay integers, whose sums are exact.
        centred = scaled_to_unit(values - values[len(values) // 2])
        within = _squared_differences(sizes, counts @ centred, counts @ centred**2)
        observed = weights @ (within / (sizes - 1))
        expected = _squared_differences(totals, marginals @ centred, marginals @ centred**2)
    else:
        ranks = np.cumsum(marginals, axis=1) - marginals / 2
        within = _squared_differences(sizes[:, None], counts @ ranks.T, counts @ ranks.T**2)
        observed = np.einsum("ri,ir->r", weights, within / (sizes[:, None] - 1))
        expected = _squared_differences(
            totals, (marginals * ranks).sum(axis=1), (marginals * ranks**2).sum(axis=1)
        )
    several = ((marginals > 0).sum(axis=1) > 1) & (weights.sum(axis=1) > 1)
    return np.where(several, 1 - divide(observed * (totals - 1), expected), np.nan)


def _squared_differences(count: Array, total: Array, squares: Array) -> Array:
    """Σ over ordered pairs of (a − b)², from how many there are, their sum and their squares'.

    Rounding can leave a hair below zero where all are equal.
    """
    result: Array = np.maximum(2 * (count * squares - total**2), 0)
    return result
