"""What the distance of two sets of scores consists of, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from panel.statistics.humans.distance import distance_parts


def test_shift_and_spread_are_the_linear_part() -> None:
    """Of 3, 5 and 1, 2 the means are 2.5 apart and the spreads 1 and ½: 6.25 + 0.25 of the mean
    squared distance (4 + 9)/2, all of it; an item that one side lacks counts nothing."""
    found = distance_parts([3, 5, 9], [1, 2, np.nan])
    assert found is not None
    assert (found.n_items, found.shift, found.spread) == (2, 2.5, 2.0)
    assert (found.squared, found.linear_share) == (6.5, pytest.approx(1.0))


def test_another_order_is_the_rest() -> None:
    """1, 2, 3 and 2, 4, 3: a shift of 1 and equal spreads are 1 of the mean squared distance
    (1 + 4 + 0)/3, and 2 s² (1 − r), with s² = 2/3 and r = ½, the other 2/3."""
    found = distance_parts([2, 4, 3], [1, 2, 3])
    assert found is not None
    assert found.squared == pytest.approx(1 + 2 * (2 / 3) * (1 - 1 / 2))
    assert found.linear_share == pytest.approx(0.6)


@pytest.mark.parametrize(("x", "y"), [([1, np.nan], [1, 2]), ([1, 2], [3, 3]), ([1, 2], [1, 2])])
def test_nothing_is_said_without_scores_or_distance(x: list[float], y: list[float]) -> None:
    """One item, people who are all of one score, and scores that are the same."""
    assert distance_parts(x, y) is None
