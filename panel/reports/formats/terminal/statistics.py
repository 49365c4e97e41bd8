"""The statistics of a registry in a terminal: every table that they name, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any

from rich.console import Console
from rich.text import Text

from persona_panel.reports.formats.terminal.rows import Line, in_words, one_line, remark, show
from persona_panel.results.console import TableRow, legible, show_table
from persona_panel.statistics.breakdown.stratum_rows import LESS_OTHERS
from persona_panel.statistics.core.display import NONE, general, number
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.core.registry import RegisteredStatistic, Registry, StatisticTable
from persona_panel.statistics.core.table import Row

LINES_SHOWN = 12
"""Of the judges of a panel, how many have a line."""
PARTS_NAMED = 6
"""Of more parts that a value is broken down into, none is named below a table."""
COLUMNS_SHOWN = 12
"""Of more numbers of judges, the first five and every tenth have a column."""
NOBODY = "none"
_LONGEST_HEAD = 24


def show_statistics(
    rows: Iterable[Row],
    registry: Registry[Any],
    console: Console,
    *,
    all_raters: str,
    main_only: bool = False,
    word: str = "judge",
) -> None:
    """The tables of these rows.

    Args:
        word: what titles and headings call one of those who rated.
        all_raters: the group of all raters, which some tables are of alone.
        main_only: whether those tables are left out.
    """
    rows = [row for row in rows if not (row.by or "").endswith(LESS_OTHERS)]
    tables: dict[StatisticTable, list[RegisteredStatistic[Any]]] = {}
    for one in registry:
        tables.setdefault(one.table, []).append(one)
    for table, statistics in tables.items():
        if table.all_raters_only and main_only:
            continue
        headings = {one.name: in_words(one.heading, word) for one in statistics}
        wanted = [
            row
            for row in rows
            if row.statistic in headings and (row.group == all_raters or not table.all_raters_only)
        ]
        if not wanted:
            continue
        if table.columns == "dimension":
            wanted = [replace(row, by=in_words(row.by or "", word) or None) for row in wanted]
        _LAYOUTS[table.columns](console, in_words(table.title, word), wanted, headings)
        noted = {one.name for one in statistics if one.show_note}
        _show_notes(console, [row for row in wanted if row.statistic in noted], headings)
        if table.remark:
            remark(console, in_words(table.remark, word))
            console.print()


def show_stratum_differences(
    rows: Iterable[Row],
    registry: Registry[Any],
    by: str,
    console: Console,
    word: str = "judge",
) -> None:
    """How far each stratum is above the others on the statistics of the first table."""
    found = [row for row in rows if row.by == f"{by}{LESS_OTHERS}"]
    if not found:
        return
    headings = {one.name: in_words(one.heading, word) for one in registry}
    first = next(name for name in headings if any(row.statistic == name for row in found))
    table = next(one.table for one in registry if one.name == first)
    names = {one.name for one in registry if one.table == table}
    cells: dict[tuple[str, Line], Row] = {
        (headings[row.statistic], (row.by_value or "", row.dimension)): row
        for row in found
        if row.statistic in names
    }
    columns = [headings[name] for name in headings if name in names]
    show(console, f"By {by}: above the mean of the others", cells, columns, (by, "dimension"))
    remark(
        console,
        "Intervals and p: over prompts (or items) alone; p adjusted by Holm's method over all "
        "lines of a column.",
    )
    console.print()


def _columns_statistics(
    console: Console, title: str, rows: Sequence[Row], headings: Mapping[str, str]
) -> None:
    cells: dict[tuple[str, Line], Row] = {
        (headings[row.statistic], (row.group, row.by_value or ALL, row.dimension)): row
        for row in rows
    }
    by = next((row.by for row in rows if row.by), "")
    show(console, title, cells, dict.fromkeys(headings.values()), ("group", by, "dimension"))


def _columns_by_value(
    console: Console, title: str, rows: Sequence[Row], headings: Mapping[str, str]
) -> None:
    cells: dict[tuple[str, Line], Row] = {
        (row.by_value or ALL, (row.group, row.dimension)): row for row in rows
    }
    columns = list(dict.fromkeys(heading for heading, _ in cells))
    if len(columns) > COLUMNS_SHOWN:
        columns = [name for n, name in enumerate(columns, 1) if n <= 5 or n % 10 == 0]
    show(console, title, cells, columns)


def _columns_groups(
    console: Console, title: str, rows: Sequence[Row], headings: Mapping[str, str]
) -> None:
    """Of several groups the first, which are people, and the last, which are all judges."""
    groups = [*dict.fromkeys(row.group for row in rows)]
    shown = dict.fromkeys((groups[0], groups[-1]))
    cells: dict[tuple[str, Line], Row] = {
        (_heading(headings[row.statistic], row.group), (row.by_value or ALL, row.dimension)): row
        for row in rows
    }
    columns = [_heading(heading, group) for heading in headings.values() for group in shown]
    by = next((row.by for row in rows if row.by), "")
    show(console, title, cells, dict.fromkeys(columns), (by, "dimension"))


def _heading(heading: str, group: str) -> str:
    return f"{heading},\n{group}"


def _columns_dimensions(
    console: Console, title: str, rows: Sequence[Row], headings: Mapping[str, str]
) -> None:
    """A line for the whole, then the highest first."""
    by_line: dict[str | None, list[Row]] = {}
    for row in rows:
        by_line.setdefault(row.by_value, []).append(row)
    whole = by_line.pop(None, [])
    order = sorted(by_line, key=lambda name: -_mean(by_line[name]))
    cells: dict[tuple[str, Line], Row] = {
        (row.dimension, (name or NOBODY,)): row
        for name, its_rows in [(None, whole), *((name, by_line[name]) for name in order)][
            : 1 + LINES_SHOWN
        ]
        for row in its_rows
    }
    columns = dict.fromkeys(row.dimension for row in rows)
    show(console, title, cells, columns, (next(row.by or "" for row in rows),))
    if len(order) > LINES_SHOWN:
        remark(console, f"{len(order) - LINES_SHOWN} more are in --json.")


def _mean(rows: Sequence[Row]) -> float:
    values = [row.value for row in rows if not isnan(row.value)]
    return sum(values) / len(values) if values else 0.0


def _columns_crossed(
    console: Console, title: str, rows: Sequence[Row], headings: Mapping[str, str]
) -> None:
    """A table for each dimension, where it is not too wide to read."""
    by_dimension: dict[str, list[Row]] = {}
    for row in rows:
        by_dimension.setdefault(row.dimension, []).append(row)
    for dimension, its_rows in by_dimension.items():
        of = "" if dimension == ALL else f" ({legible(dimension)})"
        columns = list(dict.fromkeys(row.by_value or "" for row in its_rows))
        if len(columns) > COLUMNS_SHOWN:
            remark(console, f"{title}{of}: {len(columns)} columns, which --json has.")
            continue
        cells = {(row.by or "", row.by_value or ""): row for row in its_rows}
        names = list(dict.fromkeys([*(row.by or "" for row in its_rows), *columns]))
        lines = [name for name in names if any((name, column) in cells for column in columns)]
        heads, labels = [legible(name) for name in columns], {name: name for name in names}
        if max(map(len, columns)) > _LONGEST_HEAD:
            # Names of judges: a number stands in their place above the columns.
            labels = {name: f"{number}. {name}" for number, name in enumerate(names, start=1)}
            heads = [str(names.index(column) + 1) for column in columns]
            lines = names
        show_table(
            console,
            f"{title}{of}",
            [""],
            heads,
            [
                TableRow(labels[line], [Text(_plain(cells.get((line, name)))) for name in columns])
                for line in lines
            ],
        )


def _plain(row: Row | None) -> str:
    """A figure without its interval; counts without decimals."""
    if row is None:
        return ""
    if isnan(row.value):
        return NONE
    return f"{general(row.value)}" if row.value == int(row.value) else number(row.value, 2)


def _no_columns(
    console: Console, title: str, rows: Sequence[Row], headings: Mapping[str, str]
) -> None:
    """A sentence for each dimension: the value, and what it is broken down into where that is
    few enough to read."""
    for row in rows:
        if row.by is not None:
            continue
        of = "" if row.dimension == ALL else f" ({legible(row.dimension)})"
        if row.reason is not None:
            remark(console, f"{title}{of}: undefined ({row.reason}).")
            continue
        names = [
            legible(other.by_value or "")
            for other in rows
            if other.by is not None
            and (other.statistic, other.group, other.dimension)
            == (row.statistic, row.group, row.dimension)
        ]
        heading = one_line(headings[row.statistic])
        told = [f"{general(row.value)} of {row.n_raters} {heading}"]
        if names and len(names) <= PARTS_NAMED:
            told.append(f"({', '.join(names)})")
        note = f"; {row.note}" if row.note else ""
        remark(console, f"{title}{of}: {' '.join(told)}{note}.")


def _show_notes(console: Console, rows: Sequence[Row], headings: Mapping[str, str]) -> None:
    """The notes of these rows, those of several groups once."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.note and row.reason is None:
            key = headings[row.statistic], row.dimension, row.note
            groups.setdefault(key, []).append(row.group)
    for (heading, dimension, note), names in groups.items():
        of = [legible(name) for name in (", ".join(names), dimension) if name != ALL]
        said = f" ({'; '.join(of)})" if of else ""
        remark(console, f"{one_line(heading)}{said}: {note}.")
    if groups:
        console.print()


_LAYOUTS = {
    "statistic": _columns_statistics,
    "by_value": _columns_by_value,
    "group": _columns_groups,
    "dimension": _columns_dimensions,
    "crossed": _columns_crossed,
    "none": _no_columns,
}
