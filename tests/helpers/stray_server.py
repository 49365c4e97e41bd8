"""A server of chat completions, on bare sockets, that also sends answers nobody has asked for.

Its answers are a keyed hash of the request, so that one that belongs to another is recognised.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

_KEY = b"which request is this the answer to?"


def text_for(words: str) -> str:
    """What the server answers to these words of a user."""
    return hashlib.blake2b(words.encode(), key=_KEY, digest_size=12).hexdigest()


@dataclass
class StrayServer:
    """Serves `strays` on every connection but takes them back after `n_strays`.

    `place` says where a stray answer goes: "after" each answer, "idle" some milliseconds later,
    "together" with the answer in one write and "before" it likewise, "writing" as soon as the
    first bytes of the next request are there, "unread" before the body is read, "greeting" on a
    new connection, "shift" a moment after the head of the second request on each `every`-th
    connection, so that each later request there gets the answer to the one before. `is_copy`: it is
    the answer before, else that to another request. "swapped": the sixth answer is first sent to
    the seventh request. `answer` says what belongs to a user's words, after `latency_s`. `is_late`:
    a stray answer "after" another, or "idle", came once the next request was there.
    """

    place: str
    is_copy: bool = False
    encoding: str = ""
    n_strays: int = 1_000_000
    model: str | None = None
    delay_s: float = 0.005
    every: int = 1
    latency_s: float = 0.0
    answer: Callable[[str], str] = text_for
    base_url: str = ""
    n_connections: int = 0
    is_late: bool = False
    asked: list[str] = field(default_factory=list)
    _n: int = 0
    _last: bytes = b""
    _sixth: bytes = b""

    def serve(self, listening: socket.socket, context: ssl.SSLContext | None) -> None:
        """Answer whoever connects, until the socket is closed."""
        with suppress(OSError):
            while True:
                one, _ = listening.accept()
                self.n_connections += 1
                threading.Thread(target=self._connected, args=(one, context), daemon=True).start()

    def _connected(self, one: socket.socket, context: ssl.SSLContext | None) -> None:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            # The handshake is made by the first reading.
            one = context.wrap_socket(one, server_side=True, do_handshake_on_connect=False)
        with suppress(OSError, ValueError), closing(one):
            if self.place == "greeting":
                self._stray(one)
            held, number = b"", self.n_connections
            for n in count(1):
                while b"\r\n\r\n" not in held:
                    if not (more := one.recv(65_536)):
                        return
                    held += more
                head, _, held = held.partition(b"\r\n\r\n")
                if head.startswith(b"CONNECT"):
                    one.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    continue
                if self.place == "unread" or (self.place == "writing" and self._n):
                    self._stray(one)
                if self.place == "shift" and n == 2 and number % self.every == 0:
                    time.sleep(0.002)
                    self._stray(one)
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                while len(held) < length:
                    held += one.recv(1 << 20)
                self._answer(one, json.loads(held[:length]))
                held = held[length:]

    def _answer(self, one: socket.socket, request: dict[str, Any]) -> None:
        words = request["messages"][-1]["content"]
        self.asked.append(words)
        nth = len(self.asked)
        if self.place == "unread":
            time.sleep(self.delay_s)
        time.sleep(self.latency_s)
        answer = self._completion(self.answer(words), request["model"])
        if self.place == "swapped" and nth == 6:
            self._sixth = answer
            time.sleep(0.3)
        elif self.place == "swapped" and nth == 7:
            while not self._sixth:
                time.sleep(0.01)
            answer = self._sixth
        if self.place == "together":
            answer = answer + self._other(answer)
        elif self.place == "before":
            answer = self._other(answer) + answer
        one.sendall(answer)
        self._last = answer
        if self.place in ("after", "idle") and self.n_strays > 0:
            time.sleep(self.delay_s if self.place == "idle" else 0.0)
            self._stray(one)
            self.is_late |= bool(select.select([one], [], [], 0.0)[0])

    def _stray(self, one: socket.socket) -> None:
        one.sendall(self._other(self._last))

    def _other(self, answer: bytes) -> bytes:
        if self.n_strays <= 0:
            return b""
        self.n_strays -= 1
        if self.is_copy:
            return self._last
        return self._completion(self.answer(f"another's, {self._n}"), self.model or "m")

    def _completion(self, text: str, model: str) -> bytes:
        self._n += 1
        content = {
            "id": f"chatcmpl-{hashlib.md5(b'%d' % self._n).hexdigest()}",
            "object": "chat.completion",
            "created": 1_732_000_000 + self._n,
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        }
        body = json.dumps(content).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        if "gzip" in self.encoding:
            body = gzip.compress(body, mtime=0)
            head += b"Content-Encoding: gzip\r\n"
        if "chunked" in self.encoding:
            parts = [body[at : at + 100] for at in range(0, len(body), 100)]
            body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
            return head + b"Transfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n\r\n"
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


@contextmanager
def stray_server(
    place: str, *, context: ssl.SSLContext | None = None, **settings: Any
) -> Iterator[StrayServer]:
    """One that runs for as long as the block lasts."""
    server = StrayServer(place, **settings)
    with closing(socket.create_server(("127.0.0.1", 0), backlog=256)) as listening:
        scheme = "http" if context is None else "https"
        server.base_url = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/v1"
        threading.Thread(target=server.serve, args=(listening, context), daemon=True).start()
        yield server
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


Sender = Callable[[str], Any]
