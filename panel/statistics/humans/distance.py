"""What the distance of a panel's scores from people's consists of.

Source: H. Theil (1966), "Applied Economic Forecasting": the mean squared distance of x and y is
(x̄ − ȳ)² + (s_x − r s_y)² + (1 − r²) s_y², with standard deviations over n. The last part is what
the best straight line through x leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class DistanceParts:
    """The mean squared distance of two sets of scores of the same items, in squared points.

    Attributes:
        n_items: which have both.
        shift: the mean of the first less that of the second, in points.
        spread: the standard deviation of the first, divided by that of the second.
        squared: the mean squared distance.
        linear_share: which part of it, 0 to 1, another level and unit of the first, those of the
            best straight line, would take away; where the correlation is not above 0, another
            level alone.
    """

    n_items: int
    shift: float
    spread: float
    squared: float
    linear_share: float


def distance_parts(first: ArrayLike, second: ArrayLike) -> DistanceParts | None:
    """Return what the distance between scores of the same items comes of.

    Args:
        first, second: `(items,)`, NaN where missing.

    Returns:
        None where fewer than two items have both scores, the second are all the same, or no
        score differs from the other.

    >>> distance_parts([3, 4, 5, 4], [1, 2, 3, 2])
    DistanceParts(n_items=4, shift=2.0, spread=1.0, squared=4.0, linear_share=1.0)
    """
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    both = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[both], y[both]
    if len(x) < 2:
        return None
    shift, squared = float(x.mean() - y.mean()), float(np.mean((x - y) ** 2))
    if not squared or not y.std():
        return None
    covariance = float(np.mean((x - x.mean()) * (y - y.mean())))
    linear = shift**2
    if covariance > 0:
        linear += float(x.std() - covariance / x.std()) ** 2
    return DistanceParts(
        len(x), shift, float(x.std() / y.std()), squared, min(1.0, linear / squared)
    )
