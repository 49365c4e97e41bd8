"""The store of replies that is used unless another is named: one folder, by diskcache.

A page is a row, so that a response's judges are looked up at once, or several once it is long; a
reply in it is JSON, compressed where it is long.
"""

from __future__ import annotations

import logging
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any

import diskcache
from diskcache.core import MODE_BINARY, MODE_RAW

from persona_panel.calls.cache import ENVIRONMENT_VARIABLE, CacheUnreachable
from persona_panel.calls.changes import Changes
from persona_panel.calls.claims import Claims, ReplyClaim
from persona_panel.calls.coalescing import Coalesced
from persona_panel.calls.journal import JournalEntry, JournalReader
from persona_panel.calls.journaled_store import JournaledStore, Pages, with_descriptors
from persona_panel.calls.stored_replies import decoded, is_among
from persona_panel.files.descriptors import is_lack_of_descriptors
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.private_files import make_private_folder, open_private
from persona_panel.rubrics import ModelResponse

logger = logging.getLogger(__name__)

_DATABASE = "cache.db"  # diskcache's name for it
_HEADER = struct.Struct(">32sI")  # a reply's key, and how many bytes follow
_ROW_BYTES = 1 << 16  # a row that is longer gets a successor, not more bytes

_ReadPage = tuple[list[tuple[bytes, bytes]], list[Changes]]
"""What the database holds of a page, and what journals of other processes change in it."""


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


class DiskReplyStore(JournaledStore):
    """The replies kept in one folder, the journals among them. Several processes may share it; on
    one machine, what one of them asks for the others wait for.

    Raises:
        ConfigurationError: the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
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
                # A transaction is on the disk before the journal goes that it was made from (FULL).
                sqlite_synchronous=2,
                sqlite_cache_size=1 << 10,
            )
            super().__init__(folder)
            # Before: who has died by then has left all in journals, and who lives is seen.
            self._claims = _claims_in(folder)
            try:
                self.take_over()
            except BaseException:
                if self._claims is not None:
                    self._claims.close()
                raise
        except (OSError, sqlite3.Error, diskcache.Timeout) as error:
            raise ConfigurationError(
                f"the cache {folder} cannot be used ({error}); check free space and permissions, "
                f"or choose another folder with {ENVIRONMENT_VARIABLE}"
            ) from None
        self._journals = JournalReader(folder)
        self._questions = Coalesced(self._read_pages, "cache-pages")

    @property
    def location(self) -> str:
        return str(self._folder)

    def entries(self) -> Iterator[JournalEntry]:
        for name in self._store.iterkeys():
            page, _, number = name.rpartition("-")
            # Of two under one key, in two rows perhaps, the later one counts.
            if number == "0":
                for key, stored in dict(self._read_page(page)).items():
                    yield JournalEntry(page, key, stored)

    def claimed(self, page: str, key: bytes) -> AbstractAsyncContextManager[ModelResponse | None]:
        """The reply, or the right to ask for it; see `SharedReplyStore`."""
        if self._claims is None:
            return nullcontext()
        return ReplyClaim(self._claims, page, key, self._look_up)

    async def _look_up(self, page: str, key: bytes) -> ModelResponse | None:
        """A reply as other processes have it, who may have put it a moment ago.

        Raises:
            CacheUnreachable: the cache cannot be read.
        """
        newer = self._unwritten(page)
        kept, theirs = await self._questions.answer(page)
        found = self._remember(page, kept, *theirs, newer).get(key)
        return decoded(found, page, key) if found else None

    def _read_pages(self, pages: Sequence[str]) -> list[_ReadPage]:
        def read() -> list[_ReadPage]:
            # Before the database: what another process moves in between is in the one or the other.
            self._journals.read_on(self._own_journals)
            return [(list(self._read_page(page)), self._journals.page(page)) for page in pages]

        try:
            return with_descriptors(read)
        except (OSError, sqlite3.Error, diskcache.Timeout) as error:
            raise CacheUnreachable(
                f"the cache {self._folder} cannot be read ({error}); check its disk and "
                "permissions, then run the same command again"
            ) from None

    def _close_database(self) -> None:
        self._questions.thread.shutdown(wait=True, cancel_futures=True)
        self._store.close()
        if self._claims is not None:
            self._claims.close()

    def _unmoved(self, error: Exception) -> str:
        return (
            f"The last replies could not be written to the cache's database in {self._folder} "
            f"({error}). They are stored in a journal in the same folder; the next run moves them "
            "to the database."
        )

    def _read_page(self, page: str) -> Iterator[tuple[bytes, bytes]]:
        return (record for _, row in self._rows(page) for record in _records(row))

    def _rows(self, page: str) -> Iterator[tuple[str, bytes]]:
        """The rows of a page, with their names."""
        for number in count():
            name = _row_name(page, number)
            row = self._store.get(name, retry=True)
            if row is None:
                return
            yield name, row

    def _write(self, changes: Pages, *, again: bool = False) -> None:
        """In one transaction; `again` if some of it may be there already: a kill may come between
        a transaction's end and the journal's."""
        with self._store.transact(retry=True):
            for page, changed in changes.items():
                stored = {key: change.stored for key, change in changed.items() if change.stored}
                gone = {key: change.dropped for key, change in changed.items() if change.dropped}
                if again:
                    gone |= {key: (*gone.get(key, ()), stored[key]) for key in stored}
                if gone:
                    self._delete(page, gone)
                if stored:
                    self._append(page, stored)

    def _append(self, page: str, replies: Mapping[bytes, bytes]) -> None:
        for number in count():
            name = _row_name(page, number)
            row = self._store.get(name, b"", retry=True)
            if len(row) <= _ROW_BYTES:
                self._store.set(name, row + _row_of(replies.items()), retry=True)
                return

    def _delete(self, page: str, gone: Mapping[bytes, Iterable[bytes]]) -> None:
        for name, row in list(self._rows(page)):
            whole = _row_of(
                (key, stored)
                for key, stored in _records(row)
                if not is_among(stored, gone.get(key, ()))
            )
            if whole != row:
                self._store.set(name, whole, retry=True)


def _claims_in(folder: Path) -> Claims | None:
    """None where the file system has no locks of the kind."""
    try:
        return Claims(folder)
    except OSError as error:
        if is_lack_of_descriptors(error):
            raise
        logger.warning(
            "The cache %s is on a file system without locks (%s): processes that use it at the "
            "same time may pay for the same answer twice",
            folder,
            error.strerror,
        )
        return None


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
