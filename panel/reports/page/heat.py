"""Tints of the cells of heatmaps."""

from __future__ import annotations

from math import isnan

_STEPS = 3


def tint(value: float, most: float) -> str:
    """The class of a cell: `p1` to `p3` above, `n1` to `n3` below, nothing where it is 0 or is not
    there. The number in the cell says the same.

    Args:
        most: the size from which on a cell has the deepest tint.

    >>> tint(2.0, 2.0), tint(-0.5, 2.0), tint(0.0, 2.0), tint(float("nan"), 1.0)
    ('p3', 'n1', '', '')
    """
    if isnan(value) or most <= 0 or round(value, 2) == 0:
        return ""
    share = min(1.0, abs(value) / max(most, 1e-9))
    step = min(_STEPS, int(share * _STEPS) + 1)
    return f"{'p' if value > 0 else 'n'}{step}"
