"""Runs' folders at addresses that fsspec knows (`s3://…`, `gs://…`).

What is there can neither be appended to nor locked, and a run's files are read in pieces: so a run
there is read and written in a copy on this machine, and what has changed is sent back.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from panel.errors import Fault, InputError
from panel.io.file_sets import (
    file_system,
    is_address,
    said_of,
    temporary_folder,
    with_lower_scheme,
)  # fmt: skip
from panel.secrets import without_credentials

_MANIFEST = "run.json"
_EXPECTED = "a run's folder, as `score --out` writes it"
_Stamp = tuple[int, int]
_addresses: dict[Path, str] = {}


class RemoteFolder:
    """The files of a folder at an address, without those of folders in it; names that begin with a
    dot are not among them.

    Attributes:
        address: where it is, as it is shown: without passwords and tokens.

    Raises:
        InputError: the package for such an address is not installed, or it is none.
    """

    def __init__(self, address: str) -> None:
        shown = without_credentials(with_lower_scheme(address))
        # The slashes of `memory://` and the last of `file:///` belong to it.
        self.address = re.sub(r"(?<![:/])/+$", "", shown)
        self._system, self._root = file_system(address, _EXPECTED)

    def names(self) -> list[str]:
        """What the files are called, in order; none where there is no such folder."""
        self._system.invalidate_cache()
        try:
            listed: list[dict[str, Any]] = self._system.ls(self._root, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        # Of a file, its own entry is listed; a folder may have one with an empty name.
        names = [
            str(one["name"]).rstrip("/").removeprefix(self._root.rstrip("/")).lstrip("/")
            for one in listed
            if one["type"] == "file"
        ]
        return sorted(name for name in names if name and "/" not in name and name[0] != ".")

    def is_run(self) -> bool:
        """Whether it is a run's folder."""
        self._system.invalidate_cache()
        return bool(self._system.isfile(self._path(_MANIFEST)))

    def manifest(self) -> Mapping[str, Any]:
        """Its run.json; empty where there is none, or one that is no object."""
        try:
            found = orjson.loads(self._system.cat_file(self._path(_MANIFEST)))
        except (FileNotFoundError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def fetch(self, names: list[str], folder: Path) -> None:
        """Copy files into a folder that is there."""
        for name in names:
            self._system.get_file(self._path(name), str(folder / name))

    def send(self, file: Path) -> None:
        """Put a file there under its name, in place of another."""
        self._system.put_file(str(file), self._path(file.name))

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._system.rm_file(self._path(name))

    def try_to_write(self) -> None:
        """See that files can be put there, by an empty one that is removed again."""
        probe = self._path(".persona-panel")
        try:
            self._system.pipe_file(probe, b"")
        except FileNotFoundError:
            # A folder that is still to be made; but a bucket is nothing to be made by the way.
            if not self._system.exists(self._root.partition("/")[0] or "/"):
                raise
            self._system.makedirs(self._root, exist_ok=True)
            self._system.pipe_file(probe, b"")
        self._system.rm_file(probe)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"


class RunCopy:
    """A copy of a run's folder, at `path`.

    Args:
        fetched: names of the files that are known there; all that the copy has and they are not,
            or that changes from now on, is sent.
    """

    def __init__(self, there: RemoteFolder, path: Path, fetched: Mapping[str, _Stamp]) -> None:
        self.path = path
        self._there = there
        self._sent = dict(fetched)
        show_as(path, there)

    def send_changes(self, *, removing: bool = False) -> None:
        """Send files that have changed; run.json comes last, so that a run that begins with it is
        whole.

        Args:
            removing: whether files that are gone here are removed there. None is where run.json is
                gone: then it is the copy that has vanished.
        """
        now = stamps_of(self.path)
        changed = [name for name, stamp in now.items() if self._sent.get(name) != stamp]
        for name in sorted(changed, key=lambda name: (name == _MANIFEST, name)):
            self._there.send(self.path / name)
        if removing and _MANIFEST in now:
            for name in sorted(self._sent.keys() - now.keys()):
                self._there.remove(name)
        self._sent = now


def stamps_of(folder: Path) -> dict[str, _Stamp]:
    """The files of a folder, but hidden ones, each with what changes when it is written."""
    found = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_file() and path.name[0] != ".":
            about = path.stat()
            found[path.name] = (about.st_mtime_ns, about.st_size)
    return found


def copied_run(source: str | Path) -> RunCopy | None:
    """A run's folder at an address, copied to this machine until the process ends; None for what
    is no address, and for an address of something else.

    Raises:
        InputError: what is there cannot be read.
    """
    if not is_address(source):
        return None
    there = RemoteFolder(str(source))
    try:
        if not there.is_run():
            return None
        names = there.names()
        parent = Path(tempfile.mkdtemp(dir=temporary_folder()))
        path = parent / "run"
        path.mkdir()
        there.fetch(names, path)
    # Each package raises what it likes for a key, a network or a bucket.
    except Exception as error:
        found = f"what cannot be read ({said_of(error)})"
        raise InputError([Fault(there.address, found, _EXPECTED)]) from None
    return RunCopy(there, path, stamps_of(path))


def local_run(source: str | Path) -> str | Path:
    """Where a run's folder can be read: that of a copy for one at an address; all else is given
    back.

    Raises:
        InputError: as `copied_run`.
    """
    copy = copied_run(source)
    return source if copy is None else copy.path


def show_as(folder: Path, there: RemoteFolder) -> None:
    """Have messages call a copy by the address that it is of; see `shown_folder`."""
    _addresses[folder] = there.address


def shown_folder(folder: Path) -> str:
    """What a run's folder is called: of a copy, its address, without passwords and tokens."""
    return _addresses.get(folder, str(folder))
