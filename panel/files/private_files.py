"""Folders and files that only their owner can read: what was judged, and what was paid for, may
be confidential.

Only what is made here is made so; the permissions of what is there already are their owner's
business.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from persona_panel.files.secrets import SECRETS

PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700


def is_lack_of_room(error: OSError) -> bool:
    """Whether something could not be written as there is no room for it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def make_private_folder(path: Path) -> None:
    """Make a folder and those above it, unless they are there; a link to one is followed.

    Raises:
        OSError: it cannot be made.
    """
    # Where a link leads to nothing, the folder that it names is made.
    Path(os.path.realpath(path)).mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)


def open_private(
    path: Path, mode: str, *, buffered: bool = True, permissions: int = PRIVATE_FILE
) -> IO[bytes]:
    """Open a file to write bytes; `mode` is `wb`, `ab` or `xb`."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, permissions)

    return open(path, mode, buffering=-1 if buffered else 0, opener=opener)


def sync(file: IO[bytes]) -> None:
    """Return once what was written is on the disk, where a power cut leaves it.

    Raises:
        OSError: it cannot be written.
    """
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def replacing(path: Path, *, permissions: int = PRIVATE_FILE) -> Iterator[IO[bytes]]:
    """A file to write in place of another: what is at `path` is the old one, or the whole new one,
    after a power cut, too."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open_private(new, "wb", permissions=permissions) as file:
            yield file
            sync(file)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def replace_file(path: Path, content: bytes, *, permissions: int = PRIVATE_FILE) -> None:
    """Write a file so that it is either the old one or the whole new one. No key is in it."""
    with replacing(path, permissions=permissions) as file:
        file.write(SECRETS.scrub_bytes(content))
