"""A run's responses dealt out to workers in parts, and the worker that judges them."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol

from persona_panel.calls.budget import Budget, CallCounts, Caps
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import Endpoint
from persona_panel.clusters.lease_server import LeaseServer
from persona_panel.clusters.messages import (
    Begin,
    ClusterStore,
    LeaseClient,
    LeasedBudget,
    LeasedLimiter,
    LogToDriver,
    Mailbox,
    Synchronize,
    TakenForLost,
    TookOver,
)
from persona_panel.files.errors import RunStopped
from persona_panel.files.responses import as_async
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.models.config import with_batches
from persona_panel.planning.bound_models import BoundModel
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.runs import executor
from persona_panel.runs.executor import OnJudgment
from persona_panel.runs.model_access import open_caller, responses_in_flight

Units = Sequence[tuple[Response, ...]]
"""A part of a run's responses: units as `persona_panel.runs.mode` has them."""


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """The results of a part: judgments in the order in which they were made, and verdicts."""

    judgments: Sequence[Judgment]
    verdicts: Sequence[Verdict]


@dataclass(frozen=True, slots=True)
class Assignment:
    """The data that a worker needs before the first part. `name`: of the worker, that no other has
    had; `cache`: where the driver's cache is, for messages."""

    name: str
    plan: PanelPlan
    caps: Caps
    cache: str


class Worker:
    """Judges parts, several at once; see `at_work`."""

    def __init__(self, plan: PanelPlan, caller: Caller, client: LeaseClient) -> None:
        self._plan = plan
        self._caller = caller
        self._client = client

    async def judge(self, units: Units) -> JudgedPart:
        """Judge a part with all judges. Raises Abort: the run cannot go on."""
        judgments: list[Judgment] = []
        verdicts = [
            verdict
            async for verdict in executor.judged(
                self._plan, as_async(units), self._caller, judgments.append
            )
        ]
        # The driver knows the cost, and what is taken back, before it gets the judgments.
        await self._caller.look_at_connections()
        await self._client.ask(Synchronize())
        return JudgedPart(judgments, verdicts)


@asynccontextmanager
async def at_work(assignment: Assignment, mailbox: Mailbox) -> AsyncIterator[Worker]:
    """Open a worker in this process, and close it at the end of the block. Raises
    ConfigurationError: a model cannot be called from here: a package, key or file is missing."""
    plan, caps, name = assignment.plan, assignment.caps, assignment.name
    models = {model.id: model for model in plan.models}
    callers: list[Caller] = []

    def take_counts() -> CallCounts | None:
        if not callers:
            return None
        taken, callers[0].counts = callers[0].counts, CallCounts()
        return taken

    client = LeaseClient(name, mailbox, take_counts)

    def leasing(
        endpoints: Mapping[str, Endpoint], cache: ClusterStore, budget: Budget, **more: Any
    ) -> Caller:
        for model, endpoint in endpoints.items():
            endpoint.limiter = _limiter(models[model], endpoint, client)
        prices = with_batches({name: model.price for name, model in models.items()})
        return Caller(endpoints, cache, LeasedBudget(client, caps, prices), **more)

    async with client.listening():
        store = ClusterStore(assignment.cache, name, client, mailbox)
        began = await client.ask(Begin(store.journals))
        # In a thread: the driver's answers come by the loop.
        await asyncio.to_thread(store.take_over)
        client.tell(TookOver(began))
        handler = LogToDriver(client, asyncio.get_running_loop())
        log = logging.getLogger("persona_panel")
        log.addHandler(handler)
        opened = open_caller(
            models,
            caps,
            plan.settings.concurrency,
            plan.settings.patience,
            # Closing it waits for the driver, whose letters the loop must take meanwhile.
            off_loop=True,
            caller_factory=leasing,
            opened=lambda: store,
        )
        try:
            async with opened as caller:
                callers.append(caller)
                yield Worker(plan, caller, client)
        finally:
            log.removeHandler(handler)


