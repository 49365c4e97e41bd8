"""Heatmaps: every cell says its number, and its side without colour."""

from __future__ import annotations

from math import nan

from matplotlib.patches import Rectangle

from persona_panel.results.heatmap import HeatCell, HeatPanel, heatmap
from persona_panel.statistics.core.display import signed
from tests.helpers.figures import legend, names

CELLS = [
    [HeatCell(1.0, "*"), HeatCell(-0.5, strong=True)],
    [HeatCell(-0.02), HeatCell(nan)],
]


def test_a_negative_cell_is_hatched_and_a_strong_one_has_a_border() -> None:
    """So that both can be told in grey; a value near 0 is as white as one above it."""
    figure = heatmap(
        ["a", "b"], [HeatPanel("", ["one", "two"], CELLS)], "Points",
        [("negative", "lower"), ("strong", "large"), ("*", "sure")], columns=1,
    )  # fmt: skip
    axis = figure.axes[0]
    assert [text.get_text() for text in axis.texts] == ["+1.00*", "−0.50", "−0.02", "–"]
    assert names(axis) == ["one", "two"]
    assert axis.get_xlim() == (0, 2)
    patches = [one for one in axis.patches if isinstance(one, Rectangle)]
    assert [one.get_xy() for one in patches if one.get_hatch()] == [(1, 0)]
    bold = [one for one in patches if not one.get_fill() and one.get_linewidth() == 1.8]
    assert [tuple(map(round, one.get_xy())) for one in bold] == [(1, 0)]
    assert legend(figure) == ["lower", "large", "*  sure"]


def test_colours_are_symmetric_about_0() -> None:
    """A value and its opposite are equally far from the middle, and no tiny value looks large
    where the scale is said to go further."""
    for least, furthest in ((0.0, 1.0), (2.0, 2.0)):
        figure = heatmap(
            ["a", "b"], [HeatPanel("", ["one", "two"], CELLS)], "Points", columns=1, least=least
        )
        assert figure.axes[-1].get_ylim() == (-furthest, furthest)


def test_a_cell_too_narrow_for_its_number_has_its_sign() -> None:
    """Of thirty columns on one column of a page, each cell has a sign and its mark."""
    cells = [[HeatCell(-1.0, "*"), *(HeatCell(0.5) for _ in range(29))]]
    figure = heatmap(
        [f"system {n}" for n in range(30)], [HeatPanel("", ["one"], cells)], "Points", columns=1
    )
    assert [text.get_text() for text in figure.axes[0].texts] == ["−*", *"+" * 29]


def test_names_of_columns_stand_above_the_first_panel_alone() -> None:
    """Panels have the same columns; rows apart are further down."""
    panels = [HeatPanel(name, ["one", "two"], CELLS, apart=1) for name in ("first", "second")]
    figure = heatmap(["a", "b"], panels, "Points", columns=2)
    first, second, _ = figure.axes
    assert [axis.get_title() for axis in (first, second)] == ["first", "second"]
    shown = [axis.xaxis.get_tick_params()["labeltop"] for axis in (first, second)]
    assert shown == [True, False]
    assert list(first.get_yticks()) == [0.5, 1.9]


def test_a_minus_is_a_minus() -> None:
    """Nought has no minus, and what is not there a dash."""
    assert [signed(value) for value in (-1.234, 0.005, -0.001, nan)] == [
        "−1.23", "+0.01", "0.00", "–"
    ]  # fmt: skip


def test_numbers_on_dark_cells_are_white() -> None:
    """The largest values lie at the dark ends of the scale, and 0 in its light middle."""
    cells = [[HeatCell(1.0), HeatCell(-1.0), HeatCell(0.0)]]
    figure = heatmap(["a", "b", "c"], [HeatPanel("", ["one"], cells)], "Points", columns=2)
    assert [text.get_color() for text in figure.axes[0].texts] == ["white", "white", "black"]
