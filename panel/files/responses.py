"""Responses in (JSONL, JSON, CSV, TSV and Parquet files, JSONL on a stream, tables in memory), and
the batch that they make: every response with a prompt id, none of them twice.

Responses in any order, also those of a source that can only be gone through in its own.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from array import array
from collections import Counter
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Sized,
)
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple, TypeVar

import orjson
from pydantic import ValidationError

from persona_panel.files.errors import Fault, InputError, RunStopped
from persona_panel.files.outputs import (
    digest_of,
    own_ids,
    prompt_id_of,
    response_id_of,
    short_digest,
)
from persona_panel.files.records import (
    ColumnMapping,
    DataTable,
    Fields,
    Record,
    Report,
    Responses,
    Source,
    is_table,
    label_of,
    name_of,
    read_records,
)
from persona_panel.files.wording import explain, shown
from persona_panel.graphs import Response
from persona_panel.rubrics.segmentation import abbreviated


@contextmanager
def by_place(responses: Iterable[Response]) -> Iterator[Callable[[int], Response]]:
    """Yield what gives a response by its place. Those that are no sequence are copied to a
    temporary file without a name, as they need not fit into memory; 8 bytes of each are there.
    Raises RunStopped: the file cannot be written."""
    if isinstance(responses, Sequence):
        yield responses.__getitem__
        return
    starts = array("q", [0])
    with _stopping():
        file = tempfile.TemporaryFile()  # noqa: SIM115
    with file:
        with _stopping():
            for response in responses:
                starts.append(starts[-1] + file.write(pickle.dumps(response)))
            file.flush()

        def read(place: int) -> Response:
            start, end = starts[place : place + 2]
            file.seek(start)
            response: Response = pickle.loads(file.read(end - start))  # noqa: S301
            return response

        yield read


@contextmanager
def _stopping() -> Iterator[None]:
    """Raise RunStopped, with what to do, where the file cannot be written."""
    try:
        yield
    except OSError as error:
        raise RunStopped(
            "the responses cannot be copied, to be judged in random order, to a file in "
            f"{tempfile.gettempdir()}: {error.strerror}; make room, or set TMPDIR to another folder"
        ) from None


_LABELS = frozenset({"id", "system", "prompt_id"})
FIELDS = Fields(
    (
        ("id", ("id", "response_id")),
        ("prompt", ("prompt", "prompt_text")),
        ("text", ("response", "response_text", "text")),
        ("system", ("system", "respondent_id")),
        ("prompt_id", ("prompt_id",)),
        ("context", ("context",)),
    ),
    frozenset({"id", "prompt_id", "context"}),
    made=frozenset({"id"}),
    likely=(
        ("prompt", ("question", "instruction", "input", "topic", "task", "frage", "aufgabe")),
        ("text", ("answer", "output", "completion", "essay", "argument", "reply", "antwort")),
        ("system", ("model", "author", "source", "writer", "modell")),
    ),
)
CONDITION = "condition"
"""The metadata that tells versions of one prompt apart."""
NAMES = frozenset(name for _, names in FIELDS.names for name in names)
"""All names that a response's fields may have; every other column is metadata."""


_PACKED = frozenset({".gz", ".parquet"})
_SMALL_BYTES = 8_000_000


