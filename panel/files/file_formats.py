"""The formats of files: JSONL, JSON, CSV, TSV and Parquet, as rows; all but the last also in gzip.

A reader never raises for what is in a file: it reports, and goes on past a fault, so that one
reading finds them all. What rows mean is said by `persona_panel.files.records` and the modules
above it.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from os import SEEK_END
from pathlib import Path
from typing import IO, Any, NamedTuple

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.limits import (
    DEEPEST,
    LARGEST_DOCUMENT,
    LONGEST_LINE,
    MOST_COLUMNS,
    SHORTER_LINE,
    AddFault,
    LineTooLong,
    RegularFile,
    RowLines,
    TooDeep,
    TooMuchUnpacked,
    at_most,
    lines_of,
    require_shallow,
    require_unpackable,
    size_of,
    text_lines,
    unpacked_file,
)
from persona_panel.files.wording import extra, not_installed, shown, unreadable

_PARQUET_ROWS = 1_000
_CELL_BYTES = 8
"""The least memory of a cell, in bytes, once it is read."""
_LONGEST_CELL = 2**31 - 1
_GZIP = ".gz"
_DELIMITERS = (",", ";", "\t")
_SHEETS = frozenset({".xlsx", ".xls", ".ods", ".numbers"})


class Header(NamedTuple):
    """The names of a table's columns; `line` is None where the format has no header line, and
    `delimiter` empty where cells are not separated by a character."""

    line: int | None
    names: tuple[str, ...]
    delimiter: str = ""


class FileRow(NamedTuple):
    """A line's cells by the names of their columns."""

    line: int
    cells: Mapping[str, Any]


FilePart = Header | FileRow
"""A table has one header, before its rows; JSON has none."""
_Reader = Callable[[IO[bytes], Collection[str], AddFault], Iterator[FilePart]]


def is_file_name(name: str) -> bool:
    """Return whether a name has the suffix of a file that can be read."""
    path = Path(name.lower().removesuffix(_GZIP))
    return path.suffix in _READERS


def file_rows(path: Path, known: Collection[str], add: AddFault) -> Iterator[FilePart]:
    """Yield the rows of a file; `known` are names that its columns may have."""
    suffixes = f"{', '.join(_READERS)}, or one of them with {_GZIP} (not .parquet)"
    if not path.is_file():
        add(unreadable(path), f"a file that ends in {suffixes}")
        return
    is_gzip = path.suffix.lower() == _GZIP
    suffix = (path.with_suffix("") if is_gzip else path).suffix.lower()
    reader = _READERS.get(suffix)
    if reader is None or (is_gzip and reader is _parquet):
        hint = "; save the sheet as CSV UTF-8" if suffix in _SHEETS else ""
        ending = "".join(path.suffixes[-2:]) if is_gzip else path.suffix
        add(f"a name that ends in {ending!r}", f"one of {suffixes}{hint}")
        return
    try:
        with RegularFile(path) as file:
            if reader is _json and file.size > LARGEST_DOCUMENT:
                add(size_of(path), f"{at_most(LARGEST_DOCUMENT)} JSONL, by lines, may be larger")
                return
            # What reads lines of bytes takes all of them.
            stream: Any = unpacked_file(file.file) if is_gzip else file
            yield from reader(file.file if reader is _parquet else stream, known, add)
    except LineTooLong as error:
        add(str(error), SHORTER_LINE, line=error.line)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        add(f"a damaged file ({error})", "a gzip file")
    except TooMuchUnpacked as error:
        add(f"a file that {error}", "a smaller file; split it")
    except OSError:
        add(unreadable(path), "a file that may be read")


def growing_rows(path: Path, add: AddFault) -> Iterator[FilePart]:
    """Yield the rows of a JSONL file to which a run appends. A last line without a line feed, as a
    run that was killed leaves it, is left out."""
    try:
        yield from _jsonl((line for line in lines_of(path) if line.endswith(b"\n")), (), add)
    except OSError:
        add(unreadable(path), "a file that may be read")


def stream_rows(stream: IO[str] | IO[bytes], add: AddFault) -> Iterator[FilePart]:
    """Yield the rows of an open stream of JSONL."""
    try:
        yield from _jsonl(stream, (), add)
    except LineTooLong as error:
        add(str(error), SHORTER_LINE, line=error.line)
    except UnicodeDecodeError as error:
        # A text stream decodes by itself, and has lost by now which line it was.
        add(f"bytes that are not {error.encoding}", "text")
    except OSError as error:
        add(f"a stream that cannot be read ({error.strerror})", "JSONL")


# JSON


