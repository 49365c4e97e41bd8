"""A file of JSON lines that grows while a run goes on, and never loses what it held.

A run that goes on from another one begins its lines anew: what was done before comes back from
the cache. They gather in a hidden file beside the old one, and take its place as soon as they
have every result that it has. So the file is whole at any moment, and a run that cannot bring
those results back (its cache is gone, say) takes none away.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from persona_panel.files.documents import as_json
from persona_panel.files.errors import RunFolderError
from persona_panel.files.file_limits import lines_of
from persona_panel.files.private_files import open_private, sync
from persona_panel.files.secrets import SECRETS

try:
    import fcntl
except ImportError:  # Windows has none: there two runs must be kept apart by hand
    fcntl = None  # type: ignore[assignment]

_GATHERED_BYTES = 1 << 16

KeyOf = Callable[[Mapping[str, Any]], Hashable | None]


class AppendedFile:
    """A file, open for adding lines; locked against other runs until it is closed.

    Attributes:
        is_empty: whether no line was added yet.

    Args:
        path: of the file, which may be there.
        key_of: what a line holds the result of; None where it is none that must be kept.
        fresh: whether what the file holds is to go.
        until_first: whether what is to go stays until there is a line to take its place.
        shown: what is written, for the error of a run that comes second; the file's folder where
            nothing is given.

    Raises:
        RunFolderError: another run is writing to it.
        OSError: it cannot be written.
    """

    def __init__(
        self,
        path: Path,
        key_of: KeyOf,
        *,
        fresh: bool,
        until_first: bool = False,
        shown: Path | None = None,
    ) -> None:
        self._path, self._key_of = path, key_of
        shown = shown or path.parent
        # Not emptied before it is sure that nobody else is writing it.
        self._held = open_private(path, "ab", buffered=False)
        _lock(self._held, shown)
        self._missing = set() if fresh else results_in(path, key_of)
        self._new: Path | None = None
        self.is_empty = True
        if self._missing or (fresh and until_first and path.stat().st_size):
            self._new = path.with_name(f".{path.name}.new")
            self._file = open_private(self._new, "wb", buffered=False)
            # It is locked too by the time that it takes the other's name.
            _lock(self._file, shown)
        else:
            self._file = self._held
            self._file.truncate(0)
        # Only whole lines are written, so that a kill leaves no half of one.
        self._lines: list[bytes] = []
        self._gathered = 0

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a line; it is in the file after the next flush at the latest."""
        text = SECRETS.scrub_bytes(as_json(line, orjson.OPT_APPEND_NEWLINE))
        self._lines.append(text)
        self._gathered += len(text)
        self.is_empty = False
        if self._new is not None and (key := self._key_of(line)) is not None:
            self._missing.discard(hash(key))
        if self._gathered >= _GATHERED_BYTES:
            self.flush()
        # An open file cannot be renamed everywhere.
        if self._new is not None and not self._missing and fcntl is not None:
            self._take_place()

    def flush(self) -> None:
        """Hand what was appended to the operating system.

        Raises:
            OSError: it cannot be written; no part of a line is.
        """
        end = self._file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(b"".join(self._lines))
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(end)
            raise
        self._lines.clear()
        self._gathered = 0

    def close(self) -> int:
        """Close the file; gives how many results it held that were not added again. If there are
        any, or nothing has come to take the place of what was to stay until then, it is what it
        was before.

        Raises:
            OSError: the last lines cannot be written.
        """
        try:
            self.flush()
            sync(self._file)
        finally:
            self._file.close()
            self._held.close()
        if self._new is not None:
            if self._missing or self.is_empty:
                self._new.unlink()
            else:
                self._new.replace(self._path)
        return len(self._missing)

    def _take_place(self) -> None:
        if self._new is not None:
            self.flush()
            sync(self._file)
            self._new.replace(self._path)
            self._new = None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a file, which is made if need be, for this run; what it holds stays.

    Raises:
        RunFolderError: another run has it.
        OSError: it cannot be made.
    """
    with open_private(path, "ab", buffered=False) as file:
        _lock(file, path)
        yield


def results_in(path: Path, key_of: KeyOf) -> set[int]:
    """The results that a file has, by their keys' hashes: a run may have millions."""
    found = set()
    for text in lines_of(path):
        try:
            key = key_of(orjson.loads(text))
        except (ValueError, LookupError, TypeError, AttributeError):
            # A kill has torn it.
            continue
        if key is not None:
            found.add(hash(key))
    return found


def _lock(file: IO[bytes], shown: Path) -> None:
    """Keep a file for this run while it is open; that ends with the process, however it ends.

    Raises:
        RunFolderError: another process, or another run of this one, writes there.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise RunFolderError(
            f"another run is writing to {shown}; wait for it, or choose another --out"
        ) from None
