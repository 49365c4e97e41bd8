"""Where marks stand in forest plots, curves and strips, and how large letters and lines are."""

from __future__ import annotations

import io
import struct
from math import nan
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from persona_panel.results.charts import (
    COLOURS,
    GREY,
    LIGHT,
    CurvePoint,
    ForestMarks,
    ForestPanel,
    ForestPoint,
    ForestSeries,
    PaperFigure,
    StripPoint,
    StripRow,
    curve,
    forest,
    label,
    longest,
    panels_in_rows,
    strips,
)
from tests.helpers.figures import legend, names, thick_lines, thin_lines

SERIES = [
    ForestSeries("mean", [ForestPoint(1.0, 0.5, 1.75, 0.0, 2.5), ForestPoint(3.0, filled=False)]),
    ForestSeries("median", [ForestPoint(nan), None]),
]
MARKS = ForestMarks("95 %", "99 %", "sure", "unsure")


def drawn(columns: Any = 1, panels: Any = None, **look: Any) -> PaperFigure:
    panels = [ForestPanel("", SERIES)] if panels is None else panels
    return forest(["elm", "oak"], panels, "Points", MARKS, columns=columns, **look)


def dots(axis: Any) -> list[tuple[float, float, str, str]]:
    """Each single point: x, y, its marker and its colour, in the order of drawing."""
    return [
        (float(x), round(float(y), 6), str(line.get_marker()), line.get_color())
        for line in axis.lines
        if line.get_marker() not in ("None", "|")
        for x, y in line.get_xydata()
    ]


def test_rows_of_a_forest_plot_are_apart_by_what_their_series_take() -> None:
    """Two series of 0.105 inches and 0.06 around them: rows of 0.27, and a series half of 0.105
    above or below the middle of its row. Intervals end where they should."""
    (axis,) = drawn().axes
    assert axis.get_ylim() == (pytest.approx(0.54), 0)
    assert list(axis.get_yticks()) == pytest.approx([0.135, 0.405])
    assert [dot[:3] for dot in dots(axis)] == [(1, 0.0825, "o"), (3, 0.3525, "o")]
    assert (thick_lines(axis), thin_lines(axis)) == ([(0.5, 1.75)], [(0.0, 2.5)])
    ends = [line for line in axis.lines if line.get_marker() == "|"]
    assert {(line.get_markersize(), line.get_markeredgewidth()) for line in ends} == {(4, 0.7)}
    assert [bar.get_linewidth() for bar in axis.collections] == [0.7]
    (nothing,) = axis.texts
    assert (nothing.get_text(), nothing.xy[1]) == ("no value", pytest.approx(0.1875))
    across = [line for line in axis.lines if line.get_color() == LIGHT]
    assert [float(line.get_ydata()[0]) for line in across] == pytest.approx([0.135, 0.405])
    assert 0 < nothing.xy[0] < 0.05 and nothing.get_fontsize() < 7


@pytest.mark.parametrize(
    ("columns", "titles", "n_across", "inches"),
    [
        (1, [""], 4, 1.42),  # 0.54 + 0.25 + 0.2, and a legend of 2 rows: 0.15 + 0.28
        (2, [""], 6, 1.28),
        (1, ["A"], 4, 1.62),
        (1, ["A", "B"], 4, 2.61),  # 2 × (0.54 + 0.25 + 0.2) + 0.2 + 0.43
        (2, ["A", "B"], 6, 1.48),
        (2, ["A", "B", "C", "D"], 6, 2.47),
    ],
)
def test_a_forest_plot_is_as_high_as_its_rows_titles_and_legend(
    columns: int, titles: list[str], n_across: int, inches: float
) -> None:
    """On one column of a page panels stand one below the other, on two columns three in a row, of
    which the first alone names the rows."""
    figure = drawn(columns, [ForestPanel(title, SERIES) for title in titles])
    assert figure.get_figheight() == pytest.approx(inches)
    (below,) = figure.legends
    assert (below._ncols, below.get_frame_on()) == (n_across, False)
    assert below.borderaxespad < below.handletextpad < 1 < below.columnspacing < 1.5
    named = [axis.yaxis.get_tick_params()["labelleft"] for axis in figure.axes]
    assert named == [columns == 1 or place % 3 == 0 for place in range(len(titles))]
    assert [axis.get_title() for axis in figure.axes] == titles


