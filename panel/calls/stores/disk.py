"""The default store of replies, a folder kept by diskcache, and the claims of processes on
replies (docs/explanation/caching.md).

By claims, one process of a machine asks for a reply and the others wait. A claim is the lock of a
single byte of a file, which the operating system frees as soon as its process ends: no clock
decides whether a process is alive. These locks belong to a process, so that a forked one does not
keep them; the claims of two stores in one process have names here. The file's size says how many
stores were ever opened: a process which has the folder to itself sees that by one system call.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import logging
import os
import random
import sqlite3
import struct
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any

import diskcache
from diskcache.core import MODE_BINARY, MODE_RAW

from persona_panel.calls.cache import ENVIRONMENT_VARIABLE, CacheUnreachable, Coalesced
from persona_panel.calls.in_flight import waiting_for_a_server
from persona_panel.calls.journal import Changes, JournalEntry, JournalReader, decoded, is_among
from persona_panel.calls.journaled_store import JournaledStore, Pages, with_descriptors
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.limits import is_lack_of_descriptors
from persona_panel.files.outputs import PRIVATE_FILE, make_private_folder, open_private
from persona_panel.rubrics import ModelResponse

_FILE = "claims"
_FIRST_POLL_S, _LONGEST_POLL_S, _GROWTH = 0.01, 0.25, 1.25
_LONG_WAIT_S = 60.0
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES})
_PRESENCE = 0
"""The byte that every process with an open store has locked together with the others."""


class _ClaimsFile:
    """A file of claims, open once in this process: closing it a second time would free the locks
    of all that have it open."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        self.stores = 0
        self.held: dict[int, object] = {}


_guard = threading.Lock()
_files: dict[tuple[int, int], _ClaimsFile] = {}


def _forget() -> None:
    """Forget the files of claims in a forked process, which has none of its parent's locks."""
    global _guard
    _guard = threading.Lock()
    _files.clear()


os.register_at_fork(after_in_child=_forget)


class Claims:
    """The claims of a store in a folder that other stores may use as well. Raises OSError: the file
    system has no such locks, or the file cannot be opened."""

    def __init__(self, folder: Path) -> None:
        path = folder / _FILE
        with _guard:
            self._file = _opened(path)
            self._descriptor = descriptor = self._file.descriptor
            self._file.stores += 1
            try:
                # In this order: of two that open at once, one at least sees the other.
                fcntl.lockf(descriptor, fcntl.LOCK_SH, 1, _PRESENCE)
                self._size = os.fstat(descriptor).st_size + 1
                # Takes no room, so that a full disk does not matter.
                os.ftruncate(descriptor, self._size)
                self._alone = self._file.stores == 1 and _is_only_process(descriptor)
            except BaseException:
                self._leave()
                raise
        self._folder = folder
        self._is_warned = False

    def is_alone(self) -> bool:
        """Return whether no other store has been open in the folder since this one was opened."""
        if self._alone and os.fstat(self._descriptor).st_size != self._size:
            self._alone = False
        return self._alone

    def take(self, place: int) -> bool:
        """Claim a place, unless another store has it."""
        held, own = self._file.held, object()
        # In one step: another store of this process may be in another thread.
        if held.setdefault(place, own) is not own:
            return False
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:
            if error.errno in _TAKEN:
                del held[place]
                return False
            # The system has no lock left: it is better asked twice than not at all.
        return True

    async def take_patiently(self, place: int) -> None:
        """Wait until a place can be claimed."""
        wait_s, began = _FIRST_POLL_S, time.monotonic()
        with waiting_for_a_server():
            while not self.take(place):
                # Jitter needs no secrecy.
                await asyncio.sleep(random.uniform(wait_s / 2, wait_s))
                wait_s = min(_GROWTH * wait_s, _LONGEST_POLL_S)
                if not self._is_warned and time.monotonic() - began > _LONG_WAIT_S:
                    self._is_warned = True
                    logger.warning(
                        "An answer has been waited for for %.0f s that another process with the "
                        "cache %s asks for; if that process is stopped or hangs, end it, and this "
                        "run asks for the answer itself",
                        _LONG_WAIT_S,
                        self._folder,
                    )

    def give_up(self, place: int) -> None:
        """Let others claim a place."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
        del self._file.held[place]

    def close(self) -> None:
        """Give up this process's presence, if no other store of it uses the folder."""
        with _guard:
            self._leave()

    def _leave(self) -> None:
        self._file.stores -= 1
        if not self._file.stores:
            for known, file in list(_files.items()):
                if file is self._file:
                    del _files[known]
            os.close(self._descriptor)


