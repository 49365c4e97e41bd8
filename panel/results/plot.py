"""The main estimates of a result as a forest plot, which needs Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from persona_panel.files.secrets import SECRETS
from persona_panel.results.table import Table, one_line
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.figures import PageColumns, check_plots

if TYPE_CHECKING:
    from persona_panel.statistics.figures.charts import PaperFigure


def forest_of(tables: Sequence[Table], *, columns: PageColumns = 1) -> PaperFigure:
    """Return a forest plot of the first of these tables that has estimates, a row for each of its
    rows, with their intervals; its caption says what they are.

    Raises:
        ModuleNotFoundError: Matplotlib is not installed.
        ValueError: no table has estimates.
    """
    check_plots(columns)
    from persona_panel.statistics.figures.charts import (
        ForestMarks,
        ForestPanel,
        ForestPoint,
        ForestSeries,
        forest,
    )

    drawn = next(((t, c) for t in tables if t.rows and (c := t.charted()) is not None), None)
    if drawn is None:
        raise ValueError("no table of this result has estimates to draw")
    table, column = drawn
    there = [(table.label(row), row[column.name]) for row in table.rows if row.get(column.name)]
    points = [ForestPoint(estimate.value, estimate.low, estimate.high) for _, estimate in there]
    over = dict.fromkeys(
        estimate.over for _, estimate in there if estimate.has_interval and estimate.over
    )
    levels = dict.fromkeys(
        f"{100 * estimate.level:g} %" for _, estimate in there if estimate.has_interval
    )
    sample = f"{' or '.join(levels)} interval" + (f" over {' or '.join(over)}" if over else "")
    said = [column.unit, f"{column.better} is better" if column.better else ""]
    brackets = ", ".join(part for part in said if part)
    name = one_line(column.head or column.name)
    figure = forest(
        [SECRETS.scrub(label) for label, _ in there],
        [ForestPanel("", [ForestSeries(name, points)])],
        f"{name} ({brackets})" if brackets else name,
        ForestMarks(sample),
        columns=columns,
        zero=any(isinstance(estimate, Difference) for _, estimate in there),
    )
    figure.caption = f"{table.title or table.name}: {name}; lines: {sample}."
    return figure
