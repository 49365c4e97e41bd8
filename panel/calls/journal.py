"""What was paid for and is not in the cache's database yet: a file that is only ever added to.

A reply is safe from a kill as soon as it is written here, without waiting for a transaction. What
a process that was killed has left is taken over by the next one, once: a lock tells the journal
of one that runs. When replies go into the database is the cache's business.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple
from uuid import uuid4

from persona_panel.calls.changes import Changes, ReplyChange, change_of
from persona_panel.files.private_files import open_private, sync

_HEADER = struct.Struct(">H32sI")  # how long the page's name is, the key, how long the reply is
_SUFFIX = ".journal"
_SPARE = "spare-room"
_SPARE_BYTES = 1 << 21
"""For the replies of calls in flight, some KB each."""


class JournalEntry(NamedTuple):
    """A reply kept under `key` of `page`, or in a journal also one that is dropped: see
    `change_of`."""

    page: str
    key: bytes
    stored: bytes


class Journal:
    """A new file in a folder, for one process to write, which holds its lock as long as it lives.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        # One process may leave two, of which the later one counts.
        self.path = folder / f"{time.time_ns():020d}-{uuid4().hex}{_SUFFIX}"
        self._file = open_private(self.path, "xb", buffered=False)
        # Who looks into it while it is empty holds the lock for a moment.
        _lock(self._file, wait=True)

    def add(self, page: str, key: bytes, stored: bytes) -> None:
        """Write what a `JournalEntry` says; once this returns, a kill does not undo it.

        Raises:
            OSError: it cannot be written; nothing of it is.
        """
        name = page.encode()
        line = _HEADER.pack(len(name), key, len(stored)) + name + stored
        begun = self._file.tell()
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            # Else what comes after half a line could not be read.
            self._file.seek(begun)
            self._file.truncate()
            raise

    def sync(self) -> None:
        """Return once a power cut does not undo what was added, either.

        Raises:
            OSError: it cannot be written to the disk.
        """
        sync(self._file)

    def close(self) -> None:
        """Leave the file for whoever comes next."""
        self._file.close()

    def remove(self) -> None:
        """All that it holds is in the database."""
        # Emptied while the lock holds: nobody takes over what is done.
        self._file.truncate(0)
        self.close()
        self.path.unlink(missing_ok=True)


def keep_spare_room(folder: Path) -> bool:
    """Take some room in a folder, for what must be written although there is none left; whether it
    is there."""
    spare = folder / _SPARE
    try:
        with open_private(spare, "xb", buffered=False) as file:
            # Not zeros, which some file systems keep in no room at all.
            if file.write(os.urandom(_SPARE_BYTES)) == _SPARE_BYTES:
                return True
    except FileExistsError:
        return True
    except OSError:
        pass
    spare.unlink(missing_ok=True)
    return False


def give_up_spare_room(folder: Path) -> bool:
    """Give the room back; whether there was any."""
    try:
        (folder / _SPARE).unlink()
    except OSError:
        return False
    return True


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait for a process that takes over the journals of a folder: what it has not moved yet, the
    next would take for gone."""
    with open_private(folder / "taking-over", "ab") as file:
        _lock(file, wait=True)
        yield


def journals_in(folder: Path) -> list[Path]:
    """The journals of all processes, of those that are gone and of those that run, the oldest
    first."""
    return sorted(folder.glob(f"*{_SUFFIX}"))


@contextmanager
def taken_over(journal: Path) -> Iterator[list[JournalEntry]]:
    """What a process that is gone has left, in order; the file goes once the block ends well.

    Nothing where the process is still running or a third has taken it over: applied twice, a
    change could undo a later one.
    """
    try:
        file = journal.open("r+b")
    except FileNotFoundError:
        yield []
        return
    with file:
        try:
            _lock(file)
        except OSError:
            yield []
            return
        held = file.read()
        # Its process has just made it, or somebody took it over a moment ago.
        if not held:
            yield []
            return
        yield [change for change, _ in _changes_in(held)]
        file.truncate(0)
    journal.unlink(missing_ok=True)


class JournalReader:
    """What the journals of a folder hold, without taking them over; what was read once is not read
    again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # By the journal's name: how many bytes were read, and the changes in them by page.
        self._read: dict[str, tuple[int, dict[str, Changes]]] = {}

    def read_on(self, own: Container[str]) -> None:
        """Read what was written since; `own` are the names of journals that are left out.

        Raises:
            OSError: one cannot be read.
        """
        read, self._read = self._read, {}
        with os.scandir(self._folder) as found:
            names = sorted(
                entry.name
                for entry in found
                if entry.name.endswith(_SUFFIX) and entry.name not in own
            )
        for name in names:
            with suppress(FileNotFoundError), (self._folder / name).open("rb", 0) as file:
                at, changes = read.get(name, (0, {}))
                # One that was emptied is in the database.
                if os.fstat(file.fileno()).st_size < at:
                    continue
                file.seek(at)
                end = at
                for (page, key, noted), n in _changes_in(file.read()):
                    of_page = changes.setdefault(page, {})
                    of_page[key] = of_page.get(key, ReplyChange()).then(change_of(noted))
                    end = at + n
                self._read[name] = end, changes

    def page(self, page: str) -> list[Changes]:
        """The changes of a page in each journal, in which others may go on to be read: copies."""
        return [dict(changes[page]) for _, changes in self._read.values() if page in changes]


def _changes_in(held: bytes) -> Iterator[tuple[JournalEntry, int]]:
    """Up to where a kill in the middle of one has cut them off, each with where it ends."""
    at = 0
    while at + _HEADER.size <= len(held):
        n_page, key, n_stored = _HEADER.unpack_from(held, at)
        page = at + _HEADER.size
        stored = page + n_page
        at = stored + n_stored
        if at > len(held):
            return
        yield JournalEntry(held[page:stored].decode(errors="replace"), key, held[stored:at]), at


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes], *, wait: bool = False) -> None:
        """Held until the file is closed; OSError where another process has it."""
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[bytes], *, wait: bool = False) -> None:
        """Held until the file is closed; OSError where another process has it."""
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
