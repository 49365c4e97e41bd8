"""The command as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("persona-panel"))
"""Where it is installed."""
Command = Callable[..., subprocess.CompletedProcess[str]]
"""Runs it with these arguments; see the fixture `command`."""
