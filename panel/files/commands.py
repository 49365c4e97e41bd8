"""Commands of ours as they are printed: what a shell takes, whatever names are in them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path


def command_line(
    command: str,
    places: Sequence[str | Path] = (),
    options: Mapping[str, str | int | Path] | None = None,
) -> str:
    """Return a command as a reader can paste it into a shell.

    Args:
        command: its name: `report`, `study make`.
        places: its arguments, files and folders. One that begins with a hyphen would be taken for
            an option.
        options: the value of each, by its name.

    >>> command_line("report", ["-my run"], {"--human": "people's.csv"})
    'persona-panel report \\'./-my run\\' --human \\'people\\'"\\'"\\'s.csv\\''
    """
    words = ["persona-panel", *command.split()]
    words += [f"./{place}" if str(place).startswith("-") else str(place) for place in places]
    for name, value in (options or {}).items():
        words += [name, str(value)]
    return shlex.join(words)