class ResponseFile:
    """The responses of a file, all of them or the first `limit`, read anew each time that they
    are gone through, as the file need not fit into memory; those of one of up to 8 MB are kept.

    `source` is a path (.jsonl, .ndjson, .json, .csv, .tsv, each also with .gz, or .parquet), a
    folder of Parquet files, a pattern such as `texts/*.parquet`, an address that fsspec knows
    (`s3://…`), `-` for JSONL on standard input, an open stream of JSONL, or a table in memory: a
    data frame (pandas, polars, anything with `__arrow_c_stream__` or `__dataframe__`), a data set
    of Hugging Face, a list of dicts. A stream is kept. Fields are `prompt`, `response` and `system`
    (or `prompt_text`, `response_text` or `text`, `respondent_id`), and optionally `id` (or
    `response_id`), `prompt_id` and `context`; all others are kept as metadata, with the types that
    the format has. A response without an id is called after its system and text
    (`persona_panel.files.outputs.response_id_of`), a prompt without one after its text
    (`prompt_id_of`). A prompt id stands for one prompt, but where a column `condition` tells
    versions of it apart.

    The whole file is checked at once, whatever the limit.

    Args:
        mapping: for fields whose column has another name, that name: `{"response": "answer"}`.

    Attributes:
        name: what the source is called.
        mapping: the same, empty where there is none.
        is_table: whether it is a table in memory, and no file.

    Raises:
        InputError: anything is wrong with the mapping or the file; lists every fault in it. Also
            raised by a later reading, where the file has changed.
    """

    def __init__(
        self,
        source: Source | DataTable,
        *,
        limit: int | None = None,
        mapping: ColumnMapping | None = None,
    ) -> None:
        self.name, self.mapping = name_of(source), dict(mapping or {})
        self.is_table = is_table(source)
        # A table without a length is a stream of Arrow's, which can be read once.
        lasts = (
            isinstance(source, Sized)
            if is_table(source)
            else isinstance(source, str | Path) and str(source) != "-" and not _is_small(source)
        )
        self._read = partial(_responses, source, limit, mapping) if lasts else None
        self._kept = [] if lasts else list(_responses(source, limit, mapping))
        self._length = len(self._kept) if self._read is None else sum(1 for _ in self._read())

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Response]:
        yield from self._kept if self._read is None else self._read()

    @property
    def kept(self) -> Sequence[Response] | None:
        """Return the responses where they are in memory."""
        return self._kept if self._read is None else None


def _is_small(file: str | Path) -> bool:
    """Return whether a file is read once and kept. A run goes through its responses five times;
    reading and checking them each time would take a tenth of the time of a run from its cache."""
    path = Path(file)
    try:
        return path.suffix.lower() not in _PACKED and path.stat().st_size <= _SMALL_BYTES
    except OSError:
        return False


def load_responses(
    source: Source | DataTable, *, limit: int | None = None, mapping: ColumnMapping | None = None
) -> list[Response]:
    """Read responses into memory; `source`, `limit`, `mapping` and errors are those of
    `ResponseFile`."""
    return list(_responses(source, limit, mapping))


def _responses(
    source: Source | DataTable, limit: int | None, mapping: ColumnMapping | None
) -> Iterator[Response]:
    """Yield the first `limit` responses as they are read; raises at the end, with all faults."""
    report = Report(name_of(source), unit="row" if is_table(source) else "line")
    fields = FIELDS.mapped(mapping, source)
    if limit is not None and limit < 1:
        report.add(str(limit), "1 or more", field="limit")
    intake = _Intake(report)
    n_taken, empty = 0, True
    for record in read_records(source, fields, report):
        empty = False
        response = intake.take(record)
        if response is not None and (limit is None or n_taken < limit):
            n_taken += 1
            yield response
    intake.finish()
    if empty and not report.faults:
        report.add("no responses", "at least one")
    if report.faults:
        raise report.error()


_Place = tuple[str, int]
"""A file and a line in it."""


