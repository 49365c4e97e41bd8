"""How much of the variance of ratings lies between raters, with all resamples at once.

The value is that of `components.variance_components` with items and raters as factors.
The resampled form is ours: each equals the value of the resampled items, a drawn item
being an item of its own as often as it was drawn.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Resampled,
    as_ratings,
    divide,
    encode_labels,
)
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.quality.components import RESIDUAL, variance_components

ComponentName = Literal["item", "rater", "residual"]

_SINGULAR = 1e-9
"""Equations whose determinant is below this share of what their size would make it."""


def variance_share(ratings: ArrayLike, raters: Labels, part: ComponentName) -> Statistic:
    """The share of the variance of ratings that is due to items, to raters, or to neither.

    How to read it: from 0 to 1; the shares of item, rater and residual add up to 1. `rater` near
    0: the raters' means are alike. `residual` near 0 besides: they say the same of every item.

    Args:
        ratings: `(items, columns)`, NaN where missing.
        raters: a label a column; columns of the same label are one rater, asked repeatedly.
        part: `rater` are differences between the raters' means; which rater likes which item
            is `residual`, with error, also where columns of a rater tell the two apart.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label a column.

    >>> round(variance_share([[1, 2], [2, 3], [3, 4]], ["a", "b"], "item").value, 3)
    0.667
    """
    array = as_ratings(ratings)
    labels = encode_labels(raters, array.shape[1])[1]
    items = np.broadcast_to(np.arange(len(array))[:, None], array.shape).ravel()
    columns = np.broadcast_to(labels, array.shape).ravel()
    rated = ~np.isnan(array)
    counts = int(rated.any(axis=1).sum()), len(np.unique(columns[rated.ravel()]))
    reason = None
    if counts[1] < 2:
        reason = Reason.FEW_RATERS
    elif counts[0] < 2:
        reason = Reason.FEW_ITEMS
    if reason:
        return Statistic.undefined(reason, n_items=counts[0], n_raters=counts[1])
    found = variance_components(array.ravel(), {"item": items, "rater": columns})
    if found.reason:
        return Statistic.undefined(found.reason, n_items=counts[0], n_raters=counts[1])
    share = found.shares[part]
    if part == RESIDUAL:
        # Of its own where raters were asked repeatedly; nothing else is left out.
        share = 1 - found.shares["item"] - found.shares["rater"]
    return Statistic(share, *counts)


def resampled_variance_share(ratings: ArrayLike, raters: Labels, part: ComponentName) -> Resampled:
    """The share as a function of resampling weights; args as for `variance_share`."""
    array = as_ratings(ratings)
    _, labels = encode_labels(raters, array.shape[1])
    rated = ~np.isnan(array)
    values = np.where(rated, array - np.mean(array[rated]), 0.0) if rated.any() else array * 0
    raters_of = (labels[:, None] == np.unique(labels)[None, :]).astype(np.float64)
    cells, sums = rated @ raters_of, values @ raters_of
    sizes, totals, squares = cells.sum(axis=1), sums.sum(axis=1), (values**2).sum(axis=1)
    spread = np.nan_to_num(divide((cells**2).sum(axis=1), sizes))
    between = np.nan_to_num(divide(totals**2, sizes))
    n_cells, in_cell = (cells > 0).sum(axis=1), np.nan_to_num(divide(sums**2, cells)).sum(axis=1)
    place = ("item", "rater", RESIDUAL).index(part)

    def statistic(weights: Array) -> Array:
        n, n_rater, sum_rater = weights @ sizes, weights @ cells, weights @ sums
        of_mean = divide(weights @ totals, n) * (weights @ totals)
        mean_item = divide(weights @ sizes**2, n)
        mean_rater = divide((n_rater**2).sum(axis=1), n)
        in_rater = np.nan_to_num(divide(weights @ cells**2, n_rater)).sum(axis=1)
        n_items, n_raters = weights @ (sizes > 0), (n_rater > 0).sum(axis=1)
        mean_cell, in_item = divide(weights @ (cells**2).sum(axis=1), n), weights @ spread
        of_item, of_rater, of_cell = n - mean_item, n - mean_rater, n - mean_cell
        repeated = weights @ (sizes - n_cells) > 0
        none, one = np.zeros(len(weights)), np.ones(len(weights))
        # Each rater's ratings of an item vary by error alone; of one rating nothing is known.
        of_cells = np.where(
            repeated,
            [of_item, of_rater, of_cell, weights @ n_cells - 1],
            [none, none, one, none],
        )
        equations = np.stack(
            [
                np.stack([of_item, in_item - mean_rater, in_item - mean_cell, n_items - 1]),
                np.stack([in_rater - mean_item, of_rater, in_rater - mean_cell, n_raters - 1]),
                of_cells,
                np.stack([of_item, of_rater, of_cell, n - 1]),
            ]
        ).transpose(2, 0, 1)
        found = np.stack(
            [
                weights @ between - of_mean,
                np.nan_to_num(divide(sum_rater**2, n_rater)).sum(axis=1) - of_mean,
                np.where(repeated, weights @ in_cell - of_mean, 0.0),
                weights @ squares - of_mean,
            ],
            axis=1,
        )
        solvable = (n_items > 1) & (n_raters > 1)
        size = np.prod(np.abs(equations).max(axis=2), axis=1)
        solvable &= np.abs(np.linalg.det(np.nan_to_num(equations))) > _SINGULAR * size
        variances = np.full((len(weights), 4), np.nan)
        variances[solvable] = np.linalg.solve(equations[solvable], found[solvable][:, :, None])[
            :, :, 0
        ]
        positive = np.maximum(variances, 0)
        wanted = positive[:, place:] if part == RESIDUAL else positive[:, [place]]
        return divide(wanted.sum(axis=1), positive.sum(axis=1))

    return statistic
