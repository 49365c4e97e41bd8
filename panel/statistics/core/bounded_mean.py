"""The mean of values that no one takes for symmetric, tested against 0.

No test of a mean holds its level for every distribution (Bahadur and Savage 1956, "The
nonexistence of certain statistical procedures in nonparametric problems"): a rare, large value
that no sample has shown moves the mean. Where a bound on such values is given there is one.

Source: betting on the values. From 1 a bet of λ on each value x grows to the product of
1 + λ x, whose expectation is 1 where the mean of x is 0; by Markov's inequality it reaches 1/p
with a probability of p at most. Waudby-Smith and Ramdas (2024), "Estimating means of bounded random
variables by betting", section 4; the mean over a grid of bets is their mixture.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panel.statistics.core.arrays import Array, as_ratings, as_scores

_BETS = 20


def bounded_mean_p_values(values: ArrayLike, bounds: ArrayLike) -> Array:
    """Two-sided p-values of the mean of each column against 0, for values of any distribution
    that is bounded on the side away from its mean.

    With bounds that are known it is at most 0.05 in at most 5 % of samples with the mean 0,
    however skewed they are and however few. That does not hold of bounds that are estimated from
    the sample, which may have missed the farthest values: then it errs more often, the fewer
    values there are. A test of little power, for where one that takes symmetry cannot be trusted.

    Args:
        values: `(items, tests)`, NaN where an item has none.
        bounds: `(tests,)`: how far a value may lie from 0 on the side opposite to the mean of
            its column, in the values' unit. One that is nearer than a value found is moved there.

    Returns:
        `(tests,)` in (0, 1], NaN where fewer than two items have a value.

    Raises:
        ValueError: another shape, an infinite value, or a bound below 0.

    Three falls of 1 where a rise of 1 is possible, the bets being 1/20, 2/20 … 1:

    >>> bounded_mean_p_values([[-1.0], [-1.0], [-1.0]], [1.0]).round(3)
    array([0.509])
    """
    columns, limits = as_ratings(values), as_scores(bounds)
    if limits.shape != (columns.shape[1],):
        raise ValueError(f"a bound is needed for each of {columns.shape[1]}, found {len(limits)}")
    if not (limits >= 0).all():
        raise ValueError("a bound is 0 or above")
    there = ~np.isnan(columns)
    # A value that is not there leaves a bet as it is.
    filled = np.where(there, columns, 0.0)
    toward = filled * np.where(filled.sum(axis=0) < 0, -1.0, 1.0)
    limits = np.maximum(limits, (-toward).max(axis=0, initial=0.0))
    # Without a bound above 0 nothing moves, and every bet is 0.
    largest = np.divide(1.0, limits, out=np.zeros_like(limits), where=limits > 0)
    logs = []
    with np.errstate(divide="ignore"):
        for share in np.arange(1, _BETS + 1) / _BETS:
            # The largest bet may lose all: no last bit may make it lose more than that.
            factors = np.maximum(share * largest * toward, -1.0)
            logs.append(np.log1p(factors).sum(axis=0))
        wealth = np.logaddexp.reduce(np.stack(logs), axis=0) - np.log(_BETS)
    # Either direction could have been claimed.
    p_values = np.exp(np.minimum(0.0, np.log(2.0) - wealth))
    return np.where(there.sum(axis=0) >= 2, p_values, np.nan)
