"""Strips: who stands where, and who is named."""

from __future__ import annotations

from math import nan

from persona_panel.results.charts import StripPoint, StripRow, strips
from tests.helpers.figures import legend, names, points


def test_each_stands_at_its_value_with_the_marker_of_its_kind() -> None:
    """Filled or not as is said; what has no value is left out, and the furthest are named."""
    row = StripRow(
        "one",
        [
            StripPoint("ann", 1.5, "near", True),
            StripPoint("bob", -2.0, "far", False),
            StripPoint("cat", nan, "near", True),
            StripPoint("dan", 0.5, "far", True),
        ],
    )
    figure = strips(
        [row, StripRow("two", [])], ["near", "far"], "Points", "sure", "unsure", columns=1
    )
    (axis,) = figure.axes
    assert names(axis) == ["one", "two"]
    assert points(axis, "o") == [(1.5, True)]
    assert sorted(points(axis, "s")) == [(-2.0, False), (0.5, True)]
    assert [text.get_text() for text in axis.texts] == ["← bob", "ann →", "no value"]
    assert legend(figure) == ["near", "far", "sure", "unsure"]
    low, high = axis.get_xlim()
    assert low < -2 and high == -low
