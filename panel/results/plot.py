"""The main estimates of a result, and statistics of ratings, as forest plots, by Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from persona_panel.files.secrets import SECRETS
from persona_panel.files.wording import did_you_mean
from persona_panel.results.page_columns import PageColumns, check_plots
from persona_panel.results.table import Column, Table, one_line
from persona_panel.statistics.agreement import agree, agreement_statistics
from persona_panel.statistics.comparison import comparison_statistics, correlate
from persona_panel.statistics.core.arrays import AnalysisOptions
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.registry import Registry
from persona_panel.statistics.core.table import Ratings, Row

if TYPE_CHECKING:
    from persona_panel.results.charts import ForestPoint, PaperFigure

_NO_TESTS = AnalysisOptions(n_permutations=0)


def forest_of(
    tables: Sequence[Table], figure: str = "", *, columns: PageColumns = 1
) -> PaperFigure:
    """Return a forest plot of the first of these tables that has estimates, a row for each of its
    rows, with their intervals; its caption says what they are.

    Args:
        figure: the name of the figures to draw, a series for each column that has them; the main
            ones of the table if empty.

    Raises:
        ModuleNotFoundError: Matplotlib is not installed.
        ValueError: no table has estimates, or figures of this name.
    """
    check_plots(columns)
    from persona_panel.results.charts import ForestMarks, ForestPanel, ForestSeries, forest

    drawn = next(((t, own) for t in tables if t.rows and (own := _drawn(t, figure))), None)
    if drawn is None:
        names = [column.figure for each in tables for column in _named(each)]
        called = f" called {figure!r}{did_you_mean(figure, names)}" if figure else ""
        raise ValueError(f"no table of this result has estimates to draw{called}")
    table, shown = drawn
    rows = [row for row in table.rows if any(row.get(column.name) is not None for column in shown)]
    cells = [[_estimate(row.get(column.name)) for row in rows] for column in shown]
    there = [estimate for own in cells for estimate in own if estimate is not None]
    over = dict.fromkeys(each.over for each in there if each.has_interval and each.over)
    levels = dict.fromkeys(f"{100 * each.level:g} %" for each in there if each.has_interval)
    sample = f"{' or '.join(levels)} interval" + (f" over {' or '.join(over)}" if over else "")
    heads = [one_line(column.head or column.name) for column in shown]
    first = shown[0]
    if table.curve and not figure:
        return _curve(table, first, sample, columns)
    sentences = [first.unit, f"{first.better} is better" if first.better else ""]
    brackets = ", ".join(part for part in sentences if part)
    name = heads[0] if len(heads) == 1 else figure.replace("_", " ")
    plot = forest(
        [SECRETS.scrub(table.label(row)) for row in rows],
        [ForestPanel("", [
            ForestSeries(head, [None if each is None else _point(each) for each in own])
            for head, own in zip(heads, cells, strict=True)
        ])],
        f"{name} ({brackets})" if brackets else name,
        ForestMarks(sample),
        columns=columns,
        zero=any(isinstance(estimate, Difference) for estimate in there),
    )  # fmt: skip
    lines = f"; lines: {sample}" if levels or len(heads) == 1 else ""
    plot.caption = f"{table.title or table.name}: {name}{lines}."
    return plot


def _curve(table: Table, of: Column, sample: str, columns: PageColumns) -> PaperFigure:
    """Return the specification curve of a table, without the rows that have no value."""
    from persona_panel.results.charts import CurvePoint, curve

    there = [row for row in table.rows if not isnan(row[of.name].value)]
    points = [
        CurvePoint(
            _point(row[of.name]),
            [(kind, SECRETS.scrub(name)) for kind, name in row[table.curve]],
            bool(row.get("main")),
        )
        for row in reversed(there)
    ]
    name = one_line(of.head)
    plot = curve(points, table.title, columns=columns)
    lacking = len(table.rows) - len(there)
    plot.caption = (
        f"{table.title}: {name} of {len(there):,} analyses; lines: {sample}, pale where it holds "
        f"0; diamond: the main analysis; marks below: its choices."
        + (f" {lacking:,} more have no value." if lacking else "")
    )
    return plot


def _named(table: Table) -> list[Column]:
    """Return the columns whose figures have a name of their own."""
    return [column for column in table.columns if column.figure.isidentifier()]


def _drawn(table: Table, figure: str) -> list[Column]:
    """Return the columns of a table that are drawn; none where it is not meant."""
    if not figure:
        main = table.charted()
        return [] if main is None else [main]
    return [column for column in _named(table) if column.figure == figure]


def _estimate(cell: Estimate | float | None) -> Estimate | None:
    return Estimate(cell) if isinstance(cell, float) else cell


def _point(estimate: Estimate) -> ForestPoint:
    from persona_panel.results.charts import ForestPoint

    return ForestPoint(estimate.value, estimate.low, estimate.high)


class RatingsPlots:
    """The figures of ratings, each a Matplotlib `Figure` to save as PDF, SVG or PNG.

    `columns` and `figure.caption` are as of a run's figures (`RunPlots`). Every method raises
    ModuleNotFoundError without matplotlib, and ValueError for other numbers of columns.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._ratings = ratings

    def agreement(
        self,
        statistic: str = "krippendorff_alpha",
        *,
        options: AnalysisOptions = _NO_TESTS,
        columns: PageColumns = 1,
    ) -> PaperFigure:
        """Plot inter-rater agreement by dimension, for each group of raters and for all together.

        Args:
            statistic: the name of a statistic of `agree`, such as `krippendorff_alpha` or `icc2`.
            options: how it is computed, as of `agree`.

        Raises:
            ValueError: these ratings have no such statistic.
        """
        check_plots(columns)
        axis = _heading(agreement_statistics, statistic)
        rows = _of(agree(self._ratings, options, only=[statistic]), [statistic])
        names = {row.group: "all raters" if row.group == ALL else row.group for row in rows}
        return _by_dimension(rows, names, self._ratings, axis, columns)

    def correlation(
        self,
        humans: Ratings,
        statistic: str = "tau_c",
        *,
        options: AnalysisOptions = _NO_TESTS,
        columns: PageColumns = 1,
    ) -> PaperFigure:
        """Plot the correlation of these ratings of a panel with people's, by dimension, next to it
        that of one person with the others.

        Args:
            humans: people's ratings of the same items, as `load_aligned_ratings` gives them.
            statistic: the name of a correlation of `correlate`, such as `tau_c`, `spearman` or
                `tau_b_within_prompts`.
            options: how it is computed, as of `correlate`.

        Raises:
            ValueError: the two have no such statistic.
        """
        check_plots(columns)
        axis = f"{_heading(comparison_statistics, statistic)} with the mean human rating"
        ceiling = f"human_ceiling_{statistic}"
        rows = _of(correlate(self._ratings, humans, options), [statistic, ceiling])
        # The panel's groups first, then all of it; a person stands last.
        rows.sort(key=lambda row: row.statistic == ceiling)
        names = {
            row.group: "one person, and the others"
            if row.statistic == ceiling
            else ("panel" if row.group == ALL else row.group)
            for row in rows
        }
        return _by_dimension(rows, names, humans, axis, columns)


