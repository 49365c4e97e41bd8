"""Reliability of ratings: Krippendorff's α, intraclass correlations, disagreement on an item.

Sources: K. Krippendorff (2011), "Computing Krippendorff's alpha-reliability", and (2018), *Content
Analysis*, 4th ed., ch. 12 (ordinal distances are squared differences of mid-ranks); P. E. Shrout &
J. L. Fleiss (1979), "Intraclass correlations: uses in assessing rater reliability", with gaps by
Henderson's first method.
"""

from __future__ import annotations

from math import inf
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    EstimateKind,
    MeasurementLevel,
    Reason,
    Statistic,
    as_ratings,
    check_choice,
    count_by_item,
    divide,
    has_ratings,
    scaled_to_unit,
    undefined_everywhere,
    unit_weights,
    variance_there,
    why_few,
)


def krippendorff_alpha(ratings: ArrayLike, level: MeasurementLevel = "ordinal") -> Statistic:
    """Return Krippendorff's α of the raters.

    Items with fewer than two ratings cannot be paired and do not enter. Of a single item that can,
    α would be 0 whatever the ratings: what is expected by chance is then what was observed.

    How to read it: 1 is perfect agreement, 0 what raters would reach who drew their ratings at
    random from all that were given. Content analysts commonly ask for 0.8.

    Args:
        level: how far apart two values are: `nominal` (the same or not), `ordinal` (by
            rank), `interval` (by difference), `ratio` (by difference over sum).

    Returns:
        α in (−∞, 1]: 1 is perfect agreement, 0 what chance gives. Undefined when fewer than
        two items have two ratings or all pairable ratings have one value.

    >>> round(krippendorff_alpha([[1, 1], [2, 2], [3, 3], [1, 2]], "nominal").value, 6)
    0.666667
    """
    check_choice("level", level, MeasurementLevel)
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    pairable = rated.sum(axis=1) >= 2
    # Without their counts numpy would import its masked arrays, which takes as long as a panel.
    values, _ = np.unique(array[pairable][rated[pairable]], return_counts=True)
    kind: EstimateKind = "kappa" if level == "nominal" else "alpha"
    why = why_few(rated, Reason.FEW_ITEMS if pairable.sum() < 2 else Reason.ONE_VALUE)
    if level == "ratio" and len(values) and values[0] < 0:
        raise ValueError(f"a ratio scale has no negative values, found {values[0]:g}")
    counts = count_by_item(array[pairable], values)

    def alpha(weights: Array) -> Array:
        if not len(values):
            return undefined_everywhere(weights)
        return _alpha(counts, values, weights[:, pairable], level)

    n_raters = int(rated[pairable].any(axis=0).sum())
    # Of items that k raters rate, with squared distances, α is at least −1/(k − 1).
    fewest = int(rated[pairable].sum(axis=1).min(initial=n_raters))
    least = -inf if level in ("nominal", "ratio") else -1 / max(fewest - 1, 1)
    return Statistic.of_weights(alpha, pairable, n_raters, why, kind, (least, 1))


