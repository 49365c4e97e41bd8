"""Asks the fork server (see `fork_server`) for a command, and waits for its end.

With a first line that names an interpreter this file is `persona-panel` or `python` for shells, so
it imports little.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

NUMBER = 8
"""How many bytes a number has on its way."""
ADDRESS = "PERSONA_PANEL_TESTS_FORK_SERVER"
"""The variable that tells a shell's commands where the server listens."""


def as_bytes(number: int) -> bytes:
    """A number on its way between the server and who asks."""
    return number.to_bytes(NUMBER, "big", signed=True)


class Forked:
    """A command begun by the server at `address`: a process with these standard streams."""

    def __init__(
        self,
        address: str,
        arguments: Sequence[str],
        folder: str,
        env: Mapping[str, str],
        streams: Sequence[int] = (0, 1, 2),
    ) -> None:
        os.umask(umask := os.umask(0))
        asked = json.dumps([[*arguments], folder, {**env}, umask]).encode()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(address)
        socket.send_fds(self._socket, [as_bytes(len(asked))], [*streams])
        self._socket.sendall(asked)
        self.pid = self._number()
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, as subprocess has it: negative for the signal that ended it.

        Raises:
            TimeoutError: it goes on after these seconds.
        """
        if self.returncode is None:
            self._socket.settimeout(timeout)
            self.returncode = self._number()
            self._socket.close()
        return self.returncode

    def poll(self) -> int | None:
        """Its exit status; None while it goes on."""
        if self.returncode is None and not select.select([self._socket], [], [], 0)[0]:
            return None
        return self.wait()

    def send_signal(self, number: int) -> None:
        """Send it this signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Send it SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _number(self) -> int:
        number = self._socket.recv(NUMBER, socket.MSG_WAITALL)
        assert len(number) == NUMBER, "the fork server has ended"
        return int.from_bytes(number, "big", signed=True)


if __name__ == "__main__":
    ended = Forked(os.environ[ADDRESS], sys.argv, os.getcwd(), os.environ).wait()  # noqa: PTH109
    sys.exit(ended if ended >= 0 else 128 - ended)
