"""The ratio of two differences that are measured on the same items, with Fieller's interval.

Source: E. C. Fieller (1954), "Some problems in interval estimation": a ratio r belongs to the
interval where panel − r × people does not differ from 0. It is bounded exactly where people's own
interval leaves 0 out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan

import numpy as np

from persona_panel.statistics.fidelity.group_difference import (
    PairedGroupDifference,
    difference_parts,
    reach_over,
)

_FARTHEST = 60
"""How many times the width of the search is doubled."""


def ratio_interval(
    panel: PairedGroupDifference, people: PairedGroupDifference, confidence: float = 0.95
) -> tuple[float, float]:
    """Low and high of panel / people; NaN where either has no interval, or where people's holds 0.

    Both are paired by item: what an item adds to both differences cancels at a ratio of 1.

    Args:
        panel, people: of the same items and strata, raters of one independent of the other's.
        confidence: of the interval, and of people's that has to leave 0 out.

    Raises:
        ValueError: they are of other items.

    >>> people = difference_by_model([[one] for one in (1, 2, 3, 1, 2, 3, 1, 2, 3, 2.0)])
    >>> panel = difference_by_model([[one] for one in (3, 4, 5, 3, 4, 5, 3, 4, 5, 4.0)])
    >>> [round(end, 2) for end in ratio_interval(panel, people)]
    [1.77, 2.41]
    """
    if not np.array_equal(panel.signs, people.signs):
        raise ValueError("the two differences are of other items")
    low, high = people.interval(confidence)
    if np.isnan([low, panel.interval(confidence)[0]]).any() or low <= 0 <= high:
        return nan, nan
    middle = panel.value / people.value

    def beyond(ratio: float) -> float:
        """Return how far panel − ratio × people lies outside of its own interval."""
        away = abs(panel.value - ratio * people.value)
        return away - reach_over(difference_parts(panel, people, ratio), confidence)

    return _end(beyond, middle, -1.0), _end(beyond, middle, 1.0)


def _end(beyond: Callable[[float], float], middle: float, side: float) -> float:
    # Imported here: whoever requires a figure of another command need not wait for it.
    from scipy.optimize import brentq

    width = max(abs(middle), 1.0) / 64
    for _ in range(_FARTHEST):
        if beyond(middle + side * width) > 0:
            return float(brentq(beyond, middle, middle + side * width, xtol=1e-7))
        width *= 2
    return nan
