"""The figures of all tables as one CSV table, a line for each cell, for R, pandas or a spreadsheet.

Columns: `table`, its title; `heading` and `row`, of which line the cell is; `column`; `text`, as
the terminal shows it; `value`, `ci_low`, `ci_high` and `p_value`, the numbers in it, unrounded
where the table knows them. Sentences are left out, and dimensions of ratings have their ids. So the
columns are the same for every result, and no table needs to be found in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any, TextIO

from rich.text import Text

from persona_panel.files.outputs import cell_of, csv_of
from persona_panel.reports.formats.terminal.recording import ReportPart, tables_written_by
from persona_panel.results.cells import FigureText
from persona_panel.results.console import ReportTable

COLUMNS = (
    "table", "heading", "row", "column", "text", "value", "ci_low", "ci_high", "p_value"
)  # fmt: skip
_NUMBER = re.compile(r"[+−-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")
_MINUS = re.compile(r"^-(?=\d)")
_MISSING = ("", "-", "–")


def write(parts: Sequence[ReportPart], to: TextIO) -> None:
    """Write the cells of all tables."""
    rows: list[Sequence[Any]] = [COLUMNS]
    for part in parts:
        if isinstance(part, ReportTable):
            rows += _cells(part)
    to.write(csv_of(rows).decode())


def _cells(table: ReportTable) -> Iterator[list[Any]]:
    columns = [" ".join(column.split()) for column in table.columns]
    for line in table.lines:
        for column, cell in zip(columns, line.cells, strict=True):
            texts = (table.title, line.heading, line.label, column, _text(cell))
            yield [*map(cell_of, texts), *_numbers(cell)]


def _text(cell: Text) -> str:
    if isinstance(cell, FigureText) and cell.reason:
        return cell.reason
    text = " ".join(cell.plain.split())
    # A figure is no formula, and needs no apostrophe before it.
    return "" if text in _MISSING else _MINUS.sub("−", text)


def _numbers(cell: Text) -> list[float | str]:
    if isinstance(cell, FigureText):
        numbers = cell.value, cell.low, cell.high, cell.p_value
        return ["" if isnan(number) else number for number in numbers]
    text = _text(cell)
    if not _NUMBER.fullmatch(text):
        return [""] * 4
    number = float(text.replace(",", "").replace("−", "-"))
    return [int(number) if number.is_integer() and "." not in text else number, "", "", ""]


__getattr__ = tables_written_by(write, has_ids=True)
