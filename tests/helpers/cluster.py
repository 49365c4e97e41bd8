"""Workers of a run in this process, beside their driver: the letters need no network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from persona_panel import PanelPlan, Response
from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.caller import Caller
from persona_panel.clusters.lease_server import LeaseServer
from persona_panel.clusters.messages import Pigeonholes
from persona_panel.clusters.parts import Assignment, Worker, at_work
from persona_panel.runs.executor import prepared


class LocalMailbox:
    """A mailbox for one event loop."""

    def __init__(self) -> None:
        self._pigeonholes = Pigeonholes()
        self._loop = asyncio.get_running_loop()

    def post(self, address: str, letter: Any) -> None:
        self._loop.call_soon_threadsafe(self._pigeonholes.put, address, letter)

    async def fetch(self, address: str) -> Sequence[Any]:
        return await self._pigeonholes.take(address)

    def wait(self, address: str) -> Sequence[Any]:
        return asyncio.run_coroutine_threadsafe(self.fetch(address), self._loop).result(30)


@asynccontextmanager
async def workers_of(
    plan: PanelPlan, n: int, caps: Caps = NO_CAPS
) -> AsyncIterator[tuple[Caller, LeaseServer, list[Worker]]]:
    """The driver's caller, and so many workers that lease from it."""
    async with prepared(plan, caps) as caller:
        mailbox = LocalMailbox()
        async with LeaseServer(caller, mailbox).serving() as server, AsyncExitStack() as stack:
            workers = []
            for number in range(n):
                assignment = Assignment(f"w{number}", plan, caps, caller.store.location)
                workers.append(await stack.enter_async_context(at_work(assignment, mailbox)))
            yield caller, server, workers


def parts(responses: Sequence[Response], n: int) -> list[list[tuple[Response, ...]]]:
    """The responses dealt out to so many workers."""
    return [[(response,) for response in responses[place::n]] for place in range(n)]
