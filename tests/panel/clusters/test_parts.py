"""Parts of a run dealt out to workers that are lost, or that never come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import platformdirs
import pytest

from persona_panel import ModelConfig, PanelPlan, Persona, Response, RunStopped
from persona_panel.calls.budget import NO_CAPS
from persona_panel.clusters import parts
from persona_panel.clusters.parts import (
    Assignment,
    JudgedPart,
    Units,
    WorkerHandle,
    WorkerLost,
    at_work,
    verdicts_by_workers,
)
from persona_panel.files.responses import identified
from persona_panel.runs.executor import prepared
from persona_panel.testing import serving
from tests.helpers.cluster import LocalMailbox
from tests.helpers.judgments import PLAIN

N = 10
ANN = Persona(id="ann", label="Ann", axis="own", description="You are Ann.")


class ShortLived:
    """A worker that is lost once it has judged one part."""

    def __init__(self, assignment: Assignment, mailbox: LocalMailbox) -> None:
        self._open = AsyncExitStack()
        self._at_work = at_work(assignment, mailbox)
        self._first = asyncio.Lock()
        self._has_judged = False

    async def begin(self) -> None:
        self._worker = await self._open.enter_async_context(self._at_work)

    async def judge(self, part: Units) -> JudgedPart:
        async with self._first:
            if self._has_judged:
                raise WorkerLost
            judged = await self._worker.judge(part)
            self._has_judged = True
            return judged

    async def end(self) -> None:
        await self._open.aclose()

    def kill(self) -> None:
        """It has no process of its own."""


class Waiting:
    """A worker for which there is no room."""

    async def begin(self) -> None:
        await asyncio.Event().wait()

    async def judge(self, part: Units) -> JudgedPart:
        raise WorkerLost

    async def end(self) -> None:
        """It never began."""

    def kill(self) -> None:
        """It has no process."""


async def judged(
    url: str,
    start: Callable[[Assignment, LocalMailbox], WorkerHandle],
    lacking: Callable[[], str] = lambda: "there is room",
    workers: int = 1,
    n: int = N,
) -> int:
    """How many verdicts so many workers at a time give of so many responses, in parts of one or
    two."""
    model = ModelConfig(model="openai:stub", base_url=url, concurrency=1)
    plan = PanelPlan.of([ANN], model, PLAIN)

    async def units() -> AsyncIterator[tuple[Response, ...]]:
        for i in range(n):
            yield (identified(Response(id=f"r{i}", prompt="Why?", text=f"T {i}.", system="s")),)

    async with prepared(plan, NO_CAPS) as caller:
        mailbox = LocalMailbox()
        found = verdicts_by_workers(
            plan, units(), caller, NO_CAPS, lambda judgment: None, workers=workers, mailbox=mailbox,
            start=lambda assignment: start(assignment, mailbox), lacking=lacking,
        )  # fmt: skip
        return len([verdict async for verdict in found])


async def test_only_losses_without_a_part_between_them_end_a_run() -> None:
    """Each of ten workers judges a part before it is lost: more than three are, and the run is
    made."""
    with serving() as server:
        assert await judged(server.base_url, ShortLived) == N


class OnOneMachine(ShortLived):
    """A worker of a machine with three, which are lost at the same moment, before any has judged a
    part; those that come after it are `ShortLived`."""

    all_there = asyncio.Barrier(3)

    async def judge(self, part: Units) -> JudgedPart:
        async with self._first:
            if not self._has_judged:
                self._has_judged = True
                await self.all_there.wait()
            raise WorkerLost


async def test_the_workers_of_a_machine_are_one_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with three workers is lost before any of them has judged a part: others take their
    places, and the run is made."""
    monkeypatch.setattr(OnOneMachine, "all_there", asyncio.Barrier(3))

    def start(assignment: Assignment, mailbox: LocalMailbox) -> WorkerHandle:
        of = OnOneMachine if assignment.name.endswith("-1") else ShortLived
        return of(assignment, mailbox)

    with serving() as server:
        run = judged(server.base_url, start, workers=3, n=6 * N)
        assert await asyncio.wait_for(run, 60) == 6 * N


async def test_journals_of_workers_are_below_the_folders_of_the_tests(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Tests leave nothing in the cache of who runs them."""
    unsent = platformdirs.user_cache_path("persona-panel") / "unsent"
    with serving() as server:
        await judged(server.base_url, ShortLived)
    assert unsent.is_dir()
    assert unsent.resolve().is_relative_to(tmp_path_factory.getbasetemp().resolve())


async def test_a_run_without_room_for_any_worker_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what the engine says of that, once its patience is at an end."""
    monkeypatch.setattr(parts, "_START_S", 0.01)

    def lacking() -> str:
        raise RunStopped("no machine has 1 a100")

    with serving() as server, pytest.raises(RunStopped, match="no machine has 1 a100"):
        await asyncio.wait_for(
            judged(server.base_url, lambda assignment, mailbox: Waiting(), lacking), 10
        )