class ReplyClaim:
    """A block that is entered with the reply that another process has got, or with None once this
    process alone may ask for it; see `SharedReplyStore.claimed`.

    `look_up` finds what other processes have put.
    """

    __slots__ = ("_claims", "_look_up", "_place")

    def __init__(
        self,
        claims: Claims,
        page: str,
        key: bytes,
        look_up: Callable[[str, bytes], Awaitable[ModelResponse | None]],
    ) -> None:
        self._claims = claims
        self._place = place_of(page, key)
        self._look_up = look_up, page, key

    async def __aenter__(self) -> ModelResponse | None:
        claims, place = self._claims, self._place
        if not claims.take(place):
            await claims.take_patiently(place)
        # Without a pause since the caller has looked for the reply itself, which is not there then.
        elif claims.is_alone():
            return None
        look_up, page, key = self._look_up
        try:
            return await look_up(page, key)
        except BaseException:
            claims.give_up(place)
            raise

    async def __aexit__(self, *error: object) -> None:
        self._claims.give_up(self._place)


def place_of(page: str, key: bytes) -> int:
    """Return the byte that stands for a reply, from 1 to 2^62. Two that share one by chance wait
    for each other."""
    return ((int.from_bytes(key[:8], "big") ^ zlib.crc32(page.encode())) >> 2) + 1


def _opened(path: Path) -> _ClaimsFile:
    """Return the file, as this process has it open."""
    try:
        status = path.stat()
    except FileNotFoundError:
        file = _ClaimsFile(path)
        status = os.fstat(file.descriptor)
    else:
        known = _files.get((status.st_dev, status.st_ino))
        if known is not None:
            return known
        file = _ClaimsFile(path)
        status = os.fstat(file.descriptor)
    _files[status.st_dev, status.st_ino] = file
    return file


def _is_only_process(descriptor: int) -> bool:
    """Return whether no other process has a store open in the folder."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _PRESENCE)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    fcntl.lockf(descriptor, fcntl.LOCK_SH, 1, _PRESENCE)
    return True


logger = logging.getLogger(__name__)

_DATABASE = "cache.db"  # diskcache's name for it
_HEADER = struct.Struct(">32sI")  # a reply's key, and how many bytes follow
_ROW_BYTES = 1 << 16  # a row that is longer gets a successor, not more bytes

_ReadPage = tuple[list[tuple[bytes, bytes]], list[Changes]]
"""A page in the database, and the changes of it in journals of other processes."""


def open_store(location: str) -> DiskReplyStore:
    """Return the store in the folder `location`, or behind `disk://`."""
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
    """The replies kept in one folder, with the journals. Several processes may share it; on one
    machine, when one of them asks for a reply the others wait for it. Raises ConfigurationError:
    the folder cannot be used."""

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
        """Return a block that is entered with the reply, or with the right to ask for it; see
        `SharedReplyStore`."""
        if self._claims is None:
            return nullcontext()
        return ReplyClaim(self._claims, page, key, self._look_up)

    async def _look_up(self, page: str, key: bytes) -> ModelResponse | None:
        """Return a reply as other processes have it, who may have put it a moment ago."""
        newer = self._unwritten(page)
        kept, theirs = await self._questions.answer(page)
        stored = self._remember(page, kept, *theirs, newer).get(key)
        return decoded(stored, page, key) if stored else None

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
        """Yield the rows of a page, with their names."""
        for number in count():
            name = _row_name(page, number)
            row = self._store.get(name, retry=True)
            if row is None:
                return
            yield name, row

    def _write(self, changes: Pages, *, again: bool = False) -> None:
        """Write changes in one transaction; `again` if some of it may be there already: a kill may
        come between writing and emptying the journal."""
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
    """Open the claims of a folder; None where the file system has no such locks."""
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
    """Yield the replies of a row with their keys, the oldest first."""
    at = 0
    while at + _HEADER.size <= len(row):
        key, length = _HEADER.unpack_from(row, at)
        at += _HEADER.size
        yield key, row[at : at + length]
        at += length