def _limiter(model: BoundModel, endpoint: Endpoint, client: LeaseClient) -> Any:
    """Return the driver's limiter; a model inside this process has a limiter here."""
    if model.capabilities.concurrency is not None:
        return endpoint.limiter
    counts_tokens = model.config.tokens_per_minute is not None
    return LeasedLimiter(client, model.id, counts_tokens=counts_tokens)


logger = logging.getLogger(__name__)

PARTS_AT_ONCE = 5
"""Parts that a worker has at once: what ends last of one leaves it no time without work."""
_MOST_LOSSES = 3
_START_S = 60.0
_END_S = 10.0


class WorkerLost(Exception):
    """A worker was killed, or its machine was."""


class WorkerHandle(Protocol):
    """A worker elsewhere, as the driver has it."""

    async def begin(self) -> None:
        """Start the worker (`at_work`), once there is room for it. Raises WorkerLost: it is gone;
        Abort, PanelError: what `at_work` raises there."""

    async def judge(self, part: Units) -> JudgedPart:
        """Judge a part (`Worker.judge`); raises as `begin`."""

    async def end(self) -> None:
        """End the worker after it has sent what it has, if it lives; raises as `begin`."""

    def kill(self) -> None:
        """Kill the worker's process."""


Start = Callable[[Assignment], WorkerHandle]
"""Has a process started for a worker, without waiting for it."""


async def verdicts_by_workers(
    plan: PanelPlan,
    units: AsyncIterator[tuple[Response, ...]],
    caller: Caller,
    caps: Caps,
    on_judgment: OnJudgment,
    *,
    workers: int,
    mailbox: Mailbox,
    start: Start,
    lacking: Callable[[], str],
) -> AsyncGenerator[Verdict, None]:
    """Yield the verdicts of `Engine.verdicts` from at most `workers` workers, as many at a time as
    there is room for.

    A worker that is killed, or silent for too long, is replaced, and its parts are judged again, as
    far as possible from the cache.

    Args:
        mailbox: by which workers and the driver reach each other.
        lacking: says what a worker needs and what there is, where none has begun for long; it
            raises a RunStopped where there is room for none, so that none ever would.

    Raises as `Engine.verdicts`.
    """
    async with LeaseServer(caller, mailbox).serving() as server:
        parts = _PartsToDo(units, math.ceil(responses_in_flight(plan).most / (PARTS_AT_ONCE - 1)))
        assignment = Assignment("", plan, caps, caller.store.location)
        team = _Team(parts, assignment, server, start, lacking)
        async for judged in team.judged(workers):
            for judgment in judged.judgments:
                on_judgment(judgment)
            for verdict in judged.verdicts:
                yield verdict


class _PartsToDo:
    """Units in parts, taken by several workers; what one has lost, another takes first. `finished`:
    whether all are judged."""

    def __init__(self, units: AsyncIterator[tuple[Response, ...]], size: int) -> None:
        self._units = units
        self._size = size
        self._returned: list[Units] = []
        self._turn = asyncio.Lock()
        self._taken = 0
        self._all_taken = False
        self.finished = asyncio.Event()

    async def take(self) -> Units | None:
        """Return the next part, None once there is no more."""
        self._taken += 1
        if self._returned:
            return self._returned.pop()
        part: list[tuple[Response, ...]] = []
        async with self._turn:
            while sum(map(len, part)) < self._size:
                try:
                    part.append(await anext(self._units))
                except StopAsyncIteration:
                    self._all_taken = True
                    break
        if not part:
            self.count_judged()
        return part or None

    def count_judged(self) -> None:
        """Count one part that was taken as judged."""
        self._taken -= 1
        if self._all_taken and not self._taken and not self._returned:
            self.finished.set()

    def give_back(self, part: Units) -> None:
        """Put back a part that was not judged."""
        self._taken -= 1
        self._returned.append(part)


