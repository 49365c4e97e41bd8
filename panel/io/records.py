"""Records in: the lines of JSONL, CSV, TSV and Parquet files, or of JSONL on a stream.

A reader per format turns a file into records, a line and its cells, and goes on past a
fault, so that one reading finds them all. What the cells mean is said by the modules that
read responses and ratings.
"""

from __future__ import annotations

import codecs
import csv
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

from panel.errors import Fault, Unit
from panel.io.wording import nearest, printable, shown, undecodable, unreadable

_PARQUET_ROWS = 1_000
_LONGEST_CELL = 2**31 - 1
_NAMES_SHOWN = 12

Source = str | Path | IO[str] | IO[bytes]
"""A path, `-` for JSONL on standard input, or an open stream of JSONL."""


class Report:
    """The faults of one file, as they are found; `unit` is what is numbered in it."""

    def __init__(self, file: str, unit: Unit = "line") -> None:
        self.file = file
        self.unit = unit
        self.faults: list[Fault] = []

    def add(
        self, found: str, expected: str, *, line: int | None = None, field: str | None = None
    ) -> None:
        name = None if field is None else printable(field)
        self.faults.append(Fault(self.file, found, expected, line, name, self.unit))


@dataclass(frozen=True, slots=True)
class Record:
    """A line's cells by their own names, and the name that each field goes by."""

    line: int
    cells: Mapping[str, Any]
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """Which name each field goes by, and the faults of the names: (field, found, expected)."""

    names: Mapping[str, str]
    faults: tuple[tuple[str, str, str], ...]

    def tell(self, report: Report, line: int | None) -> None:
        for field, found, expected in self.faults:
            report.add(found, expected, line=line, field=field)


@dataclass(frozen=True, slots=True)
class Fields:
    """What a record holds: each field with the names that a file may use for it."""

    names: tuple[tuple[str, tuple[str, ...]], ...]
    optional: frozenset[str]


# The lines of a JSONL file mostly have the same keys.
@lru_cache
def column_layout(fields: Fields, present: tuple[str, ...]) -> ColumnLayout:
    """Which of the names that are there each field goes by."""
    faults = [
        (name, f"{count} fields of this name", "one")
        for name, count in Counter(present).items()
        if count > 1
    ]
    names = {}
    for field, accepted in fields.names:
        used = [name for name in accepted if name in present]
        if len(used) == 1:
            names[field] = used[0]
        elif used:
            faults.append((accepted[0], " and ".join(map(repr, used)), "one of them"))
        elif field not in fields.optional:
            faults.append((accepted[0], _absent(present), _wanted(fields, accepted, present)))
    return ColumnLayout(names, tuple(faults))


def _wanted(fields: Fields, accepted: Iterable[str], present: Iterable[str]) -> str:
    taken = set(chain.from_iterable(names for _, names in fields.names))
    free = [name for name in present if name not in taken]
    guess = next(filter(None, (nearest(name, free) for name in accepted)), None)
    wanted = " or ".join(map(repr, accepted))
    return f"{wanted} (did you mean {shown(guess)}?)" if guess else wanted


def _absent(present: tuple[str, ...]) -> str:
    if not present:
        return "no fields at all"
    more = ", …" if len(present) > _NAMES_SHOWN else ""
    return f"no such field, only {', '.join(map(shown, present[:_NAMES_SHOWN]))}{more}"


def label_of(value: Any) -> Any:
    """A cell that names something: a number is its text, blank is None, else as it is."""
    if isinstance(value, str) and not value.strip():
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and (isinstance(value, int) or math.isfinite(value)):
        return str(value)
    return value


# The formats. A reader never raises for what is in a file: it reports, and goes on.


def name_of(source: Source) -> str:
    """What faults call a source."""
    if isinstance(source, str | Path):
        return "<stdin>" if str(source) == "-" else str(source)
    return str(getattr(source, "name", "<stream>"))


def read_records(source: Source, fields: Fields, report: Report) -> Iterator[Record]:
    """The records of a source, in order; what is wrong with it goes to the report."""
    if str(source) == "-":
        if sys.stdin is None:
            report.add("a standard input that is closed", "JSONL, or a file in place of -")
            return
        source = getattr(sys.stdin, "buffer", sys.stdin)
    if not isinstance(source, str | Path):
        yield from _stream_records(source, fields, report)
        return
    path = Path(source)
    suffixes = ", ".join(_READERS)
    if not path.is_file():
        report.add(unreadable(path), f"a file that ends in {suffixes}")
        return
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        report.add(f"a name that ends in {path.suffix!r}", f"one of {suffixes}")
        return
    try:
        stream = path.open("rb")
    except OSError:
        report.add(unreadable(path), "a file that may be read")
        return
    with stream:
        yield from reader(stream, fields, report)


def _stream_records(
    stream: IO[str] | IO[bytes], fields: Fields, report: Report
) -> Iterator[Record]:
    try:
        yield from _jsonl(stream, fields, report)
    except UnicodeDecodeError as error:
        # A text stream decodes by itself, and has lost by now which line it was.
        report.add(f"bytes that are not {error.encoding}", "text")
    except OSError as error:
        report.add(f"a stream that cannot be read ({error.strerror})", "JSONL")


