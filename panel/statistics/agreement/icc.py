"""Intraclass correlations: the share of variance that is the items'.

Sources: Shrout & Fleiss (1979), "Intraclass correlations: uses in assessing rater
reliability": ICC(1,1), ICC(2,1), ICC(2,k). With gaps, the variance components are those of
Henderson's first method (see `components`): the same numbers where every rater rated every
item, and no rating thrown away where not.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    Resampled,
    as_ratings,
    divide,
    scaled_to_unit,
    unit_weights,
)
from persona_panel.statistics.core.options import check_choice
from persona_panel.statistics.core.statistic import Reason, Statistic

ICCForm = Literal["icc1", "icc2", "icc2k"]

SINGULAR = 1e-10
"""Equations whose determinant is this small beside their rows' lengths tell nothing apart."""


def icc(ratings: ArrayLike, form: ICCForm = "icc2") -> Statistic:
    """An intraclass correlation of the raters.

    How to read it: the share of the variance of ratings (`icc1`, `icc2`) or of mean ratings
    (`icc2k`) that is due to items. 1: raters give the same numbers; 0: items differ no more than
    chance makes them; below 0: less than that. It takes ratings as an interval scale. `icc2`
    counts a strict rater's lower scores as disagreement, which a correlation does not; `icc2k` is
    Spearman-Brown's prediction from `icc2`, and the figure for a panel's mean.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        form: `icc1`, one rating, each item by other raters; `icc2`, one rating, raters are
            a sample whose strictness counts as error; `icc2k`, the mean of an item's
            ratings, of which there are k (their harmonic mean over items, with gaps).

    Returns:
        At most 1; below 0 where items vary less than their ratings do. Undefined without
        two items and two raters, when all ratings are one value, or when the gaps leave
        items, raters and error inseparable.

    Raises:
        ValueError: a wrong shape, an infinite value, or an unknown form.

    >>> ratings = [[1, 2], [2, 3], [3, 4], [4, 5]]
    >>> round(icc(ratings, "icc2").value, 3)
    0.769
    >>> round(icc(ratings, "icc2k").value, 3)
    0.87
    """
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    sizes = rated.sum(axis=1)
    n_items, n_raters = int((sizes > 0).sum()), int(rated.any(axis=0).sum())
    value = float(resampled_icc(array, form)(unit_weights(len(array)))[0])
    if not np.isnan(value):
        return Statistic(value, n_items, n_raters)
    if n_raters < 2:
        reason = Reason.FEW_RATERS
    elif n_items < 2:
        reason = Reason.FEW_ITEMS
    elif not (sizes >= 2).any():
        reason = Reason.NO_SHARED_ITEMS
    elif np.ptp(array[rated]) == 0:
        reason = Reason.ONE_VALUE
    elif np.isnan(
        item_rater_variances(*centred_ratings(array), unit_weights(len(array)), form != "icc1")[0]
    ):
        reason = Reason.NO_ERROR_TERM
    else:
        reason = Reason.NOT_POSITIVE
    return Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)


def resampled_icc(ratings: ArrayLike, form: ICCForm = "icc2") -> Resampled:
    """The intraclass correlation as a function of resampling weights; as for `icc`.

    An item drawn twice is two items.
    """
    check_choice("form", form, ICCForm)
    values, counts = centred_ratings(as_ratings(ratings))

    def statistic(weights: Array) -> Array:
        items, raters, residual = item_rater_variances(values, counts, weights, form != "icc1")
        mean_of = 1.0 if form != "icc2k" else _harmonic_mean(counts.sum(axis=1), weights)
        total = items + (raters + residual) / mean_of
        size = np.abs(items) + (np.abs(raters) + np.abs(residual)) / mean_of
        return divide(items, np.where(total > ROUNDING * size, total, 0))

    return statistic


def centred_ratings(array: Array) -> tuple[Array, Array]:
    """Ratings about their median and below one in size, 0 where missing; and 1 where there is one,
    0 where not."""
    rated = ~np.isnan(array)
    values = np.zeros(array.shape)
    if rated.any():
        values[rated] = scaled_to_unit(array[rated] - np.median(array[rated]))
    return values, rated.astype(np.float64)


def item_rater_variances(
    values: Array, counts: Array, weights: Array, two_way: bool
) -> tuple[Array, Array, Array]:
    """The variances of items, raters (0 unless `two_way`) and error in each resample.

    Sums of squares about the mean, of items Σ nᵢ (ȳᵢ − ȳ)², of raters likewise and in total,
    are set equal to what is expected of them.
    """
    sizes = counts.sum(axis=1)
    n = weights @ sizes
    mean = divide(weights @ values.sum(axis=1), n)
    square = n * mean**2
    by_item = divide(values.sum(axis=1) ** 2, sizes)
    ss_items = weights @ np.nan_to_num(by_item) - square
    total = weights @ (values**2).sum(axis=1) - square
    n_items = weights @ (sizes > 0)
    of_items = divide(weights @ sizes**2, n)
    if not two_way:
        residual = divide(total - ss_items, n - n_items)
        items = divide(ss_items - (n_items - 1) * residual, n - of_items)
        return items, np.zeros(len(weights)), residual

    per_rater = weights @ counts
    ss_raters = np.nansum(divide((weights @ values) ** 2, per_rater), axis=1) - square
    n_raters = (per_rater > 0).sum(axis=1).astype(np.float64)
    of_raters = divide((per_rater**2).sum(axis=1), n)
    expected = np.array(
        [
            [n - of_items, n_items - of_raters, n_items - 1],
            [n_raters - of_items, n - of_raters, n_raters - 1],
            [n - of_items, n - of_raters, n - 1],
        ]
    ).transpose(2, 0, 1)
    solved = _solve(np.nan_to_num(expected), np.stack([ss_items, ss_raters, total], axis=1))
    return solved[:, 0], solved[:, 1], solved[:, 2]


def _solve(coefficients: Array, sums: Array) -> Array:
    """Each resample's three variances, NaN where its equations are not independent."""
    lengths = np.prod(np.linalg.norm(coefficients, axis=2), axis=1)
    singular = np.abs(np.linalg.det(coefficients)) <= SINGULAR * lengths
    solvable = np.where(singular[:, None, None], np.eye(3), coefficients)
    solved = np.linalg.solve(solvable, sums[:, :, None])[:, :, 0]
    return np.where(singular[:, None], np.nan, solved)


def _harmonic_mean(sizes: Array, weights: Array) -> Array:
    rated = sizes > 0
    kept = weights[:, rated]
    return divide(kept.sum(axis=1), kept @ (1 / sizes[rated]))
