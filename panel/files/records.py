"""Records in: the rows of a file, a stream or a table in memory, and which column each field goes
by.

A data frame is taken through Arrow's PyCapsules (`__arrow_c_stream__`: pandas, polars, pyarrow,
DuckDB) or the interchange protocol (`__dataframe__`); anything else with a length whose rows are
mappings (a list of dicts, a data set of Hugging Face) is gone through. Faults are those of a file,
with the number of the row, from 1, in place of the line.
"""

from __future__ import annotations

import datetime
import decimal
import math
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

import numpy as np
from typing_extensions import TypeIs

from persona_panel.files.errors import Fault, InputError, Unit
from persona_panel.files.file_formats import (
    FilePart,
    FileRow,
    Header,
    arrow_rows,
    file_rows,
    growing_rows,
    imported_arrow,
    stream_rows,
)
from persona_panel.files.limits import MOST_FAULTS, AddFault
from persona_panel.files.named_files import files_of
from persona_panel.files.wording import did_you_mean, nearest, printable, shown, some
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


def is_table(value: object) -> TypeIs[DataTable]:
    """Return whether a value is a table of records; where it has no columns, the first row
    decides.
    """
    if isinstance(value, ArrowTable | InterchangeTable):
        return True
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sized):
        return False
    return isinstance(value, Iterable) and isinstance(next(iter(value), None), Mapping)


def table_rows(table: DataTable, add: AddFault) -> Iterator[FilePart]:
    """Yield the rows of a table in memory, in order, like those of a file."""
    if isinstance(table, ArrowTable | InterchangeTable):
        yield from _frame_rows(table, add)
        return
    for number, row in enumerate(table, start=1):
        if not isinstance(row, Mapping):
            problem = f"an object of type {type(row).__name__}"
            add(problem, "a mapping, as the first row is", line=number)
            continue
        unnamed = [name for name in row if not isinstance(name, str)]
        if unnamed:
            add(f"{shown(unnamed[0])} as a name", "names that are text", line=number)
            continue
        yield FileRow(number, {name: _plain(value) for name, value in row.items()})


def _frame_rows(frame: ArrowTable | InterchangeTable, add: AddFault) -> Iterator[FilePart]:
    pa = imported_arrow("Data frames")
    from_dataframe = imported_arrow("Data frames", "pyarrow.interchange").from_dataframe
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
    """Return a value as a file would have it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime.date | datetime.time | decimal.Decimal):
        return str(value)
    return value


_NAMES_SHOWN = 12
_DIGEST = "_sha256"
"""The suffix of a column's name that has digests of texts instead of the texts."""

Source = str | Path | IO[str] | IO[bytes]
"""A path, a pattern or an address (see `persona_panel.files.named_files`), `-` for JSONL on
standard input, or an open stream of JSONL."""
ColumnMapping = Mapping[str, str]
"""A field's name, as the documentation of a file has it, to the name of the column that holds it
in this file: `{"response": "answer"}`."""


