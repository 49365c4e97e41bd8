"""A scripted HTTP server that speaks OpenAI's chat completions and batches: `serving(script)`."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import orjson

from persona_panel.testing.answers import MODEL, Call, Script, always, ok
from persona_panel.testing.batches import ScriptedBatches
from persona_panel.testing.wire import Reply, Request, listening

_OWN_HOSTS = ("127.0.0.1", "localhost")
"""The names under which the server is reached; its port is never the usual one, and named, too."""


class ScriptedServer:
    """The server at work. `base_url` ends in /v1; `in_flight_max` counts calls at once; `batches`
    has the batches that were made, and says what becomes of them."""

    def __init__(self, script: Script, latency_s: float = 0.0, *, keep_calls: bool = True) -> None:
        self.base_url = ""
        self.port = 0
        self.calls: list[Call] = []
        self.in_flight_max = 0
        self._script = script
        self._latency_s = latency_s
        self._keep_calls = keep_calls
        self._in_flight = 0
        self._count = 0
        self.kinds: Counter[str] = Counter()
        self.batches = ScriptedBatches()

    @asynccontextmanager
    async def listening(self, port: int = 0) -> AsyncIterator[None]:
        """Listen on 127.0.0.1 for as long as the block lasts. Port 0 is any free one."""
        async with listening(self._handle, port) as self.port:
            self.base_url = f"http://127.0.0.1:{self.port}/v1"
            yield

    async def _handle(self, request: Request) -> Reply:
        if request.headers.get("Host", "").rpartition(":")[0].lower() not in _OWN_HOSTS:
            # A page in a browser, whose own name was made to lead here (DNS rebinding).
            return Reply.error("this server answers to 127.0.0.1 and localhost", 421)
        if request.path == "/v1/models":
            return Reply.json({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        if request.path == "/calls":
            counts = {"received": self._count, "in_flight": self._in_flight}
            return Reply.json(counts | {"kinds": dict(self.kinds)})
        if request.path.startswith(("/v1/files", "/v1/batches")):
            return self.batches.handle(request, self._answer_row)
        if request.path not in ("/v1/chat/completions", "/v1/messages"):
            return Reply.error("no such path", 404)
        self._in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self._in_flight)
        try:
            return await self._answer(request)
        finally:
            self._in_flight -= 1

    def _answer_row(self, payload: Mapping[str, Any]) -> tuple[int, bytes]:
        """The script's answer to a row of a batch."""
        answer = self._script(self._count, payload)
        self._count += 1
        return answer.status, answer.body(Call({}, payload, time.monotonic()))

    async def _answer(self, request: Request) -> Reply:
        payload = orjson.loads(request.body)
        call = Call(request.headers, payload, time.monotonic())
        if self._keep_calls:
            self.calls.append(call)
        number, self._count = self._count, self._count + 1
        answer = self._script(number, payload)
        self.kinds[answer.kind] += 1
        if wait_s := self._latency_s + answer.wait_s:
            await asyncio.sleep(wait_s)
        headers = {"Content-Type": "application/json", **answer.headers}
        return Reply(answer.body(call), answer.status, headers, answer.ending)


@contextmanager
def serving(
    script: Script | None = None, *, latency_s: float = 0.0, port: int = 0
) -> Iterator[ScriptedServer]:
    """The server, in a thread with a loop of its own, for as long as the block lasts."""
    server = ScriptedServer(script or always(ok()), latency_s)
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def work() -> None:
        async with server.listening(port):
            ready.set()
            await done.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as loop_runner:
            loop_runner.run(work())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the test server did not start")
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)