def _heading(registry: Registry[Any], statistic: str) -> str:
    headings = {entry.name: " ".join(entry.heading.split()) for entry in registry}
    if statistic not in headings:
        raise ValueError(f"no statistic {statistic!r}; there are {', '.join(headings)}")
    return headings[statistic]


def _of(rows: Sequence[Row], statistics: Sequence[str]) -> list[Row]:
    kept = [row for row in rows if row.by is None and row.statistic in statistics]
    if not any(row.statistic == statistics[0] for row in kept):
        raise ValueError(f"{statistics[0]!r} does not apply to these ratings")
    return kept


def _by_dimension(
    rows: Sequence[Row], names: dict[str, str], ratings: Ratings, axis: str, columns: PageColumns
) -> PaperFigure:
    """Plot a row for each dimension and a series for each group's name."""
    from persona_panel.results.charts import (
        ForestMarks,
        ForestPanel,
        ForestPoint,
        ForestSeries,
        forest,
    )

    dimensions = list(dict.fromkeys(row.dimension for row in rows))
    points = {
        (row.group, row.dimension): ForestPoint(row.value, row.ci_low, row.ci_high) for row in rows
    }
    series = [
        ForestSeries(name, [points.get((group, dimension)) for dimension in dimensions])
        for group, name in names.items()
    ]
    sampled = "prompts" if ratings.prompts else "items"
    over = next((row.estimate(sampled=sampled).over for row in rows if row.ci_over), "")
    mark = f"95 % interval over {over}" if over else ""
    figure = forest(
        ["all dimensions" if name == ALL else name.replace("_", " ") for name in dimensions],
        [ForestPanel("", series)],
        axis,
        ForestMarks(mark),
        columns=columns,
        zero=True,
    )
    lacking: dict[str, list[str]] = {}
    for row in rows:
        if why := row.reason or row.ci_reason:
            what = "value" if row.reason else "interval"
            lacking.setdefault(f"No {what} for {{}}: {why}.", []).append(
                f"{names[row.group]} ({row.dimension})"
            )
    sizes = f"{len(ratings.items):,} items, {ratings.counted_raters()}"
    figure.caption = " ".join(
        [f"{axis} by dimension; {sizes}{f'; lines: {mark}' if mark else ''}."]
        + [reason.replace("{}", "; ".join(those)) for reason, those in lacking.items()]
    )
    return figure
