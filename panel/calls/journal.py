"""What was paid for and is not in the cache's database yet: a file that is only ever added to.

A line of it is on disk as soon as it is written, at a fiftieth of what a transaction costs; what
a process that was killed has left in it is read by the next one. When its replies go into the
database, and when the file may go, is the cache's business.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

_HEADER = struct.Struct(">H32sI")  # how long the page's name is, the key, how long the reply is
_SUFFIX = ".journal"


class Change(NamedTuple):
    """A reply kept under `key` of `page`, or one that is dropped: `stored` is empty then."""

    page: str
    key: bytes
    stored: bytes


class Journal:
    """A new file in a folder, for one process to write.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{uuid4().hex}{_SUFFIX}"
        self._file = self.path.open("xb", buffering=0)

    def add(self, change: Change) -> None:
        """Write a change; once this returns, a kill does not undo it.

        Raises:
            OSError: it cannot be written. What was before stays readable.
        """
        page = change.page.encode()
        line = _HEADER.pack(len(page), change.key, len(change.stored)) + page + change.stored
        if (written := self._file.write(line)) != len(line):
            raise OSError(f"only {written} of {len(line)} bytes went into {self.path}")

    def close(self) -> None:
        """Leave the file for whoever comes next."""
        self._file.close()

    def remove(self) -> None:
        """All that it holds is in the database."""
        self.close()
        self.path.unlink(missing_ok=True)


def journals_in(folder: Path) -> list[Path]:
    """The journals of other processes, of those that are killed and of those that run."""
    return sorted(folder.glob(f"*{_SUFFIX}"))


def changes_in(journal: Path) -> Iterator[Change]:
    """What a journal holds, in order, up to where its process was killed in the middle."""
    try:
        held = journal.read_bytes()
    except FileNotFoundError:  # its own process, or a third, has just been done with it
        return
    at = 0
    while at + _HEADER.size <= len(held):
        n_page, key, n_stored = _HEADER.unpack_from(held, at)
        page = at + _HEADER.size
        stored = page + n_page
        at = stored + n_stored
        if at > len(held):
            return
        yield Change(held[page:stored].decode(), key, held[stored:at])
