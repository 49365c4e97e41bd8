"""Workers on a Ray cluster, each an actor."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import socket
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from graphs import Response, Verdict
from graphs.context import Abort
from panel.calls.budget import Caps
from panel.calls.caller import Caller
from panel.clusters.lease_server import LeaseServer
from panel.clusters.messages import Mailbox, TakenForLost
from panel.clusters.ray_mailbox import NAMESPACE, RayMailbox
from panel.clusters.worker import Assignment, JudgedPart, Units, Worker, at_work
from panel.errors import ConfigurationError, PanelError, RunStopped
from panel.judging.model_access import responses_in_flight
from panel.plan.panel_plan import PanelPlan
from panel.runs.executor import OnJudgment

logger = logging.getLogger(__name__)

MOST_WORKERS = 8
"""Unless a user asks for more: one does some thousand judgments a second."""
_PARTS_AT_ONCE = 5
"""Parts that a worker has at once: what ends last of one leaves it no time without work."""
_MOST_LOSSES = 3
_CONNECT_S = 5.0
_START_S = 60.0
_END_S = 10.0


@contextmanager
def opened(address: str | None, workers: int | None) -> Iterator[RayEngine]:
    """The engine on the cluster at an address; None: the one that Ray finds, or a new one on this
    machine. A connection that is there already is used, and left.

    Raises:
        ConfigurationError: the cluster does not answer.
    """
    was_there = ray.is_initialized()
    _require_answer(address)
    if not was_there:
        _connect(address)
    elif address is not None and address != ray.get_runtime_context().gcs_address:
        raise ConfigurationError(
            f"this process uses another Ray cluster than {address} already; leave out the address"
        )
    try:
        yield RayEngine(workers or _usual_workers())
    finally:
        if not was_there:
            ray.shutdown()


def _require_answer(address: str | None) -> None:
    """See that something listens at an address: Ray itself would try for minutes."""
    if address is None:
        return
    if address.startswith("ray://"):
        raise ConfigurationError(
            f"{address} is an address for Ray's client, by which workers cannot reach this "
            "command; start it on a machine of the cluster, or by `ray job submit`, with --engine "
            "ray:HOST:PORT"
        )
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_CONNECT_S):
            pass
    except (OSError, ValueError) as error:
        raise _unreachable(address, error) from None


def _connect(address: str | None) -> None:
    heeded = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ray.init(address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError, RayError) as error:
        raise _unreachable(address, error) from None
    finally:
        # Ray's own would end the process before the run's files are written.
        if threading.current_thread() is threading.main_thread():
            for number, handler in heeded.items():
                signal.signal(number, handler)


def _unreachable(address: str | None, error: Exception) -> ConfigurationError:
    where = "no Ray cluster" if address is None else f"no Ray cluster at {address}"
    said = " ".join(str(error).split())[:200]
    return ConfigurationError(
        f"{where} answers ({said}); start one with `ray start --head`, and name its address: "
        "--engine ray:HOST:PORT"
    )


def _usual_workers() -> int:
    return max(1, min(MOST_WORKERS, int(ray.cluster_resources().get("CPU", 1))))


class _Actor:
    """A worker's process."""

    def __init__(self, assignment: Assignment, mailbox: Mailbox) -> None:
        self._assignment = assignment
        self._mailbox = mailbox
        self._open = AsyncExitStack()
        self._worker: Worker | None = None

    async def begin(self) -> None:
        self._worker = await self._open.enter_async_context(
            at_work(self._assignment, self._mailbox)
        )

    async def judge(self, units: Units) -> JudgedPart:
        assert self._worker is not None  # noqa: S101
        return await self._worker.judge(units)

    async def end(self) -> None:
        await self._open.aclose()


