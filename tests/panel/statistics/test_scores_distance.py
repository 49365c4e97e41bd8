"""What the distance of two sets of scores consists of, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel.statistics.scores import distance_parts


def test_shift_and_spread_are_the_linear_part() -> None:
    """Of 3, 5 and 1, 2 the means are 2.5 apart and the spreads 1 and ½: 6.25 + 0.25, all of the
    mean squared distance (4 + 9)/2; an item that one side lacks counts nothing."""
    found = distance_parts([3, 5, 9], [1, 2, np.nan])
    assert found is not None
    assert (found.n_items, found.shift, found.spread) == (2, 2.5, 2.0)
    assert found.linear_share == pytest.approx(1.0)


def test_another_order_is_the_rest() -> None:
    """1, 2, 3 and 2, 4, 3: of the mean squared distance (1 + 4 + 0)/3 the best line, with r = ½,
    leaves (1 − r²) s² = ¾ · 2/3 = ½."""
    found = distance_parts([2, 4, 3], [1, 2, 3])
    assert found is not None
    assert found.linear_share == pytest.approx(1 - 0.5 / (5 / 3))


@pytest.mark.parametrize(
    ("spread", "r", "share"),
    [
        (0.3, 0.5, (0.3 - 0.5) ** 2 / (0.09 + 1 - 0.3)),  # 5 %: too narrow, and little to gain
        (2.0, 0.3, (2.0 - 0.3) ** 2 / (4 + 1 - 1.2)),  # 76 %: too wide
        (2.0, -0.3, 0.0),  # No line that rises takes anything away.
    ],
)
def test_the_best_line_is_what_another_unit_takes_away(
    spread: float, r: float, share: float
) -> None:
    """Of scores of the same mean, with spread s and correlation r to people's of spread 1, it is
    (s − r)² of the mean squared distance s² + 1 − 2 s r."""
    y, other = np.array([1.0, 1, -1, -1]), np.array([1.0, -1, 1, -1])
    found = distance_parts(spread * (r * y + (1 - r * r) ** 0.5 * other), y)
    assert found is not None
    assert (found.shift, found.spread) == pytest.approx((0, spread))
    assert found.linear_share == pytest.approx(share)


@pytest.mark.parametrize(("x", "y"), [([1, np.nan], [1, 2]), ([1, 2], [3, 3]), ([1, 2], [1, 2])])
def test_nothing_is_said_without_scores_or_distance(x: list[float], y: list[float]) -> None:
    """One item, people who are all of one score, and scores that are the same."""
    assert distance_parts(x, y) is None
