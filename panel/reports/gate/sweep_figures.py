"""The figures of a sweep that a requirement may name.

The same names are there before a sweep has any answer: see `planned_sweep`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

import numpy as np

from persona_panel.experiments.sweep.deltas import Cell, Mean
from persona_panel.experiments.sweep.result import Sweep, condition_labels
from persona_panel.reports.gate.run_figures import ADJUSTED, OVER, coverage_figures
from persona_panel.results.requirements.figures import Figure, FigureKey, exact
from persona_panel.runs.scale_limits import mean_limits
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.student_t import student_interval

MEAN = "mean"
"""The dimension of a Δ over all dimensions, as tables have it."""
NOT_MEASURED = "no prompt has scores with and without framing"
NOT_SCORED = "no response was scored"
NOT_TESTED = "it was not tested"


def sweep_figures(sweep: Sweep) -> list[Figure]:
    """Every figure of a sweep: Δ and its p-value, the share of prompts that fall far, gaps, scores,
    coverage and calls. `coverage` is of all judgments that were planned, those of variants and
    answers that are missing included."""
    found = [*_deltas(sweep), *_gaps(sweep), *_scores(sweep)]
    found += coverage_figures(sweep.run, sweep.coverage.expected)
    found.append(exact("variants_missing", len(sweep.rejected)))
    found.append(exact("answers_missing", len(sweep.unanswered)))
    return found


def _keys(sweep: Sweep, system: str, dimension: str, condition: str) -> tuple[FigureKey, ...]:
    labels = {one.id: one.label for one in sweep.rubric.numeric}
    conditions = {one.id: one.label for one in sweep.plan.framings.conditions}
    return (
        FigureKey(system),
        FigureKey(dimension, labels.get(dimension, ""), dimension == MEAN),
        FigureKey(condition, conditions.get(condition, "")),
    )


def _deltas(sweep: Sweep) -> Iterator[Figure]:
    for one in sweep.composites:
        n = one.n_pairs
        why = NOT_MEASURED if isnan(one.value) else _no_interval(one.ci_low, n)
        yield Figure(
            "delta", _keys(sweep, one.system, MEAN, one.condition), "", one.value, one.ci_low,
            one.ci_high, OVER["prompts"], reason=why, n_prompts=n, df=n - 1.0,
        )  # fmt: skip
    for cell in sweep.cells:
        yield from cell_figures(cell, _keys(sweep, cell.system, cell.dimension, cell.condition))


def cell_figures(cell: Cell, keys: tuple[FigureKey, ...]) -> Iterator[Figure]:
    """The figures of one cell: Δ, its p-value, the share of prompts that fall far."""
    yield from _tested("delta", "p", keys, cell.delta)
    n, (low, high) = cell.delta.n_pairs, cell.fell_ci
    yield Figure(
        "large_falls", keys, "", cell.n_fell / n if n else float("nan"), low, high,
        OVER["prompts"], reason=None if n else NOT_MEASURED, n_prompts=n,
        detail=f"{cell.n_fell:,} of {n:,} prompts",
    )  # fmt: skip


def _gaps(sweep: Sweep) -> Iterator[Figure]:
    labels = {one.id: one.label for one in sweep.rubric.numeric}
    for one in sweep.gaps:
        keys = (
            FigureKey(one.system),
            FigureKey(one.dimension, labels.get(one.dimension, "")),
            FigureKey(one.contrast.id, one.contrast.label),
        )
        yield from _tested("gap", "gap_p", keys, one.gap)


def _tested(name: str, p: str, keys: tuple[FigureKey, ...], mean: Mean) -> Iterator[Figure]:
    n = mean.n_pairs
    why = NOT_MEASURED if isnan(mean.value) else _no_interval(mean.ci_low, n)
    yield Figure(
        name, keys, "", mean.value, mean.ci_low, mean.ci_high, OVER["prompts"],
        reason=why, n_prompts=n, df=n - 1.0,
    )  # fmt: skip
    yield exact(p, mean.p_claim, ADJUSTED, keys, reason=NOT_TESTED)


def _scores(sweep: Sweep) -> Iterator[Figure]:
    labels = condition_labels(sweep.plan)
    for s, system in enumerate(sweep.systems):
        for c, condition in enumerate(sweep.conditions):
            for d, dimension in enumerate(sweep.rubric.numeric):
                scores = sweep.scores[s, :, c, d]
                there = scores[~np.isnan(scores)]
                n = len(there)
                low, high = student_interval(there)
                value = float(there.mean()) if n else float("nan")
                keys = (
                    FigureKey(system),
                    FigureKey(dimension.id, dimension.label),
                    FigureKey(condition, labels.get(condition, "")),
                )
                limits = mean_limits(sweep.rubric, [dimension.id])[0]
                why = _no_interval(low, n) if n else NOT_SCORED
                yield Figure(
                    "score", keys, "", value, low, high, OVER["prompts"],
                    limits=limits, reason=why,
                    n_prompts=n, df=n - 1.0,
                )  # fmt: skip


def _no_interval(low: float, n: int) -> str | None:
    if not isnan(low):
        return None
    return Reason.FEW_CLUSTERS if n < 2 else Reason.NO_SPREAD
