"""Judging as a step of a Ray Data pipeline: `judge`."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Mapping
from concurrent.futures import TimeoutError as NotInTime
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import ray
import ray.data

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.clusters.engines.ray import check
from persona_panel.clusters.lease_server import LeaseServer
from persona_panel.clusters.parts import Assignment, Worker, at_work
from persona_panel.clusters.ray_engine import RayMailbox
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.records import ColumnMapping
from persona_panel.files.responses import Batch, load_responses
from persona_panel.models.event_loops import lasting_loop, run_in_lasting_loop
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.runs.executor import prepared
from persona_panel.runs.run import Run

if TYPE_CHECKING:
    import pyarrow as pa

_CLOSING_S = 10.0


def judge(
    dataset: ray.data.Dataset,
    plan: PanelPlan,
    *,
    mapping: ColumnMapping | None = None,
    caps: Caps = NO_CAPS,
    workers: int = 2,
    options: Mapping[str, Any] | None = None,
    batch_size: int = 64,
) -> ray.data.Dataset:
    """Judge the responses of a data set with a panel, and return another data set.

    It is lazy, as data sets are: models are called when the result is used, by as many actors as
    there are `workers`. They share this process's cache, the models' limits, and the caps, which
    are of all that is made of the result as long as this process lives; it must live meanwhile.

    Args:
        dataset: one response a row, with the columns of a file of responses: `prompt`, `response`
            and `system`, and optionally `id`, `prompt_id` and `context`.
        mapping: for fields whose column has another name, that name: `{"response": "answer"}`.
        options: what each worker takes of the cluster, as of the engine `ray`:
            `{"num_gpus": 1}`.
        batch_size: how many rows a worker judges at a time.

    Returns:
        One judgment and dimension a row, with the columns of `Run.to_frame`: `prompt_id`, `id`,
        `system`, `judge`, `persona`, `model`, `elicitation`, `replicate`, `status`, `dimension`,
        `score` (null where missing) and `label`.

    Raises:
        ConfigurationError: the panel compares the responses to a prompt, which may be in several
            batches; a model cannot be asked in the way it is to be; or an option is wrong.
        RunStopped: a model did not answer whether it gives log-probabilities.
    """
    if plan.is_comparative:
        raise ConfigurationError(
            f"the elicitation {plan.models[0].elicitation!r} compares the responses to a prompt, "
            "which may be in several batches of a data set; use `score` with an engine instead"
        )
    needs = dict(options or {})
    check(None, needs)
    if not ray.is_initialized():
        ray.init()
    mailbox, _ = started = RayMailbox.started()
    location = run_in_lasting_loop(_serve(plan, caps, mailbox, started))
    return dataset.map_batches(
        _Batches,
        fn_constructor_args=(Assignment("", plan, caps, location), mailbox, mapping),
        batch_size=batch_size,
        batch_format="pyarrow",
        zero_copy_batch=True,
        compute=ray.data.ActorPoolStrategy(size=workers),
        **needs,
    )


async def _serve(plan: PanelPlan, caps: Caps, mailbox: RayMailbox, kept: object) -> str:
    """Lease to workers until this process ends; return the place of its cache. `kept` lives as
    long."""
    stack = AsyncExitStack()
    caller = await stack.enter_async_context(prepared(plan, caps))
    server = await stack.enter_async_context(LeaseServer(caller, mailbox).serving())
    # Ray Data replaces a worker that was killed, and tells nobody.
    watching = asyncio.create_task(mailbox.watch(server.lose))
    stack.callback(watching.cancel)

    def close(_: object = kept) -> None:
        # What was put into the cache is safe without it.
        with suppress(NotInTime, RuntimeError):
            closing = asyncio.run_coroutine_threadsafe(stack.aclose(), lasting_loop())
            closing.result(_CLOSING_S)

    # Before Ray and the loop end: those were there first.
    atexit.register(close)
    return caller.store.location


class _Batches:
    """Judges batch after batch in an actor of Ray Data's."""

    def __init__(
        self, assignment: Assignment, mailbox: RayMailbox, mapping: ColumnMapping | None
    ) -> None:
        self._plan = assignment.plan
        self._mapping = mapping
        self._open = AsyncExitStack()
        named = replace(assignment, name=f"worker-{uuid4().hex}")
        mailbox.announce(named.name)
        self._worker: Worker = run_in_lasting_loop(
            self._open.enter_async_context(at_work(named, mailbox))
        )

    def __call__(self, batch: pa.Table) -> pa.Table:
        responses = Batch(load_responses(batch, mapping=self._mapping))
        judged = run_in_lasting_loop(self._worker.judge([(response,) for response in responses]))
        run = Run.of(self._plan, responses)
        for judgment in judged.judgments:
            run.add(judgment)
        return run.to_frame("pyarrow")
