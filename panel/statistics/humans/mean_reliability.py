"""How reliable the mean of some raters is: which share of its variance over items is not noise.

Sources: L. J. Cronbach (1951), "Coefficient alpha and the internal structure of tests", which this
is where all rated all; C. R. Henderson (1953), method 1, for the variances with gaps (see
`persona_panel.statistics.agreement.icc`). Where items have other raters, their severity is noise as
well: all of it where no two items share a rater, none where all share all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.agreement.icc import centred_ratings, item_rater_variances
from persona_panel.statistics.core.arrays import Array, Resampled, as_ratings, divide, unit_weights
from persona_panel.statistics.core.statistic import Reason, Statistic

_SHARED = 1e-12


def mean_reliability(ratings: ArrayLike) -> Statistic:
    """The reliability of items' mean ratings by these raters.

    How to read it: the share of the variance of the means that other raters would find again. 1: no
    noise; 0: the means differ no more than noise makes them. A correlation with the mean is at most
    the root of it times what it would be with the mean over all such raters.

    Args:
        ratings: `(items, raters)`, NaN where missing. An item's noise is taken to be the same
            for all, over its number of raters.

    Returns:
        At most 1. Undefined without two items, where no item has two raters, where all means
        are the same, or where the gaps leave raters and noise inseparable.

    Raises:
        ValueError: a wrong shape or an infinite value.

    >>> round(mean_reliability([[1, 2], [2, 3], [3, 5], [5, 5]]).value, 3)
    0.931
    """
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    sizes = rated.sum(axis=1)
    n_items, n_raters = int((sizes > 0).sum()), int(rated.any(axis=0).sum())
    value = float(resampled_mean_reliability(array)(unit_weights(len(array)))[0])
    if not np.isnan(value):
        return Statistic(value, n_items, n_raters)
    if n_raters < 2:
        reason = Reason.FEW_PEOPLE
    elif n_items < 2:
        reason = Reason.FEW_ITEMS
    elif not (sizes >= 2).any():
        reason = Reason.NO_SHARED_ITEMS
    else:
        means = divide(np.nansum(array, axis=1), sizes)
        constant = np.ptp(means[sizes > 0]) == 0
        reason = Reason.NO_VARIANCE if constant else Reason.NO_ERROR_TERM
    return Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)


def resampled_mean_reliability(ratings: ArrayLike) -> Resampled:
    """The reliability as a function of resampling weights; args as for `mean_reliability`."""
    values, counts = centred_ratings(as_ratings(ratings))
    sizes = counts.sum(axis=1)
    rated = sizes > 0
    values, counts, sizes = values[rated], counts[rated], sizes[rated]
    means, parts = values.sum(axis=1) / sizes, counts / sizes[:, None]

    def statistic(weights: Array) -> Array:
        drawn = weights[:, rated]
        n = drawn.sum(axis=1)
        spread = divide(drawn @ means**2 - divide((drawn @ means) ** 2, n), n - 1)
        own = divide(drawn @ (1 / sizes), n)
        # How much of a rater's severity two items have in common, on average.
        shared = divide(((drawn @ parts) ** 2).sum(axis=1) - n * own, n * (n - 1))
        _, raters, error = item_rater_variances(values, counts, drawn, True)
        _, _, within = item_rater_variances(values, counts, drawn, False)
        noise = error * own + raters * (own - shared)
        noise = np.where(np.isnan(noise) & (shared < _SHARED), within * own, noise)
        constant = spread <= _SHARED * divide(drawn @ means**2, n)
        return np.minimum(1 - divide(noise, np.where(constant, 0, spread)), 1)

    return statistic