class _Team:
    """The workers of a run."""

    def __init__(
        self,
        parts: _PartsToDo,
        assignment: Assignment,
        server: LeaseServer,
        start: Start,
        lacking: Callable[[], str],
    ) -> None:
        self._parts = parts
        self._assignment = assignment
        self._server = server
        self._start = start
        self._lacking = lacking
        self._done: asyncio.Queue[JudgedPart] = asyncio.Queue()
        self._losses = 0
        self._last_loss = -math.inf
        self._has_begun = False

    async def judged(self, workers: int) -> AsyncGenerator[JudgedPart, None]:
        """Yield the result of each part, as it comes."""
        places = [asyncio.create_task(self._fill(place)) for place in range(workers)]
        working = asyncio.gather(*places)
        waiting = asyncio.create_task(self._tell_of_waiting())
        try:
            while not working.done() or not self._done.empty():
                next_ = asyncio.ensure_future(self._done.get())
                watched: list[asyncio.Future[Any]] = [next_, working, self._server.failure]
                if not waiting.done():
                    watched.append(waiting)
                await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
                if next_.done():
                    yield next_.result()
                    continue
                next_.cancel()
                if waiting.done():
                    await waiting
                if self._server.failure.done():
                    await self._server.failure
            await working
        finally:
            waiting.cancel()
            working.cancel()
            await asyncio.gather(working, *places, waiting, return_exceptions=True)

    async def _fill(self, place: int) -> None:
        """Keep a place filled by a worker, and by another where that is killed, until no part is
        left."""
        for number in count(1):
            name, started = f"worker-{place}-{number}", time.monotonic()
            worker = self._start(replace(self._assignment, name=name))
            has_begun = False
            try:
                has_begun = await self._begun(worker)
                if not has_begun or await self._work(worker):
                    return
            except (WorkerLost, TakenForLost):
                pass
            finally:
                if has_begun:
                    with suppress(WorkerLost, TakenForLost, TimeoutError):
                        await asyncio.wait_for(worker.end(), _END_S)
                worker.kill()
                await self._server.lose(name)
            # Workers that were already lost belong to the same event: a machine has several.
            if started >= self._last_loss:
                self._losses += 1
                self._last_loss = time.monotonic()
            logger.warning("A worker was lost; its part of the run is judged by another.")
            if self._losses >= _MOST_LOSSES:
                raise RunStopped(
                    f"{self._losses} times in a row workers were lost before any of them had "
                    "finished a part: see the cluster's logs for why (memory, often). The same "
                    "command continues the run"
                )

    async def _tell_of_waiting(self) -> None:
        """Warn where no worker has begun for long, and say what is lacking."""
        await asyncio.sleep(_START_S)
        if not self._has_begun:
            logger.warning(
                "No worker has begun in %.0f s: %s; they begin as soon as they can.",
                _START_S,
                self._lacking(),
            )

    async def _begun(self, worker: WorkerHandle) -> bool:
        """Return whether a worker began before all parts were judged by others: there may be no
        room for it until then."""
        beginning = asyncio.ensure_future(worker.begin())
        finished = asyncio.ensure_future(self._parts.finished.wait())
        try:
            await asyncio.wait((beginning, finished), return_when=asyncio.FIRST_COMPLETED)
            if not beginning.done():
                return False
            await beginning
        finally:
            beginning.cancel()
            finished.cancel()
        self._has_begun = True
        return True

    async def _work(self, worker: WorkerHandle) -> bool:
        """Let a worker judge parts, and return whether it lived until no part was left."""
        lived = await asyncio.gather(*(self._judge_parts(worker) for _ in range(PARTS_AT_ONCE)))
        return all(lived)

    async def _judge_parts(self, worker: WorkerHandle) -> bool:
        while (part := await self._parts.take()) is not None:
            try:
                judged = await worker.judge(part)
            except (WorkerLost, TakenForLost):
                self._parts.give_back(part)
                return False
            self._losses = 0
            self._done.put_nowait(judged)
            self._parts.count_judged()
        return True
