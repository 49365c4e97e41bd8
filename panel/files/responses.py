"""Responses in: JSONL, CSV, TSV and Parquet files, or JSONL on a stream.

A reader per format turns a file into records, a line and its cells; `_Intake` turns
records into responses. Both go on past a fault, so that one reading finds them all. What
makes a response valid is said by `graphs.Response`; nothing is written here.
"""

from __future__ import annotations

import codecs
import csv
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from graphs import Response
from panel.errors import Fault, InputError
from panel.files.definitions import (
    explain,
    nearest,
    printable,
    shown,
    undecodable,
    unreadable,
)

_NAMES = {
    "id": ("id", "response_id"),
    "prompt": ("prompt", "prompt_text"),
    "text": ("response", "response_text", "text"),
    "system": ("system", "respondent_id"),
    "prompt_id": ("prompt_id",),
    "context": ("context",),
}
"""The names that a file may use for each field of a response."""

_OPTIONAL = frozenset({"prompt_id", "context"})
_LABELS = frozenset({"id", "system", "prompt_id"})
_PARQUET_ROWS = 1_000
_LONGEST_CELL = 2**31 - 1


def load_responses(
    source: str | Path | IO[str] | IO[bytes], *, limit: int | None = None
) -> list[Response]:
    """Read responses, all of them or the first `limit`.

    `source` is a path (.jsonl, .ndjson, .csv, .tsv or .parquet), `-` for JSONL on
    standard input, or an open stream of JSONL. Fields are `id`, `prompt`, `response` and
    `system` (or `response_id`, `prompt_text`, `response_text` or `text`,
    `respondent_id`), and optionally `prompt_id` and `context`; all others are kept as
    metadata. Prompts without an id are called p1, p2, … as they come.

    The whole file is checked, whatever the limit, and the same response has the same
    prompt id under any.

    Raises:
        InputError: anything is wrong with the file; lists every fault in it.
    """
    report = _Report(_name(source))
    if limit is not None and limit < 1:
        report.add(str(limit), "1 or more", field="limit")
    intake = _Intake(report)
    responses: list[Response] = []
    empty = True
    for record in _records(source, report):
        empty = False
        response = intake.take(record)
        if response is not None and (limit is None or len(responses) < limit):
            responses.append(response)
    if empty and not report.faults:
        report.add("no responses", "at least one")
    if report.faults:
        raise InputError(sorted(report.faults, key=lambda fault: fault.line or 0))
    return responses


class _Report:
    """The faults of one file, as they are found."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []

    def add(
        self, found: str, expected: str, *, line: int | None = None, field: str | None = None
    ) -> None:
        name = None if field is None else printable(field)
        self.faults.append(Fault(self.file, found, expected, line, name))


@dataclass(frozen=True, slots=True)
class _Record:
    """A line's cells by their own names, and the name that each field goes by."""

    line: int
    cells: Mapping[str, Any]
    names: Mapping[str, str]


