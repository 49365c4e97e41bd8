"""A worker: judges parts of a run's responses in its process, by what the driver leases to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from persona_panel.calls.budget import Budget, Caps
from persona_panel.calls.call_counts import CallCounts
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import Endpoint
from persona_panel.clusters.lease_client import (
    LeaseClient,
    LeasedBudget,
    LeasedLimiter,
    LogToDriver,
)
from persona_panel.clusters.messages import Begin, Mailbox, Synchronize, TookOver
from persona_panel.clusters.store import ClusterStore
from persona_panel.files.response_batch import as_async
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.models.catalogue import with_batches
from persona_panel.plan.bound_models import BoundModel
from persona_panel.plan.panel_plan import PanelPlan
from persona_panel.runs import executor
from persona_panel.runs.judging.model_access import open_caller

Units = Sequence[tuple[Response, ...]]
"""A part of a run's responses: units as `persona_panel.runs.judging.mode` has them."""


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """What came of a part: judgments in the order in which they were made, and verdicts."""

    judgments: Sequence[Judgment]
    verdicts: Sequence[Verdict]


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is told before the first part.

    Attributes:
        name: of the worker, that no other has had.
        cache: where the driver's cache is, for messages.
    """

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
        """All judges' readings of a part.

        Raises:
            Abort: the run cannot go on.
        """
        judgments: list[Judgment] = []
        verdicts = [
            verdict
            async for verdict in executor.judged(
                self._plan, as_async(units), self._caller, judgments.append
            )
        ]
        # What was spent is with the driver before the judgments are.
        await self._client.ask(Synchronize())
        return JudgedPart(judgments, verdicts)


@asynccontextmanager
async def at_work(assignment: Assignment, mailbox: Mailbox) -> AsyncIterator[Worker]:
    """A worker of this process, for as long as the block lasts.

    Raises:
        ConfigurationError: a model cannot be called from here: a package, key or file is missing.
    """
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
        log = logging.getLogger("panel")
        log.addHandler(handler)
        opened = open_caller(
            models,
            caps,
            plan.concurrency,
            plan.patience,
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
    """The driver's; but a model inside this process is this process's own."""
    if model.capabilities.concurrency is not None:
        return endpoint.limiter
    counts_tokens = model.config.tokens_per_minute is not None
    return LeasedLimiter(client, model.id, counts_tokens=counts_tokens)
