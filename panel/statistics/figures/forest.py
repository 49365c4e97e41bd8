"""A forest plot: a row for each name, a point for each value, lines for its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from persona_panel.statistics.figures.extra import PageColumns
from persona_panel.statistics.figures.page import (
    COLOURS,
    GREY,
    LIGHT,
    LINE,
    LOOK,
    MARKERS,
    PaperFigure,
    bare,
    label,
    longest,
    panels_in_rows,
    paper_figure,
    plain,
)

_LABEL_WIDTHS: dict[PageColumns, int] = {1: 20, 2: 30}
_ROW, _SERIES = 0.2, 0.105
"""Heights in inches: of a row at least, of a series in it."""


@dataclass(frozen=True, slots=True)
class ForestPoint:
    """A value with its intervals, NaN where there is none.

    Attributes:
        low, high: the interval, drawn as a thick line.
        wide_low, wide_high: a second one, drawn as a thin line with ends.
        filled: whether the marker is filled; what an empty one says is said in the legend.
    """

    value: float
    low: float = nan
    high: float = nan
    wide_low: float = nan
    wide_high: float = nan
    filled: bool = True


@dataclass(frozen=True, slots=True)
class ForestSeries:
    """Points of one kind, one for each row; None where the row has none of it."""

    name: str
    points: Sequence[ForestPoint | None]


@dataclass(frozen=True, slots=True)
class ForestPanel:
    """One of several plots with the same rows, side by side; the title says of what it is."""

    title: str
    series: Sequence[ForestSeries]


@dataclass(frozen=True, slots=True)
class ForestMarks:
    """What the legend says of the marks, in this order; a mark without words is not in it, nor an
    interval that no point has."""

    narrow: str = ""
    wide: str = ""
    filled: str = ""
    empty: str = ""


def forest(
    rows: Sequence[str],
    panels: Sequence[ForestPanel],
    axis_label: str,
    marks: ForestMarks,
    *,
    columns: PageColumns,
    zero: bool = False,
    together: bool = False,
) -> PaperFigure:
    """The rows from top to bottom in the order given.

    Args:
        panels: one at least, all with the same names of series.
        axis_label: what the values are, with their unit.
        zero: whether a line stands at 0.
        together: whether all panels have the same limits.
    """
    points = [point for panel in panels for one in panel.series for point in one.points if point]
    marks = ForestMarks(
        marks.narrow if any(not isnan(point.low) for point in points) else "",
        marks.wide if any(not isnan(point.wide_low) for point in points) else "",
        marks.filled,
        marks.empty,
    )
    names = [label(row, _LABEL_WIDTHS[columns]) for row in rows]
    n_series = max(len(panel.series) for panel in panels)
    heights = [
        max(_ROW, 0.06 + _SERIES * n_series, 0.05 + LINE * (name.count("\n") + 1)) for name in names
    ]
    places = [sum(heights[:place]) + height / 2 for place, height in enumerate(heights)]
    down, across = panels_in_rows(len(panels), columns)
    titled = any(panel.title for panel in panels)
    total = max(sum(heights), _ROW)
    height = down * (total + 0.25 + 0.2 * titled) + 0.2
    with rc_context(LOOK):
        figure = paper_figure(columns, height + _legend_height(panels[0].series, marks, columns))
        first: Axes | None = None
        for place, panel in enumerate(panels):
            axis = figure.add_subplot(
                down, across, place + 1, sharey=first, sharex=first if together else None
            )
            first = first or axis
            _draw(axis, panel, places)
            if zero:
                axis.axvline(0, color=GREY, linewidth=0.7, zorder=1)
            axis.set_yticks(places, names)
            axis.tick_params(axis="y", length=0, labelleft=place % across == 0)
            axis.set_title(label(panel.title, 34, 2))
        assert first is not None  # noqa: S101
        first.set_ylim(total, 0)
        figure.supxlabel(label(axis_label, 52 if columns == 1 else 110, 2), fontsize=8)
        _legend(figure, panels[0].series, marks, columns)
        return plain(figure)


def _draw(axis: Axes, panel: ForestPanel, places: Sequence[float]) -> None:
    """Heights of the rows are in inches from the top."""
    for y in places:
        axis.axhline(y, color=LIGHT, linewidth=0.5, zorder=0)
    drawn = False
    for number, (series, colour, marker) in enumerate(
        zip(panel.series, *_looks(panel.series), strict=True)
    ):
        offset = (number - (len(panel.series) - 1) / 2) * _SERIES
        for y, point in zip(places, series.points, strict=True):
            if point is None:
                continue
            drawn = drawn or not isnan(point.value)
            _point(axis, point, y + offset, colour, marker)
    if not drawn:
        axis.set_xlim(0, 1)
        axis.set_xticks([])
    else:
        axis.margins(x=0.06)
        axis.locator_params(axis="x", nbins=5)
    bare(axis, "top", "right", "left")


def _point(axis: Axes, point: ForestPoint, y: float, colour: str, marker: str) -> None:
    if isnan(point.value):
        # In the coordinates of the axis, so that it does not change its limits.
        axis.annotate(
            "no value", (0.02, y), xycoords=("axes fraction", "data"), va="center",
            fontsize=6.5, color=GREY, style="italic",
        )  # fmt: skip
        return
    if not isnan(point.wide_low):
        axis.errorbar(
            point.value, y, xerr=[[point.value - point.wide_low], [point.wide_high - point.value]],
            ecolor=colour, elinewidth=0.7, capsize=2, capthick=0.7, linestyle="none",
        )  # fmt: skip
    if not isnan(point.low):
        axis.plot([point.low, point.high], [y, y], color=colour, linewidth=2, solid_capstyle="butt")
    axis.plot(
        point.value, y, marker=marker, markersize=4.2, linestyle="none", markeredgecolor=colour,
        markeredgewidth=0.9, markerfacecolor=colour if point.filled else "white", zorder=3,
    )  # fmt: skip


def _looks(series: Sequence[ForestSeries]) -> tuple[list[str], list[str]]:
    if len(series) == 1:
        return ["black"], ["o"]
    places = range(len(series))
    # After seven the colours come again, with markers of other series.
    return (
        [COLOURS[place % len(COLOURS)] for place in places],
        [MARKERS[(place + place // len(MARKERS)) % len(MARKERS)] for place in places],
    )


def _handles(series: Sequence[ForestSeries], marks: ForestMarks) -> list[Line2D]:
    handles = []
    if len(series) > 1:
        for one, colour, marker in zip(series, *_looks(series), strict=True):
            handles.append(
                Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=4.2,
                       label=label(one.name, 34, 2))
            )  # fmt: skip
    colour = GREY if len(series) > 1 else "black"
    dot = {"marker": "o", "linestyle": "none", "markersize": 4.2, "markeredgecolor": colour}
    looks: list[tuple[str, dict[str, object]]] = [
        (marks.narrow, {"linewidth": 2, "solid_capstyle": "butt"}),
        (marks.wide, {"linewidth": 0.7, "marker": "|", "markersize": 5}),
        (marks.filled, {**dot, "markerfacecolor": colour}),
        (marks.empty, {**dot, "markerfacecolor": "white"}),
    ]
    return handles + [
        Line2D([], [], color=colour, label=words, **look)  # type: ignore[arg-type]
        for words, look in looks
        if words
    ]


def _across(handles: Sequence[Line2D], columns: PageColumns) -> int:
    """Return how many entries of the legend fit beside each other."""
    widest = longest([str(handle.get_label()) for handle in handles])
    return max(1, min(len(handles), int((62 if columns == 1 else 130) / (widest + 7))))


def _legend(
    figure: PaperFigure, series: Sequence[ForestSeries], marks: ForestMarks, columns: PageColumns
) -> None:
    if handles := _handles(series, marks):
        figure.legend(
            handles=handles, loc="outside upper center", ncols=_across(handles, columns),
            frameon=False, handletextpad=0.6, columnspacing=1.2, borderaxespad=0.2,
        )  # fmt: skip


def _legend_height(
    series: Sequence[ForestSeries], marks: ForestMarks, columns: PageColumns
) -> float:
    handles = _handles(series, marks)
    return 0.15 + 0.14 * -(-len(handles) // _across(handles, columns)) if handles else 0.05
