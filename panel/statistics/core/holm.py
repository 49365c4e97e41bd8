"""Holm's correction of p-values that are looked at together, in one family or in two.

Sources: S. Holm (1979), "A simple sequentially rejective multiple test procedure"; F. Bretz,
W. Maurer, W. Brannath & M. Posch (2009), "A graphical approach to sequentially rejective multiple
test procedures", for a level that is passed from one family to another.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array


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


def holm_of_two(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    """Adjusted p-values of two families of tests, such as that of a composite and those of its
    dimensions, in the order given.

    Each family is tested by Holm's procedure at half of the level and, once all of the other is
    significant there, at the whole level. So anything is claimed falsely, in either, no more often
    than the level says; the composite is not one test among many, and dimensions may differ where
    it does not. By closed testing: where tests of both families are true, half of the level is
    Bonferroni's for each of the two, and the whole where those of one are.

    Args:
        first, second: `(tests,)` each, as for `holm`. Without a test in one family the other has
            the whole level.

    Raises:
        ValueError: as `holm`.

    >>> [each.round(3).tolist() for each in holm_of_two([0.02], [0.01, 0.2])]
    [[0.04], [0.04, 0.2]]
    >>> [each.round(3).tolist() for each in holm_of_two([0.5], [0.01, 0.02])]
    [[0.5], [0.04, 0.04]]
    """
    families = holm(first), holm(second)
    # A family without a test has none above 0, so that the other has the whole level.
    largest = [np.max(each, initial=0.0, where=~np.isnan(each)) for each in families]
    adjusted = [
        np.maximum(each, np.minimum(1, 2 * np.minimum(each, other)))
        for each, other in zip(families, reversed(largest), strict=True)
    ]
    return adjusted[0], adjusted[1]


def holm_beside(p_values: ArrayLike, primary: ArrayLike) -> Array:
    """`holm_of_two` of tests that stand together, in the order given.

    Args:
        p_values: `(tests,)`, as for `holm`.
        primary: `(tests,)`, which of them are the first family; of none or all there is one family.

    Raises:
        ValueError: as `holm`.

    >>> holm_beside([0.01, 0.02, 0.2], [False, True, False]).round(3).tolist()
    [0.04, 0.04, 0.2]
    """
    raw, first = np.asarray(p_values, dtype=np.float64), np.asarray(primary, dtype=bool)
    adjusted = np.empty(raw.shape)
    adjusted[first], adjusted[~first] = holm_of_two(raw[first], raw[~first])
    return adjusted


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
