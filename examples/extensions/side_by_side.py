"""Workers side by side in one process."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from typing import Any

from persona_panel import Caps, ConfigurationError, PanelPlan, Response, Verdict
from persona_panel.clusters.messages import Pigeonholes
from persona_panel.clusters.parts import Assignment, JudgedPart, Units, at_work, verdicts_by_workers


def check(address: str | None, options: Mapping[str, Any]) -> None:
    if address or options:
        raise ConfigurationError("the engine side-by-side takes neither an address nor options")


@contextmanager
def opened(
    address: str | None, workers: int | None, options: Mapping[str, Any]
) -> Iterator["SideBySide"]:
    yield SideBySide(workers or 2)


class SideBySide:
    def __init__(self, workers: int) -> None:
        self._workers = workers

    async def verdicts(
        self,
        plan: PanelPlan,
        units: AsyncIterator[tuple[Response, ...]],
        caller: Any,
        caps: Caps,
        on_judgment: Any,
    ) -> AsyncGenerator[Verdict, None]:
        mailbox = Mailbox()
        found = verdicts_by_workers(
            plan,
            units,
            caller,
            caps,
            on_judgment,
            workers=self._workers,
            mailbox=mailbox,
            start=lambda assignment: Handle(assignment, mailbox),
            lacking=lambda: "there is room for all",
        )
        async with aclosing(found):
            async for verdict in found:
                yield verdict


class Mailbox:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._letters = Pigeonholes()

    def post(self, address: str, letter: Any) -> None:
        self._loop.call_soon_threadsafe(self._letters.put, address, letter)

    async def fetch(self, address: str) -> Sequence[Any]:
        return await self._letters.take(address)

    def wait(self, address: str) -> Sequence[Any]:
        return asyncio.run_coroutine_threadsafe(self.fetch(address), self._loop).result()


class Handle:
    def __init__(self, assignment: Assignment, mailbox: Mailbox) -> None:
        self._open = AsyncExitStack()
        self._at_work = at_work(assignment, mailbox)

    async def begin(self) -> None:
        self._worker = await self._open.enter_async_context(self._at_work)

    async def judge(self, part: Units) -> JudgedPart:
        return await self._worker.judge(part)

    async def end(self) -> None:
        await self._open.aclose()

    def kill(self) -> None:
        """It has no process of its own."""
