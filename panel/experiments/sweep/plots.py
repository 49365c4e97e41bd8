"""A sweep to look at: the heatmap of its Δs, the scorecard of its scores, forest plots of Δs and
gaps.

Heatmap and scorecard after SCRuB's figure 10. Needs matplotlib, the extra `plots`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes

from persona_panel.experiments.sweep.deltas import Cell, CompositeDelta, Gap, Mean
from persona_panel.experiments.sweep.plan import SweepPlan
from persona_panel.files.secrets import SECRETS
from persona_panel.graphs.framing import BASELINE
from persona_panel.results.charts import (
    COLOURS,
    LIGHT,
    LOOK,
    MARKERS,
    WIDTHS,
    ForestMarks,
    ForestPanel,
    ForestPoint,
    ForestSeries,
    PaperFigure,
    forest,
    label,
    paper_figure,
    plain,
)
from persona_panel.results.heatmap import HeatCell, HeatPanel, heatmap
from persona_panel.results.page_columns import PageColumns
from persona_panel.rubrics import Rubric
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.estimate import LEVEL

_DPI = 150
_DELTA = "Δ (points; positive: worse than the baseline)"
_TESTED, _NOT_TESTED = "significant (adjusted)", "not significant"
_OVER_PROMPTS = "95 % interval over prompts"


class PlottedSweep(Protocol):
    """The data behind the figures; a `Sweep` has them, and describes each part."""

    plan: SweepPlan
    rubric: Rubric
    systems: tuple[str, ...]
    conditions: tuple[str, ...]
    dimensions: tuple[str, ...]
    cells: tuple[Cell, ...]
    gaps: tuple[Gap, ...]
    composites: tuple[CompositeDelta, ...]

    def scores_over_prompts(self) -> tuple[Array, Array]: ...


def draw(sweep: PlottedSweep, labels: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield the figures as files: heatmap and scorecard, each as PNG and as SVG."""
    for name, figure in (
        ("heatmap", delta_heatmap(sweep, labels, 2)),
        ("scorecard", scorecard(sweep, labels, 2)),
    ):
        for kind in ("png", "svg"):
            yield f"{name}.{kind}", _written(figure, kind)


def delta_heatmap(
    sweep: PlottedSweep, labels: Mapping[str, str], columns: PageColumns
) -> PaperFigure:
    """Plot Δ by dimension and condition, with the conditions' labels, a panel a system; strong
    cells have bold borders."""
    framed = sweep.conditions[1:]
    cells = {(c.system, c.dimension, c.condition): c for c in sweep.cells}
    means = {
        (composite.system, composite.condition): composite.value for composite in sweep.composites
    }
    panels = []
    for system in sweep.systems:
        its = [
            [cells[system, dimension, condition] for condition in framed]
            for dimension in sweep.dimensions
        ]
        rows = [
            [HeatCell(c.delta.value, "*" if c.delta.shown else "", c.strong) for c in row]
            for row in its
        ]
        rows.append([HeatCell(means[system, condition]) for condition in framed])
        name = f"{SECRETS.scrub(system)} ({_pairs([c.delta for row in its for c in row])})"
        panels.append(HeatPanel(name, [*_dimensions(sweep), "Mean"], rows, apart=1))
    threshold = f"{sweep.plan.threshold:g}"
    figure = heatmap(
        [labels[name] for name in framed],
        panels,
        _DELTA,
        [("strong", f"|Δ| ≥ {threshold}"), ("negative", "better"), ("*", _TESTED)],
        columns=columns,
        least=sweep.plan.threshold,
    )
    figure.caption = (
        f"Mean Δ = baseline − framed by dimension and condition. Bold border: |Δ| ≥ {threshold}. "
        f"*: the 95 % interval over prompts excludes 0 and the test, adjusted for all "
        f"{len(sweep.cells)} cells, is significant. "
        "Hatched: better than the baseline. Mean: over the dimensions, not tested."
    )
    return figure


def deltas(sweep: PlottedSweep, labels: Mapping[str, str], columns: PageColumns) -> PaperFigure:
    """Plot Δ by dimension and condition with 95 % intervals over prompts, a panel a system; markers
    of cells that are significant are filled."""
    means = {(c.system, c.condition, c.dimension): c.delta for c in sweep.cells}
    kinds = {name: labels[name] for name in sweep.conditions[1:]}
    figure = _means(sweep, means, kinds, _DELTA, columns)
    figure.caption = _means_caption("Δ = baseline − framed", len(sweep.cells), "cells")
    return figure


def gaps(sweep: PlottedSweep, columns: PageColumns) -> PaperFigure:
    """Plot the contrasts of the framing set by dimension, as `deltas`; raises ValueError without
    any."""
    if not sweep.gaps:
        raise ValueError(f"the framing set {sweep.plan.framings.id!r} has no contrasts")
    means = {(gap.system, gap.contrast.id, gap.dimension): gap.gap for gap in sweep.gaps}
    kinds = {gap.contrast.id: gap.contrast.label for gap in sweep.gaps}
    figure = _means(sweep, means, kinds, "Gap (points; positive: the first is worse)", columns)
    figure.caption = _means_caption(
        "Gap = the Δ of the first condition less that of the second", len(sweep.gaps), "gaps"
    )
    return figure


