"""Which runs are below a folder, by names that an address can have.

A name is the path of a run's folder below the root, with `/` between its parts; `.` is the root
itself. No name leads out of the root but by a link to a run's folder that a user has put there, and
a run's folder in which a file is a link is not read: it could be any file of this machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from urllib.parse import quote, unquote_to_bytes

from persona_panel.files.outputs import RUN_FILES

MANIFEST = "run.json"
PAGE = "report.html"
_READ = (*sorted(RUN_FILES), PAGE, ".judgments.jsonl.new")
_DEEPEST = 4
"""Levels below the root at which runs are looked for."""


class RunFolders:
    """The run folders below a folder.

    Attributes:
        root: the folder, which is there.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        """Return the names of the runs, in no order. Hidden folders and those within a run's are
        left out."""
        return [*self._below(self.root, ())]

    def _below(self, folder: Path, parts: tuple[str, ...]) -> Iterator[str]:
        if _is_run(folder):
            yield "/".join(parts) or "."
            return
        if len(parts) >= _DEEPEST:
            return
        try:
            with os.scandir(folder) as entries:
                names = [entry for entry in entries if entry.is_dir() and entry.name[0] != "."]
        except OSError:
            return
        for entry in names:
            below, inner = Path(entry.path), (*parts, entry.name)
            if not entry.is_symlink():
                yield from self._below(below, inner)
            elif _is_run(below):
                yield "/".join(inner)

    def path_of(self, name: str) -> Path | None:
        """Return the folder of the run of this name; None where there is none."""
        if name == ".":
            return self.root if _is_run(self.root) else None
        parts = name.split("/")
        if len(parts) > _DEEPEST or any(part[:1] in ("", ".") or "\0" in part for part in parts):
            return None
        path = self.root
        for part in parts[:-1]:
            path /= part
            if path.is_symlink() or _is_run(path):
                return None
        path /= parts[-1]
        return path if os.sep not in parts[-1] and _is_run(path) else None


def quoted(name: str) -> str:
    """Return a name as a part of an address; bytes that are no UTF-8 are kept."""
    return quote(os.fsencode(name), safe="")


def unquoted(part: str) -> str:
    """Return the name that a part of an address is."""
    return os.fsdecode(unquote_to_bytes(part))


def linked_file(folder: Path) -> str | None:
    """Return the first file of a run's folder that is a link or no file; None where none is."""
    for name in _READ:
        try:
            mode = (folder / name).lstat().st_mode
        except OSError:
            continue
        if not S_ISREG(mode):
            return name
    return None


def _is_run(folder: Path) -> bool:
    try:
        return S_ISREG((folder / MANIFEST).lstat().st_mode)
    except OSError:
        return False
