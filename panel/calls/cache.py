"""Replies that have been paid for, on disk, so that none is paid for twice.

Replies about one subject from one model share a page, so that a response's judges are
looked up at once. A page is a row, or several once it is long; a reply in it is JSON,
compressed where it is long, under a digest of everything that changes it. Which replies
are worth keeping is the caller's business.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import struct
import threading
import zlib
from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import diskcache
import orjson
import platformdirs
from diskcache.core import MODE_BINARY, MODE_RAW

from panel.calls.journal import Change, Journal, journals_in, taken_over
from panel.errors import ConfigurationError
from rubrics import Ask, Position, Reply, Usage

ENVIRONMENT_VARIABLE = "PERSONA_PANEL_CACHE"
logger = logging.getLogger(__name__)

_HEADER = struct.Struct(">32sI")  # a reply's key, and how many bytes follow
_ROW_BYTES = 1 << 16  # a row that is longer gets a successor, not more bytes
_PAGES_IN_MIND = 128
_GATHER_S = 1.0
"""How long replies gather in a journal before they are moved into the database together."""
_WORTH_COMPRESSING = 2_000

_Pages = dict[str, dict[bytes, bytes]]
"""Stored replies by page and key; empty where one was dropped."""


def default_folder() -> Path:
    """$PERSONA_PANEL_CACHE, or the user's cache folder."""
    if folder := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(folder)
    return Path(platformdirs.user_cache_dir("persona-panel"))