def test_panels_have_their_own_limits_unless_together_and_a_line_at_0_where_asked() -> None:
    """The axis label stands once."""
    far = [ForestSeries("mean", [ForestPoint(90.0), ForestPoint(100.0)])]
    panels = [ForestPanel("A", far), ForestPanel("B", [ForestSeries("mean", SERIES[0].points)])]
    for together in (False, True):
        a, b = drawn(2, panels, together=together, zero=together).axes
        assert (a.get_xlim() == b.get_xlim()) == together
        zeros = [line for line in b.lines if list(line.get_xdata()) == [0, 0]]
        assert [line.get_color() for line in zeros] == [GREY] * together
    # 6 % of the range beyond both ends, where no interval goes further.
    assert drawn(2, panels).axes[0].get_xlim() == pytest.approx((89.4, 100.6))


def test_marks_that_no_point_has_are_not_in_the_legend() -> None:
    """Neither an interval that is nowhere nor the name of the only series, which is black."""
    points = [ForestPoint(1.0), ForestPoint(2.0, 1.0, 3.0)]
    figure = drawn(1, [ForestPanel("", [ForestSeries("mean", points)])])
    assert legend(figure) == ["95 %", "sure", "unsure"]
    assert legend(drawn()) == ["mean", "median", "95 %", "99 %", "sure", "unsure"]
    looks = [handle.get_color() for handle in figure.legends[0].get_lines()]
    assert looks == ["black"] * 3
    assert [line.get_color() for line in drawn().legends[0].get_lines()] == [
        *COLOURS[:2],
        *[GREY] * 4,
    ]


def test_no_two_of_many_series_look_alike() -> None:
    """After seven the colours come again, with other markers."""
    series = [ForestSeries(f"s{n}", [ForestPoint(n), None]) for n in range(20)]
    figure = drawn(2, [ForestPanel("", series)])
    looks = [
        (line.get_marker(), line.get_markeredgecolor())
        for line in figure.axes[0].lines
        if line.get_marker() != "None"
    ]
    handles = [(line.get_marker(), line.get_color()) for line in figure.legends[0].get_lines()]
    assert len(set(looks)) == 20 and len({colour for _, colour in looks}) == 7
    assert handles[:20] == looks


def test_a_panel_without_values_has_no_ticks() -> None:
    """And its rows say why it is empty."""
    (axis,) = drawn(1, [ForestPanel("", [ForestSeries("m", [ForestPoint(nan), None])])]).axes
    assert (list(axis.get_xticks()), axis.get_xlim()) == ([], (0, 1))


CHOICES = [
    [("model", "a"), ("weights", "x")],
    [("model", "b"), ("weights", "x")],
    [("model", "a"), ("weights", "y")],
]
ESTIMATES = [ForestPoint(-1.0, -2.0, -0.5), ForestPoint(0.0, -1.0, 1.0), ForestPoint(2.0, 1.0, 3.0)]


def a_curve() -> PaperFigure:
    points = [
        CurvePoint(of, choices, main=place == 1)
        for place, (of, choices) in enumerate(zip(ESTIMATES, CHOICES, strict=True))
    ]
    return curve(points, "Difference (points)", columns=2)


def test_a_curve_has_each_estimate_above_its_choices() -> None:
    """Its interval is a line, paler where it holds 0; the main one is a larger diamond of its own
    colour; choices stand by kind, the commonest first, with a line between kinds."""
    figure = a_curve()
    above, below = figure.axes
    segments = [bar.get_segments()[0].tolist() for bar in above.collections]
    assert segments == [[[0, -2], [0, -0.5]], [[1, -1], [1, 1]], [[2, 1], [2, 3]]]
    assert dots(above) == [
        (0, -1, "o", "black"), (1, 0, "D", COLOURS[1]), (2, 2, "o", "black"),
    ]  # fmt: skip
    sizes = [line.get_markersize() for line in above.lines if line.get_marker() != "None"]
    assert sizes[1] > 2 * sizes[0] == 2 * sizes[2]
    assert names(below) == ["a", "b", "x", "y"]
    chosen = [
        [tuple(np.mean(each, axis=0)) for each in bar.get_segments()] for bar in below.collections
    ]
    assert chosen == [[(0, 0), (0, 2)], [(1, 1), (1, 2)], [(2, 0), (2, 3)]]
    assert {
        tuple(np.ptp(each, axis=0).round(6))
        for bar in below.collections
        for each in bar.get_segments()
    } == {(0, 0.6)}
    for axis in (above, below):
        shades = [np.mean(bar.get_color()[0][:3]) for bar in axis.collections]
        assert shades[0] == shades[2] < shades[1]
    assert [list(line.get_ydata()) for line in below.lines] == [[1.5, 1.5]]
    assert [list(line.get_ydata()) for line in above.lines if line.get_marker() == "None"] == [
        [0, 0]
    ]
    assert below.get_ylim() == (3.5, -0.5)
    low = 4 * 0.125 * 1.15 + 0.1
    assert figure.get_figheight() == pytest.approx(1.9 + low)
    assert above.get_gridspec().get_height_ratios() == [1.7, pytest.approx(low)]
    assert above.get_shared_x_axes().joined(above, below) and not len(below.get_xticks())


