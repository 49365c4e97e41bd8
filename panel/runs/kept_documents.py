"""The JSON documents of a run's folder, read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.file_limits import json_of
from persona_panel.files.wording import unreadable

OF_A_RUN = "that of a run"
"""What is expected of a file of a run's folder that is another's."""


def require_folder(path: Path, name: str) -> None:
    """See that there is a folder.

    Args:
        name: what the user calls it.

    Raises:
        InputError: there is none.
    """
    if not path.is_dir():
        found = "a file" if path.is_file() else unreadable(path)
        raise InputError([Fault(name, found, "a run's folder, as `score --out` writes it")])


def kept_object(path: Path) -> dict[str, Any]:
    """The object in a file of a run.

    Raises:
        InputError: it cannot be read, or holds none.
    """
    try:
        document = json_of(path)
    except OSError:
        raise InputError([Fault(str(path), unreadable(path), OF_A_RUN)]) from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise InputError([Fault(str(path), "no JSON object", OF_A_RUN)])
    return document


def object_if_there(path: Path) -> dict[str, Any] | None:
    """The object in a file of a run, None where it cannot be read or holds none."""
    try:
        document = json_of(path)
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
