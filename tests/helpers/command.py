"""The command as a user runs it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("persona-panel"))
"""Where it is installed."""
Command = Callable[..., subprocess.CompletedProcess[str]]
"""Runs it with these arguments; see the fixture `command`."""


READING = re.compile(r": [\d,]+ items?, [\d,]+ raters? \(.* missing[.;]")
"""How a file of ratings was read, on standard error."""


def told(stderr: str) -> list[str]:
    """The lines on standard error but those of how a file of ratings was read, and of the progress
    of an analysis, which come where a machine takes more than five seconds for it."""
    return [
        line
        for line in stderr.splitlines()
        if "% of the statistics, about" not in line and not READING.search(line)
    ]