@pytest.mark.parametrize(("n", "points"), [(3, 0.6), (100, 0.6), (150, 0.4)])
def test_lines_of_a_long_curve_are_thinner(n: int, points: float) -> None:
    """Sixty points of width are shared, of which each has 0.6 at most."""
    rows = [CurvePoint(ESTIMATES[0], [("model", "a")], main=False)] * n
    figure = curve(rows, "Points", columns=2)
    widths = [bar.get_linewidth()[0] for axis in figure.axes for bar in axis.collections]
    assert widths == pytest.approx([points] * 2 * n)


def strip_points(*values: float, kind: str = "near") -> list[StripPoint]:
    return [StripPoint(f"p{value:g}", value, kind, True) for value in values]


def test_points_of_a_strip_lie_on_three_lines_around_one() -> None:
    """So that close ones do not hide each other: from the least on 0.06 above, on and below a line
    from the first to the last, 0.06 above the middle of the row; names are 0.16 below it."""
    rows = [StripRow("one", strip_points(4, 1, 2, 3)), StripRow("two", strip_points(-5))]
    figure = strips(rows, ["near"], "Points", "sure", "unsure", columns=1)
    (axis,) = figure.axes
    assert [dot[:2] for dot in dots(axis)] == [
        (1, 0.08), (2, 0.14), (3, 0.2), (4, 0.08), (-5, 0.48),
    ]  # fmt: skip
    lines = [line for line in axis.lines if line.get_color() == LIGHT]
    assert [list(line.get_xdata()) for line in lines] == [[1, 4], [-5, -5]]
    assert lines[0].get_ydata() == pytest.approx([0.14, 0.14])
    assert [(text.get_text(), *text.xy) for text in axis.texts] == [
        ("← p1", 0.01, pytest.approx(0.3)), ("p4 →", 0.99, pytest.approx(0.3)),
    ]  # fmt: skip
    assert [text.get_ha() for text in axis.texts] == ["left", "right"]
    spans = [(each.get_y(), each.get_y() + each.get_height()) for each in axis.patches]
    assert spans == [pytest.approx((0.02, 0.38)), pytest.approx((0.42, 0.78))]
    assert axis.get_xlim() == pytest.approx((-5.5, 5.5))
    assert axis.get_ylim() == (pytest.approx(0.8), 0)
    assert list(axis.get_yticks()) == pytest.approx([0.2, 0.6])
    assert legend(figure) == ["sure", "unsure"]
    assert figure.get_figheight() == pytest.approx(0.8 + 0.6 + 0.15)
    assert [list(line.get_xdata()) for line in axis.lines if line.get_color() == GREY] == [[0, 0]]


def test_kinds_of_a_strip_are_in_its_legend() -> None:
    """Each with its colour and marker, two beside each other on one column of a page, four on
    two; after seven they come again."""
    kinds = [f"k{n}" for n in range(8)]
    row = StripRow("one", [each for n in range(8) for each in strip_points(n, kind=f"k{n}")])
    for columns, n_across, n_down in ((1, 2, 5), (2, 4, 3)):
        figure = strips([row], kinds, "Points", "sure", "unsure", columns=columns)  # type: ignore[arg-type]
        (below,) = figure.legends
        assert below._ncols == n_across
        assert figure.get_figheight() == pytest.approx(0.4 + 0.6 + 0.15 * n_down)
        marks = [(line.get_marker(), line.get_color()) for line in below.get_lines()]
        points = [
            (line.get_marker(), line.get_markeredgecolor())
            for line in figure.axes[0].lines
            if line.get_marker() != "None"
        ]
        assert marks[:8] == points and marks[7] == marks[0] and len(set(marks[:8])) == 7
        filled = [line.get_markerfacecolor() for line in below.get_lines()][-2:]
        assert filled == [GREY, "white"]


def test_strips_without_values_reach_from_minus_1_to_1() -> None:
    """With a tenth beyond."""
    (axis,) = strips([StripRow("one", [])], ["near"], "Points", "a", "b", columns=2).axes
    assert axis.get_xlim() == pytest.approx((-1.1, 1.1))


