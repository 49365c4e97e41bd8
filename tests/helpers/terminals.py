"""A command whose standard error is a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_DRAWN_ANEW = re.compile(r"(?:\r?\x1b\[2K(?:\x1b\[1A\x1b\[2K)*)+")


def drawn(
    command: Sequence[str | Path],
    folder: Path,
    columns: int,
    *,
    lines: int = 50,
    env: Mapping[str, str] | None = None,
) -> str:
    """Everything that a command drew on a terminal of this size, until it ended."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        command, cwd=folder, env=known | {"TERM": "xterm-256color"} | dict(env or {}),
        stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    content = b""
    with process:
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux: nobody has the terminal open any more.
                break
            if not piece:
                break
            content += piece
    os.close(ours)
    return content.decode()


def frames(content: str) -> list[list[str]]:
    """What a live display showed at each moment, line by line."""
    return [
        [line.rstrip() for line in re.split(r"[\r\n]+", CONTROL.sub("", frame))]
        for frame in _DRAWN_ANEW.split(content)
    ]
