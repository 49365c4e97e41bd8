"""A cache as a whole: counted, written to a file, read from one, pruned.

A file has a line of JSON for each answer: its `page` and `key`, in hexadecimal digits, and the
`reply` as stores keep it. It fits any store.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import orjson
from pydantic import TypeAdapter

from persona_panel.calls.cache import open_reply_store
from persona_panel.calls.journal import JournalEntry, as_stored, decoded, document_of
from persona_panel.calls.journaled_store import JournaledStore
from persona_panel.files.errors import ConfigurationError, Fault, InputError, RunStopped
from persona_panel.files.file_formats import FileRow, file_rows
from persona_panel.files.outputs import replacing
from persona_panel.files.wording import shown
from persona_panel.rubrics import ModelResponse

_SUFFIXES = (".jsonl", ".jsonl.gz")
_DIGITS = 64
_LATEST = 253_402_300_799
"""The last second of the year 9999 (Unix time): no calendar has later ones."""
_REPLY = TypeAdapter(ModelResponse)


@dataclass(slots=True)
class KeptReplies:
    """The number of kept replies, their bytes, and the times of the oldest and the newest (Unix
    time; None where no time is known, as for replies that were kept before it was noted)."""

    n: int = 0
    n_bytes: int = 0
    oldest: int | None = None
    newest: int | None = None

    def add(self, n_bytes: int, at: int | None) -> None:
        """Count a reply."""
        self.n += 1
        self.n_bytes += n_bytes
        if at is not None:
            self.oldest = at if self.oldest is None else min(self.oldest, at)
            self.newest = at if self.newest is None else max(self.newest, at)


@dataclass(slots=True)
class CacheCounts:
    """The counts of a cache, in all and by the model that answered: "" where that was not noted
    yet.

    `unreadable` are entries that no version of this program wrote, or that are damaged; they are
    in no other count.
    """

    all: KeptReplies = field(default_factory=KeptReplies)
    by_model: dict[str, KeptReplies] = field(default_factory=dict)
    undated: int = 0
    unreadable: int = 0

    def add(self, entry: JournalEntry) -> None:
        """Count an entry."""
        page, key, stored = entry
        if decoded(stored, page, key) is None:
            self.unreadable += 1
            return
        model, at = _origin(document_of(stored))
        self.undated += at is None
        for count in (self.all, self.by_model.setdefault(model, KeptReplies())):
            count.add(len(stored), at)


@dataclass(frozen=True, slots=True)
class Prunable:
    """The replies to be dropped: those of `models`, unless that is empty, that are from before
    `before` (Unix time), unless that is None. A reply of which this is not known stays."""

    models: Collection[str] = ()
    before: float | None = None

    def matches(self, stored: bytes) -> bool:
        """Return whether a stored reply is one of them."""
        try:
            model, at = _origin(document_of(stored))
        except ValueError:
            return False
        if self.models and model not in self.models:
            return False
        return self.before is None or (at is not None and at < self.before)


@dataclass(frozen=True, slots=True)
class Imported:
    """The counts of a file's lines: `new` are kept now, `known` were there before, `faults` says
    what is wrong with those that were left out."""

    new: int
    known: int
    faults: tuple[Fault, ...]


@contextmanager
def listed_store() -> Iterator[JournaledStore]:
    """Open the store of this process, if it can list its replies. Raises ConfigurationError: it
    cannot, or cannot be opened; RunStopped: it cannot be written."""
    with closing(open_reply_store()) as store:
        if not isinstance(store, JournaledStore):
            raise ConfigurationError(
                f"the cache {store.location} belongs to another package's store, which cannot "
                "list its answers"
            )
        try:
            yield store
        except OSError as error:
            raise RunStopped(f"{error}; check free space and permissions") from error


def counts_of(store: JournaledStore, which: Prunable | None = None) -> CacheCounts:
    """Count the replies of a store, all or only those to be dropped."""
    counts = CacheCounts()
    for entry in store.entries():
        if which is None or which.matches(entry.stored):
            counts.add(entry)
    return counts


def write_replies(store: JournaledStore, path: Path, *, overwrite: bool = False) -> int:
    """Write the replies of a store that can be read into a file, by gzip if it ends in `.gz`;
    returns how many there are. Raises InputError: the name does not end as such a file's does, or
    there is a file already and `overwrite` is not set, or it cannot be written."""
    _require_suffix(path)
    if path.exists() and not overwrite:
        expected = "another name, or --overwrite to replace the file"
        raise InputError([Fault(str(path), "a file that is there already", expected)])
    try:
        with replacing(path) as file:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                    return _write_lines(store, packed)
            return _write_lines(store, file)
    except OSError as error:
        problem = f"what cannot be written ({error.strerror})"
        raise InputError([Fault(str(path), problem, "a file in a folder that is there")]) from None


def _write_lines(store: JournaledStore, file: IO[bytes] | gzip.GzipFile) -> int:
    n = 0
    for page, key, stored in store.entries():
        if decoded(stored, page, key) is not None:
            line = {"page": page, "key": key.hex(), "reply": document_of(stored)}
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            n += 1
    return n


def read_replies(store: JournaledStore, path: Path) -> Imported:
    """Keep the replies of a file that a store does not have yet. Raises InputError: the file cannot
    be read at all; CacheUnreachable, OSError: the store cannot be written."""
    _require_suffix(path)
    faults: list[Fault] = []

    def add(
        problem: str, expected: str, *, line: int | None = None, field: str | None = None
    ) -> None:
        faults.append(Fault(str(path), problem, expected, line, field))

    new = known = 0
    for part in file_rows(path, (), add):
        if not isinstance(part, FileRow):
            continue
        try:
            page, key, stored = _entry(part.cells)
        except _Odd as odd:
            add(odd.problem, odd.expected, line=part.line, field=odd.field)
            continue
        if store.get(page, key) is not None:
            known += 1
        else:
            store.put_stored(page, key, stored)
            new += 1
    if faults and not new and not known:
        raise InputError(faults)
    return Imported(new, known, tuple(faults))


def drop_replies(store: JournaledStore, which: Prunable) -> int:
    """Drop replies; returns how many."""
    n = 0
    for page, key, stored in store.entries():
        if which.matches(stored):
            store.forget_stored(page, key, stored)
            n += 1
    return n


class _Odd(ValueError):
    """A fault of a line of a file; see `Fault`."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(field)
        self.field, self.problem, self.expected = field, shown(value), expected


