"""Addresses that fsspec reaches (`s3://bucket/run`), the one test that tells them from paths, which
needs no heavy import, and the folder for this process's copies of what is there."""

from __future__ import annotations

import atexit
import re
from functools import cache
from pathlib import Path

from persona_panel.files.errors import Fault, InputError

_ADDRESS = re.compile(r"[a-z][a-z0-9+.:-]+://", re.IGNORECASE)
# One letter is a drive of Windows.
_BEGUN = re.compile(r"([a-z][a-z0-9+.:-]+):/+", re.IGNORECASE)


def is_address(name: object) -> bool:
    """Return whether a name is that of a place which fsspec reaches: `s3://bucket/run`."""
    return isinstance(name, str) and _ADDRESS.match(name) is not None


def is_meant_as_address(name: str | Path) -> bool:
    """Return whether a name is an address, or has one slash too few: `s3:/bucket/run`, as a `Path`
    of an address has."""
    return _BEGUN.match(str(name)) is not None


def refuse_one_slash(path: str | Path) -> None:
    """Refuse an address that is written with one slash. Raises InputError: it has one slash; says
    how to write it."""
    name = str(path)
    if not is_address(path) and (begun := _BEGUN.match(name)):
        root = "/" if begun[1].lower() == "file" else ""
        expected = f"{begun[1]}://{root}{name[begun.end() :]}, as text, or another folder"
        raise InputError([Fault(name, "an address with one slash", expected)])


@cache
def temporary_folder() -> Path:
    """Make a folder of this process, which is removed when the process ends; each call returns the
    same one."""
    import tempfile

    atexit.register(remove_temporary_folder)
    return Path(tempfile.mkdtemp(prefix="persona-panel-"))


def remove_temporary_folder() -> None:
    """Remove the temporary folder, for a process that ends without its registered exit
    functions.
    """
    if temporary_folder.cache_info().currsize:
        import shutil

        shutil.rmtree(temporary_folder(), ignore_errors=True)
