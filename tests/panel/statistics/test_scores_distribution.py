"""Distributions of scores."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from persona_panel.statistics import (
    score_distributions,
)


def test_distributions_by_hand() -> None:
    """Each group's shares are over its own ratings; missing ones are counted apart."""
    ours = score_distributions([[1, 2], [2, nan]], [4, 2], [nan])
    assert ours.values.tolist() == [1, 2, 4]
    assert ours.counts.tolist() == [[1, 2, 0], [0, 1, 1], [0, 0, 0]]
    expected = np.array([[1 / 3, 2 / 3, 0], [0, 1 / 2, 1 / 2], [nan] * 3])
    assert ours.shares == pytest.approx(expected, nan_ok=True)
    assert ours.means == pytest.approx([5 / 3, 3, nan], nan_ok=True)
    assert ours.missing.tolist() == [1, 0, 1]
    assert score_distributions().counts.shape == (0, 0)
