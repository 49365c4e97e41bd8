"""The command as a user runs it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("persona-panel"))

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs `persona-panel` with these arguments in tmp_path, on a wide terminal's width."""

    def run(
        *arguments: str | Path, stdin: str | bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[str]:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            input=given,
            capture_output=True,
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "160"} | env,
            timeout=120,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run
