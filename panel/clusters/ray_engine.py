"""Workers on a Ray cluster, each an actor, and their letters."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import ray
from ray.exceptions import OwnerDiedError, RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from persona_panel.calls.budget import Caps
from persona_panel.calls.caller import Caller
from persona_panel.clusters.messages import Mailbox, Pigeonholes
from persona_panel.clusters.parts import (
    PARTS_AT_ONCE,
    Assignment,
    JudgedPart,
    Units,
    Worker,
    WorkerLost,
    at_work,
    verdicts_by_workers,
)
from persona_panel.files.errors import ConfigurationError, PanelError, RunStopped
from persona_panel.graphs import Response, Verdict
from persona_panel.graphs.context import Abort
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.runs.executor import OnJudgment

NAMESPACE = "persona-panel"
_MOST_AT_ONCE = 10_000
_WORKERS = "workers"
"""The address at which workers are announced."""


class _Coordinator:
    """The actor behind a mailbox: an asynchronous one, so that all its callers can wait at once."""

    def __init__(self) -> None:
        self._pigeonholes = Pigeonholes()

    async def post(self, address: str, letter: Any) -> None:
        self._pigeonholes.put(address, letter)

    async def fetch(self, address: str) -> list[Any]:
        return await self._pigeonholes.take(address)

    async def never(self) -> None:
        await asyncio.Event().wait()


class RayMailbox:
    """A `Mailbox` through the actor of a name; it stays the same when pickled."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._actor = ray.get_actor(name, namespace=NAMESPACE)
        self._living: Any = None

    def __reduce__(self) -> tuple[type[RayMailbox], tuple[str]]:
        return RayMailbox, (self.name,)

    @classmethod
    def started(cls) -> tuple[RayMailbox, Any]:
        """Return a new mailbox on the machine of this process, and the actor, with which it
        ends."""
        here = ray.get_runtime_context().get_node_id()
        name = f"run-{uuid4().hex[:12]}"
        actor = (
            ray.remote(_Coordinator)
            .options(
                name=name,
                namespace=NAMESPACE,
                num_cpus=0,
                max_concurrency=_MOST_AT_ONCE,
                scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=True),
            )
            .remote()
        )
        return cls(name), actor

    def post(self, address: str, letter: Any) -> None:
        """Send a letter; see `Mailbox`."""
        self._actor.post.remote(address, letter)

    async def fetch(self, address: str) -> Sequence[Any]:
        """Return all letters to an address; see `Mailbox`."""
        try:
            letters: Sequence[Any] = await self._actor.fetch.remote(address)
        except RayActorError:
            raise _gone() from None
        return letters

    def announce(self, worker: str) -> None:
        """Let the driver know when the process of a worker ends."""
        # A result that never comes: Ray reports it as lost when the worker's process ends.
        self._living = self._actor.never.remote()
        self._actor.post.remote(_WORKERS, (worker, [self._living]))

    async def watch(self, lose: Callable[[str], Awaitable[None]]) -> None:
        """Report each announced worker whose process ends, until this is cancelled or the mailbox
        is gone."""
        async with asyncio.TaskGroup() as watching:
            while True:
                try:
                    announced = await self.fetch(_WORKERS)
                except Abort:
                    return
                for worker, [living] in announced:
                    watching.create_task(_lose_with(worker, living, lose))

    def wait(self, address: str) -> Sequence[Any]:
        """Return all letters to an address; see `Mailbox`."""
        try:
            letters: Sequence[Any] = self._actor.fetch.remote(address).future().result()
        except RayActorError:
            raise _gone() from None
        return letters


async def _lose_with(worker: str, living: Any, lose: Callable[[str], Awaitable[None]]) -> None:
    try:
        await living
    except OwnerDiedError:
        await lose(worker)
    except RayError:
        # The mailbox is gone; others get the error.
        return


def _gone() -> Abort:
    return Abort(
        "the actor by which the workers reach this command was killed; the same command continues "
        "the run"
    )


logger = logging.getLogger(__name__)

MOST_WORKERS = 8
"""Unless a user asks for more: one does some thousand judgments a second."""
_CONNECT_S = 5.0
_QUIET: Mapping[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}


@contextmanager
def opened(
    address: str | None, workers: int | None, options: Mapping[str, Any]
) -> Iterator[RayEngine]:
    """Open the engine on the cluster at an address, and close it at the end of the block. None: the
    cluster that Ray finds, or a new one, whose ports only this machine reaches. A connection that
    is there already is used, and left open. `options`: what each worker takes, in place of a CPU;
    see `engines.ray.check`. Raises ConfigurationError: the cluster does not answer."""
    was_there = ray.is_initialized()
    _require_answer(address)
    if not was_there:
        _connect(address)
    elif address is not None and address != ray.get_runtime_context().gcs_address:
        raise ConfigurationError(
            f"this process uses another Ray cluster than {address} already; leave out the address"
        )
    try:
        yield _engine(workers, {"num_cpus": 1, **options})
    finally:
        if not was_there:
            ray.shutdown()


def _require_answer(address: str | None) -> None:
    """Check that something listens at an address: Ray itself would try for minutes."""
    if address is None:
        return
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S):
            pass
    except OSError as error:
        raise _unreachable(address, error) from None


def _connect(address: str | None) -> None:
    heeded = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # Without an address: the cluster of RAY_ADDRESS or of this machine.
    where = address or "auto"
    try:
        try:
            ray.init(where, namespace=NAMESPACE, **_QUIET)
        except ConnectionError:
            if address is not None or os.environ.get("RAY_ADDRESS"):
                raise
            _start_own()
    except (OSError, ValueError, RuntimeError, RayError) as error:
        raise _unreachable(address, error) from None
    finally:
        # Ray's own handler would end the process before the run's files are written.
        if threading.current_thread() is threading.main_thread():
            for number, handler in heeded.items():
                signal.signal(number, handler)