def _lines(stream: Iterable[bytes | str], report: Report) -> Iterator[str]:
    """A text's physical lines, made whole where they are not, so that reading goes on."""
    offset = 0
    for number, raw in enumerate(stream, 1):
        if isinstance(raw, bytes):
            if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                report.add("UTF-16 text", "UTF-8 text", line=1)
                return
            text = _decoded(raw, offset, number, report)
            offset += len(raw)
        else:
            text = raw
        if number == 1:
            text = text.removeprefix("\ufeff")
        if "\0" in text:
            report.add(f"a NUL at column {text.index(chr(0)) + 1}", "UTF-8 text", line=number)
            text = text.replace("\0", "")
        yield text


def _decoded(raw: bytes, offset: int, line: int, report: Report) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        report.add(undecodable(error, offset), "UTF-8 text", line=line)
        return raw.decode(errors="replace")


def _jsonl(stream: Iterable[bytes | str], fields: Fields, report: Report) -> Iterator[Record]:
    for line, text in enumerate(_lines(stream, report), 1):
        if not text.strip():
            continue
        cells = _json_object(text, line, report)
        if cells is not None:
            layout = column_layout(fields, tuple(cells))
            layout.tell(report, line)
            yield Record(line, cells, layout.names)


class _RepeatedKeyError(ValueError):
    pass


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKeyError(next(key for key in counts if counts[key] > 1))
    return value


def _json_object(text: str, line: int, report: Report) -> dict[str, Any] | None:
    try:
        value = json.loads(text, object_pairs_hook=_object_of)
    except json.JSONDecodeError as error:
        found = f"a syntax error at column {error.colno} ({error.msg})"
        report.add(found, "a JSON object", line=line)
    except _RepeatedKeyError as error:
        report.add("the key more than once", "each key once", line=line, field=str(error))
    except (ValueError, RecursionError):
        # Python reads no number of more than 4,300 digits, nor a thousand levels.
        report.add("a number too long or nesting too deep", "plain JSON", line=line)
    else:
        if isinstance(value, dict):
            return value
        report.add(shown(value), "a JSON object", line=line)
    return None


def _csv(stream: IO[bytes], fields: Fields, report: Report, delimiter: str) -> Iterator[Record]:
    # The limit is the process's, and a long response exceeds its default. It is only ever
    # raised: restoring it would fail a file that another thread is reading.
    csv.field_size_limit(_LONGEST_CELL)
    rows = _csv_rows(csv.reader(_lines(stream, report), delimiter=delimiter, strict=True), report)
    line, header = next(rows, (0, []))
    if not header:
        return
    layout = column_layout(fields, tuple(header))
    layout.tell(report, line)
    for line, cells in rows:
        if len(cells) == len(header):
            yield Record(line, dict(zip(header, cells, strict=True)), layout.names)
        elif cells:
            report.add(f"{len(cells)} cells", f"{len(header)}, as in the header", line=line)


def _csv_rows(reader: Any, report: Report) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, and the line on which it starts; broken ones are empty."""
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            found, expected = _csv_fault(str(error))
            report.add(found, expected, line=line)
            yield line, []
        else:
            if cells:
                yield line, cells


def _csv_fault(message: str) -> tuple[str, str]:
    if message.startswith("unexpected end"):
        return "a quote that is never closed", "a closing quote"
    if message.startswith("new-line"):
        return "a carriage return outside quotes", "lines that end in a line feed"
    return "text after a closing quote", 'quotes within quotes to be doubled ("")'


def _parquet(stream: IO[bytes], fields: Fields, report: Report) -> Iterator[Record]:
    # Imported here, because it takes longer than reading most files does.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        yield from _parquet_records(pq.ParquetFile(stream), fields, report)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        report.add(f"a damaged file ({' '.join(str(error).split())})", "a Parquet file")


def _parquet_records(file: Any, fields: Fields, report: Report) -> Iterator[Record]:
    batches = file.iter_batches(_PARQUET_ROWS)
    yield from arrow_records(file.schema_arrow.names, batches, fields, report)


def arrow_records(
    header: Sequence[str], batches: Iterable[Any], fields: Fields, report: Report
) -> Iterator[Record]:
    """The records of Arrow's batches, whose columns are called as the header says."""
    layout = column_layout(fields, tuple(header))
    layout.tell(report, None)
    line = 0
    for batch in batches:
        columns = [_arrow_values(column) for column in batch.columns]
        for cells in zip(*columns, strict=True):
            line += 1
            yield Record(line, dict(zip(header, cells, strict=True)), layout.names)


def _arrow_values(column: Any) -> list[Any]:
    """A column as Python values, with dates and decimals, which JSON lacks, as their text."""
    import pyarrow as pa

    if pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.string())
    values: list[Any] = column.to_pylist()
    return values


_READERS: dict[str, Callable[[IO[bytes], Fields, Report], Iterator[Record]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": partial(_csv, delimiter=","),
    ".tsv": partial(_csv, delimiter="\t"),
    ".parquet": _parquet,
}
