"""The check for authors of engines, where a worker is killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, nullcontext
from typing import Any

import pytest

from persona_panel import Caps, PanelPlan, Response, Verdict
from persona_panel.calls.caller import Caller
from persona_panel.clusters.parts import (
    Assignment,
    JudgedPart,
    Units,
    WorkerLost,
    at_work,
    verdicts_by_workers,
)
from persona_panel.runs.executor import OnJudgment
from persona_panel.testing import check_engine
from tests.helpers.cluster import LocalMailbox

After = Callable[[], Awaitable[None]]


class Impatient(LocalMailbox):
    """One whose threads do not wait for long when the run is over."""

    def wait(self, address: str) -> Sequence[Any]:
        return asyncio.run_coroutine_threadsafe(self.fetch(address), self._loop).result(5)


class Mortal:
    """A worker of this process, which can be killed."""

    def __init__(self, assignment: Assignment, mailbox: LocalMailbox, after: After) -> None:
        self._open = AsyncExitStack()
        self._at_work = at_work(assignment, mailbox)
        self._after = after
        self._loop = asyncio.get_running_loop()
        self._judging = set[asyncio.Task[JudgedPart]]()
        self._is_gone = False

    async def begin(self) -> None:
        self._worker = await self._open.enter_async_context(self._at_work)

    async def judge(self, part: Units) -> JudgedPart:
        task = asyncio.create_task(self._worker.judge(part))
        self._judging.add(task)
        await asyncio.wait({task})
        if self._is_gone:
            await self._after()
        return task.result()

    async def end(self) -> None:
        await self._open.aclose()

    def kill(self) -> None:
        """It has no process of its own."""

    def lose(self) -> None:
        """From another thread: as if its process were killed."""
        asyncio.run_coroutine_threadsafe(self._lost(), self._loop).result()

    async def _lost(self) -> None:
        self._is_gone = True
        for task in self._judging:
            task.cancel()
        await asyncio.wait(self._judging)
        await self._open.aclose()


class WithWorkers:
    """An engine of which a worker can be lost, and `after` comes of what it was asked."""

    def __init__(self, after: After) -> None:
        self._after = after
        self._handles: list[Mortal] = []

    async def verdicts(
        self,
        plan: PanelPlan,
        units: AsyncIterator[tuple[Response, ...]],
        caller: Caller,
        caps: Caps,
        on_judgment: OnJudgment,
    ) -> AsyncGenerator[Verdict, None]:
        mailbox = Impatient()

        def start(assignment: Assignment) -> Mortal:
            self._handles.append(Mortal(assignment, mailbox, self._after))
            return self._handles[-1]

        found = verdicts_by_workers(
            plan, units, caller, caps, on_judgment, workers=2, mailbox=mailbox, start=start,
            lacking=lambda: "there is room",
        )  # fmt: skip
        async with aclosing(found):
            async for verdict in found:
                yield verdict

    def kill(self) -> None:
        self._handles[-1].lose()


async def raise_that_it_is_lost() -> None:
    raise WorkerLost


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


async def raise_what_befell_it() -> None:
    raise BrokenPipeError("the pipe is closed")


def test_a_run_goes_on_without_a_worker_that_was_killed() -> None:
    """Where its handle raises WorkerLost, the others finish the run."""
    engine = WithWorkers(raise_that_it_is_lost)
    check_engine(lambda: nullcontext(engine), kill=engine.kill)


@pytest.mark.parametrize(
    ("after", "timeout_s", "said"),
    [
        (wait_for_ever, 2.0, "a run is not finished 2 s after a worker was killed"),
        (raise_what_befell_it, 120.0, "was killed (RunStopped: the pipe is closed)"),
    ],
)
def test_an_engine_that_does_not_tell_of_a_lost_worker_is_named(
    after: After, timeout_s: float, said: str
) -> None:
    """One whose handle waits for ever, and one whose handle raises another error."""
    engine = WithWorkers(after)
    with pytest.raises(AssertionError) as caught:
        check_engine(lambda: nullcontext(engine), kill=engine.kill, timeout_s=timeout_s)
    assert said in str(caught.value)
    assert str(caught.value).endswith("; the methods of its handle raise WorkerLost")
