"""Commands as processes whose imports are done already: see `fork_server`."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO

from tests.helpers import fork_client
from tests.helpers.fork_client import ADDRESS, Forked

ROOT = Path(__file__).parents[2]


_starting = Lock()


def address() -> str:
    """Where this process's server listens; begun when first asked for."""
    with _starting:
        return _address()


@cache
def _address() -> str:
    folder = Path(tempfile.mkdtemp(prefix="forks"))
    made = [sys.executable, "-m", "tests.helpers.fork_server", str(folder / "socket")]
    server = subprocess.Popen(
        made, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        # The code beside these tests, also where they are a copy.
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip

    def end() -> None:
        server.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return str(folder / "socket")


def begun(
    arguments: Sequence[str | Path],
    folder: Path,
    env: Mapping[str, str],
    output: IO[bytes] | None = None,
) -> Forked:
    """`persona-panel` or Python with these arguments, begun; what it prints goes to a file."""
    with Path(os.devnull).open("r+b") as nothing:
        to = nothing if output is None else output
        streams = (nothing.fileno(), to.fileno(), to.fileno())
        return Forked(address(), [*map(str, arguments)], str(folder), env, streams)


def run(
    arguments: Sequence[str | Path],
    folder: Path,
    env: Mapping[str, str],
    *,
    stdin: bytes = b"",
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run `persona-panel`, or Python, with these arguments; its output is UTF-8."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        reading, writing = os.pipe()
        streams = (reading, out.fileno(), err.fileno())
        process = Forked(address(), [*map(str, arguments)], str(folder), env, streams)
        os.close(reading)
        try:
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(stdin)
        except BrokenPipeError:
            pass  # It ended without reading.
        try:
            status = process.wait(timeout)
        except TimeoutError:
            process.kill()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(
            [*arguments], status, out.read().decode(), err.read().decode()
        )


@cache
def for_shells() -> Mapping[str, str]:
    """The environment in which a shell's `persona-panel` and `python` are forks."""
    folder = Path(address()).with_name("bin")
    folder.mkdir()
    source = Path(fork_client.__file__).read_text("utf-8")
    for name in ("persona-panel", "python"):
        file = folder / name
        file.write_text(f"#!{sys.executable} -IS\n{source}", "utf-8")
        file.chmod(0o755)
    scripts = Path(sys.executable).parent
    return {
        ADDRESS: address(),
        "PATH": os.pathsep.join([str(folder), str(scripts), os.environ["PATH"]]),
    }


def kill_when_called(process: Forked, calls: Sequence[object], n: int) -> None:
    """Kill -9 a command once a server has had `n` calls, which it must not end before."""
    until = time.monotonic() + 60
    while len(calls) < n:
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < until
        time.sleep(0.002)
    process.kill()
    assert process.wait(10) == -signal.SIGKILL