@pytest.mark.parametrize(
    "figure",
    [
        drawn(zero=True), a_curve(),
        strips([StripRow("one", strip_points(1, 2))], ["near"], "P", "a", "b", columns=1),
    ],
    ids=["forest", "curve", "strips"],
)  # fmt: skip
def test_what_helps_the_eye_is_thinner_and_lower_than_what_is_measured(figure: PaperFigure) -> None:
    """Lines without points are at most a point thick and below all points, but for intervals of 2
    points; letters have 6 to 8 points; borders of axes and ticks 0.6."""
    figure.canvas.draw()
    for axis in figure.axes:
        points = [line for line in axis.lines if line.get_marker() not in ("None", "_", "|")]
        helping = [
            line
            for line in axis.lines
            if line.get_marker() == "None" and line.get_linestyle() != "None"
        ]
        assert all(line.get_linewidth() <= 1 or line.get_linewidth() == 2 for line in helping)
        if points:
            lowest = min(line.get_zorder() for line in points)
            assert lowest > max(line.get_zorder() for line in [*helping, *axis.collections])
            grey = [line.get_zorder() for line in helping if line.get_color() in (GREY, LIGHT)]
            assert all(order <= 1 for order in grey)
        assert {spine.get_linewidth() for spine in axis.spines.values()} == {0.6}
        assert not axis.spines["top"].get_visible() and not axis.spines["right"].get_visible()
        assert axis.get_ylabel() or axis.yaxis.get_tick_params()["length"] == 0
        assert len(axis.get_xticks()) <= 8
    sizes = {text.get_fontsize() for text in figure.findobj(Text) if text.get_text()}
    assert min(sizes) >= 6 and max(sizes) <= 8


def test_a_saved_figure_has_300_dots_per_inch_and_one_in_a_notebook_150() -> None:
    """Of 3.3 inches 990 and 495, by the header of the PNG; `dpi` has its own way."""
    figure, content, coarse = drawn(), io.BytesIO(), io.BytesIO()
    figure.savefig(content, format="png")
    figure.savefig(coarse, format="png", dpi=100)
    pictures = content.getvalue(), figure._repr_png_(), coarse.getvalue()
    assert [struct.unpack(">I", each[16:20])[0] for each in pictures] == [990, 495, 330]


def test_names_are_measured_by_their_widest_line() -> None:
    """Wide letters are two wide; no names have no width. Lines are cut after as many as asked."""
    assert [longest([]), longest(["abc\nabcde", "ab"]), longest(["漢字x"])] == [0, 5, 5]
    assert label("one two three", 5, 1) == "one…"
    assert label("one two three", 5, 2) == "one\ntwo…"
    assert label("one two three", 5, 3) == "one\ntwo\nthree"
    found = [panels_in_rows(n, c) for n, c in ((1, 1), (5, 1), (1, 2), (3, 2), (4, 2), (7, 2))]  # type: ignore[arg-type]
    assert found == [(1, 1), (5, 1), (1, 1), (1, 3), (2, 3), (3, 3)]


LONG = "x" * 400


@pytest.mark.parametrize(
    ("columns", "row", "strip", "below", "name"), [(1, 20, 18, 52, 19), (2, 30, 30, 110, 40)]
)
def test_long_names_take_what_room_there_is(
    columns: Any, row: int, strip: int, below: int, name: int
) -> None:
    """Names of rows are three lines of so many letters, labels of axes and titles two, an ellipsis
    aside; those of choices and of the furthest of a strip are one."""

    def sizes(text: str) -> tuple[int, int]:
        lines = text.split("\n")
        return len(lines), len(lines[0])

    series = [ForestSeries(LONG, [ForestPoint(1.0)]), ForestSeries("b", [None])]
    plot = forest([LONG], [ForestPanel(LONG, series)], LONG, ForestMarks(), columns=columns)
    assert sizes(names(plot.axes[0])[0]) == (3, row)
    assert sizes(plot.get_supxlabel()) == (2, below)
    assert sizes(plot.axes[0].get_title()) == (2, 34)
    assert sizes(legend(plot)[0]) == (2, 34)
    points = [StripPoint(LONG, x, LONG, True) for x in (1.0, 2.0)]
    plot = strips([StripRow(LONG, points)], [LONG, "b"], LONG, "a", "b", columns=columns)
    assert sizes(names(plot.axes[0])[0]) == (3, strip)
    assert [sizes(text.get_text()) for text in plot.axes[0].texts] == [(1, name + 3)] * 2
    assert sizes(legend(plot)[0]) == (2, 30)
    plot = curve([CurvePoint(ESTIMATES[0], [("m", LONG)], main=True)], LONG, columns=columns)
    assert sizes(names(plot.axes[1])[0]) == (1, 31)
    assert sizes(plot.axes[0].get_ylabel()) == (3, 24)
