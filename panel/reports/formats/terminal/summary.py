"""The short table of a command in the terminal: its main statistics, one line a dimension."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console

from persona_panel.reports.formats.terminal.rows import Line, figure_on_a_line, in_words, show
from persona_panel.statistics.core.names import COMPOSITE
from persona_panel.statistics.core.registry import Registry
from persona_panel.statistics.core.table import Row

WHERE_THE_REST_IS = "--full has every table, --json every statistic."


def show_summary(
    title: str,
    rows: Iterable[Row],
    registry: Registry[Any],
    console: Console,
    by: str,
    word: str = "judge",
) -> set[str]:
    """A line for each dimension; for each group of raters; or for each other stratum, of the
    composite alone where there is one.

    Args:
        rows: of a statistic that has several of a line, the first is shown.
        by: `dimension`, `group`, or what strata are.
        word: what headings call one of those who rated.

    Returns:
        The statistics that have a column.
    """
    headings = {name: in_words(head, word) for name, head in registry.in_summary().items()}
    shown = [row for row in rows if row.statistic in headings]
    heads: tuple[str, ...] = (by,)
    if by not in ("dimension", "group"):
        shown = [row for row in shown if row.by == by]
        whole = [row for row in shown if row.dimension == COMPOSITE]
        if whole:
            shown, title = whole, f"{title}: composite"
        else:
            heads = (by, "dimension")
    cells: dict[tuple[str, Line], Row] = {}
    for row in shown:
        of = {by: row.by_value or "", "dimension": row.dimension, "group": row.group}
        line = tuple(of[head] for head in heads)
        cells.setdefault((headings[row.statistic], line), row)
    show(console, title, cells, dict.fromkeys(headings.values()), heads, figure_on_a_line)
    return {row.statistic for row in cells.values() if row.reason is None}
