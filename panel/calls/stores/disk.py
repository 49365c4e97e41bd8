"""The store of replies that is used unless another is named: one folder, by diskcache.

A page is a row, so that a response's judges are looked up at once, or several once it is long; a
reply in it is JSON, compressed where it is long.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import struct
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import diskcache
import orjson
from diskcache.core import MODE_BINARY, MODE_RAW

from panel.calls.cache import ENVIRONMENT_VARIABLE, CannotBeKept
from panel.calls.journal import Journal, JournalEntry, journals_in, taken_over
from panel.errors import ConfigurationError
from panel.io.descriptors import is_lack_of_descriptors, spare_descriptor
from panel.io.private_files import make_private_folder, open_private
from rubrics import ModelResponse, Position, Usage

logger = logging.getLogger(__name__)

_DATABASE = "cache.db"  # diskcache's name for it
_HEADER = struct.Struct(">32sI")  # a reply's key, and how many bytes follow
_ROW_BYTES = 1 << 16  # a row that is longer gets a successor, not more bytes
_PAGES_IN_MEMORY = 128
_BATCH_S = 1.0
"""How long replies gather in a journal before they are moved into the database together."""
_TRIES_WITHOUT_DESCRIPTORS = 240
"""How often the move is tried while no file can be opened, four times a second."""
_WORTH_COMPRESSING = 2_000

_Pages = dict[str, dict[bytes, bytes]]
"""Stored replies by page and key; empty where one was dropped."""


def open_store(location: str) -> DiskReplyStore:
    """The store in the folder `location`, or behind `disk://`."""
    return DiskReplyStore(Path(location.removeprefix("disk://")))


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


class DiskReplyStore:
    """The replies kept in one folder. Several processes may share it.

    What is put is in a journal at once, so that a kill loses nothing; a thread moves it into the
    database soon after, many replies to a transaction. What a process left in its journal, the
    next store in the folder takes over.

    Raises:
        ConfigurationError: the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            make_private_folder(folder)
            # SQLite gives the files that it makes beside the database the same permissions. What is
            # there is not opened: closing it would take away the locks (POSIX) of all connections
            # that this process has to it, and another process would remove files still in use.
            with suppress(FileExistsError):
                open_private(folder / _DATABASE, "xb").close()
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
                f"the cache {folder} cannot be used ({error}); check free space and permissions, "
                f"or choose another folder with {ENVIRONMENT_VARIABLE}"
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
        # Given up for a journal where this process can open no further file: what must be
        # dropped cannot wait until it can.
        self._spare = spare_descriptor()

    @property
    def location(self) -> str:
        return str(self._folder)

    def get(self, page: str, key: bytes) -> ModelResponse | None:
        """The reply kept under `key`, marked as cached; None where there is none."""
        stored = self._page(page).get(key)
        return _decode(stored) if stored else None

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        """Keep a reply; returns when it is on disk.

        Raises:
            CannotBeKept: it holds what JSON in UTF-8 cannot; nothing is wrong with the cache.
            OSError, sqlite3.Error, diskcache.Timeout: it could not be written, or an earlier
                one could not be moved into the database.
        """
        try:
            stored = _encode(reply)
        except TypeError as error:
            raise CannotBeKept(str(error)) from None
        self._change(JournalEntry(page, key, stored))

    def forget(self, page: str, keys: Iterable[bytes]) -> None:
        """Drop replies that turned out to be no result. Raises as `put` does."""
        for key in keys:
            self._change(JournalEntry(page, key, b""))

    def close(self) -> None:
        """Move all into the database and close the files. What `put` has returned from is safe
        without it."""
        self._closing.set()
        self._writer.shutdown(wait=True)
        self._store.close()
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        if self._fault is not None:
            logger.warning(
                "The last replies could not be written to the cache's database in %s (%s). They "
                "are stored in a journal in the same folder; the next run moves them to the "
                "database.",
                self._folder,
                self._fault,
            )

    def _change(self, change: JournalEntry) -> None:
        with self._lock:
            if self._fault is not None:
                raise self._fault
            if self._journal is None:
                self._journal = self._new_journal()
                self._writer.submit(self._move, self._journal)
            self._journal.add(change)
            self._waiting.setdefault(change.page, {})[change.key] = change.stored
        if (known := self._pages.get(change.page)) is not None:
            known[change.key] = change.stored

    def _move(self, journal: Journal) -> None:
        """In the writer's thread: what the journal holds goes into the database."""
        self._closing.wait(_BATCH_S)
        with self._lock:
            self._journal = None
            self._waiting, self._being_written = {}, self._waiting
        try:
            self._write_patiently(self._being_written)
        except Exception as error:
            # The journal stays, and with it what was paid for.
            journal.close()
            self._fault = error
        else:
            with self._lock:
                self._being_written = {}
            journal.remove()
            # At once, before a connection takes the descriptor that has become free.
            if self._spare is None:
                self._spare = spare_descriptor()

    def _new_journal(self) -> Journal:
        try:
            return Journal(self._folder)
        except OSError as error:
            if self._spare is None or not is_lack_of_descriptors(error):
                raise
            os.close(self._spare)
            self._spare = None
            return Journal(self._folder)

    def _write_patiently(self, changes: _Pages) -> None:
        """Write, and while this process can open no further file, again."""
        for _ in range(_TRIES_WITHOUT_DESCRIPTORS):
            try:
                return self._write(changes)
            except (OSError, sqlite3.Error) as error:
                if not is_lack_of_descriptors(error):
                    raise
            time.sleep(_BATCH_S / 4)
        return self._write(changes)

    def _take_over(self, journal: Path) -> None:
        """Move what a process that was killed has left in its journal."""
        with taken_over(journal) as left:
            changes: _Pages = {}
            for change in left:
                changes.setdefault(change.page, {})[change.key] = change.stored
            if changes:
                self._write(changes, again=True)

    def _page(self, page: str) -> dict[bytes, bytes]:
        """What a page holds, nothing under a key that was dropped; the pages used last stay
        in memory."""
        if page in self._pages:
            self._pages.move_to_end(page)
        else:
            # Before the rows: what the writer finishes in between is in the one or the other.
            with self._lock:
                newer = self._being_written.get(page, {}) | self._waiting.get(page, {})
            stored = dict(record for _, row in self._rows(page) for record in _records(row))
            # And what was put meanwhile, where another thread than the loop's reads.
            with self._lock:
                self._pages[page] = stored | newer | self._waiting.get(page, {})
            if len(self._pages) > _PAGES_IN_MEMORY:
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


def _encode(reply: ModelResponse) -> bytes:
    document = orjson.dumps(reply)
    # Log-probabilities shrink to a fifth; a reply of a few numbers is not worth the time.
    return document if len(document) < _WORTH_COMPRESSING else zlib.compress(document, level=1)


def _decode(stored: bytes) -> ModelResponse | None:
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
        return ModelResponse(**fields)
    except (zlib.error, LookupError, TypeError, ValueError):
        return None
