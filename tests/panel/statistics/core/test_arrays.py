"""What all statistics compute with: `panel.statistics.core.arrays`."""

from __future__ import annotations

import numpy as np
import pytest

from panel.statistics.core.arrays import scaled_to_unit


@pytest.mark.parametrize("power", [-1060, -600, 0, 600, 1020])
def test_magnitudes_are_scaled_exactly(power: int) -> None:
    """The largest of 3, −1 and 2 times any power of two becomes 3/4, the others as exactly."""
    values = np.ldexp([3.0, -1.0, 2.0], power)
    assert scaled_to_unit(values).tolist() == [0.75, -0.25, 0.5]


def test_nothing_and_zeros_stay() -> None:
    """There is no magnitude to scale by, and none is made up."""
    assert scaled_to_unit(np.array([])).tolist() == []
    assert scaled_to_unit(np.zeros(2)).tolist() == [0.0, 0.0]