class GivenMapping(dict[str, str]):
    """A column mapping as a command was given it, perhaps empty. `option`: the command's option for
    it, which faults advise; `places`: where those of its fields stand that no option names."""

    def __init__(
        self, columns: ColumnMapping, option: str, places: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(columns)
        self.option, self.places = option, dict(places or {})


class Report:
    """The faults of one file, as they are found.

    Args:
        file: the file's name.
        columns: what fields are called in the file, for faults that are given by fields' names.
        unit: what is numbered in it.

    Attributes:
        delimiter: what separates the cells of a table of text, once it is read.
        is_wide: whether the file turned out to be wide; see `Fields`.
    """

    def __init__(
        self, file: str, columns: ColumnMapping | None = None, unit: Unit = "line"
    ) -> None:
        self.file = file
        self.unit = unit
        self.faults: list[Fault] = []
        self.delimiter = ""
        self.is_wide = False
        self._columns = columns or {}

    def add(
        self, problem: str, expected: str, *, line: int | None = None, field: str | None = None
    ) -> None:
        """Note a fault. Raises InputError: so many are noted that the file is read no further; it
        lists them."""
        name = None if field is None else printable(self._columns.get(field, field))
        self.faults.append(Fault(self.file, problem, expected, line, name, self.unit))
        if len(self.faults) >= MOST_FAULTS:
            reason = f"more than {MOST_FAULTS:,} faults; it was read no further"
            self.faults.append(Fault(self.file, reason, "the file that is meant"))
            raise self.error()

    def error(self) -> InputError:
        """Return the error that lists every fault, by line."""
        return InputError(sorted(self.faults, key=lambda fault: fault.line or 0))


@dataclass(frozen=True, slots=True)
class Record:
    """A line's cells by their own names, and the name that each field goes by."""

    line: int
    cells: Mapping[str, Any]
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The column of each field, and the faults of the columns' names: (field, problem,
    expected).
    """

    names: Mapping[str, str]
    faults: tuple[tuple[str, str, str], ...]
    is_wide: bool = False

    def tell(self, report: Report, line: int | None) -> None:
        for field_, problem, expected in self.faults:
            report.add(problem, expected, line=line, field=field_)


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a record, and the columns that may hold them.

    Attributes:
        names: each field with the names that a file may use for it.
        optional: fields that a file may lack.
        made: fields that are made where a file lacks them, unless a column is called nearly so.
        is_users: whether the file is a user's, who may map columns; it is our own otherwise.
        mapping: of the names that were mapped to columns, the column.
        map_option: the option of the command by which columns of this file are mapped.
        mapping_places: where fields were mapped that no option maps, for faults.
        grows: whether it is a JSONL file to which a run appends.
        wide: required fields that a wide file lacks, all of them: it has a column for each rater.
        never_wide: what no column of a wide file is called, in letters and digits alone.
        likely: needed fields with the names that their columns may have in a file that was not made
            for this, the likeliest first.
    """

    names: tuple[tuple[str, tuple[str, ...]], ...]
    optional: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()
    is_users: bool = True
    mapping: tuple[tuple[str, str], ...] = ()
    map_option: str = "--map"
    mapping_places: tuple[tuple[str, str], ...] = ()
    grows: bool = False
    wide: frozenset[str] = frozenset()
    never_wide: frozenset[str] = frozenset()
    likely: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def mapped(self, mapping: ColumnMapping | None, source: Source | DataTable) -> Fields:
        """Return the same fields, read from the columns that a mapping names. Raises InputError: it
        names a field that there is not, a field twice, or two fields by one column; lists all. The
        faults are of `source`."""
        own = self
        if isinstance(mapping, GivenMapping):
            places = tuple(mapping.places.items())
            own = replace(self, map_option=mapping.option, mapping_places=places)
        if not mapping:
            return own
        report = Report(name_of(source))
        field_of = self.field_of
        fields: dict[str, str] = {}
        columns: dict[str, str] = {}
        for name, column in mapping.items():
            where = own.mapped_where(name, column)
            if name not in field_of:
                expected = f"one of {', '.join(field_of)}{did_you_mean(name, field_of)}"
                report.add("an unknown field", expected, field=where)
                continue
            if not isinstance(column, str) or not column:
                report.add(shown(column), "the name of a column", field=where)
                continue
            other = fields.setdefault(field_of[name], name)
            if other != name:
                problem = f"{shown(other)} mapped, too, which is the same field"
                report.add(problem, "one of them", field=where)
            first = columns.setdefault(column, name)
            if first != name:
                problem = f"the column of {shown(first)} a second time"
                report.add(problem, "a column of its own for each field", field=where)
        if report.faults:
            raise report.error()
        return replace(own, mapping=tuple(mapping.items()))

    @property
    def field_of(self) -> dict[str, str]:
        """The field of each name."""
        return {name: field for field, names in self.names for name in names}

    def mapped_where(self, name: str, column: str) -> str:
        """Return where a field was mapped, as faults of its column have it."""
        return f"{dict(self.mapping_places).get(name, 'mapping')} {name}={column}"

    @property
    def columns(self) -> frozenset[str]:
        """All names that the fields' columns may have."""
        return frozenset(chain(*(names for _, names in self.names), dict(self.mapping).values()))

    def mapped_column(self, field_: str) -> tuple[str, str] | None:
        """Return the name of a field that was mapped, and its column; None where it was not."""
        names = dict(self.names)[field_]
        return next((pair for pair in self.mapping if pair[0] in names), None)

    def name_of(self, field_: str, column: str) -> str:
        """Return under which of its names a field is read from a column."""
        mapped = self.mapped_column(field_)
        return column if mapped is None else mapped[0]


