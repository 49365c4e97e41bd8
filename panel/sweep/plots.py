"""A sweep to look at: the heatmap of its Δs and the scorecard of its scores.

After SCRuB's figure 10. Colours are safe for the colour-blind, and nothing is said by colour
alone: Δs are written into their cells with their signs, improvements are hatched, conditions
have markers of their own. Needs matplotlib, the extra `plots`.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from graphs.framing import BASELINE
from panel.statistics.core.arrays import Array
from panel.sweep.deltas import Cell
from panel.sweep.result import Sweep, labels_of, signed
from rubrics import CategoryScale

# Okabe and Ito (2008), without the yellow, which is lost on white; each with its marker.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#666666")
_MARKERS = ("s", "^", "D", "v", "P", "X", "h")
_MAP = "PuOr_r"
_DPI = 150
_PALE = 0.08
"""Up to this share of the colours' range a cell looks white."""
_LOOK: Any = {
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "sweep",
    "hatch.linewidth": 0.4,
}


def draw(sweep: Sweep) -> Iterator[tuple[str, bytes]]:
    """The figures as files: heatmap and scorecard, each as PNG and as SVG."""
    for name, figure in (("heatmap", heatmap(sweep)), ("scorecard", scorecard(sweep))):
        for kind in ("png", "svg"):
            yield f"{name}.{kind}", _written(figure, kind)


def heatmap(sweep: Sweep) -> Figure:
    """Δ by dimension and condition, a panel a system; strong cells have bold borders."""
    with rc_context(_LOOK):
        n_rows, n_columns = len(sweep.dimensions) + 1, len(sweep.conditions) - 1
        size = (1.6 + 1.05 * n_columns, 1.3 + 0.5 * n_rows)
        figure, axes = _grid(len(sweep.systems), size, right=0.9, bottom=0.75)
        largest = max((abs(c.delta.value) for c in sweep.cells if c.delta.n_pairs), default=0.0)
        scale = Normalize(-max(largest, sweep.plan.threshold), max(largest, sweep.plan.threshold))
        for axis, system in zip(axes, sweep.systems, strict=True):
            _heat(axis, sweep, system, scale)
        colours = ScalarMappable(scale, colormaps[_MAP])
        bar = figure.colorbar(colours, ax=axes, fraction=0.06, pad=0.02, aspect=25)
        bar.set_label("Δ, points of the scale (positive: worse than the baseline)")
        bar.outline.set_linewidth(0.5)
        threshold = f"{sweep.plan.threshold:g}"
        _note(
            figure,
            f"Bold border: |Δ| ≥ {threshold}. *: the 95 % interval over prompts excludes 0 and "
            "the test, adjusted for all cells, is significant. Hatched: purple (better), for "
            "printing in grey. Mean: over the dimensions, not tested.",
        )
        return figure


def _heat(axis: Axes, sweep: Sweep, system: str, scale: Normalize) -> None:
    cells = {(c.dimension, c.condition): c for c in sweep.cells if c.system == system}
    means = {one.condition: one.value for one in sweep.composites if one.system == system}
    conditions = sweep.conditions[1:]
    for x, condition in enumerate(conditions):
        for y, dimension in enumerate(sweep.dimensions):
            cell = cells[dimension, condition]
            _square(axis, x, y, cell.delta.value, scale, "*" if cell.delta.shown else "")
        _square(axis, x, len(sweep.dimensions) + 0.15, means[condition], scale, "")
        for y, dimension in enumerate(sweep.dimensions):
            if cells[dimension, condition].strong:
                _border(axis, x, y)
    axis.set_xlim(0, len(conditions))
    axis.set_ylim(len(sweep.dimensions) + 1.15, 0)
    labels = labels_of(sweep.plan)
    axis.set_xticks(
        [x + 0.5 for x in range(len(conditions))],
        [fill(labels[name], 13) for name in conditions],
    )
    rows = [fill(dimension.label, 16) for dimension in sweep.rubric.numeric]
    places = [*(y + 0.5 for y in range(len(rows))), len(rows) + 0.65]
    axis.set_yticks(places, [*rows, "Mean"])
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.set_title(f"{system} ({_pairs(list(cells.values()))})", fontsize=10)


def _square(axis: Axes, x: float, y: float, value: float, scale: Normalize, mark: str) -> None:
    limit = scale.vmax or 0.0
    there = not math.isnan(value)
    colour = colormaps[_MAP](scale(value)) if there else (1.0, 1.0, 1.0, 1.0)
    # In grey both ends of the map are dark; near its middle there is nothing to tell apart.
    better = there and value < -_PALE * limit
    dark = there and float(np.dot(colour[:3], (0.299, 0.587, 0.114))) < 0.5
    if better:
        # A hatch has the colour of the border that is drawn with it.
        lines = "#dddddd" if dark else "#555555"
        axis.add_patch(
            Rectangle((x, y), 1, 1, facecolor=colour, edgecolor=lines, linewidth=0, hatch="////")
        )
    axis.add_patch(
        Rectangle((x, y), 1, 1, facecolor="none" if better else colour, edgecolor="#999999",
                  linewidth=0.4)
    )  # fmt: skip
    # What a hatch leaves of a number is not to be guessed.
    behind = {"facecolor": colour, "edgecolor": "none", "pad": 1.2} if better else None
    axis.text(x + 0.5, y + 0.5, signed(value) + mark, ha="center", va="center", bbox=behind,
              color="white" if dark else "black")  # fmt: skip


