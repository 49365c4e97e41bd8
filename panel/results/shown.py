"""The parts of a result that people read, in order: sentences and tables of cells, for every format
that is read by people."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from math import isnan
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from persona_panel.results.console import FigureText, ReportTable, TableRow
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Table, one_line
from persona_panel.rubrics.segmentation import graphemes
from persona_panel.statistics.core.display import (
    ALL,
    NONE,
    number,
    signed,
    small_number,
)
from persona_panel.statistics.core.display import p_value as p_text
from persona_panel.statistics.core.estimate import Estimate

_MOST_BESIDE = 3
"""Of more columns of estimates, intervals stand below the values, but in a table of the short
report, where each row is a line."""


class SmallPrint(str):
    """A sentence on how to read what stands above it."""

    __slots__ = ()


ResultPart = str | SmallPrint | ReportTable


def parts_of(result: Result, full: bool) -> Iterator[ResultPart]:
    """Yield the conclusion, its figures, the next step."""
    yield from result.conclusion
    yield from figure_parts(result, full)
    if result.next_step:
        yield result.next_step


def figure_parts(result: Result, full: bool) -> Iterator[SmallPrint | ReportTable]:
    """Yield the tables that the report has, each with the reasons of what it lacks and its remarks,
    what brackets hold, and the remarks on the whole."""
    for table in result.tables:
        if table.is_shown(full):
            yield shown_table(table, full)
            yield from map(SmallPrint, [*lacking(table, full), *table.remarks])
    if brackets := _brackets([table for table in result.tables if table.is_shown(full)], full):
        yield SmallPrint(brackets)
    yield from map(SmallPrint, result.remarks)
    if full:
        yield from map(SmallPrint, result.remarks_in_full)


def first_table(result: Result) -> ReportTable | None:
    """Return the first table that the short report shows; None where it shows none."""
    shown = (table for table in result.tables if table.is_shown(False))
    return next((shown_table(table, False) for table in shown), None)


def shown_table(table: Table, full: bool) -> ReportTable:
    """Return a table as it is laid out: what lines in a row have in common heads them; what all
    have in common is behind the title."""
    rows = table.shown_rows(full)
    columns = _with_values(table.shown_columns(full), rows)
    groups, common = _lines(table, rows)
    *outer, inner = groups
    # What changes less often from line to line stands above the lines.
    lines = [
        TableRow(
            table.label(row, inner),
            [cell for column in columns for cell in _cells(table, column, row, full)],
            " / ".join(table.label(row, names) for names in outer),
        )
        for row in rows
    ]
    heads = [_head(table, names) for names in groups]
    above = [" / ".join(heads[:-1])] if outer else []
    text = f": {', '.join(common)}" if common else ""
    return ReportTable(
        f"{table.title}{text}",
        [*above, heads[-1]],
        [head for column in columns for head in _heads(table, column, rows)],
        lines,
    )


def _with_values(columns: list[Column], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns but estimates without a value; all where none has one."""
    there = [
        column
        for column in columns
        if column.kind != "estimate"
        or any(_is_there(column, row[column.name]) for row in rows if row.get(column.name))
    ]
    return there or columns


def _is_there(column: Column, cell: Estimate) -> bool:
    return cell.has_interval if column.ends_only else not isnan(cell.value)


def lacking(table: Table, full: bool) -> list[str]:
    """Return why values or intervals are not there: a sentence for each reason, with where it
    holds."""
    rows = table.shown_rows(full)
    columns = [column for column in table.shown_columns(full) if column.kind == "estimate"]
    groups, _ = _lines(table, rows)
    named = [name for names in groups for name in names]
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}
    for column in columns:
        for row in rows:
            estimate = row.get(column.name)
            if not isinstance(estimate, Estimate) or not estimate.lacks:
                continue
            if isnan(estimate.value) or not estimate.exact:
                what = "Undefined" if isnan(estimate.value) else "No interval"
                by_head = reasons.setdefault((what, str(estimate.lacks)), {})
                by_head.setdefault(one_line(column.head), []).append(table.label(row, named))
    sentences = []
    for (what, reason), by_head in reasons.items():
        those = []
        for head, labels in by_head.items():
            names = "; ".join(dict.fromkeys(labels))
            of_all = len(labels) == len(rows)
            those.append(head if of_all else names if len(columns) == 1 else f"{head} ({names})")
        sentences.append(f"{what}: {'; '.join(dict.fromkeys(those))}: {reason}.")
    return sentences


def _brackets(tables: Sequence[Table], full: bool) -> str:
    """Return the sentence on what the brackets hold; empty where no interval is shown."""
    there = [
        row[column.name]
        for table in tables
        for column in table.shown_columns(full)
        if column.kind == "estimate"
        for row in table.shown_rows(full)
        if row.get(column.name) is not None and row[column.name].has_interval
    ]
    if not there:
        return ""
    levels = " or ".join(dict.fromkeys(f"{100 * each.level:g} %" for each in there))
    over = " or ".join(dict.fromkeys(each.over for each in there if each.over))
    return f"In brackets: {levels} intervals{f' over {over}' if over else ''}."


