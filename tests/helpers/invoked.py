"""The command in this process, for tests of what it prints and writes: a process takes seconds."""

from __future__ import annotations

import subprocess
from pathlib import Path

from click.testing import CliRunner

from persona_panel.cli.main import command


def invoked(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs `persona-panel` with these arguments in the present folder, on a wide terminal's
    width."""
    done = CliRunner().invoke(command, [*map(str, arguments)], env={"COLUMNS": "160"} | env)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)
