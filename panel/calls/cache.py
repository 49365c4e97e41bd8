"""Replies that have been paid for, on disk, so that none is paid for twice.

Replies about one subject from one model share a page, so that a response's judges are
looked up at once. A page is a row, or several once it is long; a reply in it is JSON,
compressed where it is long, under a digest of everything that changes it. Which replies
are worth keeping is the caller's business.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import diskcache
import orjson
import platformdirs
from diskcache.core import MODE_BINARY, MODE_RAW

from panel.errors import ConfigurationError
from rubrics import Ask, Position, Reply, Usage

ENVIRONMENT_VARIABLE = "PERSONA_PANEL_CACHE"
_HEADER = struct.Struct(">32sI")  # a reply's key, and how many bytes follow
_ROW_BYTES = 1 << 16  # a row that is longer gets a successor, not more bytes
_PAGES_IN_MIND = 128
_WORTH_COMPRESSING = 2_000


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

    Writes are gathered and committed together off the event loop; `put` returns once
    its reply is on disk.

    Raises:
        ConfigurationError: the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
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
        except (OSError, sqlite3.Error, diskcache.Timeout) as error:
            raise ConfigurationError(
                f"the cache {folder} cannot be used ({error}); see that there is space and "
                f"permission, or choose another with {ENVIRONMENT_VARIABLE}"
            ) from None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reply-cache")
        self._waiting: list[_Entry] = []
        self._flushing: asyncio.Task[None] | None = None
        self._pages: OrderedDict[str, dict[bytes, bytes]] = OrderedDict()

    def get(self, page: str, key: bytes) -> Reply | None:
        """The reply kept under `key`, marked as cached; None where there is none."""
        stored = self._page(page).get(key)
        return None if stored is None else _decode(stored)

    def has(self, page: str, key: bytes) -> bool:
        """Whether a reply is kept under `key`."""
        return key in self._page(page)

    async def put(self, page: str, key: bytes, reply: Reply) -> None:
        """Keep a reply; returns when it is on disk."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stored = _encode(reply)
        self._waiting.append(_Entry(page, key, stored, done))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        await done
        if page in self._pages:
            self._pages[page][key] = stored

    async def forget(self, page: str, keys: Iterable[bytes]) -> None:
        """Drop replies that turned out to be no result."""
        dropped = frozenset(keys)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writer, self._delete, page, dropped)
        self._pages.pop(page, None)

    def close(self) -> None:
        """Close the files. What `put` has returned from is safe without it."""
        self._writer.shutdown(wait=True)
        # What came while the last batch was written, and nobody is left to write.
        waiting, self._waiting = self._waiting, []
        try:
            if waiting:
                self._write(waiting)
        finally:
            self._store.close()

    def _page(self, page: str) -> dict[bytes, bytes]:
        """What a page holds; the pages used last are kept in mind."""
        if page in self._pages:
            self._pages.move_to_end(page)
        else:
            self._pages[page] = dict(
                record for _, row in self._rows(page) for record in _records(row)
            )
            if len(self._pages) > _PAGES_IN_MIND:
                self._pages.popitem(last=False)
        return self._pages[page]

    def _rows(self, page: str) -> Iterator[tuple[str, bytes]]:
        """The rows of a page, with their names."""
        for number in count():
            name = f"{page}-{number}"
            row = self._store.get(name, retry=True)
            if row is None:
                return
            yield name, row

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await loop.run_in_executor(self._writer, self._write, batch)
            except Exception as error:
                for entry in batch:
                    if not entry.done.done():
                        entry.done.set_exception(error)
            else:
                for entry in batch:
                    if not entry.done.done():
                        entry.done.set_result(None)

    def _write(self, batch: list[_Entry]) -> None:
        more: dict[str, bytearray] = {}
        for entry in batch:
            record = more.setdefault(entry.page, bytearray())
            record += _HEADER.pack(entry.key, len(entry.stored)) + entry.stored
        with self._store.transact(retry=True):
            for page, records in more.items():
                *_, (name, row) = [(f"{page}-0", b""), *self._rows(page)]
                if len(row) > _ROW_BYTES:
                    name, row = f"{page}-{int(name.rpartition('-')[2]) + 1}", b""
                self._store.set(name, row + records, retry=True)

    def _delete(self, page: str, keys: frozenset[bytes]) -> None:
        with self._store.transact(retry=True):
            for name, row in list(self._rows(page)):
                kept = [record for record in _records(row) if record[0] not in keys]
                whole = b"".join(_HEADER.pack(key, len(reply)) + reply for key, reply in kept)
                if whole != row:
                    self._store.set(name, whole, retry=True)


class _Entry(NamedTuple):
    """A reply on its way to the disk, and who waits for it."""

    page: str
    key: bytes
    stored: bytes
    done: asyncio.Future[None]


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