class _PartsToDo:
    """Units in parts, taken by several workers; what one has lost, another takes first."""

    def __init__(self, units: AsyncIterator[tuple[Response, ...]], size: int) -> None:
        self._units = units
        self._size = size
        self._given_back: list[Units] = []
        self._turn = asyncio.Lock()

    async def take(self) -> Units | None:
        """The next part, None once there is no more."""
        if self._given_back:
            return self._given_back.pop()
        part: list[tuple[Response, ...]] = []
        async with self._turn:
            while sum(map(len, part)) < self._size:
                try:
                    part.append(await anext(self._units))
                except StopAsyncIteration:
                    break
        return part or None

    def give_back(self, part: Units) -> None:
        """It was not judged."""
        self._given_back.append(part)


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Judges by so many actors at most, of a CPU each: as many as the cluster has room for work.

    A worker that is killed, or silent for too long, is replaced, and its parts are judged anew,
    from the cache as far as they were: an `Engine` of `panel.runs.execution`.
    """

    workers: int

    async def verdicts(
        self,
        plan: PanelPlan,
        units: AsyncIterator[tuple[Response, ...]],
        caller: Caller,
        caps: Caps,
        on_judgment: OnJudgment,
    ) -> AsyncGenerator[Verdict, None]:
        """See `Engine`."""
        mailbox, coordinator = RayMailbox.started()
        try:
            async with LeaseServer(caller, mailbox).serving() as server:
                size = math.ceil(responses_in_flight(plan) / (_PARTS_AT_ONCE - 1))
                parts = _PartsToDo(units, size)
                assignment = Assignment("", plan, caps, caller.store.location)
                team = _Team(parts, assignment, mailbox, server)
                async for judged in team.judged(self.workers):
                    for judgment in judged.judgments:
                        on_judgment(judgment)
                    for verdict in judged.verdicts:
                        yield verdict
        finally:
            ray.kill(coordinator)


class _Team:
    """The workers of a run."""

    def __init__(
        self, parts: _PartsToDo, assignment: Assignment, mailbox: RayMailbox, server: LeaseServer
    ) -> None:
        self._parts = parts
        self._assignment = assignment
        self._mailbox = mailbox
        self._server = server
        self._done: asyncio.Queue[JudgedPart] = asyncio.Queue()
        self._losses = 0
        self._has_begun = False

    async def judged(self, workers: int) -> AsyncGenerator[JudgedPart, None]:
        """What comes of all parts, as it comes."""
        places = [asyncio.create_task(self._fill(place)) for place in range(workers)]
        working = asyncio.gather(*places)
        waiting = asyncio.create_task(self._tell_of_waiting())
        try:
            while not working.done() or not self._done.empty():
                next_ = asyncio.ensure_future(self._done.get())
                await asyncio.wait(
                    (next_, working, self._server.failure), return_when=asyncio.FIRST_COMPLETED
                )
                if next_.done():
                    yield next_.result()
                    continue
                next_.cancel()
                if self._server.failure.done():
                    await self._server.failure
            await working
        finally:
            waiting.cancel()
            working.cancel()
            await asyncio.gather(working, *places, waiting, return_exceptions=True)

    async def _fill(self, place: int) -> None:
        """Have a place filled by a worker, and by another where that is killed, until there is no
        part left."""
        for number in count(1):
            name = f"worker-{place}-{number}"
            actor = await self._started(name)
            try:
                if await self._work(actor):
                    return
            finally:
                await self._end(actor)
                await self._server.lose(name)
            self._losses += 1
            logger.warning("A worker was lost; its part of the run is judged by another.")
            if self._losses >= _MOST_LOSSES:
                raise RunStopped(
                    f"{self._losses} workers in a row were lost before any of them had finished "
                    "a part: see Ray's logs for why (memory, often). The same command continues "
                    "the run"
                )

    async def _tell_of_waiting(self) -> None:
        await asyncio.sleep(_START_S)
        if not self._has_begun:
            cpus = ray.available_resources().get("CPU", 0.0)
            logger.warning(
                "No worker has begun in %.0f s: each needs a CPU, and %.0f are free in the "
                "cluster; they begin as soon as they can.",
                _START_S,
                cpus,
            )

    async def _started(self, name: str) -> Any:
        actor = ray.remote(_Actor).options(
            name=f"{self._mailbox.name}-{name}",
            namespace=NAMESPACE,
            num_cpus=1,
            max_concurrency=2 * _PARTS_AT_ONCE,
        )
        return actor.remote(replace(self._assignment, name=name), self._mailbox)

    async def _work(self, actor: Any) -> bool:
        """Whether a worker lived until there was no part left."""
        try:
            await _unwrapped(actor.begin.remote())
        except (RayActorError, TakenForLost):
            return False
        self._has_begun = True
        lived = await asyncio.gather(*(self._judge_parts(actor) for _ in range(_PARTS_AT_ONCE)))
        return all(lived)

    async def _judge_parts(self, actor: Any) -> bool:
        while (part := await self._parts.take()) is not None:
            try:
                judged = await _unwrapped(actor.judge.remote(part))
            except (RayActorError, TakenForLost):
                self._parts.give_back(part)
                return False
            self._losses = 0
            self._done.put_nowait(judged)
        return True

    async def _end(self, actor: Any) -> None:
        """Let a worker send what it has, if it lives."""
        with suppress(RayError, TimeoutError):
            await asyncio.wait_for(asyncio.shield(_finished(actor)), _END_S)
        ray.kill(actor)


async def _finished(actor: Any) -> None:
    await actor.end.remote()


async def _unwrapped(reference: Any) -> Any:
    """What a worker returns, or raises, as it would here."""
    try:
        return await reference
    except RayTaskError as error:
        if isinstance(error.cause, Abort | PanelError):
            raise error.cause from None
        raise