class _Intake:
    """A builder of responses from records, which remembers what must not come twice."""

    def __init__(self, report: Report) -> None:
        self._report = report
        # By prompts' digests: the texts themselves may be more than memory holds.
        self._prompts: dict[tuple[str, Any], tuple[bytes, _Place]] = {}
        self._seen: dict[tuple[Any, ...], _Place] = {}
        self._has_ids = False
        self._without_id: list[int] = []

    def finish(self) -> None:
        """Report what only the end shows: ids that some lines have and others lack."""
        if self._has_ids:
            for line in self._without_id:
                self._report.add("nothing", "an id, as other lines have", line=line, field="id")

    def take(self, record: Record) -> Response | None:
        """Return the response in a record, or None where a fault was reported."""
        before = len(self._report.faults)
        flawed = self._report_flaws(record)
        fields = {field: _value(field, record.cells[name]) for field, name in record.names.items()}
        self._settle_prompt(fields, record)
        self._settle_id(fields, record)
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

    def _settle_prompt(self, fields: dict[str, Any], record: Record) -> None:
        """Give the prompt an id, or check that the id is not another prompt's."""
        prompt, prompt_id = fields.get("prompt"), fields.get("prompt_id")
        if not isinstance(prompt, str) or not prompt:
            return
        if prompt_id is None:
            prompt_id = fields["prompt_id"] = prompt_id_of(prompt)
        if isinstance(prompt_id, str):
            digest = short_digest(prompt)
            # Versions of a prompt, as a sweep has them, share its id.
            version = label_of(record.cells.get(CONDITION))
            key = (prompt_id, version if isinstance(version, str) else None)
            place = (self._report.file, record.line)
            first, other = self._prompts.setdefault(key, (digest, place))
            if first != digest:
                self._report.add(
                    f"{shown(prompt_id)}, which is another prompt's, on {self._in_words(other)}",
                    "one prompt for each prompt_id",
                    line=record.line,
                    field="prompt_id",
                )

    def _settle_id(self, fields: dict[str, Any], record: Record) -> None:
        """Give the response an id where its line has none."""
        if "id" in record.names:
            self._has_ids = True
            return
        self._without_id.append(record.line)
        system, text, context = (fields.get(field) for field in ("system", "text", "context"))
        if isinstance(system, str) and isinstance(text, str):
            fields["id"] = response_id_of(
                system, text, context if isinstance(context, str) else None
            )

    def _refuse_repetition(self, fields: Mapping[str, Any], record: Record) -> None:
        prompt_id, prompt, own = (fields.get(field) for field in ("prompt_id", "prompt", "id"))
        if not all(isinstance(part, str) and part for part in (prompt_id, prompt, own)):
            return
        place = (self._report.file, record.line)
        first = self._seen.setdefault((prompt_id, short_digest(str(prompt)), own), place)
        if first == place:
            return
        if "id" in record.names:
            problem, field = shown(own), "id"
            expected = "an id once for each prompt"
        else:
            problem, field = f"the same text by {shown(fields.get('system'))}", "text"
            expected = "a text once for each prompt and system, or a column of ids"
        self._report.add(
            f"{problem} again, first on {self._in_words(first)}",
            expected,
            line=record.line,
            field=record.names[field],
        )

    def _in_words(self, place: _Place) -> str:
        """Return a place in words, with the file's name where it is another file."""
        file, line = place
        text = f"{self._report.unit} {line}"
        return text if file == self._report.file else f"{text} of {file}"

    def _report_flaws(self, record: Record) -> frozenset[str]:
        """Report the cells that could not be written out again; returns their names."""
        if _json_flaw(record.cells) is None:
            return frozenset()
        flaws = {name: _json_flaw({name: value}) for name, value in record.cells.items()}
        flawed = {name: flaw for name, flaw in flaws.items() if flaw is not None}
        for name, flaw in flawed.items():
            self._report.add(
                flaw, "values that can be written as JSON in UTF-8", line=record.line, field=name
            )
        return frozenset(flawed)

    def _report_invalid(
        self, error: ValidationError, record: Record, flawed: Collection[str]
    ) -> None:
        for detail in error.errors(include_url=False):
            name = record.names.get(str(detail["loc"][0]))
            # A field without a name was reported with the names.
            if name is None or name in flawed:
                continue
            problem, expected = explain(detail)
            if detail["input"] == "":
                problem, expected = "an empty value", "text"
                if detail["loc"][0] == "text":
                    expected += " (remove rows that have none)"
            self._report.add(problem, expected, line=record.line, field=name)