def _alpha(counts: Array, values: Array, weights: Array, level: MeasurementLevel) -> Array:
    """Return α of each resample."""
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
    else:
        # Centred on a value that occurs: integers stay integers, whose sums are exact.
        scores = scaled_to_unit(values - values[len(values) // 2])[None]
        if level == "ordinal":
            scores = np.cumsum(marginals, axis=1) - marginals / 2
        within = _squared_differences(sizes[:, None], counts @ scores.T, counts @ scores.T**2)
        within /= sizes[:, None] - 1
        observed = np.einsum("ri,ir->r", weights, np.broadcast_to(within, weights.T.shape))
        expected = _squared_differences(
            totals, (marginals * scores).sum(axis=1), (marginals * scores**2).sum(axis=1)
        )
    several = ((marginals > 0).sum(axis=1) > 1) & (weights.sum(axis=1) > 1)
    return np.where(several, 1 - divide(observed * (totals - 1), expected), np.nan)


def _squared_differences(count: Array, total: Array, squares: Array) -> Array:
    """Return Σ (a − b)² over ordered pairs, from their number, sum and sum of squares."""
    # In place: of many resamples of many items, most of the time goes to new arrays.
    apart = count * squares
    apart -= total**2
    apart *= 2
    return np.maximum(apart, 0, out=apart)


ICCForm = Literal["icc1", "icc2", "icc2k"]

SINGULAR = 1e-10
"""Equations whose determinant is this small beside their rows' lengths tell nothing apart."""


def icc(ratings: ArrayLike, form: ICCForm = "icc2") -> Statistic:
    """Return an intraclass correlation of the raters.

    How to read it: the share of the variance of ratings (`icc1`, `icc2`) or of mean ratings
    (`icc2k`) that is due to items; a strict rater's lower scores count as disagreement.

    Args:
        form: `icc1`, one rating, each item by other raters; `icc2`, one rating, raters are
            a sample whose strictness counts as error; `icc2k`, the mean of an item's
            ratings, of which there are k (their harmonic mean over items, with gaps).

    Returns:
        At most 1; below 0 where items vary less than their ratings do. Undefined without
        two items and two raters, when all ratings are one value, or when the gaps leave
        items, raters and error inseparable.

    >>> ratings = [[1, 2], [2, 3], [3, 4], [4, 5]]
    >>> round(icc(ratings, "icc2").value, 3)
    0.769
    >>> round(icc(ratings, "icc2k").value, 3)
    0.87
    """
    check_choice("form", form, ICCForm)
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    values, counts = centred_ratings(array)
    sizes = counts.sum(axis=1)
    # Of a harmonic mean.
    shares = np.nan_to_num(divide(1, sizes))

    def statistic(weights: Array) -> Array:
        items, raters, residual = item_rater_variances(values, counts, weights, form != "icc1")
        mean_of = divide(weights @ (sizes > 0), weights @ shares) if form == "icc2k" else 1.0
        total = items + (raters + residual) / mean_of
        size = np.abs(items) + (np.abs(raters) + np.abs(residual)) / mean_of
        return divide(items, np.where(total > ROUNDING * size, total, 0))

    otherwise, once = Reason.NOT_POSITIVE, unit_weights(len(array))
    if rated.any() and np.ptp(array[rated]) == 0:
        otherwise = Reason.ONE_VALUE
    elif rated.any() and np.isnan(item_rater_variances(values, counts, once, form != "icc1")[0]):
        otherwise = Reason.NO_ERROR_TERM
    n_raters, why = int(rated.any(axis=0).sum()), why_few(rated, otherwise)
    # An item with one rating tells of the variance of items, so that it counts.
    return Statistic.of_weights(statistic, has_ratings(array), n_raters, why, limits=(-inf, 1))


def centred_ratings(array: Array) -> tuple[Array, Array]:
    """Return ratings about their median and below one in size, 0 where missing; and a mask, 1 where
    there is a rating, else 0."""
    rated = ~np.isnan(array)
    values = np.zeros(array.shape)
    if rated.any():
        values[rated] = scaled_to_unit(array[rated] - np.median(array[rated]))
    return values, rated.astype(np.float64)


def item_rater_variances(
    values: Array, counts: Array, weights: Array, two_way: bool
) -> tuple[Array, Array, Array]:
    """Return the variances of items, raters (0 unless `two_way`) and error in each resample."""
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
    """Return each resample's three variances, NaN where its equations are not independent."""
    lengths = np.prod(np.linalg.norm(coefficients, axis=2), axis=1)
    singular = np.abs(np.linalg.det(coefficients)) <= SINGULAR * lengths
    solvable = np.where(singular[:, None, None], np.eye(3), coefficients)
    solved = np.linalg.solve(solvable, sums[:, :, None])[:, :, 0]
    return np.where(singular[:, None], np.nan, solved)


def disagreement_by_item(ratings: ArrayLike, level: MeasurementLevel = "interval") -> Array:
    """Return the disagreement on each item `(items,)`, NaN where it has fewer than two ratings.

    How to read it: 0, all raters of an item say the same. Unlike α and κ it does not depend on how
    far the items differ from each other, so that two groups of raters can be compared by it.

    Args:
        level: at `nominal` the share of pairs of raters who differ, 0 to 1; at any other the
            variance of the ratings (n − 1), in squared points of the scale.

    >>> disagreement_by_item([[1, 3], [2, 2]]).tolist()
    [2.0, 0.0]
    >>> disagreement_by_item([[0, 1, 1, 1]], "nominal").tolist()
    [0.5]
    """
    check_choice("level", level, MeasurementLevel)
    array = as_ratings(ratings)
    if level == "nominal":
        sizes = np.sum(~np.isnan(array), axis=1).astype(np.float64)
        pairs = sizes * (sizes - 1)
        counts = count_by_item(array, np.unique(array[~np.isnan(array)]))
        return divide(pairs - (counts * (counts - 1)).sum(axis=1), pairs)
    return variance_there(array, 1)