# The lines of a JSONL file mostly have the same keys.
@lru_cache
def _column_layout(fields: Fields, present: tuple[str, ...]) -> ColumnLayout:
    faults = [
        (name, f"{count} fields of this name", "one")
        for name, count in Counter(present).items()
        if count > 1
    ]
    names = {}
    taken = set(dict(fields.mapping).values())
    is_wide = _is_wide(fields, present)
    for field_, accepted in fields.names:
        mapped = fields.mapped_column(field_)
        if is_wide and field_ in fields.wide:
            continue
        if mapped is not None:
            # The header of a table of text is without spaces around its names.
            column = mapped[1] if mapped[1] in present else mapped[1].strip()
            if column in present:
                names[field_] = column
            elif field_ not in fields.optional:
                faults.append(_no_such_column(fields, mapped, present))
            continue
        used = [name for name in accepted if name in present and name not in taken]
        if len(used) == 1:
            names[field_] = used[0]
        elif used:
            faults.append((accepted[0], " and ".join(map(repr, used)), "one of them"))
        elif field_ in fields.made:
            if (similar := _similar(accepted, present, taken)) is not None:
                option = _map_option(fields, accepted[0], similar)
                expected = f"{_either(accepted)}; or use {option}"
                faults.append((accepted[0], f"no such field, but {shown(similar)}", expected))
        elif field_ not in fields.optional:
            faults.append((accepted[0], _absent(present), _wanted(fields, field_, present)))
    return ColumnLayout(names, tuple(faults), is_wide)


def _is_wide(fields: Fields, present: tuple[str, ...]) -> bool:
    """Return whether a file has a column for each rater. It then has the required fields except
    those that a wide file lacks, two further columns or more, and no column with a usual name of a
    long file."""
    if not fields.wide or any(fields.mapped_column(name) for name in fields.wide):
        return False
    known = set(fields.columns)
    needed = [
        (fields.mapped_column(name) or ("", accepted[0]))[1]
        for name, accepted in fields.names
        if name not in fields.wide | fields.optional
    ]
    others = [name for name in present if name not in known]
    return (
        set(needed) <= set(present)
        and not any(
            name in accepted
            for field_, accepted in fields.names
            if field_ in fields.wide
            for name in present
        )
        and not any(_letters(name) in fields.never_wide for name in others)
        and len(others) > 1
    )


def _no_such_column(
    fields: Fields, mapped: tuple[str, str], present: tuple[str, ...]
) -> tuple[str, str, str]:
    name, column = mapped
    guess = nearest(column, [name for name in present if not name.endswith(_DIGEST)])
    hint = f" (did you mean {shown(guess)}?)" if guess else ""
    return fields.mapped_where(name, column), _absent(present), f"a column of the file{hint}"


def _similar(accepted: Iterable[str], present: Iterable[str], taken: Iterable[str]) -> str | None:
    """Return the column that differs from a field's name only in case, spaces and signs."""
    wanted = {_letters(name) for name in accepted}
    return next((name for name in present if name not in taken and _letters(name) in wanted), None)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _wanted(fields: Fields, field_: str, present: tuple[str, ...]) -> str:
    accepted = dict(fields.names)[field_]
    if any(f"{name}{_DIGEST}" in present for name in accepted):
        # As a run's own responses.jsonl is without its texts.
        return "texts, which a run made with --no-texts does not hold: give the file that it scored"
    taken = fields.columns
    free = [name for name in present if name not in taken and not name.endswith(_DIGEST)]
    by_lower = {name.lower(): name for name in reversed(free)}
    likely = (by_lower.get(name) for name in dict(fields.likely).get(field_, ()))
    near = (nearest(name, free) for name in accepted)
    guess = next(filter(None, (*likely, *near)), None)
    wanted = _either(accepted)
    if guess:
        wanted += f" (did you mean {shown(guess)}?)"
    elif field_ == "item":
        wanted += ", the id of what was rated (of a run's response id or prompt_id/id)"
    if fields.is_users:
        wanted += f"; or use {_map_option(fields, accepted[0], guess or 'COLUMN')}"
    return wanted


