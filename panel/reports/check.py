"""`check`: whether a run, a sweep or the rows of a statistic meet requirements."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.analyses.score import score_result
from persona_panel.experiments.sweep.result import Sweep
from persona_panel.experiments.sweep.sweep_result import sweep_result
from persona_panel.results.decision import GateResult, decide_all, named, parsed
from persona_panel.results.required_figures import Figure, result_figures
from persona_panel.results.result import Result
from persona_panel.results.statistic_tables import StatisticTables
from persona_panel.runs.run import Run
from persona_panel.statistics.core.table import Row

Gated = Result | Run | Sweep | Sequence[Row]
"""Results whose figures may be required."""


def check(
    result: Gated,
    *requirements: str,
    by_point: bool = False,
) -> GateResult:
    """Test whether a result meets requirements such as `composite[my-model] >= 6`.

    Args:
        result: of an analysis, `score`, `load_run` or `sweep`, or the rows of `agree` or
            `people correlate`.
        requirements: each a figure's name, a comparison and a number, or of a verdict a word;
            docs/how-to/gate.md lists the figures. The unfavourable end of the 95 % interval
            decides, a one-sided test at 2.5 %; with `level=0.9` behind the number, of the 90 %.
        by_point: decide by estimates instead.

    Raises:
        InputError: a requirement cannot be read, or names no figure; lists all such.
    """
    read, faults = parsed(requirements)
    figures = figures_of(result)
    named(read, figures, faults)
    return decide_all(read, figures, by_point=by_point)


def figures_of(result: Gated) -> list[Figure]:
    """Every figure that a requirement may name."""
    if isinstance(result, Result):
        return result_figures(result)
    if isinstance(result, Run):
        return result_figures(score_result(result))
    if isinstance(result, Sweep):
        return result_figures(sweep_result(result))
    return result_figures(Result("statistics", (), [StatisticTables().for_programs(result, {})]))
