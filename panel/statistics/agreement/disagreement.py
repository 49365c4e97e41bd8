"""How far the raters of an item lie apart: the variance of its ratings, or of categories the share
of pairs of raters who differ.

Both are the mean over pairs of raters of one distance: half the squared difference, whose mean is
the variance with n − 1, or whether the two differ, whose complement is the observed agreement of
Fleiss' κ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, as_ratings, count_by_item, divide
from persona_panel.statistics.core.options import MeasurementLevel, check_choice


def disagreement_by_item(ratings: ArrayLike, level: MeasurementLevel = "interval") -> Array:
    """The disagreement on each item `(items,)`, NaN where it has fewer than two ratings.

    How to read it: 0, all raters of an item say the same. Unlike α and κ it does not depend on how
    far the items differ from each other, so that two groups of raters can be compared by it.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        level: at `nominal` the share of pairs of raters who differ, 0 to 1; at any other the
            variance of the ratings (n − 1), in squared points of the scale.

    Raises:
        ValueError: a wrong shape, an infinite value, or an unknown level.

    >>> disagreement_by_item([[1, 3], [2, 2]]).tolist()
    [2.0, 0.0]
    >>> disagreement_by_item([[0, 1, 1, 1]], "nominal").tolist()
    [0.5]
    """
    check_choice("level", level, MeasurementLevel)
    array = as_ratings(ratings)
    sizes = np.sum(~np.isnan(array), axis=1).astype(np.float64)
    pairs = sizes * (sizes - 1)
    if level == "nominal":
        counts = count_by_item(array, np.unique(array[~np.isnan(array)]))
        return divide(pairs - (counts * (counts - 1)).sum(axis=1), pairs)
    means = divide(np.nansum(array, axis=1), sizes)
    squares = np.nansum((array - means[:, None]) ** 2, axis=1)
    return divide(squares * sizes, pairs)
