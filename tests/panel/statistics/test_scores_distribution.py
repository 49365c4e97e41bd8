"""Distributions of scores."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from persona_panel.statistics import (
    score_distributions,
)


def test_distributions_by_hand() -> None:
    """Each group's shares are over its own ratings."""
    values, shares = score_distributions([[1, 2], [2, nan]], [4, 2], [nan])
    assert values.tolist() == [1, 2, 4]
    expected = np.array([[1 / 3, 2 / 3, 0], [0, 1 / 2, 1 / 2], [nan] * 3])
    assert shares == pytest.approx(expected, nan_ok=True)
    assert score_distributions()[1].shape == (0, 0)
