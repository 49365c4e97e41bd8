"""Holm's correction of p-values that are looked at together.

Source: S. Holm (1979), "A simple sequentially rejective multiple test procedure".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from panel.statistics.core.arrays import Array


def holm(p_values: ArrayLike) -> Array:
    """Adjusted p-values, in the order given.

    Args:
        p_values: `(tests,)` in [0, 1]; NaN where there was no test, which stays NaN and
            does not count as one.

    Raises:
        ValueError: a p-value outside [0, 1].

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    return adjusted_stepwise(
        p_values, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1))
    )


def adjusted_stepwise(p_values: ArrayLike, adjust: Callable[[Array], Array]) -> Array:
    """Adjusted p-values, in the order given, at most 1; args and errors as for `holm`.

    Args:
        adjust: of the p-values of all tests, the smallest first.
    """
    raw = np.asarray(p_values, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(raw))
    if ((raw[tested] < 0) | (raw[tested] > 1)).any():
        raise ValueError("a p-value lies between 0 and 1")
    order = tested[np.argsort(raw[tested], kind="stable")]
    adjusted = np.full(raw.shape, np.nan)
    adjusted[order] = np.minimum(adjust(raw[order]), 1)
    return adjusted