def _border(axis: Axes, x: float, y: float) -> None:
    # White between black and a dark fill, which would swallow it.
    for inset, colour, width in ((0.045, "white", 4.2), (0.03, "black", 2.4)):
        axis.add_patch(
            Rectangle((x + inset, y + inset * 1.4), 1 - 2 * inset, 1 - 2.8 * inset, fill=False,
                      edgecolor=colour, linewidth=width)
        )  # fmt: skip


def _pairs(cells: Sequence[Cell]) -> str:
    counts = sorted({cell.delta.n_pairs for cell in cells})
    span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
    return f"{span} prompt{('s' if counts[-1] != 1 else '')} per cell"


def scorecard(sweep: Sweep) -> Figure:
    """Mean scores by dimension and condition with standard errors over prompts."""
    with rc_context(_LOOK):
        n_dimensions, n_conditions = len(sweep.dimensions), len(sweep.conditions)
        size = (0.9 + n_dimensions * max(1.0, 0.2 * n_conditions), 3.0)
        figure, axes = _grid(len(sweep.systems), size, right=0.0, bottom=0.95)
        for axis, system, means, errors in zip(
            axes, sweep.systems, *sweep.scores_over_prompts(), strict=True
        ):
            _scores(axis, sweep, means, errors)
            axis.set_title(system, fontsize=10)
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(
            handles, names, loc="outside lower center", ncols=min(4, len(names)), frameon=False,
            title="Bars: one standard error over prompts. Line: the baseline's mean.",
            title_fontsize=8,
        )  # fmt: skip
        return figure


def _scores(axis: Axes, sweep: Sweep, means: Array, errors: Array) -> None:
    """Points of one system; means and errors are (conditions, dimensions)."""
    n_conditions = len(sweep.conditions)
    step = 0.8 / n_conditions
    labels = {BASELINE: "Baseline", **labels_of(sweep.plan)}
    middles = np.arange(len(sweep.dimensions), dtype=float)
    for c, condition in enumerate(sweep.conditions):
        look: dict[str, Any] = {"marker": "o", "color": "black"}
        if c:
            place = (c - 1) % len(_COLOURS)
            look = {"marker": _MARKERS[place], "color": _COLOURS[place]}
        else:
            axis.hlines(means[c], middles - 0.42, middles + 0.42, colors="black", linewidth=0.8)
        axis.errorbar(
            middles - 0.4 + step * (c + 0.5), means[c], yerr=errors[c], linestyle="none",
            markersize=5, capsize=2, elinewidth=0.9, markeredgecolor="black", markeredgewidth=0.5,
            label=labels[condition], **look,
        )  # fmt: skip
    for edge in middles[1:] - 0.5:
        axis.axvline(edge, color="#cccccc", linewidth=0.5)
    axis.set_xlim(-0.5, len(sweep.dimensions) - 0.5)
    scales = [one.scale for one in sweep.rubric.numeric if not isinstance(one.scale, CategoryScale)]
    low, high = min(one.min for one in scales), max(one.max for one in scales)
    axis.set_ylim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    axis.set_xticks(middles, [fill(one.label, 14) for one in sweep.rubric.numeric])
    axis.set_ylabel("Score")
    axis.grid(axis="y", color="#e5e5e5", linewidth=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _grid(
    n: int, size: tuple[float, float], *, right: float, bottom: float
) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each of n systems, three a row at most; sizes in inches."""
    columns = min(n, max(1, int(14 / size[0])), 3)
    rows = math.ceil(n / columns)
    figure = Figure(
        figsize=(columns * size[0] + right, rows * size[1] + bottom), layout="constrained"
    )
    axes = [figure.add_subplot(rows, columns, place + 1) for place in range(n)]
    return figure, axes


def _note(figure: Figure, text: str) -> None:
    width = max(40, int(figure.get_figwidth() * 17))
    figure.supxlabel(fill(text, width), fontsize=8, x=0.01, ha="left")


def _written(figure: Figure, kind: str) -> bytes:
    content = io.BytesIO()
    # No date, so that the same sweep gives the same file.
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with rc_context(_LOOK):
        figure.savefig(content, format=kind, dpi=_DPI, metadata=metadata)
    return content.getvalue()
