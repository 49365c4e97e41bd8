"""A real Redis (or Valkey) server for the tests of the shared cache: the system's."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.ports import free_port

if TYPE_CHECKING:
    import redis

PASSWORD = "canary/4f9e:0123@456789"
"""It holds what must be written otherwise in an address."""
_NAMES = ("redis-server", "valkey-server")


class RedisServer:
    """A server in a folder of its own, with a password, that can be killed and started again."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.options = {"appendonly": "yes", "appendfsync": "always"}

    @property
    def address(self) -> str:
        return f"redis://:canary%2F4f9e%3A0123%40456789@127.0.0.1:{self.port}/0"

    def client(self) -> redis.Redis:
        import redis

        return redis.Redis(port=self.port, password=PASSWORD)

    def start(self) -> None:
        options = {
            "port": str(self.port), "bind": "127.0.0.1", "dir": str(self._folder), "save": "",
            "requirepass": PASSWORD, **self.options,
        }  # fmt: skip
        command = [self._program, *(word for key in options for word in (f"--{key}", options[key]))]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        limit = time.monotonic() + 20
        from redis import RedisError

        with self.client() as client:
            while True:
                try:
                    client.ping()
                    return
                except RedisError:
                    assert time.monotonic() < limit
                    assert self._process.poll() is None
                    time.sleep(0.02)

    def kill(self) -> None:
        """As `kill -9` does: without a word to anybody, and nothing saved."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """A server; skips the test where there is none, but under CI, which has installed it."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None and "PERSONA_PANEL_ALL_EXTRAS" not in os.environ:
        pytest.skip("no Redis server on this machine: apt-get install redis-server")
    assert found is not None, "no Redis server, which .ci/run installs"
    server = RedisServer(found, folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
