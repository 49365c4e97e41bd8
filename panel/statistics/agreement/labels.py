"""Labels, of a few categories without an order: majorities, confusion and agreement by category.

Labels are codes 0, 1, … of categories, NaN where missing, as ratings are.

Sources: D. V. Cicchetti & A. R. Feinstein (1990), "High agreement but low kappa: II" (agreement on
each category of two raters, there called p_pos and p_neg); J. L. Fleiss, B. Levin & M. C. Paik
(2003), *Statistical Methods for Rates and Proportions*, 3rd ed., ch. 18 (the same of many raters).
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
    paired_scores,
)


def majority(labels: ArrayLike) -> Array:
    """The label that more raters gave to an item than any other `(items,)`.

    NaN where two labels share the first place, or nobody gave one.

    Args:
        labels: `(items, raters)`, NaN where missing.

    Raises:
        ValueError: a wrong shape or an infinite value.

    >>> majority([[0, 1, 1], [0, 1, float("nan")]]).tolist()
    [1.0, nan]
    """
    array = as_ratings(labels)
    values = np.unique(array[~np.isnan(array)])
    if not len(values):
        return np.full(len(array), np.nan)
    counts = count_by_item(array, values)
    most = counts.max(axis=1, keepdims=True)
    alone = ((counts == most).sum(axis=1) == 1) & (most[:, 0] > 0)
    result: Array = np.where(alone, values[counts.argmax(axis=1)], np.nan)
    return result


def confusion(x: ArrayLike, y: ArrayLike, n_categories: int) -> Array:
    """Return how often each pair of labels occurs: `(n_categories, n_categories)`, rows by x.

    Args:
        x, y: `(items,)`, codes from 0 to n_categories − 1, NaN where missing.

    Raises:
        ValueError: the shapes differ, or a code is not of a category.

    >>> confusion([0, 0, 1], [0, 1, 1], 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    first, second, both = paired_scores(x, y)
    pairs = np.stack([first[both], second[both]])
    if not np.isin(pairs, np.arange(n_categories)).all():
        raise ValueError(f"codes of categories are whole numbers from 0 to {n_categories - 1}")
    cells = pairs[0] * n_categories + pairs[1]
    counts = np.bincount(cells.astype(np.intp), minlength=n_categories**2)
    return counts.reshape(n_categories, n_categories).astype(np.float64)


def agreement_on(labels: ArrayLike, category: float) -> Resampled:
    """The agreement of raters on one category, as a function of resampling weights.

    How to read it: where one rater gave this label, the probability that another one of the same
    item did; 1, whoever gives it is joined by all others. It does not correct for chance: a common
    label reaches a high value by chance alone. Of two raters it is 2a / (2a + b + c), the F1 of the
    category, whichever of the two is taken as the reference.

    Args:
        labels: `(items, raters)`, NaN where missing; items with fewer than two do not enter.
        category: its code.

    Returns:
        Values in [0, 1]; NaN where nobody gave the label.

    Raises:
        ValueError: a wrong shape or an infinite value.

    >>> float(agreement_on([[0, 0], [0, 1], [1, 1]], 0)(np.ones((1, 3)))[0])
    0.6666666666666666
    """
    array = as_ratings(labels)
    sizes = np.sum(~np.isnan(array), axis=1)
    own = np.sum(array == category, axis=1)
    # Each item's pairs count by 1 / (n − 1), so that a rating counts alike however many there are.
    others = np.maximum(sizes - 1, 1)
    joined = np.where(sizes > 1, own * (own - 1) / others, 0.0)
    given = np.where(sizes > 1, own, 0).astype(np.float64)
    return lambda weights: divide(weights @ joined, weights @ given)


def same_label(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether two raters gave an item one label: 1 or 0 `(items,)`, NaN where either is
    missing.

    Raises:
        ValueError: the shapes differ or a value is infinite.

    >>> same_label([0, 1, 2, np.nan], [0, 2, 2, 1])
    array([ 1.,  0.,  1., nan])
    """
    first, second, both = paired_scores(x, y)
    result: Array = np.where(both, (first == second).astype(np.float64), np.nan)
    return result
