"""Heatmaps of differences, as a paper takes them: negative ones are hatched, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Patch, Rectangle

from persona_panel.results.charts import (
    LINE,
    LOOK,
    WIDTHS,
    PaperFigure,
    label,
    legend,
    longest,
    paper_figure,
    plain,
)
from persona_panel.results.page_columns import PageColumns
from persona_panel.statistics.core.display import signed

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
            axis.spines[:].set_visible(False)
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
    # White between black and a dark fill, which would swallow it.
    looks = ((0.045, "white", 3.4), (0.03, "black", 1.8))
    for (x, top), (inset, colour, width) in product(strong, looks):
        axis.add_patch(
            Rectangle((x + inset, top + inset * 2.5), 1 - 2 * inset, 1 - 5 * inset, fill=False,
                      edgecolor=colour, linewidth=width)
        )  # fmt: skip
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


def _show_keys(figure: PaperFigure, keys: Sequence[tuple[str, str]]) -> None:
    looks: dict[str, dict[str, Any]] = {
        "strong": {"facecolor": "white", "edgecolor": "black", "linewidth": 1.8},
        "negative": {
            "facecolor": "white", "edgecolor": "#555555", "linewidth": 0.4, "hatch": "//////",
        },
    }  # fmt: skip
    bare: dict[str, Any] = {"facecolor": "none", "edgecolor": "none"}
    handles = [
        Patch(**looks[kind], label=words)
        if kind in looks
        else Patch(**bare, label=f"{kind}  {words}")
        for kind, words in keys
    ]
    legend(figure, handles, len(handles), loc="outside lower center")
