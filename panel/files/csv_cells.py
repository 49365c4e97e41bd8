"""Cells of text in the CSV files that we write, so that a spreadsheet takes them for text.

A spreadsheet calculates a cell that begins with =, +, - or @, also behind a tab or a line
break, and text from a file could have it fetch an address or start a program. Such a cell gets
an apostrophe in front (OWASP's remedy for CSV injection), and so does one that has apostrophes
before that sign already: so that taking one away gives back what was there.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from persona_panel.files.file_limits import RowLines, lines_of

# In the fullwidth forms, too, which some take for the same.
_CALCULATED = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def cell_of(text: str) -> str:
    """A text as a cell. A number stays one, a negative one as well."""
    if _CALCULATED.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def text_of(cell: str) -> str:
    """The text of a cell that `cell_of` made."""
    return cell[1:] if cell.startswith("'") and _CALCULATED.match(cell) else cell


def own_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV file of ours, by the names of its columns.

    Raises:
        OSError: it cannot be opened.
        InputError, ValueError, csv.Error: it is none that we write.
    """
    lines = RowLines(line.decode() for line in lines_of(path))
    for row in csv.DictReader(lines):
        lines.length = 0
        yield row


def csv_of(rows: Iterable[Iterable[Any]]) -> bytes:
    """Rows as CSV in UTF-8, whose lines end in a line feed."""
    lines = _Lines()
    # The module quotes what is in its line end alone, and reads a carriage return as one, too.
    writer = csv.writer(lines, lineterminator="\r\n")
    writer.writerows(rows)
    return "".join(lines.written).encode()


class _Lines:
    """What csv writes to: a row at a time."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, row: str) -> None:
        self.written.append(row.removesuffix("\r\n") + "\n")