def _value(field: str, value: Any) -> Any:
    """Return a cell in the form that the model takes."""
    if isinstance(value, str) and not value.strip():
        return None if field in ("prompt_id", "context") else ""
    return label_of(value) if field in _LABELS else value


_strict_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False)


def _json_flaw(cells: Mapping[str, Any]) -> str | None:
    """Return what keeps cells from being written as JSON in UTF-8; None if nothing does."""
    try:
        "".join(cells).encode()
        # Texts, which are most of a batch, have no other flaw than one that encoding finds.
        for value in cells.values():
            (value if isinstance(value, str) else _strict_json.encode(value)).encode()
    except UnicodeEncodeError:
        return "half a surrogate pair"
    except ValueError:
        return "NaN or Infinity"
    except TypeError:
        return "bytes, or another type that JSON lacks"
    return None


T = TypeVar("T")


def identified(response: Response) -> Response:
    """Return the response with a prompt id, made of its prompt's text where it has none. Raises
    InputError: it is no `Response`."""
    if not isinstance(response, Response):
        expected = (
            "a Response; load_responses makes them of a file, a data frame or a list of dicts"
        )
        raise InputError([Fault("responses", shown(response), expected)])
    if response.prompt_id is not None:
        return response
    return response.model_copy(update={"prompt_id": prompt_id_of(response.prompt)})


def responses_in(source: Responses) -> Iterable[Response]:
    """Return responses as they are, and a table as those in its rows, read anew each time. Raises
    InputError: it is a path, one mapping, or no iterable; or anything is wrong with the table."""
    if is_table(source):
        return ResponseFile(source)
    if isinstance(source, str | Path | Mapping) or not isinstance(source, Iterable):
        problem = shown(str(source) if isinstance(source, str | Path) else source)
        expected = (
            "Responses, a data frame, one split of a data set or a list of dicts; "
            "load_responses(FILE) reads a file"
        )
        raise InputError([Fault("responses", problem, expected)])
    return source


_TITLE = 60


def title_of(prompt: str) -> str:
    """Return the beginning of a prompt, for tables."""
    title = shorten(prompt, _TITLE, placeholder="…")
    # Without spaces there is no word to end with.
    return title if len(title) > _TITLE // 2 else abbreviated(" ".join(prompt.split()), _TITLE)


def line_of(response: Response) -> dict[str, Any]:
    """Return a response as a line of responses.jsonl, without its metadata."""
    line = {
        "prompt_id": response.prompt_id,
        "id": response.id,
        "system": response.system,
        "prompt": response.prompt,
        "response": response.text,
    }
    return line if response.context is None else line | {"context": response.context}


class Item(NamedTuple):
    """The ids of a response and the name of its system, which a run keeps in memory."""

    prompt_id: str
    id: str
    system: str