def _entry(cells: Any) -> tuple[str, bytes, bytes]:
    """Return the page, the key and the stored reply of a line."""
    for name in ("page", "key"):
        if not _is_digest(cells.get(name)):
            raise _Odd(name, cells.get(name), f"{_DIGITS} hexadecimal digits")
    page, key = cells["page"], bytes.fromhex(cells["key"])
    try:
        document = orjson.dumps(cells.get("reply"))
        # Types, too: a number for a text would end a later run.
        _REPLY.validate_json(document, strict=True)
        stored = as_stored(document)
        if decoded(stored, page, key) is None:
            raise ValueError("it has a field too many, is too long or belongs to another key")
    except (TypeError, ValueError):
        expected = "an answer to this page and key, as `cache export` writes it"
        raise _Odd("reply", cells.get("reply"), expected) from None
    return page, key, stored


def _is_digest(value: object) -> bool:
    digits = frozenset("0123456789abcdef")
    return isinstance(value, str) and len(value) == _DIGITS and digits.issuperset(value)


def _origin(document: dict[str, Any]) -> tuple[str, int | None]:
    """Return the model that answered and when, as far as they were noted."""
    model, at = document.get("model"), document.get("at")
    # A file that was imported may say anything.
    known = isinstance(at, int) and 0 <= at <= _LATEST
    return model if isinstance(model, str) else "", at if known else None


def _require_suffix(path: Path) -> None:
    if not path.name.endswith(_SUFFIXES):
        named = f"a name that ends in {path.suffix!r}"
        raise InputError([Fault(str(path), named, f"one that ends in {' or '.join(_SUFFIXES)}")])
