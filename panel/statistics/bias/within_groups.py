"""The correlation of two quantities inside groups: what is left of it when groups differ.

Source: R. A. Fisher (1925), *Statistical Methods for Research Workers*, §29 and §40, partial
correlation and correlation within classes: Pearson's r of both quantities less their
groups' means, which is the partial correlation given the group.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Resampled,
    divide,
    encode_labels,
    paired_scores,
    scaled_to_unit,
)
from persona_panel.statistics.core.statistic import Reason, Statistic

_ROUNDING = 1e-12
"""Of a quantity's squares, a share below this inside groups is the rounding of their means."""


def correlation_within(x: ArrayLike, y: ArrayLike, groups: Labels) -> Statistic:
    """Pearson's r of two quantities inside groups.

    How to read it: as Pearson's r, of differences inside groups alone: 1, whoever is higher on
    one quantity than its group is higher on the other. It is the partial correlation given the
    group; a difference between groups, however large, leaves it at 0.

    Args:
        x, y: `(items,)`, NaN where missing.
        groups: a label an item.

    Returns:
        A value in [−1, 1], and a two-sided p-value with n − groups − 1 degrees of freedom,
        which takes items as independent. `n_items` are those with both quantities, in
        groups of two or more. Undefined where there are none, or where either quantity is
        the same throughout each group.

    Raises:
        ValueError: the shapes differ, a value is infinite, or not one label an item.

    >>> round(correlation_within([1, 2, 11, 12], [1, 2, 2, 3], "aabb").value, 3)
    1.0
    """
    first, second, codes, _ = _prepared(x, y, groups)
    n_items, n_groups = len(first), len(np.unique(codes))
    if n_items == 0:
        alone = paired_scores(x, y)[2].any()
        reason = Reason.FEW_ITEMS if alone else Reason.NO_SHARED_ITEMS
        return Statistic.undefined(reason, n_items=0, n_raters=2)
    value = float(_within(first, second, codes)(np.ones((1, n_items)))[0])
    if np.isnan(value):
        return Statistic.undefined(Reason.NO_VARIANCE, n_items=n_items, n_raters=2)
    freedom = n_items - n_groups - 1
    p_value = float("nan")
    if freedom > 0:
        t = float(divide(abs(value) * np.sqrt(freedom), np.sqrt(1 - value**2)))
        # Without an error there is no t: as large as it gets.
        p_value = 0.0 if np.isnan(t) else float(2 * scipy.stats.t.sf(t, freedom))
    return Statistic(value, n_items, n_raters=2, p_value=p_value)


def resampled_correlation_within(x: ArrayLike, y: ArrayLike, groups: Labels) -> Resampled:
    """Return it as a function of weights; args as for `correlation_within`. Groups keep
    their means of each resample."""
    first, second, codes, kept = _prepared(x, y, groups)
    if not len(first):
        return lambda weights: np.full(len(weights), np.nan)
    function = _within(first, second, codes)
    return lambda weights: function(weights[:, kept])


def _prepared(x: ArrayLike, y: ArrayLike, groups: Labels) -> tuple[Array, Array, IntArray, Mask]:
    """Both quantities and the groups where both are there and not alone, and where that is."""
    first, second, both = paired_scores(x, y)
    codes = encode_labels(groups, len(first))[1]
    sizes = np.bincount(codes[both], minlength=int(codes.max(initial=-1)) + 1)
    kept = both & (sizes[codes] > 1)
    x_kept, y_kept = (_about_groups(side[kept], codes[kept]) for side in (first, second))
    return x_kept, y_kept, codes[kept], kept


def _about_groups(values: Array, codes: IntArray) -> Array:
    """Values about a value of their group, and of magnitude one: r does not see that, and
    small differences of large numbers stay what they are."""
    reference = np.zeros(int(codes.max(initial=-1)) + 1)
    reference[codes[::-1]] = values[::-1]
    return scaled_to_unit(values - reference[codes])


def _within(x: Array, y: Array, codes: IntArray) -> Resampled:
    member = (codes[:, None] == np.unique(codes)[None, :]).astype(np.float64)

    def statistic(weights: Array) -> Array:
        n = weights @ member
        sum_x, sum_y = ((weights * side) @ member for side in (x, y))

        def inside(raw: Array, sum_a: Array, sum_b: Array) -> Array:
            products: Array = raw - np.nansum(divide(sum_a * sum_b, n), axis=1)
            return products

        raw_x, raw_y = weights @ x**2, weights @ y**2
        of_x, of_y = inside(raw_x, sum_x, sum_x), inside(raw_y, sum_y, sum_y)
        varies = (of_x > _ROUNDING * raw_x) & (of_y > _ROUNDING * raw_y)
        scale = np.sqrt(np.where(varies, of_x, 0)) * np.sqrt(np.where(varies, of_y, 0))
        return np.clip(divide(inside(weights @ (x * y), sum_x, sum_y), scale), -1, 1)

    return statistic