def page_of(parameters: Mapping[str, Any], *subject: str | None) -> str:
    """The page of a model, by its `parameters`, and of what it is asked about."""
    document = orjson.dumps([2, parameters, subject], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(document).hexdigest()


def key_of(ask: Ask, replicate: int) -> bytes:
    """A digest of all that changes a reply besides the model, 32 bytes."""
    document = orjson.dumps([ask, replicate], option=orjson.OPT_SORT_KEYS, default=dict)
    return hashlib.sha256(document).digest()


class _BytesDisk(diskcache.Disk):  # type: ignore[misc]
    """Bytes under text keys and nothing else: diskcache would pickle anything more, and
    unpickle whatever somebody put into its folder (CVE-2025-69872)."""

    def put(self, key: Any) -> tuple[Any, bool]:
        if not isinstance(key, str):
            raise TypeError(f"a cache key is text, not {type(key).__name__}")
        return super().put(key)  # type: ignore[no-any-return]

    def store(self, value: Any, read: bool, key: Any = diskcache.UNKNOWN) -> Any:
        if not isinstance(value, bytes):
            raise TypeError(f"a cached value is bytes, not {type(value).__name__}")
        return super().store(value, read, key)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        if mode not in (MODE_RAW, MODE_BINARY):
            raise ValueError("the cache holds a value that persona-panel did not write")
        return super().fetch(mode, filename, value, read)


class ReplyCache:
    """The replies kept in one folder. Several processes may share it.

    What is put is in a journal at once, so that a kill loses nothing; a thread moves it into the
    database soon after, many replies to a transaction. What a process left in its journal, the
    next cache of the folder takes over.

    Raises:
        ConfigurationError: the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._store = diskcache.Cache(
                str(folder),
                disk=_BytesDisk,
                # Nothing that was paid for is evicted; a wait of a minute for another
                # process's write is better than a lost one.
                eviction_policy="none",
                cull_limit=0,
                timeout=60,
                # A row stays in the database, whose transactions keep it whole.
                disk_min_file_size=1 << 30,
                # Mapped and cached pages of a long run's database would count as its memory.
                sqlite_mmap_size=0,
                sqlite_cache_size=1 << 10,
            )
            for journal in journals_in(folder):
                self._take_over(journal)
        except (OSError, sqlite3.Error, diskcache.Timeout) as error:
            raise ConfigurationError(
                f"the cache {folder} cannot be used ({error}); see that there is space and "
                f"permission, or choose another with {ENVIRONMENT_VARIABLE}"
            ) from None
        self._pages: OrderedDict[str, dict[bytes, bytes]] = OrderedDict()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reply-cache")
        self._closing = threading.Event()
        # What follows is the writer's too, and changes under the lock only.
        self._lock = threading.Lock()
        self._journal: Journal | None = None
        self._waiting: _Pages = {}
        self._being_written: _Pages = {}
        self._fault: Exception | None = None

    def get(self, page: str, key: bytes) -> Reply | None:
        """The reply kept under `key`, marked as cached; None where there is none."""
        stored = self._page(page).get(key)
        return _decode(stored) if stored else None

    def has(self, page: str, key: bytes) -> bool:
        """Whether a reply is kept under `key`."""
        return bool(self._page(page).get(key))

    def put(self, page: str, key: bytes, reply: Reply) -> None:
        """Keep a reply; returns when it is on disk.

        Raises:
            OSError, sqlite3.Error, diskcache.Timeout: it could not be written, or an earlier
                one could not be moved into the database.
        """
        self._change(Change(page, key, _encode(reply)))

    def forget(self, page: str, keys: Iterable[bytes]) -> None:
        """Drop replies that turned out to be no result. Raises as `put` does."""
        for key in keys:
            self._change(Change(page, key, b""))

    def close(self) -> None:
        """Move all into the database and close the files. What `put` has returned from is safe
        without it."""
        self._closing.set()
        self._writer.shutdown(wait=True)
        self._store.close()
        if self._fault is not None:
            logger.warning(
                "The last replies could not go into the cache's database in %s (%s). They are in a "
                "journal beside it; the next run takes them over.",
                self._folder,
                self._fault,
            )

    def _change(self, change: Change) -> None:
        with self._lock:
            if self._fault is not None:
                raise self._fault
            if self._journal is None:
                self._journal = Journal(self._folder)
                self._writer.submit(self._move, self._journal)
            self._journal.add(change)
            self._waiting.setdefault(change.page, {})[change.key] = change.stored
        if change.page in self._pages:
            self._pages[change.page][change.key] = change.stored

    def _move(self, journal: Journal) -> None:
        """In the writer's thread: what the journal holds goes into the database."""
        self._closing.wait(_GATHER_S)
        with self._lock:
            self._journal = None
            self._waiting, self._being_written = {}, self._waiting
        try:
            self._write(self._being_written)
        except Exception as error:
            # The journal stays, and with it what was paid for.
            journal.close()
            self._fault = error
        else:
            with self._lock:
                self._being_written = {}
            journal.remove()

    def _take_over(self, journal: Path) -> None:
        """Move what a process that was killed has left in its journal."""
        with taken_over(journal) as left:
            changes: _Pages = {}
            for change in left:
                changes.setdefault(change.page, {})[change.key] = change.stored
            if changes:
                self._write(changes, again=True)

    def _page(self, page: str) -> dict[bytes, bytes]:
        """What a page holds, nothing under a key that was dropped; the pages used last are kept
        in mind."""
        if page in self._pages:
            self._pages.move_to_end(page)
        else:
            # Before the rows: what the writer finishes in between is in the one or the other.
            with self._lock:
                newer = self._being_written.get(page, {}) | self._waiting.get(page, {})
            held = dict(record for _, row in self._rows(page) for record in _records(row))
            self._pages[page] = held | newer
            if len(self._pages) > _PAGES_IN_MIND:
                self._pages.popitem(last=False)
        return self._pages[page]

    def _rows(self, page: str) -> Iterator[tuple[str, bytes]]:
        """The rows of a page, with their names."""
        for number in count():
            name = _row_name(page, number)
            row = self._store.get(name, retry=True)
            if row is None:
                return
            yield name, row

    def _write(self, changes: _Pages, *, again: bool = False) -> None:
        """In one transaction; `again` if some of it may be there already: a kill may come between
        a transaction's end and the journal's."""
        with self._store.transact(retry=True):
            for page, changed in changes.items():
                if gone := {key for key, stored in changed.items() if again or not stored}:
                    self._delete(page, gone)
                self._append(page, {key: stored for key, stored in changed.items() if stored})

    def _append(self, page: str, replies: Mapping[bytes, bytes]) -> None:
        for number in count():
            name = _row_name(page, number)
            row = self._store.get(name, b"", retry=True)
            if len(row) <= _ROW_BYTES:
                self._store.set(name, row + _row_of(replies.items()), retry=True)
                return

    def _delete(self, page: str, keys: Container[bytes]) -> None:
        for name, row in list(self._rows(page)):
            whole = _row_of(record for record in _records(row) if record[0] not in keys)
            if whole != row:
                self._store.set(name, whole, retry=True)


def _row_name(page: str, number: int) -> str:
    return f"{page}-{number}"


def _row_of(records: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join(_HEADER.pack(key, len(stored)) + stored for key, stored in records)


def _records(row: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The replies of a row with their keys, the oldest first."""
    at = 0
    while at + _HEADER.size <= len(row):
        key, length = _HEADER.unpack_from(row, at)
        at += _HEADER.size
        yield key, row[at : at + length]
        at += length


def _encode(reply: Reply) -> bytes:
    document = orjson.dumps(reply)
    # Log-probabilities shrink to a fifth; a reply of a few numbers is not worth the time.
    return document if len(document) < _WORTH_COMPRESSING else zlib.compress(document, level=1)


def _decode(stored: bytes) -> Reply | None:
    """The reply, or None where something else stands: it is asked for again."""
    try:
        plain = stored.startswith(b"{")
        fields = orjson.loads(stored if plain else zlib.decompress(stored))
        fields["usage"] = Usage(**fields["usage"])
        fields["logprobs"] = tuple(
            Position(position["token"], tuple((token, p) for token, p in position["top"]))
            for position in fields["logprobs"]
        )
        fields["cached"] = True
        return Reply(**fields)
    except (zlib.error, LookupError, TypeError, ValueError):
        return None
