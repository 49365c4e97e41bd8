"""The common base of stores that keep replies in a database, and write them there by way of a
journal (docs/explanation/caching.md): a thread moves many replies together. Where the database is,
and how it keeps pages, is a store's own business.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, TypeVar

import platformdirs

from persona_panel.calls.cache import CannotBeKept
from persona_panel.calls.journal import (
    Changes,
    Journal,
    JournalEntry,
    ReplyChange,
    change_of,
    decoded,
    dropping,
    encoded,
    give_up_spare_room,
    is_among,
    journals_in,
    keep_spare_room,
    merged,
    one_at_a_time,
    taken_over,
)
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.limits import is_lack_of_descriptors, spare_descriptor
from persona_panel.files.outputs import is_lack_of_room, make_private_folder
from persona_panel.rubrics import ModelResponse

logger = logging.getLogger(__name__)

_PAGES_IN_MEMORY = 128
_SYNC_S = 0.05
"""The seconds between syncs: a power cut loses what came in the last of them, and what was in
flight."""
_AGAIN_S = 0.25
_ROOM_AGAIN_S = 0.01
_TRIES_WITHOUT_ROOM = 4
_TRIES_WITHOUT_DESCRIPTORS = 240
"""The most times that something is tried while no file can be opened, four times a second."""

T = TypeVar("T")

Pages = dict[str, Changes]
"""The changes by page and key."""


class JournaledStore(ABC):
    """A `ReplyStore` over a database, its journals in a `folder` of this machine.

    A subclass opens its database and calls `super().__init__`, then `take_over`, which calls
    `_write`. Later `_write` is called from the thread that moves replies, the other methods below
    from those that look replies up or close the store, `_read_page` maybe from several at once;
    the database must allow that.
    """

    batch_s: ClassVar[float] = 1.0
    """The seconds for which replies gather in a journal before they are moved together."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: OrderedDict[str, dict[bytes, bytes]] = OrderedDict()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reply-cache")
        self._closing = threading.Event()
        # What follows is the writer's too, and changes under the lock only.
        self._lock = threading.Lock()
        self._journal: Journal | None = None
        self._waiting: Pages = {}
        self._being_written: Pages = {}
        self._own_journals: set[str] = set()
        self._fault: Exception | None = None
        self._has_spare_room = False
        # Given up for a journal where this process can open no further file: what must be
        # dropped cannot wait until it can. Held from when the store can be used: one that cannot
        # is never closed.
        self._spare: int | None = None

    @abstractmethod
    def _write(self, changes: Pages, *, again: bool = False) -> None:
        """Make changes, all or none; `again` if some of it may be there already: a kill may come
        between a transaction's end and the journal's."""

    @abstractmethod
    def _read_page(self, page: str) -> Iterable[tuple[bytes, bytes]]:
        """Return the stored replies of a page by their keys; of several under one, the last
        counts.
        """

    @abstractmethod
    def _close_database(self) -> None:
        """Give back files and connections."""

    @abstractmethod
    def _unmoved(self, error: Exception) -> str:
        """Return a sentence that the last replies are still in the journal, and what to do."""

    @abstractmethod
    def entries(self) -> Iterator[JournalEntry]:
        """Return all replies in the database, page by page; not those that a journal still
        holds.
        """

    @property
    @abstractmethod
    def location(self) -> str:
        """The place of the replies, for messages: no password, no key."""

    def take_over(self) -> None:
        """Move what processes that were killed have left in their journals; the store can be used
        then."""
        with one_at_a_time(self._folder):
            for journal in journals_in(self._folder):
                with taken_over(journal) as left:
                    changes: Pages = {}
                    for page, key, noted in left:
                        _add(changes, page, key, change_of(noted))
                    if changes:
                        self._write(changes, again=True)
        self._has_spare_room = keep_spare_room(self._folder)
        if self._spare is None:
            self._spare = spare_descriptor()

    def get(self, page: str, key: bytes) -> ModelResponse | None:
        """Return the reply kept under `key`, marked as cached; None where there is none."""
        stored = self._page(page).get(key)
        return decoded(stored, page, key) if stored else None

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        """Keep a reply; returns when it is on this machine's disk. Raises CannotBeKept: it holds
        what JSON in UTF-8 cannot; nothing is wrong with the cache; Exception: it could not be
        written, or an earlier one could not be moved into the database."""
        try:
            stored = encoded(reply, page, key)
        except TypeError as error:
            raise CannotBeKept(str(error)) from None
        self.put_stored(page, key, stored)

    def put_stored(self, page: str, key: bytes, stored: bytes) -> None:
        """Keep a reply that another store has encoded. Raises as `put` does."""
        self._change(page, key, stored)

    def forget(self, page: str, key: bytes, reply: ModelResponse) -> None:
        """Drop a reply that turned out to be no result, if it is this one that is kept. Raises as
        `put` does."""
        try:
            stored = encoded(reply, page, key)
        except TypeError:
            # What cannot be stored is not there.
            return
        self.forget_stored(page, key, stored)

    def forget_stored(self, page: str, key: bytes, stored: bytes) -> None:
        """Drop a reply as it is stored, if it is this one that is kept. Raises as `put` does."""
        self._change(page, key, dropping(stored))

    def sync(self) -> None:
        """Return when what was put is in the database, which a power cut does not undo. Raises
        Exception: it could not be moved there."""
        # Behind the moves: the thread takes them in turn.
        self._writer.submit(int).result()
        if self._fault is not None:
            raise self._fault

    def close(self) -> None:
        """Move all into the database and close the files. What `put` has returned from is safe
        without it."""
        self._closing.set()
        self._writer.shutdown(wait=True)
        self._close_database()
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        if self._journal is not None:
            self._journal.close()
        if self._fault is not None:
            logger.warning("%s", self._unmoved(self._fault))

    def _change(self, page: str, key: bytes, noted: bytes) -> None:
        change = change_of(noted)
        with self._lock:
            # After a fault too: what was paid for meanwhile goes to whoever comes next.
            fault = self._fault
            try:
                fault = self._note(page, key, noted) or fault
            except OSError as error:
                raise fault or error from None
            _add(self._waiting, page, key, change)
        if (known := self._pages.get(page)) is not None:
            if change.stored:
                known[key] = change.stored
            elif key in known and is_among(known[key], change.dropped):
                del known[key]
        if fault is not None:
            raise fault

    def _note(self, page: str, key: bytes, noted: bytes) -> OSError | None:
        """Write to the journal; if that took the spare room, returns why there is no other."""
        lack: OSError | None = None
        for _ in range(_TRIES_WITHOUT_ROOM):
            try:
                self._open_journal().add(page, key, noted)
            except OSError as error:
                if not is_lack_of_room(error):
                    raise
                # Tried again without any, too: another process may just have given it up, or be
                # trying in vain to take it again.
                give_up_spare_room(self._folder)
                time.sleep(_ROOM_AGAIN_S)
                lack = error
            else:
                return lack
        assert lack is not None  # noqa: S101
        raise lack

    def _open_journal(self) -> Journal:
        """Return the journal, a new one if need be, which is moved soon."""
        if self._journal is None:
            self._journal = self._new_journal()
            self._own_journals.add(self._journal.path.name)
            if self._fault is None:
                self._writer.submit(self._move, self._journal)
        return self._journal

    def _move(self, journal: Journal) -> None:
        """Move the journal's entries into the database, in the writer's thread."""
        until = time.monotonic() + self.batch_s
        while (rest := until - time.monotonic()) > 0 and not self._closing.wait(min(rest, _SYNC_S)):
            # A disk that fails shows in the move.
            with suppress(OSError):
                journal.sync()
        with self._lock:
            self._journal = None
            self._waiting, self._being_written = {}, self._waiting
        try:
            changes = self._being_written
            with_descriptors(lambda: self._write(changes))
        except Exception as error:
            # The journal stays, and with it what was paid for.
            journal.close()
            self._fault = error
        else:
            with self._lock:
                self._being_written = {}
            journal.remove()
            self._own_journals.discard(journal.path.name)
            # Taken by another process, whose replies need it: ours would be the next to be lost.
            if self._has_spare_room and not keep_spare_room(self._folder):
                self._fault = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
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

    def _page(self, page: str) -> dict[bytes, bytes]:
        """Return the stored replies of a page; the pages used last stay in memory."""
        if (known := self._pages.get(page)) is not None:
            self._pages.move_to_end(page)
            return known
        # Before the database: what the writer finishes in between is in the one or the other.
        newer = self._unwritten(page)
        return self._remember(page, self._read_page(page), newer)

    def _unwritten(self, page: str) -> Changes:
        """Return the changes of a page that are on their way into the database."""
        with self._lock:
            changes = dict(self._being_written.get(page, {}))
            for key, change in self._waiting.get(page, {}).items():
                changes[key] = changes.get(key, ReplyChange()).then(change)
        return changes

    def _remember(
        self, page: str, kept: Iterable[tuple[bytes, bytes]], *changes: Mapping[bytes, ReplyChange]
    ) -> dict[bytes, bytes]:
        """Keep a page in memory that another thread than the loop's has read, with what was put
        meanwhile."""
        with self._lock:
            self._pages[page] = merged(kept, *changes, self._waiting.get(page, {}))
        if len(self._pages) > _PAGES_IN_MEMORY:
            self._pages.popitem(last=False)
        return self._pages[page]


def _add(changes: Pages, page: str, key: bytes, change: ReplyChange) -> None:
    of_page = changes.setdefault(page, {})
    of_page[key] = of_page.get(key, ReplyChange()).then(change)


def with_descriptors(work: Callable[[], T]) -> T:
    """Do something in a thread, and try again while this process can open no further file."""
    for _ in range(_TRIES_WITHOUT_DESCRIPTORS):
        try:
            return work()
        except Exception as error:
            if not is_lack_of_descriptors(error):
                raise
        time.sleep(_AGAIN_S)
    return work()


def unsent_folder(location: str) -> Path:
    """Return the folder on this machine for the journals of a cache that is elsewhere. Raises
    ConfigurationError: it cannot be made."""
    digest = hashlib.sha256(location.encode()).hexdigest()[:16]
    folder = Path(platformdirs.user_cache_dir("persona-panel"), "unsent", digest)
    try:
        make_private_folder(folder)
    except OSError as error:
        raise ConfigurationError(
            f"answers on their way to {location} are kept in {folder}, which cannot be used "
            f"({error}); set XDG_CACHE_HOME to a folder that can be written"
        ) from None
    return folder
