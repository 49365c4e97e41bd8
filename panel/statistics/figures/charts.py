"""Forest plots, strips of points, and heatmaps of differences, as a paper takes them.

Figures are made without pyplot, which would keep them. Nothing is said by colour alone.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from math import isnan, nan
from typing import Any
from unicodedata import east_asian_width

import numpy as np
from matplotlib import colormaps, font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text

from persona_panel.statistics.core.display import signed
from persona_panel.statistics.figures import PageColumns

WIDTHS: dict[PageColumns, float] = {1: 3.3, 2: 6.9}
"""In inches: 84 and 175 mm, which the columns of most journals and proceedings take."""

# Okabe and Ito (2008), without the yellow, which is lost on white; each with its marker.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#666666")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LIGHT, GREY = "#dddddd", "#666666"

LOOK: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "axes.unicode_minus": True,
    "hatch.linewidth": 0.4,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "text.color": "black",
    "axes.labelcolor": "black",
    "axes.edgecolor": "black",
    "xtick.color": "black",
    "ytick.color": "black",
    "text.usetex": False,
}
# Type 42 (TrueType), as ACM and IEEE ask: the default, Type 3, is refused. SVG keeps text as text.
_WRITTEN: Any = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "persona-panel",
    "savefig.bbox": None,
}
LINE = 0.125
"""The height of a line of text, in inches."""
_SCREEN_DPI = 150
_PRINT_DPI = 300
_PIECE = re.compile(r"[^\s/|:_-]*[\s/|:_-]+|[^\s/|:_-]+")
"""A part of a name that is not split: a word, with the signs between it and the next."""
# With letters that Matplotlib's own font lacks; looked for where a name has such letters.
_OTHER_FONTS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Source Han Sans",
    "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "IPAGothic", "Hiragino Sans", "PingFang SC",
    "Apple SD Gothic Neo", "Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Nirmala UI",
    "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai",
    "Noto Sans Ethiopic", "Arial Unicode MS", "Unifont",
)  # fmt: skip


class PaperFigure(Figure):
    """A Matplotlib figure that no window and no notebook keeps, written with letters as letters.

    Attributes:
        caption: what the figure shows, of how many, and what is missing in it and why: sentences
            for below it.
    """

    caption: str = ""

    def savefig(self, fname: Any, *, transparent: bool | None = None, **kwargs: Any) -> None:
        """Save as Matplotlib does, by default in 300 dots per inch; in PDF and EPS with TrueType
        letters, in SVG with text."""
        with rc_context(_WRITTEN), warnings.catch_warnings():
            # Warned once, when the figure was made.
            warnings.filterwarnings("ignore", r"Glyph \d+ ")
            super().savefig(fname, transparent=transparent, **{"dpi": _PRINT_DPI} | kwargs)

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=_SCREEN_DPI)
        return content.getvalue()


def paper_figure(columns: PageColumns, height: float) -> PaperFigure:
    """Return an empty figure as wide as one or two columns of a page, `height` in inches."""
    figure = PaperFigure(figsize=(WIDTHS[columns], height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def label(name: str, width: int, lines: int = 3) -> str:
    """Return a name ready to be drawn: what cannot be printed is escaped, lines are folded between
    words at `width` letters, and cut after `lines` lines. Wide letters (Chinese, say) count
    twice."""
    folded: list[str] = []
    line = ""
    shown = [char if char.isprintable() else ascii(char)[1:-1] for char in name.replace("\n", " ")]
    for piece in _PIECE.findall("".join(shown)):
        if line and _width((line + piece).rstrip()) > width:
            folded.append(line)
            line = ""
        line += piece
        while _width(line.rstrip()) > width:
            cut = next(n for n in range(1, len(line) + 1) if _width(line[: n + 1]) > width)
            folded.append(line[:cut])
            line = line[cut:]
    folded.append(line)
    folded = [line.rstrip() for line in folded]
    if len(folded) > lines:
        folded = [*folded[: lines - 1], f"{folded[lines - 1]}…"]
    return "\n".join(folded)


def plain(figure: PaperFigure) -> PaperFigure:
    """Draw every text of the figure literally, whatever signs it has, in a font that has its
    letters where there is one; return the figure."""
    texts = figure.findobj(Text)
    for text in texts:
        text.set_parse_math(False)
    family = font_manager.FontProperties().get_family()
    lacking = _lacking("".join(text.get_text() for text in texts), family)
    if not lacking:
        return figure
    known = {font.name for font in font_manager.fontManager.ttflist}
    family = [*family, *(name for name in _OTHER_FONTS if name in known)]
    for text in texts:
        text.set_fontfamily(family)
    if lacking := _lacking("".join(lacking), family):
        warnings.warn(
            f"no font that Matplotlib finds has the letters {' '.join(sorted(lacking)[:12])}, "
            "which are drawn as boxes; install one that has them, such as Noto Sans CJK",
            stacklevel=4,
        )
    return figure


def _lacking(letters: str, families: Sequence[str]) -> set[str]:
    lacking = {char for char in letters if not char.isspace()}
    for family in families:
        if lacking:
            font = FT2Font(font_manager.findfont(font_manager.FontProperties(family=[family])))
            lacking = {char for char in lacking if not font.get_char_index(ord(char))}
    return lacking


def bare(axis: Axes, *sides: str) -> None:
    """Remove these borders of an axis."""
    for side in sides:
        axis.spines[side].set_visible(False)


def panels_in_rows(n: int, columns: PageColumns) -> tuple[int, int]:
    """Return the rows and columns of a grid of n panels."""
    across = min(n, 1 if columns == 1 else 3)
    return -(-n // across), across


def longest(names: Sequence[str]) -> int:
    """Return the width of the widest of these lines, in letters."""
    return max((_width(line) for name in names for line in name.split("\n")), default=0)


def _width(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


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
    """The words of the legend for the marks, in this order; a mark without words is left out, and
    so is an interval that no point has."""

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
    """Plot the rows from top to bottom in the given order.

    Args:
        panels: one at least, all with the same names of series.
        axis_label: what the values are, with their unit.
        zero: whether a line stands at 0.
        together: whether all panels have the same limits.
    """
    points = [point for panel in panels for line in panel.series for point in line.points if point]
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
    """Draw a panel; the heights of the rows are in inches from the top."""
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
        for line, colour, marker in zip(series, *_looks(series), strict=True):
            handles.append(
                Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=4.2,
                       label=label(line.name, 34, 2))
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


_STRIP_LABELS: dict[PageColumns, int] = {1: 18, 2: 30}
_NAME_WIDTHS: dict[PageColumns, int] = {1: 19, 2: 40}
_STRIP = 0.4
_APART, _BELOW = 0.06, 0.16
"""Heights in inches: of a row at least, between points that lie close, and
from points to the names below them."""


@dataclass(frozen=True, slots=True)
class StripPoint:
    """The position of one point; `kind` is one of the kinds, `filled` says how it is marked."""

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
    """Plot the rows from top to bottom, around a line at 0.

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
        for text, x, side in ((f"← {lowest}", 0.01, "left"), (f"{highest} →", 0.99, "right")):
            axis.annotate(
                text, (x, line + _BELOW), xycoords=("axes fraction", "data"), ha=side,
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


_MAP = "PuOr_r"
_PALE = 0.08
"""Up to this share of the colours' range a cell looks white."""
_LETTER = 0.058
"""Width of a letter in inches."""
_BAR = 0.55
_CELLS = 0.2
_LARGEST, _SMALLEST, _SIGN = 7.0, 4.2, 6.0
"""Sizes of the numbers, in points; where even the smallest is too large, the sign stands alone."""
_HEAT_LABELS: dict[PageColumns, int] = {1: 16, 2: 28}


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One difference, NaN where there is none; `mark` is written behind its number, and `strong`
    gives it a bold border."""

    value: float
    mark: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class HeatPanel:
    """One of several heatmaps, one above the other, with the same columns.

    Attributes:
        cells: by row, then by column.
        apart: how many rows, the last ones, stand apart from the others.
    """

    title: str
    rows: Sequence[str]
    cells: Sequence[Sequence[HeatCell]]
    apart: int = 0


def heatmap(
    columns_of_cells: Sequence[str],
    panels: Sequence[HeatPanel],
    bar_label: str,
    keys: Sequence[tuple[str, str]] = (),
    *,
    columns: PageColumns,
    least: float = 0.0,
) -> PaperFigure:
    """Plot the panels, with one scale of colours, symmetric about 0.

    Args:
        columns_of_cells: names of the columns.
        bar_label: what the values are, with their unit.
        keys: what marks mean: `strong`, `negative` or a mark, and words for it.
        least: how far the scale of colours goes at least.
    """
    n_across = max(len(columns_of_cells), 1)
    names = [[label(row, _HEAT_LABELS[columns], 2) for row in panel.rows] for panel in panels]
    beside = _LETTER * max(longest(labels) for labels in names) + 0.15
    wide = (WIDTHS[columns] - beside - _BAR) / n_across
    upright = wide / _LETTER >= max(7, longest([part for name in columns_of_cells
                                                for part in name.split()]))  # fmt: skip
    heads = [label(name, max(7, int(wide / _LETTER)) if upright else 22, 3)
             for name in columns_of_cells]  # fmt: skip
    above = (
        LINE * max((head.count("\n") + 1 for head in heads), default=1)
        if upright
        else _LETTER * longest(heads)
    )
    high = max(_CELLS, 0.05 + LINE * max(
        (name.count("\n") + 1 for labels in names for name in labels), default=1
    ))  # fmt: skip
    titled = any(panel.title for panel in panels)
    body = sum(high * (len(panel.rows) + 0.4 * bool(panel.apart)) for panel in panels)
    height = body + above + len(panels) * (0.1 + 0.2 * titled) + (0.3 if keys else 0.1)
    values = [cell.value for panel in panels for row in panel.cells for cell in row]
    largest = max((abs(value) for value in values if not isnan(value)), default=0.0)
    limit = max(largest, least) or 1.0
    scale = Normalize(-limit, limit)
    with rc_context(LOOK):
        figure = paper_figure(columns, max(height, 1.4))
        grid = figure.subplots(
            len(panels), 1, squeeze=False,
            height_ratios=[max(len(panel.rows), 1) + 0.4 * bool(panel.apart) for panel in panels],
        )  # fmt: skip
        axes: list[Axes] = list(grid[:, 0])
        size = min(_LARGEST, wide * 72 / (6 * 0.62))
        for place, (axis, panel, rows) in enumerate(zip(axes, panels, names, strict=True)):
            _draw_cells(axis, panel, rows, scale, size)
            axis.set_xlim(0, n_across)
            axis.set_xticks(
                [x + 0.5 for x in range(len(heads))], heads, rotation=0 if upright else 90,
                fontsize=7,
            )  # fmt: skip
            axis.xaxis.tick_top()
            axis.tick_params(length=0, labeltop=place == 0)
            axis.set_title(label(panel.title, 36 if columns == 1 else 80, 2))
            for spine in axis.spines.values():
                spine.set_visible(False)
        bar = figure.colorbar(
            ScalarMappable(scale, colormaps[_MAP]), ax=axes, fraction=0.04, pad=0.02, aspect=30
        )
        bar.set_label(label(bar_label, max(22, int(height / _LETTER)), 3), fontsize=7)
        bar.outline.set_linewidth(0.5)
        bar.ax.tick_params(labelsize=6.5)
        _show_keys(figure, keys)
        return plain(figure)


def _draw_cells(
    axis: Axes, panel: HeatPanel, rows: Sequence[str], scale: Normalize, size: float
) -> None:
    first_apart = len(rows) - panel.apart
    tops = [y + (0.4 if panel.apart and y >= first_apart else 0.0) for y in range(len(rows))]
    strong = []
    for top, row in zip(tops, panel.cells, strict=True):
        for x, cell in enumerate(row):
            _square(axis, x, top, cell, scale, size)
            if cell.strong:
                strong.append((x, top))
    for x, top in strong:
        _border(axis, x, top)
    axis.set_ylim((tops[-1] if tops else 0) + 1, 0)
    axis.set_yticks([top + 0.5 for top in tops], rows)


def _square(axis: Axes, x: float, y: float, cell: HeatCell, scale: Normalize, size: float) -> None:
    value, limit = cell.value, scale.vmax or 0.0
    there = not isnan(value)
    colour = colormaps[_MAP](scale(value)) if there else (1.0, 1.0, 1.0, 1.0)
    # In grey both ends of the map are dark; near its middle signs need no hatch.
    negative = there and value < -_PALE * limit
    dark = there and float(np.dot(colour[:3], (0.299, 0.587, 0.114))) < 0.5
    if negative:
        # A hatch has the colour of the border that is drawn with it.
        lines = "#dddddd" if dark else "#555555"
        axis.add_patch(
            Rectangle((x, y), 1, 1, facecolor=colour, edgecolor=lines, linewidth=0, hatch="////")
        )
    axis.add_patch(
        Rectangle((x, y), 1, 1, facecolor="none" if negative else colour, edgecolor="#999999",
                  linewidth=0.4)
    )  # fmt: skip
    # A background keeps a hatch from hiding the number.
    behind = {"facecolor": colour, "edgecolor": "none", "pad": 0.8} if negative else None
    text = signed(value)
    if size < _SMALLEST:
        text, size = text[0], _SIGN
    axis.text(
        x + 0.5, y + 0.5, text + cell.mark, ha="center", va="center", bbox=behind,
        fontsize=size, color="white" if dark else "black", zorder=5,
    )  # fmt: skip


def _border(axis: Axes, x: float, y: float) -> None:
    # White between black and a dark fill, which would swallow it.
    for inset, colour, width in ((0.045, "white", 3.4), (0.03, "black", 1.8)):
        axis.add_patch(
            Rectangle((x + inset, y + inset * 2.5), 1 - 2 * inset, 1 - 5 * inset, fill=False,
                      edgecolor=colour, linewidth=width)
        )  # fmt: skip


def _show_keys(figure: PaperFigure, keys: Sequence[tuple[str, str]]) -> None:
    handles = []
    for kind, words in keys:
        if kind == "strong":
            handles.append(Patch(facecolor="white", edgecolor="black", linewidth=1.8, label=words))
        elif kind == "negative":
            handles.append(
                Patch(facecolor="white", edgecolor="#555555", linewidth=0.4, hatch="//////",
                      label=words)
            )  # fmt: skip
        else:
            handles.append(Patch(facecolor="none", edgecolor="none", label=f"{kind}  {words}"))
    if handles:
        figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), frameon=False,
            handlelength=1.4, columnspacing=1.2, fontsize=6.5,
        )  # fmt: skip
