"""Letters by a named Ray actor, which workers on all machines and the driver can reach."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

import ray
from ray.exceptions import OwnerDiedError, RayActorError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from persona_panel.clusters.messages import Pigeonholes
from persona_panel.graphs.context import Abort

NAMESPACE = "persona-panel"
_MOST_AT_ONCE = 10_000
_WORKERS = "workers"
"""The address at which workers are announced."""


class _Coordinator:
    """The actor: an asynchronous one, so that all wait side by side."""

    def __init__(self) -> None:
        self._pigeonholes = Pigeonholes()

    async def post(self, address: str, letter: Any) -> None:
        self._pigeonholes.put(address, letter)

    async def fetch(self, address: str) -> list[Any]:
        return await self._pigeonholes.take(address)

    async def never(self) -> None:
        await asyncio.Event().wait()


class RayMailbox:
    """A `Mailbox` by the actor of a name; pickled, it is the same elsewhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._actor = ray.get_actor(name, namespace=NAMESPACE)
        self._living: Any = None

    def __reduce__(self) -> tuple[type[RayMailbox], tuple[str]]:
        return RayMailbox, (self.name,)

    @classmethod
    def started(cls) -> tuple[RayMailbox, Any]:
        """A new one on the machine of this process, and the actor, with which it ends."""
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
        """See `Mailbox`."""
        self._actor.post.remote(address, letter)

    async def fetch(self, address: str) -> Sequence[Any]:
        """See `Mailbox`."""
        try:
            letters: Sequence[Any] = await self._actor.fetch.remote(address)
        except RayActorError:
            raise _gone() from None
        return letters

    def announce(self, worker: str) -> None:
        """Have the driver know when the process ends in which a worker is."""
        # A result that never comes, and is lost with the process that has asked for it.
        self._living = self._actor.never.remote()
        self._actor.post.remote(_WORKERS, (worker, [self._living]))

    async def watch(self, lose: Callable[[str], Awaitable[None]]) -> None:
        """Tell of each worker that was announced when its process ends, until this is cancelled
        or the mailbox is gone."""
        async with asyncio.TaskGroup() as watching:
            while True:
                try:
                    announced = await self.fetch(_WORKERS)
                except Abort:
                    return
                for worker, [living] in announced:
                    watching.create_task(_lose_with(worker, living, lose))

    def wait(self, address: str) -> Sequence[Any]:
        """See `Mailbox`."""
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
        # The mailbox is gone, which others are told.
        return


def _gone() -> Abort:
    return Abort(
        "the actor by which the workers reach this command was killed; the same command continues "
        "the run"
    )