def _start_own() -> None:
    """Start a cluster that listens on this machine's loopback alone, without a dashboard, and takes
    calls only with its token where Ray's version has tokens (2.52). Mode and token stay as a user
    has set them, and stay for the process: Ray reads them once."""
    if "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_MODE"] = "token"
        with suppress(ImportError, AttributeError):
            from ray._raylet import Config  # type: ignore[attr-defined]

            # Ray has read the mode when it was imported.
            Config.initialize("")
    if not any(name in os.environ for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    with _on_loopback():
        ray.init("local", namespace=NAMESPACE, include_dashboard=False, **_QUIET)


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Make Ray use 127.0.0.1 as this machine's address, as it does on Windows and macOS. That
    address is replaced where it is given as `_node_ip_address`."""
    from ray._private import ray_constants

    usual = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = usual


def _unreachable(address: str | None, error: Exception) -> ConfigurationError:
    where = "no Ray cluster" if address is None else f"no Ray cluster at {address}"
    reason = " ".join(str(error).split())[:200]
    return ConfigurationError(
        f"{where} answers ({reason}); start one with `ray start --head`, and name its address: "
        "--engine ray:HOST:PORT"
    )


def _engine(workers: int | None, needs: Mapping[str, Any]) -> RayEngine:
    amounts = _amounts(needs)
    places = _places(amounts)
    wanted = workers or max(1, min(MOST_WORKERS, places))
    if not places:
        logger.warning(
            "The cluster has room for no worker that takes %s: nothing is judged until it has.",
            _in_words(amounts),
        )
    elif places < wanted:
        logger.warning(
            "The cluster has room for %d of %d workers that take %s each; more begin only if it "
            "grows.",
            places,
            wanted,
            _in_words(amounts),
        )
    return RayEngine(wanted, needs)


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


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Judges by at most `workers` actors, as many as the cluster has room for. `needs`: what each
    takes of the cluster, as the options of an actor."""

    workers: int
    needs: Mapping[str, Any]

    async def verdicts(
        self,
        plan: PanelPlan,
        units: AsyncIterator[tuple[Response, ...]],
        caller: Caller,
        caps: Caps,
        on_judgment: OnJudgment,
    ) -> AsyncGenerator[Verdict, None]:
        """Yield verdicts; see `Engine`, and `verdicts_by_workers`."""
        mailbox, coordinator = RayMailbox.started()

        def start(assignment: Assignment) -> _ActorHandle:
            actor = ray.remote(_Actor).options(
                name=f"{mailbox.name}-{assignment.name}",
                namespace=NAMESPACE,
                max_concurrency=2 * PARTS_AT_ONCE,
                **self.needs,
            )
            return _ActorHandle(actor.remote(assignment, mailbox))

        try:
            verdicts = verdicts_by_workers(
                plan, units, caller, caps, on_judgment,
                workers=self.workers, mailbox=mailbox, start=start, lacking=self._lacking,
            )  # fmt: skip
            async with aclosing(verdicts):
                async for verdict in verdicts:
                    yield verdict
        finally:
            ray.kill(coordinator)

    def _lacking(self) -> str:
        free, amounts = ray.available_resources(), _amounts(self.needs)
        if not _places(amounts):
            raise RunStopped(
                f"no worker has begun, as no machine of the cluster has {_in_words(amounts)}: "
                "change what a worker takes (--engine-option), or add such a machine. The same "
                "command continues the run"
            )
        there = ", ".join(f"{free.get(name, 0):g} {name}" for name in amounts)
        return f"each needs {_in_words(amounts)}, and {there} are free in the cluster"


class _ActorHandle:
    """A `WorkerHandle` of an actor."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def begin(self) -> None:
        await _unwrapped(self._actor.begin.remote())

    async def judge(self, part: Units) -> JudgedPart:
        judged: JudgedPart = await _unwrapped(self._actor.judge.remote(part))
        return judged

    async def end(self) -> None:
        try:
            await asyncio.shield(_finished(self._actor))
        except RayError as error:
            raise WorkerLost from error

    def kill(self) -> None:
        ray.kill(self._actor)


async def _finished(actor: Any) -> None:
    await actor.end.remote()


async def _unwrapped(reference: Any) -> Any:
    """Return or raise what a worker returns or raises."""
    try:
        return await reference
    except RayTaskError as error:
        if isinstance(error.cause, Abort | PanelError):
            raise error.cause from None
        raise
    except RayActorError as error:
        raise WorkerLost from error


def _places(amounts: Mapping[str, float]) -> int:
    """Return how many workers the cluster has room for, regardless of what else runs there."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    asked = {name: amount for name, amount in amounts.items() if amount}
    if not asked:
        return MOST_WORKERS
    return sum(
        min(int(machine.get(name, 0) / amount) for name, amount in asked.items())
        for machine in machines
    )


def _amounts(needs: Mapping[str, Any]) -> dict[str, float]:
    """Return the resources of a worker, by the cluster's names."""
    named = {"CPU": needs["num_cpus"], "GPU": needs.get("num_gpus", 0)}
    amounts = {name: amount for name, amount in named.items() if amount}
    return amounts | dict(needs.get("resources", {}))


def _in_words(amounts: Mapping[str, float]) -> str:
    return ", ".join(f"{amount:g} {name}" for name, amount in amounts.items()) or "nothing"
