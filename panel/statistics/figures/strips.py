"""Strips of points: a row for each name, a point for each of many who differ about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from math import isnan
from typing import Any

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
    paper_figure,
    plain,
)

_STRIP_LABELS: dict[PageColumns, int] = {1: 18, 2: 30}
_NAME_WIDTHS: dict[PageColumns, int] = {1: 19, 2: 40}
_STRIP = 0.4
_APART, _BELOW = 0.06, 0.16
"""Heights in inches: of a row at least, between points that lie close, and
from points to the names below them."""


@dataclass(frozen=True, slots=True)
class StripPoint:
    """Where one of them stands; `kind` is one of the kinds, `filled` says how it is marked."""

    name: str
    value: float
    kind: str
    filled: bool


@dataclass(frozen=True, slots=True)
class StripRow:
    """A row of points; those furthest to both sides are named."""

    name: str
    points: Sequence[StripPoint]


def strips(
    rows: Sequence[StripRow],
    kinds: Sequence[str],
    axis_label: str,
    filled: str,
    empty: str,
    *,
    columns: PageColumns,
) -> PaperFigure:
    """The rows from top to bottom, around a line at 0.

    Args:
        kinds: each has a marker and a colour; one alone is not in the legend.
        filled, empty: what filled and empty markers say.
    """
    names = [label(row.name, _STRIP_LABELS[columns]) for row in rows]
    heights = [max(_STRIP, 0.06 + LINE * (name.count("\n") + 1)) for name in names]
    places = [sum(heights[:place]) + height / 2 for place, height in enumerate(heights)]
    total = max(sum(heights), _STRIP)
    handles = _strip_handles(kinds, filled, empty)
    across = min(len(handles), 2 if columns == 1 else 4)
    with rc_context(LOOK):
        figure = paper_figure(columns, total + 0.6 + 0.15 * -(-len(handles) // across))
        axis = figure.add_subplot()
        for y, height, row in zip(places, heights, rows, strict=True):
            axis.axhspan(y - height / 2 + 0.02, y + height / 2 - 0.02, color="#f3f3f3", zorder=0)
            _draw_strip(axis, row, y, kinds, _NAME_WIDTHS[columns])
        axis.axvline(0, color=GREY, linewidth=0.7, zorder=1)
        values = [point.value for row in rows for point in row.points if not isnan(point.value)]
        furthest = max(map(abs, values), default=0.0) or 1.0
        axis.set_xlim(-1.1 * furthest, 1.1 * furthest)
        axis.locator_params(axis="x", nbins=5)
        axis.set_yticks(places, names)
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(total, 0)
        bare(axis, "top", "right", "left")
        figure.supxlabel(label(axis_label, 52 if columns == 1 else 110, 2), fontsize=8)
        figure.legend(
            handles=handles, loc="outside upper center", ncols=across, frameon=False,
            handletextpad=0.4, columnspacing=1.0, borderaxespad=0.2,
        )  # fmt: skip
        return plain(figure)


def _draw_strip(axis: Axes, row: StripRow, y: float, kinds: Sequence[str], width: int) -> None:
    points = sorted(
        (point for point in row.points if not isnan(point.value)), key=lambda point: point.value
    )
    if not points:
        axis.annotate(
            "no value", (0.02, y), xycoords=("axes fraction", "data"), va="center",
            fontsize=6.5, color=GREY, style="italic",
        )  # fmt: skip
        return
    line = y - _APART
    axis.plot([points[0].value, points[-1].value], [line] * 2, color=LIGHT, linewidth=1, zorder=1)
    for place, point in enumerate(points):
        kind = kinds.index(point.kind)
        colour = COLOURS[kind % len(COLOURS)]
        axis.plot(
            point.value, line + (place % 3 - 1) * _APART, marker=MARKERS[kind % len(MARKERS)],
            markersize=3.6, linestyle="none", markeredgecolor=colour, markeredgewidth=0.8,
            markerfacecolor=colour if point.filled else "white", zorder=3,
        )  # fmt: skip
    if len(points) > 1:
        lowest, highest = label(points[0].name, width, 1), label(points[-1].name, width, 1)
        for told, x, side in ((f"← {lowest}", 0.01, "left"), (f"{highest} →", 0.99, "right")):
            axis.annotate(
                told, (x, line + _BELOW), xycoords=("axes fraction", "data"), ha=side,
                va="center", fontsize=6,
            )  # fmt: skip


def _strip_handles(kinds: Sequence[str], filled: str, empty: str) -> list[Line2D]:
    looks: list[tuple[str, dict[str, Any]]] = []
    if len(kinds) > 1:
        looks = [
            (label(kind, 30, 2), {"color": colour, "marker": marker})
            for kind, colour, marker in zip(kinds, cycle(COLOURS), cycle(MARKERS), strict=False)
        ]
    looks += [
        (filled, {"color": GREY, "marker": "o"}),
        (empty, {"color": GREY, "marker": "o", "markerfacecolor": "white"}),
    ]
    return [
        Line2D([], [], linestyle="none", markersize=3.8, label=words, **look)
        for words, look in looks
    ]
