"""A sweep at work: every prompt through the sweeping graph, and what comes out gathered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.caller import Caller
from persona_panel.calls.rate_limiter import InFlightLimit
from persona_panel.calls.tracing import is_traced, traced
from persona_panel.experiments.sweep.folder import SweepFolder, texts_of
from persona_panel.experiments.sweep.plan import SweepPlan, endpoint_name, sweep_plan_of
from persona_panel.experiments.sweep.result import Sweep
from persona_panel.files.response_batch import Batch
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.graphs.context import Abort, Answered, GraphContext
from persona_panel.graphs.degradation import Degradation
from persona_panel.graphs.framing import BASELINE, Prompt, Variant
from persona_panel.graphs.sweeping import (
    SweepContext,
    TargetAnswer,
    parts_of,
    response_key,
    response_of,
    sweeping_graph,
)
from persona_panel.models.config import Price, with_batches
from persona_panel.plan.bound_models import BoundModel, texts_at_once
from persona_panel.plan.panel_plan import PanelPlan, manifest_of, prices_document
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage
from persona_panel.runs.execution import CALLED, Execution, refuse_open_batches
from persona_panel.runs.executor import kept_going, prepared, written_at_the_end
from persona_panel.runs.held import HeldRun, held_in
from persona_panel.runs.judging.model_access import graph_context
from persona_panel.runs.notebook import notebook_progress
from persona_panel.runs.output import RunOutput
from persona_panel.runs.provenance import start_of
from persona_panel.runs.provider_batches import batch_caller_factory
from persona_panel.runs.request_files import Exported, RequestFiles, export
from persona_panel.runs.run import Run
from persona_panel.runs.written_at_address import sent_to_address

if TYPE_CHECKING:
    from persona_panel.experiments.sweep.plan import Models, Options

PROMPTS_IN_FLIGHT = 32
"""Enough that no gate stands idle while another prompt is being rewritten."""

Event = Variant | TargetAnswer | Judgment | Verdict | Degradation
OnEvent = Callable[[Event], None]


class Gathered:
    """What has come of a sweep so far."""

    def __init__(self) -> None:
        self.variants: list[Variant] = []
        self.answers: list[TargetAnswer] = []
        self.judgments: list[Judgment] = []
        self.verdicts: list[Verdict] = []
        self.comparisons: list[Degradation] = []
        self.responses: dict[str, Response] = {}
        self.usage: dict[str, Usage] = {}

    def take(self, event: Event) -> None:
        """Keep what has come; of judgments only what is counted."""
        match event:
            case Variant():
                self.variants.append(event)
            case TargetAnswer():
                self.answers.append(event)
            case Judgment():
                self.judgments.append(replace(event, raw="", rationale=None))
            case Verdict():
                self.verdicts.append(event)
            case Degradation():
                self.comparisons.append(event)

    def fill(self, run: Run) -> None:
        """Enter the judgments, and what rewriters and targets used, into a run."""
        for judgment in self.judgments:
            run.add(judgment)
        for verdict in self.verdicts:
            run.conclude(verdict)
        run.usage |= self.usage

    def judged(self, plan: SweepPlan) -> list[Response]:
        """The responses that went to the judges, in the order of prompts, systems and
        conditions."""
        prompts = {prompt.id: place for place, prompt in enumerate(plan.prompts)}
        systems = {name: place for place, name in enumerate(plan.systems)}
        conditions = {name: place for place, name in enumerate((BASELINE, *plan.conditions))}
        heard = {(one.prompt_id, one.id) for one in self.judgments}

        def place(key: str) -> tuple[int, int, int]:
            prompt, system, condition = parts_of(key)
            return prompts[prompt], systems[system], conditions[condition]

        ordered = [self.responses[key] for key in sorted(self.responses, key=place)]
        return [one for one in ordered if (one.prompt_id, one.id) in heard]


def sweep_context(
    plan: SweepPlan,
    judging: GraphContext,
    caller: Caller,
    gathered: Gathered,
    texts_at_once: int | None,
) -> SweepContext:
    """What the sweeping graph needs. `judging` reads from `gathered.responses`."""

    async def say(role: str, model: str, prompt: Prompt, request: ModelRequest) -> ModelResponse:
        name = endpoint_name(role, model)
        # An answer of a target that was cut off is judged as it is.
        page, usable = caller.page(name, prompt.text), role == "target"
        call = caller.complete(name, request, page, cut_is_usable=usable)
        if is_traced():
            by_itself = caller.traces_calls(name)
            call = traced(name, model, request, call, traces_calls=by_itself)
        reply = await call
        gathered.usage[name] = gathered.usage.get(name, Usage()) + reply.usage
        return reply

    def forget(role: str, model: str, prompt: Prompt, answered: Sequence[Answered]) -> None:
        caller.forget(answered, caller.page(endpoint_name(role, model), prompt.text))

    given: dict[str, list[str]] = {}
    if plan.responses is not None:
        given = {prompt.id: [] for prompt in plan.prompts}
        baselines = {prompt.id: prompt.text for prompt in plan.prompts}
        for one in plan.responses:
            key = response_key(one.prompt_id, one.system, one.condition)
            seen = baselines[one.prompt_id] if plan.judge_sees == "baseline" else one.prompt
            gathered.responses[key] = response_of(
                one.prompt_id, one.system, one.condition, seen, one.text
            )
            given[one.prompt_id].append(key)
    text_slot: AbstractAsyncContextManager[object]
    text_slot = nullcontext() if texts_at_once is None else asyncio.Semaphore(texts_at_once)
    return SweepContext(
        judging=judging,
        framings=plan.framings,
        prompts={prompt.id: prompt for prompt in plan.prompts},
        conditions=plan.conditions,
        systems=plan.systems,
        rewriters=plan.dealt(),
        given=given,
        judge_sees=plan.judge_sees,
        words=plan.words,
        variants={},
        responses=gathered.responses,
        say=say,
        forget=forget,
        text_slot=text_slot,
    )


async def _collect(panel: PanelPlan, plan: SweepPlan, caller: Caller) -> None:
    """Have everything asked that follows from what is answered, for what the caller gathers of it:
    nothing comes of the answers."""
    gathered = Gathered()
    judging = graph_context(panel, gathered.responses, caller, lambda _: None)
    judging = replace(judging, collecting=True)
    context = sweep_context(plan, judging, caller, gathered, texts_at_once(panel.models))
    await run_prompts(plan.prompts, context, lambda _: None)


async def run_prompts(prompts: Sequence[Prompt], context: SweepContext, take: OnEvent) -> None:
    """Take every prompt through the graph, some at a time.

    Raises:
        Abort: the run cannot go on.
    """
    limit = InFlightLimit(PROMPTS_IN_FLIGHT)

    async def one(prompt: Prompt) -> None:
        async with limit.slot(), aclosing(_events(prompt, context)) as events:
            async for event in events:
                take(event)

    try:
        async with asyncio.TaskGroup() as tasks:
            for prompt in prompts:
                tasks.create_task(one(prompt))
    except* Abort as group:
        raise group.exceptions[0] from None


async def _events(prompt: Prompt, context: SweepContext) -> AsyncGenerator[Event, None]:
    stream = sweeping_graph().astream(
        cast(Any, {"prompt": prompt.id}),
        context=context,
        stream_mode=["custom", "updates"],
        subgraphs=True,
    )
    async for namespace, mode, chunk in cast(AsyncIterator[Any], stream):
        if mode == "custom":
            yield chunk
        elif not namespace and isinstance(chunk, Mapping) and "compare" in chunk:
            for comparison in chunk["compare"]["comparisons"]:
                yield comparison


@sent_to_address
async def run_sweep(
    panel: PanelPlan,
    prompts: Sequence[str | Prompt] | None,
    targets: Models,
    options: Options,
    *,
    out: str | Path | RunOutput | None = None,
    caps: Caps = NO_CAPS,
    on_event: OnEvent | None = None,
    execution: Execution = CALLED,
) -> Sweep:
    """Plan a sweep, run it and write it; see `Panel.asweep`."""
    plan = sweep_plan_of(panel, prompts, targets, options)
    output = None if out is None else RunOutput.of(out)
    prices, manifest, texts = _prices(panel, plan), _manifest(panel, plan), texts_of(plan)
    if output is not None:
        refuse_open_batches(output.folder, execution.answered_by, overwrite=output.overwrite)
    models = _models(panel, plan)
    caller_factory = execution.caller_factory(models, caps, others_too=_others_too(panel, plan))
    probed, more = execution.probes, plan.endpoints
    async with prepared(
        panel, caps, output, manifest, texts, more, caller_factory=caller_factory, probed=probed
    ) as caller:
        folder = None
        if output is not None:
            start = start_of(output, [*panel.models, *plan.endpoints.values()])
            folder = SweepFolder(output, manifest, plan, start)
        n_responses = len(plan.prompts) * (1 + len(plan.conditions)) * len(plan.systems)
        told = on_event or notebook_progress(n_responses * len(panel.judges))
        gathered, started = Gathered(), time.monotonic()

        def take(event: Event) -> None:
            if folder is not None:
                match event:
                    case Judgment() | TargetAnswer():
                        kept_going(caller, folder.path, folder.add, event)
                    case Verdict():
                        kept_going(caller, folder.path, folder.flush)
            told(event)
            gathered.take(event)

        judging = graph_context(panel, gathered.responses, caller, take)
        context = sweep_context(plan, judging, caller, gathered, texts_at_once(panel.models))
        sweep: Sweep | None = None

        def finish(stopped: bool) -> None:
            """Put together what there is, and write it; who has stopped a sweep need not wait
            for figures."""
            nonlocal sweep
            judged = Batch(gathered.judged(plan))
            run = Run.of(panel, judged, prices)
            gathered.fill(run)
            run.calls, run.elapsed_s = caller.counts, time.monotonic() - started
            sweep = Sweep(
                plan,
                panel.output_rubric,
                run,
                judged,
                gathered.comparisons,
                gathered.variants,
                gathered.answers,
            )
            if folder is not None:
                folder.finish(sweep, drawn=not stopped)
                run.folder = folder.path

        with written_at_the_end(caller, folder, finish):
            await execution.begin(caller, models, lambda: _collect(panel, plan, caller))
            await run_prompts(plan.prompts, context, take)
    assert sweep is not None  # noqa: S101
    return sweep


async def export_sweep(
    panel: PanelPlan,
    prompts: Sequence[str | Prompt] | None,
    targets: Models,
    options: Options,
    files: RequestFiles,
) -> Exported:
    """Write the requests that a sweep would make next and the cache does not answer, to be answered
    elsewhere; calls no model that could be asked so. Raises as `run_sweep` and `export`."""
    plan = sweep_plan_of(panel, prompts, targets, options)
    models = _models(panel, plan)
    caller_factory, _ = batch_caller_factory(models, others_too=_others_too(panel, plan))
    async with prepared(
        panel, NO_CAPS, more=plan.endpoints, caller_factory=caller_factory, probed=False
    ) as caller:
        return await export(caller, models, lambda: _collect(panel, plan, caller), files)


def _models(panel: PanelPlan, plan: SweepPlan) -> dict[str, BoundModel]:
    """All models of a sweep, by the names under which they are called."""
    return {model.id: model for model in panel.models} | plan.endpoints


def _others_too(panel: PanelPlan, plan: SweepPlan) -> bool:
    """Whether what a model says decides what others are asked: a variant, a response, a reading."""
    return plan.responses is None or panel.deliberation is not None


def held_sweep(
    panel: PanelPlan,
    prompts: Sequence[str | Prompt] | None,
    targets: Models,
    options: Options,
    output: RunOutput,
    caps: Caps = NO_CAPS,
) -> HeldRun:
    """What a folder holds of this sweep; refuses what `run_sweep` would refuse; see `held_in`."""
    plan = sweep_plan_of(panel, prompts, targets, options)
    models = _models(panel, plan)
    return held_in(output, _manifest(panel, plan), texts_of(plan), models, caps)


def _prices(panel: PanelPlan, plan: SweepPlan) -> dict[str, Price | None]:
    return with_batches({name: model.price for name, model in _models(panel, plan).items()})


def _manifest(panel: PanelPlan, plan: SweepPlan) -> dict[str, Any]:
    prices = prices_document(_prices(panel, plan))
    return manifest_of(panel) | plan.manifest() | {"prices": prices}
