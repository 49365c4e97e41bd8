"""The mean of values that no one takes for symmetric, tested against 0.

No test of a mean holds its level for every distribution (Bahadur and Savage 1956, "The
nonexistence of certain statistical procedures in nonparametric problems"): a rare, large value
that no sample has shown moves the mean. Where a bound on such values is given there is one.

Source: Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean
of a nonnegative variable": the sample is joined by one value at the bound, and its values get
random weights, those of the spacings of n uniform numbers; p is the probability that their weighted
mean is not above 0. That it never errs in more than its level is a conjecture: Learned-Miller and
Thomas (2020), "A new confidence interval for the mean of a bounded random variable", found no
distribution of which it is not true, and `benchmarks/null_sweeps.py` none of those that matter
here. The weights are those of exponential variables over their sum, whose linear combinations have
the distribution function of Imhof (1961), "Computing the distribution of quadratic forms in normal
variables".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, as_ratings, as_scores

_STEP, _REACH = 0.1, 35.0
"""Of the logarithm over which is integrated; steps are finer where the sum of many angles turns
faster."""
_NEGLIGIBLE = 30.0
_LEAST = 1e-11


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
        `(tests,)` in (0, 1], NaN where fewer than two items have a value; 1 without a bound above
        0, as nothing could then move the mean.

    Raises:
        ValueError: another shape, an infinite value, or a bound below 0.

    Three falls of 1 where a rise of 1 is possible: were half of all changes such rises, one sample
    in eight would have none, and as many no fall.

    >>> bounded_mean_p_values([[-1.0], [-1.0], [-1.0]], [1.0]).round(3)
    array([0.25])
    """
    columns, limits = as_ratings(values), as_scores(bounds)
    if limits.shape != (columns.shape[1],):
        raise ValueError(f"a bound is needed for each of {columns.shape[1]}, found {len(limits)}")
    if not (limits >= 0).all():
        raise ValueError("a bound is 0 or above")
    there = ~np.isnan(columns)
    # A value that is not there has no weight.
    filled = np.where(there, columns, 0.0)
    toward = filled * np.where(filled.sum(axis=0) < 0, -1.0, 1.0)
    limits = np.maximum(limits, (-toward).max(axis=0, initial=0.0))
    # Either direction could have been claimed.
    p_values = np.minimum(1.0, 2 * _share_below(np.vstack([toward, -limits])))
    p_values = np.where(limits > 0, p_values, 1.0)
    return np.where(there.sum(axis=0) >= 2, p_values, np.nan)


def _share_below(factors: Array) -> Array:
    """The probability `(tests,)` that the sum of factors `(variables, tests)` times independent
    exponential variables is below 0."""
    largest = np.abs(factors).max(axis=0)
    scaled = np.divide(factors, largest, out=np.zeros_like(factors), where=largest > 0)
    total = np.zeros(factors.shape[1])
    step = min(_STEP, 0.5 / len(factors) ** 0.5)
    for log in np.arange(-_REACH, _REACH, step):
        at = scaled * np.exp(log)
        size = np.log1p(at**2).sum(axis=0) / 2
        total += np.sin(np.arctan(at).sum(axis=0)) * np.exp(-size)
        if size.min(initial=_NEGLIGIBLE + 1) > _NEGLIGIBLE:
            break
    found: Array = np.maximum(_LEAST, 0.5 - total * step / np.pi)
    return found