def _jsonl(
    stream: Iterable[bytes | str], known: Collection[str], add: AddFault
) -> Iterator[FilePart]:
    yield from _json_lines(text_lines(stream, add), add)


def _json_lines(lines: Iterable[str], add: AddFault) -> Iterator[FileRow]:
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        cells, end = _json_object(text, 0, line, add)
        if end is not None and (after := _after_space(text, end)) < len(text):
            add(f"a syntax error at column {after + 1} (Extra data)", "a JSON object", line=line)
        elif cells is not None:
            yield FileRow(line, cells)


def _json(stream: Iterable[bytes], known: Collection[str], add: AddFault) -> Iterator[FilePart]:
    """Yield a list of objects; JSON lines are often called .json, too."""
    text = "".join(text_lines(stream, add, LARGEST_DOCUMENT))
    start = _after_space(text, 0)
    if text.startswith("[", start):
        yield from _json_list(text, start + 1, add)
    elif text.startswith("{", start) and _is_jsonl(text[start:].partition("\n")[0]):
        yield from _json_lines(text.split("\n"), add)
    elif start < len(text):
        problem = "one object" if text[start] == "{" else "no list"
        add(
            problem,
            "a list of objects, [{…}, {…}], or an object a line",
            line=_line_at(text, start),
        )


def _json_list(text: str, at: int, add: AddFault) -> Iterator[FileRow]:
    """Yield the objects of a list, each with the line on which it begins."""
    # Counted on from object to object.
    line, counted = 1, 0
    while True:
        at = _after_space(text, at)
        line, counted = line + text.count("\n", counted, at), at
        if text.startswith("]", at):
            break
        cells, end = _json_object(text, at, line, add)
        if end is None:
            return
        if cells is not None:
            yield FileRow(line, cells)
        at = _after_space(text, end)
        if text.startswith(",", at):
            at += 1
        elif not text.startswith("]", at):
            problem = shown(text[at : at + 20]) if at < len(text) else "the end of the file"
            add(problem, "a comma or ]", line=_line_at(text, at))
            return
    at = _after_space(text, at + 1)
    if at < len(text):
        add(f"{shown(text[at : at + 20])} after the list", "nothing", line=_line_at(text, at))


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _is_jsonl(first: str) -> bool:
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


class _Repeated:
    """A maker of objects that remembers a key that one has twice, at whatever depth."""

    def __init__(self) -> None:
        self.key: str | None = None

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            self.key = next(key for key in counts if counts[key] > 1)
        return value


def _json_object(
    text: str, at: int, line: int, add: AddFault
) -> tuple[dict[str, Any] | None, int | None]:
    """Return the object that begins at a place, None where there is none, and where it ends, None
    where that is not known. `line` is the line of the place."""
    repeated = _Repeated()
    try:
        decoder = json.JSONDecoder(object_pairs_hook=repeated)
        value, end = decoder.raw_decode(text, start := _after_space(text, at))
        if text.count("[", start, end) + text.count("{", start, end) > DEEPEST:
            require_shallow(value)
    except json.JSONDecodeError as error:
        # What ends too early does so where its text ends, not on the line after that.
        place = min(error.pos, len(text.rstrip()))
        column = place - text.rfind("\n", 0, place)
        where = line + text.count("\n", at, place)
        add(f"a syntax error at column {column} ({error.msg})", "a JSON object", line=where)
        return None, None
    except (TooDeep, RecursionError):
        add(str(TooDeep()), "plain JSON", line=line)
        return None, None
    except ValueError:
        # Python reads no number of more than 4,300 digits.
        add("a number too long", "plain JSON", line=line)
        return None, None
    if repeated.key is not None:
        add("the key more than once", "each key once", line=line, field=repeated.key)
    elif isinstance(value, dict):
        return value, end
    else:
        add(shown(value), "a JSON object", line=line)
    return None, end


# Tables of text


def _csv(
    stream: IO[bytes], known: Collection[str], add: AddFault, usual: str
) -> Iterator[FilePart]:
    # The limit is the process's, and a long response exceeds its default. It is only ever
    # raised: restoring it would fail a file that another thread is reading.
    csv.field_size_limit(_LONGEST_CELL)
    lines = RowLines(text_lines(stream, add))
    first = []
    for text in lines:
        first.append(text)
        if text.strip("\r\n"):
            break
    if first and (most := max(map(first[-1].count, _DELIMITERS))) >= MOST_COLUMNS:
        add(f"{most + 1:,} columns", f"at most {MOST_COLUMNS:,}", line=len(first))
        return
    delimiter = _delimiter_of(first[-1], known, usual) if first else usual
    reader = csv.reader(chain(first, lines), delimiter=delimiter, strict=True)
    rows = _csv_rows(reader, lines, add)
    line, header = next(rows, (0, []))
    # A spreadsheet pads names, and writes columns and rows that hold nothing.
    header = [name.strip() if name.strip() in known else name for name in header]
    while header and not header[-1]:
        header.pop()
    if not header:
        return
    yield Header(line, tuple(header), delimiter)
    for line, cells in rows:
        while len(cells) > len(header) and not cells[-1]:
            cells.pop()
        if len(cells) == len(header):
            yield FileRow(line, dict(zip(header, cells, strict=True)))
        elif cells:
            add(f"{len(cells)} cells", f"{len(header)}, as in the header", line=line)


