"""The axes of charts: their ends, and their round ticks."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel.results.axis import Axis


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1, 10, {"1": 0, "4": 33.33, "7": 66.67, "10": 100}),
        (1, 9, {"1": 0, "3": 25, "5": 50, "7": 75, "9": 100}),
        (1, 6, {"1": 0, "2": 20, "3": 40, "4": 60, "5": 80, "6": 100}),
        (2, 4, {"2": 0, "3": 50, "4": 100}),
        (1, 8, {"1": 0, "8": 100}),
        (0, 10, {"0": 0, "2": 20, "4": 40, "6": 60, "8": 80, "10": 100}),
        (-1, 1, {"−1": 0, "−0.5": 25, "0": 50, "0.5": 75, "1": 100}),
        (0.5, 3, {"0.5": 0, "1": 20, "1.5": 40, "2": 60, "2.5": 80, "3": 100}),
    ],
)
def test_an_axis_has_round_ticks(low: float, high: float, ticks: dict[str, float]) -> None:
    """A scale from 1 on is parted evenly; others have about five round steps."""
    found = Axis(float(low), float(high)).ticks
    assert found == [(f"{place:.2f}%", label) for label, place in ticks.items()]


def test_an_axis_reaches_over_its_values() -> None:
    """From limit to limit, else as far as finite values reach; about 0 in whole steps."""
    inf, nan = float("inf"), float("nan")
    assert Axis.of((1, 9), [20.0]) == Axis(1, 9)
    assert Axis.of((-inf, inf), [2.0, nan, 5.0]) == Axis(2, 5)
    assert Axis.of((1, inf), [3.0, inf]) == Axis(1, 3)
    assert Axis.of((-inf, inf), [2.0]) == Axis(1.5, 2.5)
    assert Axis.of((-inf, inf), []) == Axis(-0.5, 0.5)
    # About five steps of 0.25 over 1.4, of which three reach 0.7.
    assert Axis.about_zero([0.3, -0.7, nan]) == Axis(-0.75, 0.75)
    assert Axis.about_zero([0.3], least=1.0) == Axis(-1, 1)
    axis = Axis(1, 9)
    assert [axis.at(value) for value in (0, 1, 3, 9, 10)] == [
        "0.00%", "0.00%", "25.00%", "100.00%", "100.00%",
    ]  # fmt: skip


def test_axes_have_round_ticks_within_their_ends() -> None:
    """A scale of 1 to 10 is ticked at its own ends; one about 0 has 0 among its ticks; values
    beyond the ends stand at the edge, and a scale of one value has a width."""
    assert Axis(1.0, 10.0).ticks == [
        ("0.00%", "1"), ("33.33%", "4"), ("66.67%", "7"), ("100.00%", "10"),
    ]  # fmt: skip
    assert [label for _, label in Axis(1.0, 5.0).ticks] == ["1", "2", "3", "4", "5"]
    assert [label for _, label in Axis.about_zero([0.9, -2.7]).ticks] == [
        "−3",
        "−2",
        "−1",
        "0",
        "1",
        "2",
        "3",
    ]
    assert (Axis(1.0, 9.0).at(3), Axis(1.0, 9.0).at(20)) == ("25.00%", "100.00%")
    # What rounding leaves of differences that are 0 is no difference.
    assert Axis.about_zero([4e-17, -2e-16]).at(4e-17) == "50.00%"
    assert Axis.of((-np.inf, np.inf), [4.0]).at(4.0) == "50.00%"