class Batch:
    """The responses of a run: what must be known of all of them before the first is read.

    Goes through `responses` anew whenever it is gone through, so that a file need not fit
    into memory; what can be gone through only once is kept.

    Args:
        responses: with prompt ids or without, or a table of them.
        one_prompt_each: whether a prompt id stands for one prompt in each condition (the metadata
            `condition`), as it must where responses to a prompt are ranked against each other. A
            sweep's stands for a prompt and its variants.

    Attributes:
        items: which responses there are, in order.
        titles: the beginning of each prompt, by its id.
        metadata: the names of all metadata, in order of appearance.
        versions: a prompt id that stands for versions of a prompt; None where each has one.
        digests: of the responses, `persona_panel.files.outputs.DIGEST_BYTES` each, in order.
        shared: how many texts to the same prompts two systems have in common.

    Raises:
        InputError: a response is there twice or is no text, or a prompt id stands for two
            prompts; lists all.
    """

    def __init__(self, responses: Responses, *, one_prompt_each: bool = False) -> None:
        source = responses_in(responses)
        # A list of dicts is known for one when it is there, and not while it is made.
        self._responses = source if isinstance(source, Sized) else responses_in(list(source))
        self.items: list[Item] = []
        self.titles: dict[str, str] = {}
        metadata: dict[str, None] = {}
        self.digests = bytearray()
        # By the name that files of ratings have for them.
        seen: dict[str, tuple[int, Item]] = {}
        # Their digests: the prompts themselves may be more than memory holds.
        prompts: dict[tuple[str, Any], tuple[bytes, int]] = {}
        # By what they answer and say, who first said it.
        authors: dict[bytes, str] = {}
        self.shared: Counter[tuple[str, str]] = Counter()
        self.versions: str | None = None
        faults = []
        for place, response in enumerate(self, start=1):
            item = Item(str(response.prompt_id), response.id, response.system)
            own = (short_digest(response.prompt), place)
            whole = prompts.setdefault((item.prompt_id, None), own)
            condition = response.metadata.get(CONDITION)
            version = condition if isinstance(condition, str) else None
            first = prompts.setdefault((item.prompt_id, version), own)
            if whole[0] != own[0]:
                self.versions = self.versions or item.prompt_id
            if one_prompt_each and first[0] != own[0]:
                faults.append(_another(place, item, first[1]))
            before = seen.setdefault(f"{item.prompt_id}/{item.id}", (place, item))
            if before[0] != place and (not faults or faults[-1].line != place):
                faults.append(_repeated(place, item, *before))
            self.items.append(item)
            text = own[0] + short_digest(response.text)
            if (author := authors.setdefault(text, item.system)) != item.system:
                self.shared[author, item.system] += 1
            line = line_of(response)
            try:
                orjson.dumps(line)
            except TypeError:
                faults.append(_no_text(place, item))
            else:
                self.digests += digest_of(line)
            if item.prompt_id not in self.titles:
                self.titles[item.prompt_id] = title_of(response.prompt)
            metadata |= dict.fromkeys(response.metadata)
        if faults:
            raise InputError(faults)
        self.metadata = tuple(metadata)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Response]:
        yield from map(identified, self._responses)

    def shuffled(self, seed: int) -> Iterator[Response]:
        """Yield all responses to a prompt one behind the other, in the order of the input, and
        prompts in an order that a seed draws: what is judged so far is a sample of the prompts,
        whatever the input is sorted by.

        The order of two prompts does not depend on which others there are. Raises RunStopped: as
        `by_place`."""
        places: dict[str, list[int]] = {}
        for place, item in enumerate(self.items):
            places.setdefault(item.prompt_id, []).append(place)

        def drawn(prompt_id: str) -> bytes:
            key = f"{seed}\n{prompt_id}".encode()
            return blake2b(key, digest_size=16).digest()

        source = self._responses
        if isinstance(source, ResponseFile):
            source = source.kept or source
        with by_place(source) as response_at:
            for prompt_id in sorted(places, key=drawn):
                for place in places[prompt_id]:
                    yield identified(response_at(place))


def _another(place: int, item: Item, first: int) -> Fault:
    return Fault(
        file="responses",
        line=place,
        field="prompt_id",
        actual=f"{item.prompt_id!r}, which is another prompt's, in response {first}",
        expected="one prompt for each prompt_id",
    )


def _repeated(place: int, item: Item, first: int, other: Item) -> Fault:
    of = own_ids(item.prompt_id)
    problem = f"{item.id!r} a second time for {f'the prompt {of!r}' if of else 'one prompt'}"
    if item.prompt_id != other.prompt_id:
        name = f"{item.prompt_id}/{item.id}"
        problem = f"the id {item.id!r}, by which this is {name!r}, as is response {first}"
    return Fault(
        file="responses",
        line=place,
        field="id",
        actual=problem,
        expected="an id of its own for every response to a prompt",
    )


def _no_text(place: int, item: Item) -> Fault:
    return Fault(
        file="responses",
        line=place,
        actual=f"half a surrogate pair in {item.id!r}",
        expected="text that can be encoded in UTF-8",
    )


async def as_async(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