def _delimiter_of(header: str, known: Collection[str], usual: str) -> str:
    """Return the delimiter of a header line."""

    def fit(delimiter: str) -> tuple[int, int, bool]:
        try:
            cells = next(csv.reader([header], delimiter=delimiter))
        except csv.Error:
            cells = []
        names = {cell.strip() for cell in cells}
        return len(names & set(known)), len(cells), delimiter == usual

    return max(_DELIMITERS, key=fit)


def _csv_rows(reader: Any, lines: RowLines, add: AddFault) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, and the line on which it starts; broken ones are empty."""
    while True:
        line = reader.line_num + 1
        lines.length = 0
        try:
            cells = next(reader)
        except StopIteration:
            return
        except LineTooLong:
            problem = f"a row of more than {LONGEST_LINE:,} characters"
            add(problem, "shorter rows, and a closing quote for each quote", line=line)
            return
        except csv.Error as error:
            problem, expected = _csv_fault(str(error))
            add(problem, expected, line=line)
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


# Parquet


def imported_arrow(what: str, module: str = "pyarrow") -> Any:
    """Return a module of pyarrow, by which `what` is read. Raises ConfigurationError: it is not
    installed, or cannot be imported."""
    try:
        return import_module(module)
    # A damaged installation fails in one way or another.
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "pyarrow":
            fault = not_installed(f"{what} need", "pyarrow", extra("arrow"))
        else:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            fault = (
                f"{what} need pyarrow, which is installed and cannot be imported ({reason}); get "
                "it with: pip install --force-reinstall pyarrow"
            )
        raise ConfigurationError(fault) from None


def _parquet(stream: IO[bytes], known: Collection[str], add: AddFault) -> Iterator[FilePart]:
    # Imported here, because it takes longer than reading most files does.
    pa = imported_arrow("Parquet files")
    pq = imported_arrow("Parquet files", "pyarrow.parquet")
    try:
        file = pq.ParquetFile(stream)
        _require_readable(file.metadata, stream.seek(0, SEEK_END))
        # Texts that repeat are held once: a small file may repeat a long one often.
        texts = [
            field.name
            for field in file.schema_arrow
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ]
        yield from _parquet_rows(
            pq.ParquetFile(stream, metadata=file.metadata, read_dictionary=texts)
        )
    except TooMuchUnpacked as error:
        add(f"a file that {error}", "a smaller file; split it")
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        add(f"a damaged file ({' '.join(str(error).split())})", "a Parquet file")


def _require_readable(metadata: Any, n_bytes: int) -> None:
    """Refuse a Parquet file that would unpack to too much."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    pages = sum(group.total_byte_size for group in groups)
    cells = metadata.num_rows * metadata.num_columns * _CELL_BYTES
    require_unpackable(n_bytes, max(pages, cells))


def _parquet_rows(file: Any) -> Iterator[FilePart]:
    yield from arrow_rows(file.schema_arrow.names, file.iter_batches(_PARQUET_ROWS))


def arrow_rows(header: Sequence[str], batches: Iterable[Any]) -> Iterator[FilePart]:
    """Yield the rows of Arrow's batches, whose columns are called as the header says."""
    yield Header(None, tuple(header))
    line = 0
    for batch in batches:
        columns = [_arrow_values(column) for column in batch.columns]
        for cells in zip(*columns, strict=True):
            line += 1
            yield FileRow(line, dict(zip(header, cells, strict=True)))


def _arrow_values(column: Any) -> list[Any]:
    """Return a column as Python values, with dates and decimals as their text."""
    import pyarrow as pa

    if pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.string())
    if pa.types.is_dictionary(column.type):
        known = _arrow_values(column.dictionary)
        return [None if at is None else known[at] for at in column.indices.to_pylist()]
    values: list[Any] = column.to_pylist()
    return values


_READERS: dict[str, _Reader] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": partial(_csv, usual=","),
    ".tsv": partial(_csv, usual="\t"),
    ".parquet": _parquet,
}