class _Intake:
    """Makes responses of records, and remembers what must not come twice."""

    def __init__(self, report: _Report) -> None:
        self._report = report
        self._prompts: dict[str, tuple[str, int]] = {}
        self._given: dict[str, str] = {}
        self._seen: dict[tuple[Any, ...], int] = {}
        self._last_number = 0

    def take(self, record: _Record) -> Response | None:
        """The response in a record, or None where a fault was reported."""
        before = len(self._report.faults)
        flawed = self._report_flaws(record)
        fields = {field: _value(field, record.cells[name]) for field, name in record.names.items()}
        self._settle_prompt(fields, record)
        self._refuse_repetition(fields, record)
        named = set(record.names.values())
        fields["metadata"] = {
            name: value for name, value in record.cells.items() if name not in named
        }
        try:
            response = Response.model_validate(fields)
        except ValidationError as error:
            self._report_invalid(error, record, flawed)
            return None
        return response if len(self._report.faults) == before else None

    def _settle_prompt(self, fields: dict[str, Any], record: _Record) -> None:
        """Give the prompt an id, or check that the id is not another prompt's."""
        prompt, prompt_id = fields.get("prompt"), fields.get("prompt_id")
        if not isinstance(prompt, str) or not prompt:
            return
        if prompt_id is None:
            fields["prompt_id"] = self._given.get(prompt) or self._new_id(prompt, record.line)
        elif isinstance(prompt_id, str):
            first, line = self._prompts.setdefault(prompt_id, (prompt, record.line))
            if first != prompt:
                self._report.add(
                    f"{shown(prompt_id)}, which is another prompt's, on line {line}",
                    "one prompt for each prompt_id",
                    line=record.line,
                    field="prompt_id",
                )

    def _new_id(self, prompt: str, line: int) -> str:
        self._last_number += 1
        while (prompt_id := f"p{self._last_number}") in self._prompts:
            self._last_number += 1
        self._given[prompt] = prompt_id
        self._prompts[prompt_id] = (prompt, line)
        return prompt_id

    def _refuse_repetition(self, fields: Mapping[str, Any], record: _Record) -> None:
        key = tuple(fields.get(field) for field in ("prompt_id", "prompt", "id"))
        if not all(isinstance(part, str) and part for part in key):
            return
        first = self._seen.setdefault(key, record.line)
        if first != record.line:
            self._report.add(
                f"{shown(fields['id'])} again, first on line {first}",
                "an id once for each prompt",
                line=record.line,
                field=record.names["id"],
            )

    def _report_flaws(self, record: _Record) -> frozenset[str]:
        """Report the cells that could not be written out again; gives their names."""
        if _json_flaw(record.cells) is None:
            return frozenset()
        flaws = {name: _json_flaw({name: value}) for name, value in record.cells.items()}
        flawed = {name: flaw for name, flaw in flaws.items() if flaw is not None}
        for name, flaw in flawed.items():
            self._report.add(flaw, "what JSON and UTF-8 can hold", line=record.line, field=name)
        return frozenset(flawed)

    def _report_invalid(
        self, error: ValidationError, record: _Record, flawed: Collection[str]
    ) -> None:
        for detail in error.errors(include_url=False):
            name = record.names.get(str(detail["loc"][0]))
            # A field without a name was reported with the names.
            if name is None or name in flawed:
                continue
            found, expected = explain(detail)
            if detail["input"] == "":
                found, expected = "an empty value", "text"
            self._report.add(found, expected, line=record.line, field=name)


def _value(field: str, value: Any) -> Any:
    """A cell as the model takes it: blank is empty, a number as a label is its text."""
    if isinstance(value, str) and not value.strip():
        return None if field in _OPTIONAL else ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if field in _LABELS and is_number and (isinstance(value, int) or math.isfinite(value)):
        return str(value)
    return value


_strict_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False)


