"""Forest plots and strips of points, as a paper takes them.

Figures are made without pyplot, which would keep them. Nothing is said by colour alone.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from math import isnan, nan
from typing import Any

from matplotlib import font_manager, rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.lines import Line2D
from matplotlib.text import Text
from rich.cells import cell_len

from persona_panel.files.secrets import visible
from persona_panel.results.console import folded
from persona_panel.results.page_columns import PageColumns
from persona_panel.results.table import choices_by_kind

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
    "legend.frameon": False,
    "legend.borderaxespad": 0.2,
    "legend.handletextpad": 0.6,
    "legend.columnspacing": 1.2,
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
    parts = folded(visible(name.replace("\n", " ")), width)
    if len(parts) > lines:
        parts = [*parts[: lines - 1], f"{parts[lines - 1]}…"]
    return "\n".join(parts)


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


def panels_in_rows(n: int, columns: PageColumns) -> tuple[int, int]:
    """Return the rows and columns of a grid of n panels."""
    across = min(n, 1 if columns == 1 else 3)
    return -(-n // across), across


def longest(names: Sequence[str]) -> int:
    """Return the width of the widest of these lines, in letters."""
    return max((cell_len(line) for name in names for line in name.split("\n")), default=0)


def _rows(
    names: Sequence[str], width: int, least: float
) -> tuple[list[str], list[float], list[float]]:
    """Return the names of rows as they are drawn, their heights and their middles in inches."""
    shown = [label(name, width) for name in names]
    heights = [max(least, 0.05 + LINE * (name.count("\n") + 1)) for name in shown]
    return shown, heights, [sum(heights[:i]) + height / 2 for i, height in enumerate(heights)]


def _by_row(axis: Axes, names: Sequence[str], places: Sequence[float], total: float) -> None:
    """Name the rows of an axis, the first at the top."""
    axis.set_yticks(places, names)
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(total, 0)
    axis.spines[["top", "right", "left"]].set_visible(False)


def _below(figure: PaperFigure, axis_label: str, columns: PageColumns) -> None:
    figure.supxlabel(label(axis_label, 52 if columns == 1 else 110, 2), fontsize=8)


def _no_value(axis: Axes, y: float) -> None:
    # In the coordinates of the axis, so that it does not change its limits.
    axis.annotate(
        "no value", (0.02, y), xycoords=("axes fraction", "data"), va="center", fontsize=6.5,
        color=GREY, style="italic",
    )  # fmt: skip


def _dot(axis: Axes, x: float, y: float, colour: str, marker: str, size: float, full: bool) -> None:
    axis.plot(
        x, y, marker=marker, markersize=size, linestyle="none", markeredgecolor=colour,
        markeredgewidth=0.9, markerfacecolor=colour if full else "white", zorder=3,
    )  # fmt: skip


def legend(figure: PaperFigure, handles: Sequence[Artist], across: int, **look: Any) -> None:
    if handles:
        figure.legend(handles=handles, ncols=across, **{"loc": "outside upper center"} | look)


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
    n_series = max(len(panel.series) for panel in panels)
    least = max(_ROW, 0.06 + _SERIES * n_series)
    names, heights, places = _rows(rows, _LABEL_WIDTHS[columns], least)
    down, across = panels_in_rows(len(panels), columns)
    handles = _handles(panels[0].series, marks)
    beside = _beside(handles, columns)
    titled = any(panel.title for panel in panels)
    total = max(sum(heights), _ROW)
    height = down * (total + 0.25 + 0.2 * titled) + 0.2
    height += 0.15 + 0.14 * -(-len(handles) // beside) if handles else 0.05
    with rc_context(LOOK):
        figure = paper_figure(columns, height)
        first: Axes | None = None
        for place, panel in enumerate(panels):
            axis = figure.add_subplot(
                down, across, place + 1, sharey=first, sharex=first if together else None
            )
            first = first or axis
            _draw(axis, panel, places)
            if zero:
                axis.axvline(0, color=GREY, linewidth=0.7, zorder=1)
            _by_row(axis, names, places, total)
            axis.tick_params(axis="y", labelleft=place % across == 0)
            axis.set_title(label(panel.title, 34, 2))
        _below(figure, axis_label, columns)
        legend(figure, handles, beside)
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


def _point(axis: Axes, point: ForestPoint, y: float, colour: str, marker: str) -> None:
    if isnan(point.value):
        _no_value(axis, y)
        return
    if not isnan(point.wide_low):
        axis.errorbar(
            point.value, y, xerr=[[point.value - point.wide_low], [point.wide_high - point.value]],
            ecolor=colour, elinewidth=0.7, capsize=2, capthick=0.7, linestyle="none",
        )  # fmt: skip
    if not isnan(point.low):
        axis.plot([point.low, point.high], [y, y], color=colour, linewidth=2, solid_capstyle="butt")
    _dot(axis, point.value, y, colour, marker, 4.2, point.filled)


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


def _beside(handles: Sequence[Line2D], columns: PageColumns) -> int:
    """Return how many entries of a legend stand beside each other."""
    widest = longest([str(handle.get_label()) for handle in handles])
    return max(1, min(len(handles), int((62 if columns == 1 else 130) / (widest + 7))))


_CURVE_LABELS = 30


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """An estimate of a specification curve, and its choices, each a kind and its value; `main`:
    of the main analysis."""

    estimate: ForestPoint
    choices: Sequence[tuple[str, str]]
    main: bool


def curve(points: Sequence[CurvePoint], axis_label: str, *, columns: PageColumns) -> PaperFigure:
    """Plot estimates from left to right, in the given order, and below each its choices (U.
    Simonsohn, J. P. Simmons & L. D. Nelson, 2020). Those whose interval holds 0 are paler."""
    choices = choices_by_kind([point.choices for point in points])
    names = [label(name, _CURVE_LABELS, 1) for _, name in choices]
    low = LINE * len(choices) * 1.15 + 0.1
    with rc_context(LOOK):
        figure = paper_figure(columns, 1.9 + low)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.7, low])
        thin = max(0.15, min(0.6, 60 / max(len(points), 1)))
        for x, point in enumerate(points):
            of = point.estimate
            beyond = of.low > 0 or of.high < 0
            above.vlines(x, of.low, of.high, color=GREY if beyond else LIGHT, linewidth=thin)
            size, marker = (5, "D") if point.main else (1.5, "o")
            colour = COLOURS[1] if point.main else "black" if beyond else GREY
            above.plot(
                x, of.value, marker, color=colour, markersize=size, markeredgewidth=0, zorder=3
            )
            places = [choices.index(choice) for choice in point.choices]
            below.vlines(
                [x] * len(places), [y - 0.3 for y in places], [y + 0.3 for y in places],
                color="black" if beyond else GREY, linewidth=thin,
            )  # fmt: skip
        above.axhline(0, color=GREY, linewidth=0.7, zorder=1)
        above.set_ylabel(label(axis_label, 24, 3))
        above.tick_params(axis="x", bottom=False)
        above.spines[["top", "right", "bottom"]].set_visible(False)
        _by_row(below, names, list(range(len(names))), len(names) - 0.5)
        below.set_ylim(len(names) - 0.5, -0.5)
        for y in range(1, len(choices)):
            if choices[y][0] != choices[y - 1][0]:
                below.axhline(y - 0.5, color=LIGHT, linewidth=0.7)
        below.set_xticks([])
        below.spines["bottom"].set_visible(False)
        return plain(figure)


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
    names, heights, places = _rows([row.name for row in rows], _STRIP_LABELS[columns], _STRIP)
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
        _by_row(axis, names, places, total)
        _below(figure, axis_label, columns)
        legend(figure, handles, across)
        return plain(figure)


def _draw_strip(axis: Axes, row: StripRow, y: float, kinds: Sequence[str], width: int) -> None:
    points = sorted(
        (point for point in row.points if not isnan(point.value)), key=lambda point: point.value
    )
    if not points:
        _no_value(axis, y)
        return
    line = y - _APART
    axis.plot([points[0].value, points[-1].value], [line] * 2, color=LIGHT, linewidth=1, zorder=1)
    for place, point in enumerate(points):
        kind = kinds.index(point.kind)
        colour, marker = COLOURS[kind % len(COLOURS)], MARKERS[kind % len(MARKERS)]
        y_of_point = line + (place % 3 - 1) * _APART
        _dot(axis, point.value, y_of_point, colour, marker, 3.6, point.filled)
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