def _map_option(fields: Fields, name: str, column: str) -> str:
    """Return the option that maps a column, as a shell takes it."""
    return f"{fields.map_option} {shlex.quote(f'{name}={printable(column)}')}"


def _either(accepted: Iterable[str]) -> str:
    return " or ".join(map(repr, accepted))


def _absent(present: tuple[str, ...]) -> str:
    if not present:
        return "no fields at all"
    more = ", …" if len(present) > _NAMES_SHOWN else ""
    return f"no such field, only {', '.join(map(shown, present[:_NAMES_SHOWN]))}{more}"


def label_of(value: Any) -> Any:
    """Return a cell as a name: a number as its text, a blank as None, anything else as it is."""
    if isinstance(value, str) and not value.strip():
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and (isinstance(value, int) or math.isfinite(value)):
        return str(value)
    return value


def name_of(source: Source | DataTable) -> str:
    """Return the name of a source in faults."""
    if is_table(source):
        return "responses"
    if isinstance(source, str | Path):
        return "<stdin>" if str(source) == "-" else str(source)
    return str(getattr(source, "name", "<stream>")) if _is_stream(source) else "responses"


def _is_stream(source: object) -> bool:
    return callable(getattr(source, "read", None))


def read_records(source: Source | DataTable, fields: Fields, report: Report) -> Iterator[Record]:
    """Yield the records of a file or table, in order; faults go to the report."""
    layout: ColumnLayout | None = None
    first: tuple[str, ...] | None = None
    seen: set[str] = set()
    for part in _parts(source, fields, report):
        if isinstance(part, Header):
            first, layout = part.names, _column_layout(fields, part.names)
            report.delimiter, report.is_wide = part.delimiter, layout.is_wide
            seen.update(layout.names)
            layout.tell(report, part.line)
            continue
        own = layout
        if own is None:
            present = tuple(part.cells)
            own = _column_layout(fields, present)
            if first is None:
                first, report.is_wide = present, own.is_wide
                # What the first object is, all are.
                lacking = fields.wide if own.is_wide else frozenset()
                fields = replace(fields, optional=fields.optional | lacking, wide=frozenset())
            own.tell(report, part.line)
            seen.update(own.names)
        yield Record(part.line, part.cells, own.names)
    if first is not None:
        for field_ in fields.optional - seen:
            if (mapped := fields.mapped_column(field_)) is not None:
                where, problem, expected = _no_such_column(fields, mapped, first)
                report.add(problem, expected, field=where)


def _parts(
    source: Source | DataTable, fields: Fields, report: Report
) -> Iterator[Header | FileRow]:
    if is_table(source):
        yield from table_rows(source, report.add)
        return
    if str(source) == "-":
        if sys.stdin is None:
            report.add("a standard input that is closed", "JSONL, or a file in place of -")
            return
        source = getattr(sys.stdin, "buffer", sys.stdin)
    if isinstance(source, str | Path):
        if fields.grows:
            yield from growing_rows(Path(source), report.add)
            return
        whole_name = report.file
        for name, path in files_of(source):
            report.file = name
            yield from file_rows(path, fields.columns, report.add)
        report.file = whole_name
    elif _is_stream(source):
        yield from stream_rows(source, report.add)
    else:
        report.add(_kind_of(source), "a path, an open stream of JSONL, or a table in memory")


def _kind_of(source: object) -> str:
    """Return what an object is that holds no rows, and what to take of it where that is known."""
    kind = f"an object of the type {type(source).__name__}"
    if isinstance(source, Sized) and not len(source):
        return f"{kind} with nothing in it"
    if isinstance(source, Mapping):
        # A DatasetDict of Hugging Face.
        return f"{kind} with the keys {some(source)}, each of which may be a table"
    if isinstance(source, Iterable) and not isinstance(source, Sized):
        return f"{kind}, which has no length: make a list of it"
    return kind
