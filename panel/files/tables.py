"""Rows of tables in memory: data frames of any library, data sets, lists of dicts.

A data frame is taken through Arrow's PyCapsules (`__arrow_c_stream__`: pandas, polars, pyarrow,
DuckDB) or the interchange protocol (`__dataframe__`); anything else with a length whose rows are
mappings (a list of dicts, a data set of Hugging Face) is gone through. Faults are those of a
file, with the number of the row, from 1, in place of the line.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any, Protocol, runtime_checkable

import numpy as np
from typing_extensions import TypeIs

from persona_panel.files.file_formats import FilePart, FileRow, arrow_rows
from persona_panel.files.text_lines import AddFault
from persona_panel.files.wording import shown
from persona_panel.graphs import Response

_ROWS = 1_000
_LONGEST_REASON = 300
_INDEX = "__index_level_"


@runtime_checkable
class ArrowTable(Protocol):
    """A data frame that gives itself as a stream of Arrow's."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@runtime_checkable
class InterchangeTable(Protocol):
    """A data frame that gives itself by the interchange protocol."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any: ...


DataTable = ArrowTable | InterchangeTable | Iterable[Mapping[str, Any]]
"""A data frame, a data set, or a list of dicts."""

Responses = Iterable[Response] | DataTable
"""Responses, or a table of them with the columns that a file would have."""


def is_table(given: object) -> TypeIs[DataTable]:
    """Whether it is a table; of what has no columns, the first row decides."""
    if isinstance(given, ArrowTable | InterchangeTable):
        return True
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sized):
        return False
    return isinstance(given, Iterable) and isinstance(next(iter(given), None), Mapping)


def table_rows(table: DataTable, add: AddFault) -> Iterator[FilePart]:
    """The rows of a table, in order, as those of a file."""
    if isinstance(table, ArrowTable | InterchangeTable):
        yield from _frame_rows(table, add)
        return
    for number, row in enumerate(table, start=1):
        if not isinstance(row, Mapping):
            found = f"an object of type {type(row).__name__}"
            add(found, "a mapping, as the first row is", line=number)
            continue
        unnamed = [name for name in row if not isinstance(name, str)]
        if unnamed:
            add(f"{shown(unnamed[0])} as a name", "names that are text", line=number)
            continue
        yield FileRow(number, {name: _plain(value) for name, value in row.items()})


def _frame_rows(frame: ArrowTable | InterchangeTable, add: AddFault) -> Iterator[FilePart]:
    import pyarrow as pa
    from pyarrow.interchange import from_dataframe

    try:
        table = (
            pa.RecordBatchReader.from_stream(frame).read_all()
            if isinstance(frame, ArrowTable)
            else from_dataframe(frame)
        )
    # Each library raises what it likes for a column that Arrow has no type for.
    except (pa.ArrowException, ValueError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        add(f"what Arrow does not take ({reason})", "a table, each column of one type")
        return
    # The numbers of pandas' rows, where some were left out, are no data.
    names = [name for name in table.column_names if not name.startswith(_INDEX)]
    table = table.select([table.column_names.index(name) for name in names])
    yield from arrow_rows(names, table.to_batches(_ROWS))


def _plain(value: Any) -> Any:
    """A value as a file would have it: numpy's numbers as Python's, dates and decimals, which JSON
    lacks, as their text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime.date | datetime.time | decimal.Decimal):
        return str(value)
    return value
