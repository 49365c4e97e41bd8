"""A scripted HTTP server that speaks OpenAI's chat completions and batches: `serving(script)`."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
from aiohttp import web

from persona_panel.testing.answers import MODEL, Call, Script, always, ok
from persona_panel.testing.batches import ScriptedBatches

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

    async def start(self, port: int = 0) -> web.ServerRunner:
        """Listen on 127.0.0.1; the runner's `cleanup` ends it. Port 0 is any free one."""
        # The low-level server: a router and its middlewares would cost a benchmark CPU.
        server = web.Server(self._handle, access_log=None)
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, backlog=4096).start()
        self.port = runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        return runner

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if _host_of(request) not in _OWN_HOSTS:
            # A page in a browser, whose own name was made to lead here (DNS rebinding).
            said = {"message": "this server answers to 127.0.0.1 and localhost"}
            return web.json_response({"error": said}, status=421)
        if request.path == "/v1/models":
            return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        if request.path == "/calls":
            kinds = dict(self.kinds)
            return web.json_response(
                {"received": self._count, "in_flight": self._in_flight} | {"kinds": kinds}
            )
        if request.path.startswith(("/v1/files", "/v1/batches")):
            return await self.batches.handle(request, self._answer_row)
        if request.path not in ("/v1/chat/completions", "/v1/messages"):
            return web.json_response({"error": {"message": "no such path"}}, status=404)
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

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        payload = orjson.loads(await request.content.read())
        call = Call(request.headers, payload, time.monotonic())
        if self._keep_calls:
            self.calls.append(call)
        number, self._count = self._count, self._count + 1
        answer = self._script(number, payload)
        self.kinds[answer.kind] += 1
        if wait_s := self._latency_s + answer.wait_s:
            await asyncio.sleep(wait_s)
        body = answer.body(call)
        if answer.ending == "whole":
            headers = {"Content-Type": "application/json", **answer.headers}
            return web.Response(body=body, status=answer.status, headers=headers)
        return await _broken_off(request, body if answer.ending == "half" else b"")


def _host_of(request: web.BaseRequest) -> str:
    """The host that a request names, without its port."""
    return request.headers.get("Host", "").rpartition(":")[0].lower()


async def _broken_off(request: web.BaseRequest, body: bytes) -> web.StreamResponse:
    """Half of a body and the end of the connection, or without one a reset."""
    response = web.StreamResponse()
    transport = request.transport
    if transport is None:
        return response
    if body:
        response.content_length = len(body)
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        transport.close()
    else:
        # Closed with a linger of zero seconds, a socket sends a reset.
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
    return response


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
        runner = await server.start(port)
        ready.set()
        await done.wait()
        await runner.cleanup()

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
