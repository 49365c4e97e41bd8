"""Heatmaps: every cell says its number, and its side without colour."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest
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
    apart, equal = panels[0], HeatPanel("", ["one"], CELLS[:1])
    grid = heatmap(["a", "b"], [apart, equal], "Points", columns=2).axes[0].get_gridspec()
    assert grid.get_height_ratios() == [2.4, 1]


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


@pytest.mark.parametrize(
    ("n", "apart", "title", "keys", "inches"),
    [
        (20, 0, "", 0, 4.325),  # 20 × 0.2, a line of 0.125 above, 0.1 for each panel, 0.1 below
        (20, 0, "", 1, 4.525),
        (20, 0, "a title", 0, 4.525),
        (20, 3, "", 0, 4.405),  # 0.4 of a row stands between those apart and the others
        (2, 0, "", 0, 1.4),
    ],
)
def test_a_heatmap_is_as_high_as_its_rows(
    n: int, apart: int, title: str, keys: int, inches: float
) -> None:
    """And as what stands above and below them; never lower than 1.4 inches."""
    panel = HeatPanel(title, [f"r{y}" for y in range(n)], [[HeatCell(1.0)]] * n, apart)
    figure = heatmap(["a"], [panel], "Points", [("strong", "large")] * keys, columns=2)
    assert figure.get_figheight() == pytest.approx(inches)
    axis = figure.axes[0]
    tops = [y + 0.4 * (apart > 0 and y >= n - apart) for y in range(n)]
    assert list(axis.get_yticks()) == pytest.approx([top + 0.5 for top in tops])
    assert axis.get_ylim() == (pytest.approx(tops[-1] + 1), 0)
    cells = [each for each in axis.patches if each.get_fill()]
    assert [(each.get_x(), each.get_y()) for each in cells] == [(0, top) for top in tops]
    assert {(each.get_width(), each.get_height()) for each in cells} == {(1, 1)}
    assert len(figure.legends) == keys


def test_every_mark_of_a_cell_is_in_its_middle() -> None:
    """Its number; and its border of black within white, white inside, neither beyond the cell.
    A hatch is lighter than a dark cell, darker than a light one, and not behind the number."""
    cells = [[HeatCell(-1.0, strong=True), HeatCell(-0.3), HeatCell(-0.08), HeatCell(0.3)]]
    figure = heatmap(["a", "b", "c", "d"], [HeatPanel("", ["one"], cells)], "Points", columns=2)
    axis = figure.axes[0]
    assert [text.get_position() for text in axis.texts] == [(x + 0.5, 0.5) for x in range(4)]
    assert [text.get_bbox_patch() is not None for text in axis.texts] == [True, True, False, False]
    borders: list[Any] = [each for each in axis.patches if each.get_linewidth() > 1]
    assert [each.get_edgecolor()[:3] for each in borders] == [(1, 1, 1), (0, 0, 0)]
    assert not any(border.get_fill() for border in borders)
    corners = [(0.045, 0.1125, 0.955, 0.8875), (0.03, 0.075, 0.97, 0.925)]
    bounds = [border.get_bbox().extents for border in borders]
    assert bounds == [pytest.approx(corner) for corner in corners]
    assert [border.get_linewidth() for border in borders] == [3.4, 1.8]
    hatched: list[Any] = [each for each in axis.patches if each.get_hatch()]
    assert [each.get_x() for each in hatched] == [0, 1]
    for each, lighter in zip(hatched, (True, False), strict=True):
        assert (sum(each.get_edgecolor()[:3]) > sum(each.get_facecolor()[:3])) == lighter
        assert each.get_linewidth() == 0
    plain = [each for each in axis.patches if not each.get_hatch() and each not in borders]
    assert {each.get_linewidth() for each in plain} == {0.4}
    assert [each.get_facecolor()[3] for each in plain] == [0, 0, 1, 1]
    orders = [each.get_zorder() for each in axis.patches]
    assert min(text.get_zorder() for text in axis.texts) > max(orders)


@pytest.mark.parametrize(
    ("heads", "columns", "rotation", "drawn"),
    [
        (["a", "a name of several words"], 1, 0, ["a", "a name of several\nwords"]),
        ([f"column-{n}" for n in range(12)], 1, 90, [f"column-{n}" for n in range(12)]),
        ([f"column-{n}" for n in range(4)], 2, 0, [f"column-{n}" for n in range(4)]),
    ],
)
def test_names_of_columns_that_are_wider_than_a_cell_stand_upright(
    heads: list[str], columns: int, rotation: int, drawn: list[str]
) -> None:
    """Others are folded; they stand over the middles of their cells."""
    cells = [[HeatCell(0.5)] * len(heads)]
    figure = heatmap(heads, [HeatPanel("", ["one"], cells)], "P", columns=columns)  # type: ignore[arg-type]
    axis = figure.axes[0]
    assert list(axis.get_xticks()) == [x + 0.5 for x in range(len(heads))]
    assert [(text.get_text(), text.get_rotation()) for text in axis.get_xticklabels()] == [
        (text, rotation) for text in drawn
    ]
    assert axis.xaxis.get_ticks_position() == "top"
    assert not any(spine.get_visible() for spine in axis.spines.values())
    assert axis.xaxis.get_tick_params()["length"] == 0


def test_a_heatmap_without_cells_can_be_drawn() -> None:
    """Its scale goes from -1 to 1, as one of noughts alone does; numbers have at most 7 points."""
    assert heatmap([], [HeatPanel("", [], [])], "P", columns=1).axes[-1].get_ylim() == (-1, 1)
    figure = heatmap(["a"], [HeatPanel("", ["one"], [[HeatCell(0.0)]])], "P", columns=1)
    assert figure.axes[-1].get_ylim() == (-1, 1)
    assert [text.get_fontsize() for text in figure.axes[0].texts] == [7]


def test_the_key_looks_like_the_cells() -> None:
    """A border for what is strong, a hatch for what is negative, a mark before its words."""
    keys = [("negative", "lower"), ("strong", "large"), ("*", "sure")]
    figure = heatmap(["a"], [HeatPanel("", ["one"], [[HeatCell(1.0)]])], "P", keys, columns=2)
    negative, strong, mark = figure.legends[0].get_patches()
    assert negative.get_hatch() and not strong.get_hatch() and not mark.get_hatch()
    assert negative.get_linewidth() == 0.4 and strong.get_linewidth() == 1.8
    assert mark.get_facecolor()[3] == mark.get_edgecolor()[3] == 0
    assert figure.legends[0]._ncols == 3
    assert figure.axes[-1].get_ylabel() == "P"


@pytest.mark.parametrize(("columns", "row", "title"), [(1, 16, 36), (2, 28, 80)])
def test_long_names_take_what_room_there_is(columns: Any, row: int, title: int) -> None:
    """Two lines of so many letters, and a low bar three of 22, an ellipsis aside."""
    figure = heatmap(
        ["a"], [HeatPanel("x" * 400, ["x" * 400], [[HeatCell(1.0)]])], "x" * 400, columns=columns
    )
    axis, bar = figure.axes
    for text, width in ((names(axis)[0], row), (axis.get_title(), title)):
        lines = text.split("\n")
        assert (len(lines), len(lines[0])) == (2, width)
    assert [len(line) for line in bar.get_ylabel().split("\n")] == [22, 22, 23]


def test_the_bar_of_colours_is_narrow_and_near() -> None:
    """At the right of the cells, thirty times as high as wide, with smaller letters than these; its
    border is as thin as theirs."""
    cells = [[HeatCell(1.0)]]
    figure = heatmap(["a"], [HeatPanel("", ["one"], cells)], "P", columns=1)
    figure.canvas.draw()
    axis, bar = figure.axes
    body, beside = axis.get_position(), bar.get_position()
    assert 0 < beside.x0 - body.x1 < 0.04 and beside.width < 0.03
    width, height = beside.width * figure.get_figwidth(), beside.height * figure.get_figheight()
    assert height / width == pytest.approx(30, rel=0.01)
    assert {label.get_fontsize() for label in bar.get_yticklabels()} == {6.5}
    assert bar.yaxis.label.get_fontsize() == 7
    assert bar.spines["outline"].get_linewidth() == 0.5
