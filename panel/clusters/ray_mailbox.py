"""Letters by a named Ray actor, which workers on all machines and the driver can reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import ray
from ray.exceptions import RayActorError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from graphs.context import Abort
from panel.clusters.messages import Pigeonholes

NAMESPACE = "persona-panel"
_MOST_AT_ONCE = 10_000


class _Coordinator:
    """The actor: an asynchronous one, so that all wait side by side."""

    def __init__(self) -> None:
        self._pigeonholes = Pigeonholes()

    async def post(self, address: str, letter: Any) -> None:
        self._pigeonholes.put(address, letter)

    async def fetch(self, address: str) -> list[Any]:
        return await self._pigeonholes.take(address)


class RayMailbox:
    """A `Mailbox` by the actor of a name; pickled, it is the same elsewhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._actor = ray.get_actor(name, namespace=NAMESPACE)

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

    def wait(self, address: str) -> Sequence[Any]:
        """See `Mailbox`."""
        try:
            letters: Sequence[Any] = self._actor.fetch.remote(address).future().result()
        except RayActorError:
            raise _gone() from None
        return letters


def _gone() -> Abort:
    return Abort(
        "the actor by which the workers reach this command was killed; the same command continues "
        "the run"
    )