def _lines(
    table: Table, rows: Sequence[Mapping[str, Any]]
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the keys of headings and, last, of labels; and the labels common to all rows."""
    apart = table.sides or ()
    groups: list[tuple[str, ...]] = [
        (key.name,) for key in table.keys if key.head and key.name not in apart
    ]
    if table.sides is not None:
        groups.append(table.sides)

    def values(names: tuple[str, ...]) -> list[tuple[Any, ...]]:
        return [tuple(row.get(name) for name in names) for row in rows]

    varied = [names for names in groups if len(set(values(names))) > 1 or names == table.sides]
    kept = varied or groups[:1]
    kept.sort(key=lambda names: sum(1 for _ in groupby(values(names))))
    same = [
        key.label(rows[0])
        for key in table.keys
        if (key.name,) in groups and (key.name,) not in kept and rows
    ]
    return kept or [()], [label for label in same if label and label != ALL]


def _head(table: Table, names: tuple[str, ...]) -> str:
    return next((key.head for key in table.keys if key.name in names and key.head), "")


def _heads(table: Table, column: Column, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    unit = f",\n{column.unit}" if column.unit else ""
    heads = [f"{column.head}{unit}"]
    if column.p == "column":
        cells = (row.get(column.name) for row in rows)
        adjusted = any(cell is not None and not isnan(cell.p_adjusted) for cell in cells)
        heads.append("p,\nadjusted" if adjusted else "p")
    return heads


def _cells(table: Table, column: Column, row: Mapping[str, Any], full: bool) -> Iterator[Text]:
    cell = row.get(column.name)
    if column.kind == "estimate":
        n = sum(each.kind == "estimate" for each in table.shown_columns(full))
        yield _estimate(column, cell, beside=table.when == "short" or n <= _MOST_BESIDE)
        if column.p == "column":
            p = float("nan") if cell is None else cell.least_p
            yield FigureText(p_text(p), p_value=p)
    else:
        yield _plain(column, cell, row)


def _estimate(column: Column, cell: Estimate | None, *, beside: bool) -> FigureText:
    if cell is None:
        return FigureText("")
    text = FigureText(
        "" if column.ends_only else cell.number(column.digits, with_sign=column.signed),
        value=cell.value, low=cell.low, high=cell.high, p_value=cell.least_p,
    )  # fmt: skip
    if column.p == "cell" and not isnan(cell.least_p):
        text.append(f" p {p_text(cell.least_p)}", "dim")
    # A rank that no other place is open beside stands alone.
    if cell.has_interval and not (column.digits == 0 and cell.low == cell.high):
        # Of a value to three digits, two of an interval's ends are as many as can be distinguished.
        digits = min(column.digits, 2)
        before = "" if column.ends_only else " " if beside else "\n"
        text.append(f"{before}{cell.brackets(digits)}", "" if beside else "dim")
    return text


def _plain(column: Column, cell: Any, row: Mapping[str, Any]) -> FigureText:
    if cell is None:
        return FigureText("")
    match column.kind:
        case "number":
            write = signed if column.signed else small_number if column.small else number
            text = write(cell, column.digits)
            return FigureText(text, value=cell)
        case "p":
            return FigureText(p_text(cell), p_value=cell)
        case "whole":
            of = f"/{row[column.of]:,}" if column.of else ""
            return FigureText(f"{cell:,}{of}", value=float(cell))
        case "flag":
            return FigureText("yes" if cell else "no")
        case "texts":
            return FigureText("; ".join(cell) or NONE)
        case _:
            return FigureText(str(cell))


def key_names(tables: Iterable[Table]) -> set[str]:
    """Return the names that rows of tables are of."""
    rows = [(key.name, row) for table in tables for key in table.keys for row in table.rows]
    return {name for key, row in rows if isinstance(name := row.get(key), str)}


def short_names(names: Collection[str], width: int) -> dict[str, str]:
    """Return what stands for names that take more than `width` columns: the beginning and the end
    of each, none like another."""
    short: dict[str, str] = {}
    taken = set(names)
    # A name that is a part of another is replaced after it.
    for name in sorted((each for each in names if cell_len(each) > width), key=len, reverse=True):
        half, letters = width // 2 - 1, graphemes(name)
        width_of = {letter: cell_len(letter) for letter in {*letters}}
        widths = [width_of[letter] for letter in letters]
        heads, tails = [*accumulate(widths)], [*accumulate(reversed(widths))]
        while True:
            tail = len(letters) - bisect(tails, half)
            cut = f"{''.join(letters[: bisect(heads, half)])}…{''.join(letters[tail:])}"
            if cut not in taken:
                break
            half += 1
        if cell_len(cut) < cell_len(name):
            short[name] = cut
            taken.add(cut)
    return short
