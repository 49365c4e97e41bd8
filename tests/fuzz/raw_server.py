"""A server that sends the bytes that it is handed, whatever they are, and closes the connection."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress


def answering() -> tuple[str, Callable[[bytes], None]]:
    """Its address, and what sets the bytes that it sends from then on."""
    listening = socket.create_server(("127.0.0.1", 0))
    said = [b""]

    def serve() -> None:
        while True:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.settimeout(5)
                asked = b""
                while b'"messages"' not in asked and (more := connection.recv(65_536)):
                    asked += more
                connection.sendall(said[0])

    threading.Thread(target=serve, daemon=True).start()

    def say(answer: bytes) -> None:
        said[0] = answer

    return f"http://127.0.0.1:{listening.getsockname()[1]}/v1", say