def _means(
    sweep: PlottedSweep,
    means: Mapping[tuple[str, str, str], Mean],
    kinds: Mapping[str, str],
    axis: str,
    columns: PageColumns,
) -> PaperFigure:
    """Plot the means of each system, kind (those with labels) and dimension."""

    def point(mean: Mean) -> ForestPoint:
        return ForestPoint(mean.value, mean.ci_low, mean.ci_high, filled=mean.shown)

    panels = []
    for system in sweep.systems:
        own = {
            name: [point(means[system, kind, each]) for each in sweep.dimensions]
            for kind, name in kinds.items()
        }
        series = [ForestSeries(name, points) for name, points in own.items()]
        panels.append(ForestPanel(SECRETS.scrub(system), series))
    marks = ForestMarks(_OVER_PROMPTS, filled=_TESTED, empty=_NOT_TESTED)
    return forest(
        _dimensions(sweep), panels, axis, marks, columns=columns, zero=True, together=True
    )


def _means_caption(what: str, n: int, kind: str) -> str:
    return (
        f"{what}, mean over prompts; lines: {_OVER_PROMPTS}. Filled: the interval excludes 0 and "
        f"the test, adjusted for all {n} {kind}, is significant (p < {LEVEL:g})."
    )


def _dimensions(sweep: PlottedSweep) -> list[str]:
    return [dimension.label for dimension in sweep.rubric.numeric]


def _pairs(means: Sequence[Mean]) -> str:
    counts = sorted({mean.n_pairs for mean in means}) or [0]
    span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
    return f"{span} prompt{('s' if counts[-1] != 1 else '')} per cell"


def scorecard(sweep: PlottedSweep, labels: Mapping[str, str], columns: PageColumns) -> PaperFigure:
    """Plot mean scores by dimension and condition with standard errors over prompts."""
    n = len(sweep.systems)
    height = n * (2.0 if columns == 2 else 1.8) + 0.55
    with rc_context(LOOK):
        figure = paper_figure(columns, height)
        first = None
        for place, (system, means, errors) in enumerate(
            zip(sweep.systems, *sweep.scores_over_prompts(), strict=True)
        ):
            axis = figure.add_subplot(n, 1, place + 1, sharex=first)
            first = first or axis
            _scores(axis, sweep, labels, means, errors)
            axis.set_title(label(SECRETS.scrub(system), 60, 2))
            names = _dimensions(sweep)
            letters = int(WIDTHS[columns] / 0.065 / max(len(names), 1))
            axis.set_xticks(
                range(len(names)), [label(name, max(7, letters)) for name in names], fontsize=7
            )
        if first is not None:
            handles, names = first.get_legend_handles_labels()
            across = min(3 if columns == 1 else 6, len(names))
            figure.legend(
                handles, [label(name, 18, 2) for name in names], loc="outside upper center",
                ncols=across, frameon=False, columnspacing=1.0, handletextpad=0.3,
            )  # fmt: skip
        figure.caption = (
            "Mean scores over prompts by dimension and condition; bars: one standard error over "
            "prompts; lines: the baseline's mean."
        )
        return plain(figure)


def _scores(
    axis: Axes, sweep: PlottedSweep, labels: Mapping[str, str], means: Array, errors: Array
) -> None:
    """Plot the scores of one system as points; means and errors are (conditions, dimensions)."""
    n_conditions = len(sweep.conditions)
    step = 0.8 / n_conditions
    labels = {BASELINE: "Baseline", **labels}
    middles = np.arange(len(sweep.dimensions), dtype=float)
    for c, condition in enumerate(sweep.conditions):
        look: dict[str, Any] = {"marker": "*", "color": "black"}
        if c:
            place = (c - 1) % len(COLOURS)
            look = {"marker": MARKERS[place], "color": COLOURS[place]}
        else:
            axis.hlines(means[c], middles - 0.42, middles + 0.42, colors="black", linewidth=0.8)
        axis.errorbar(
            middles - 0.4 + step * (c + 0.5), means[c], yerr=errors[c], linestyle="none",
            markersize=4, capsize=1.5, elinewidth=0.8, markeredgecolor="black",
            markeredgewidth=0.4, label=labels[condition], **look,
        )  # fmt: skip
    for edge in middles[1:] - 0.5:
        axis.axvline(edge, color=LIGHT, linewidth=0.5)
    axis.set_xlim(-0.5, len(sweep.dimensions) - 0.5)
    scales = sweep.rubric.numeric_scales.values()
    low, high = min(scale.min for scale in scales), max(scale.max for scale in scales)
    axis.set_ylim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    axis.set_ylabel("Mean score (points)")
    axis.grid(axis="y", color=LIGHT, linewidth=0.4)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _written(figure: PaperFigure, kind: str) -> bytes:
    content = io.BytesIO()
    # No date, so that the same sweep gives the same file.
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(content, format=kind, dpi=_DPI, metadata=metadata)
    return content.getvalue()
