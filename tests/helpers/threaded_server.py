"""A local HTTP server in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from aiohttp import web

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@contextmanager
def listening(handle: Handle) -> Iterator[str]:
    """Its address, for as long as the block lasts."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    url: list[str] = []

    async def start() -> web.ServerRunner:
        server = web.Server(handle, access_log=None)
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        url.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        return runner

    def run() -> None:
        runner = loop.run_until_complete(start())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        # A moment for the connections to close.
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield url[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