def _json_flaw(cells: Mapping[str, Any]) -> str | None:
    """What keeps cells from being written as JSON in UTF-8, if anything does."""
    try:
        _strict_json.encode(cells).encode()
    except UnicodeEncodeError:
        return "half a surrogate pair"
    except ValueError:
        return "NaN or Infinity"
    except TypeError:
        return "bytes, or another type of Parquet's own"
    return None


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which name each field goes by, and the faults of the names: (field, found, expected)."""

    names: Mapping[str, str]
    faults: tuple[tuple[str, str, str], ...]

    def tell(self, report: _Report, line: int | None) -> None:
        for field, found, expected in self.faults:
            report.add(found, expected, line=line, field=field)


# The lines of a JSONL file mostly have the same keys.
@lru_cache
def _layout(present: tuple[str, ...]) -> _Layout:
    faults = [
        (name, f"{count} fields of this name", "one")
        for name, count in Counter(present).items()
        if count > 1
    ]
    names = {}
    for field, accepted in _NAMES.items():
        used = [name for name in accepted if name in present]
        if len(used) == 1:
            names[field] = used[0]
        elif used:
            faults.append((accepted[0], " and ".join(map(repr, used)), "one of them"))
        elif field not in _OPTIONAL:
            faults.append((accepted[0], "no such field", _wanted(accepted, present)))
    return _Layout(names, tuple(faults))


def _wanted(accepted: Iterable[str], present: Iterable[str]) -> str:
    taken = set(chain.from_iterable(_NAMES.values()))
    free = [name for name in present if name not in taken]
    guess = next(filter(None, (nearest(name, free) for name in accepted)), None)
    wanted = " or ".join(map(repr, accepted))
    return f"{wanted} (is {shown(guess)} meant?)" if guess else wanted


# The formats. A reader never raises for what is in a file: it reports, and goes on.


def _name(source: str | Path | IO[str] | IO[bytes]) -> str:
    if isinstance(source, str | Path):
        return "<stdin>" if str(source) == "-" else str(source)
    return str(getattr(source, "name", "<stream>"))


def _records(source: str | Path | IO[str] | IO[bytes], report: _Report) -> Iterator[_Record]:
    if str(source) == "-":
        source = getattr(sys.stdin, "buffer", sys.stdin)
    if not isinstance(source, str | Path):
        yield from _stream_records(source, report)
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
        yield from reader(stream, report)


def _stream_records(stream: IO[str] | IO[bytes], report: _Report) -> Iterator[_Record]:
    try:
        yield from _jsonl(stream, report)
    except UnicodeDecodeError as error:
        # A text stream decodes by itself, and has lost by now which line it was.
        report.add(f"bytes that are not {error.encoding}", "text")


def _lines(stream: Iterable[bytes | str], report: _Report) -> Iterator[str]:
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


def _decoded(raw: bytes, offset: int, line: int, report: _Report) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        report.add(undecodable(error, offset), "UTF-8 text", line=line)
        return raw.decode(errors="replace")


def _jsonl(stream: Iterable[bytes | str], report: _Report) -> Iterator[_Record]:
    for line, text in enumerate(_lines(stream, report), 1):
        if not text.strip():
            continue
        cells = _json_object(text, line, report)
        if cells is not None:
            layout = _layout(tuple(cells))
            layout.tell(report, line)
            yield _Record(line, cells, layout.names)


class _RepeatedKeyError(ValueError):
    pass


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKeyError(next(key for key in counts if counts[key] > 1))
    return value


def _json_object(text: str, line: int, report: _Report) -> dict[str, Any] | None:
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


def _csv(stream: IO[bytes], report: _Report, delimiter: str) -> Iterator[_Record]:
    # The limit is the process's, and a long response exceeds its default. It is only ever
    # raised: restoring it would fail a file that another thread is reading.
    csv.field_size_limit(_LONGEST_CELL)
    rows = _csv_rows(csv.reader(_lines(stream, report), delimiter=delimiter, strict=True), report)
    line, header = next(rows, (0, []))
    if not header:
        return
    layout = _layout(tuple(header))
    layout.tell(report, line)
    for line, cells in rows:
        if len(cells) == len(header):
            yield _Record(line, dict(zip(header, cells, strict=True)), layout.names)
        elif cells:
            report.add(f"{len(cells)} cells", f"{len(header)}, as in the header", line=line)


def _csv_rows(reader: Any, report: _Report) -> Iterator[tuple[int, list[str]]]:
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


def _parquet(stream: IO[bytes], report: _Report) -> Iterator[_Record]:
    # Imported here, because it takes longer than reading most files does.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        yield from _parquet_records(pq.ParquetFile(stream), report)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        report.add(f"a damaged file ({' '.join(str(error).split())})", "a Parquet file")


def _parquet_records(file: Any, report: _Report) -> Iterator[_Record]:
    header = file.schema_arrow.names
    layout = _layout(tuple(header))
    layout.tell(report, None)
    line = 0
    for batch in file.iter_batches(_PARQUET_ROWS):
        columns = [_parquet_values(column) for column in batch.columns]
        for cells in zip(*columns, strict=True):
            line += 1
            yield _Record(line, dict(zip(header, cells, strict=True)), layout.names)


def _parquet_values(column: Any) -> list[Any]:
    """A column as Python values, with dates and decimals, which JSON lacks, as their text."""
    import pyarrow as pa

    if pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.string())
    values: list[Any] = column.to_pylist()
    return values


_READERS: dict[str, Callable[[IO[bytes], _Report], Iterator[_Record]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": partial(_csv, delimiter=","),
    ".tsv": partial(_csv, delimiter="\t"),
    ".parquet": _parquet,
}
