"""The figures of all tables as one CSV table, a line for each cell, for R, pandas or a spreadsheet.

Columns: `table`; the keys of the tables, such as `system` and `dimension`, empty where a table has
no such key; `column`; `text`, what the cell says, of an estimate why it is not there; `value`,
`low`, `high`, `p`, `p_adjusted` and `n`, unrounded, empty where there is none. Names are those of
JSON. Sentences are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any, TextIO

from persona_panel.files.outputs import cell_of, csv_for_user
from persona_panel.results.result import Result
from persona_panel.results.table import Table
from persona_panel.statistics.core.estimate import Estimate

_NUMBERS = ("value", "low", "high", "p", "p_adjusted", "n")


def render(result: Result, to: TextIO, *, full: bool) -> None:
    """Write every cell of every table for programs, whether in short or in full."""
    tables = [table for table in result.tables if table.programs]
    keys = list(dict.fromkeys(key.name for table in tables for key in table.keys))
    lines = [["table", *keys, "column", "text", *_NUMBERS]]
    for table in tables:
        lines += _lines(table, keys)
    to.write(csv_for_user(lines).decode())


def _lines(table: Table, keys: list[str]) -> Iterator[list[Any]]:
    for row in table.rows:
        of = [cell_of(str(row.get(key) or "")) for key in keys]
        for column in table.columns:
            cell = row.get(column.name)
            if cell is not None:
                yield [table.name, *of, column.name, *_cell(cell)]


def _cell(cell: Any) -> list[Any]:
    if isinstance(cell, Estimate):
        estimate = cell.document()
        return [cell_of(estimate.get("reason", "")), *(estimate.get(name) for name in _NUMBERS)]
    nothing = [""] * len(_NUMBERS)
    if isinstance(cell, bool):
        return [str(cell).lower(), *nothing]
    if isinstance(cell, int | float):
        return ["", "" if isnan(cell) else cell, *nothing[1:]]
    return [cell_of("; ".join(cell) if isinstance(cell, tuple) else str(cell)), *nothing]
