"""The figures of any result that a requirement may name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isnan
from typing import Any

from persona_panel.results.conclusions.wording import counted
from persona_panel.results.requirements.figures import Figure, FigureKey, exact
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Table
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.levels import LEVEL

NO_INTERVAL = "no interval of it is computed"
NOT_COMPUTED = "it is not computed"


def result_figures(result: Result) -> list[Figure]:
    """Return every figure of the tables for programs whose column has a name for it; differences
    from either side."""
    return [
        figure
        for table in result.tables
        if table.programs
        for row in table.rows
        for each in _turned(table, row)
        for column in table.columns
        for figure in _of_cell(table, column, each)
    ]


def _turned(table: Table, row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield row
    if table.sides is not None:
        a, b = table.sides
        differences = {k: -cell for k, cell in row.items() if isinstance(cell, Difference)}
        yield {**row, **differences, a: row[b], b: row[a]}


def _of_cell(table: Table, column: Column, row: Mapping[str, Any]) -> Iterator[Figure]:
    cell = row.get(column.name)
    if cell is None:
        return
    if column.figure:
        about = _about(table, column.figure, row)
        yield (
            _of_estimate(about, column, cell)
            if isinstance(cell, Estimate)
            else _of_plain(about, column, cell, row)
        )
    if column.p_figure and not (isnan(cell.least_p) and cell.reason is None):
        about = _about(table, column.p_figure, row)
        detail = "" if isnan(cell.p_adjusted) else "adjusted"
        why = str(cell.reason or NOT_COMPUTED)
        yield exact(about.name, cell.least_p, detail, about.keys, reason=why)


def _about(table: Table, name: str, row: Mapping[str, Any]) -> Figure:
    """Name, label and keys of a figure; a key within the name is none of the figure's."""
    inside = [key for key in table.keys if f"{{{key.name}}}" in name]
    return Figure(
        name.format_map(row) if inside else name,
        tuple(
            FigureKey(str(row[key.name]), key.labels.get(row[key.name], ""),
                      row[key.name] in key.optional)
            for key in table.keys
            if key not in inside and row.get(key.name) is not None
        ),
        next((key.labels.get(row[key.name], "") for key in inside), ""),
    )  # fmt: skip


def _of_estimate(about: Figure, column: Column, cell: Estimate) -> Figure:
    lacks = isnan(cell.value) or (not cell.has_interval and not cell.exact)
    return replace(
        about,
        value=cell.value,
        low=cell.low,
        high=cell.high,
        level=cell.level,
        over=f"over {cell.over}" if cell.over else "",
        limits=cell.limits,
        is_exact=cell.exact,
        is_whole=column.digits == 0,
        reason=str(cell.reason or NO_INTERVAL) if lacks else None,
        n_prompts=cell.n,
        of_items=cell.over.startswith("items"),
        df=cell.df,
        sampled=cell.sampled,
        detail=cell.detail or _not_established(cell),
    )


def _not_established(cell: Estimate) -> str:
    """Return the sentence that a difference whose own interval leaves 0 out is none after
    adjustment: the interval is of this pair alone."""
    if not isinstance(cell, Difference) or not cell.sign or not cell.p_adjusted >= LEVEL:
        return ""
    n = "" if cell.n is None else f"{counted(cell.n, cell.over.split()[0].removesuffix('s'))}; "
    return (
        f"{n}after adjustment for the number of pairs a difference is not significant, "
        f"{cell.p_text()}"
    )


def _of_plain(about: Figure, column: Column, cell: Any, row: Mapping[str, Any]) -> Figure:
    if column.words:
        why = str(row.get("reason") or "")
        return replace(about, word=str(cell), words=column.words, detail=why)
    if column.kind == "number":
        why = NOT_COMPUTED if isnan(cell) else NO_INTERVAL
        return replace(about, value=float(cell), reason=why)
    return exact(about.name, float(cell), "", about.keys, reason=NOT_COMPUTED)
