"""A sweep at work: every prompt through the sweeping graph, and what comes out gathered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from graphs import Judge, Judgment, Response, Verdict
from graphs import judging as judging_floor
from graphs.comparing import Comparison
from graphs.framing import BASELINE, Prompt, Variant
from graphs.sweeping import Answer, Means, parts_of, response_key, response_of, sweeping_graph
from panel.batch import Batch
from panel.calls.caller import Caller
from panel.errors import RunStopped
from panel.models.catalogue import Price
from panel.models.weights import ENGINES
from panel.run import Run
from panel.sweep.folder import SweepFolder
from panel.sweep.plan import Plan, line_of
from panel.sweep.result import Sweep
from rubrics import Ask, Reply, Rubric, Usage

PROMPTS_IN_FLIGHT = 32
"""Enough that no gate stands idle while another prompt is being rewritten."""

Event = Variant | Answer | Judgment | Verdict | Comparison
OnEvent = Callable[[Event], None]
OnJudgment = Callable[[Judgment], None]


class Gathered:
    """What has come of a sweep so far."""

    def __init__(self) -> None:
        self.variants: list[Variant] = []
        self.answers: list[Answer] = []
        self.judgments: list[Judgment] = []
        self.verdicts: list[Verdict] = []
        self.comparisons: list[Comparison] = []
        self.responses: dict[str, Response] = {}
        self.usage: dict[str, Usage] = {}

    def take(self, event: Event) -> None:
        """Keep what has come; of judgments only what is counted."""
        match event:
            case Variant():
                self.variants.append(event)
            case Answer():
                self.answers.append(event)
            case Judgment():
                self.judgments.append(replace(event, raw="", rationale=None))
            case Verdict():
                self.verdicts.append(event)
            case Comparison():
                self.comparisons.append(event)

    def fill(self, run: Run) -> None:
        """Enter the judgments, and what rewriters and targets used, into a run."""
        for judgment in self.judgments:
            run.add(judgment)
        for verdict in self.verdicts:
            run.conclude(verdict)
        run.usage |= self.usage

    def judged(self, plan: Plan) -> list[Response]:
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


def means_of(
    plan: Plan, judging: judging_floor.Means, caller: Caller, gathered: Gathered, embedded: bool
) -> Means:
    """What the sweeping graph needs. `judging` reads from `gathered.responses`."""

    async def say(role: str, model: str, prompt: Prompt, ask: Ask) -> Reply:
        line = line_of(role, model)
        reply = await caller.ask(line, ask, caller.page(line, prompt.text))
        gathered.usage[line] = gathered.usage.get(line, Usage()) + reply.usage
        return reply

    def forget(role: str, model: str, prompt: Prompt, asks: Sequence[Ask]) -> None:
        caller.forget(asks, caller.page(line_of(role, model), prompt.text))

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
    # A model in this process keeps one text in mind for each of its engines.
    desk: AbstractAsyncContextManager[object]
    desk = asyncio.Semaphore(ENGINES) if embedded else nullcontext()
    return Means(
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
        desk=desk,
    )


async def run_prompts(prompts: Sequence[Prompt], means: Means, take: OnEvent) -> None:
    """Take every prompt through the graph, some at a time.

    Raises:
        Abort: the run cannot go on.
    """
    room = asyncio.Semaphore(PROMPTS_IN_FLIGHT)

    async def one(prompt: Prompt) -> None:
        async with room, aclosing(_events(prompt, means)) as events:
            async for event in events:
                take(event)

    try:
        async with asyncio.TaskGroup() as tasks:
            for prompt in prompts:
                tasks.create_task(one(prompt))
    except* judging_floor.Abort as group:
        raise group.exceptions[0] from None


async def _events(prompt: Prompt, means: Means) -> AsyncGenerator[Event, None]:
    stream = sweeping_graph().astream(
        cast(Any, {"prompt": prompt.id}),
        context=means,
        stream_mode=["custom", "updates"],
        subgraphs=True,
    )
    async for namespace, mode, chunk in cast(AsyncIterator[Any], stream):
        if mode == "custom":
            yield chunk
        elif not namespace and isinstance(chunk, Mapping) and "compare" in chunk:
            for comparison in chunk["compare"]["comparisons"]:
                yield comparison


@dataclass(frozen=True, slots=True)
class Site:
    """What a panel lends to a sweep: its judges, and the means to call."""

    caller: Caller
    judging: Callable[[Mapping[str, Response], OnJudgment], judging_floor.Means]
    judges: Sequence[Judge]
    rubric: Rubric
    prices: Mapping[str, Price | None]
    manifest: dict[str, Any]
    embedded: bool
    deliberating: bool


async def run_sweep(
    plan: Plan, site: Site, *, out: str | Path | None, on_event: OnEvent | None
) -> Sweep:
    """Run a planned sweep, and write it.

    Raises:
        RunFolderError: `out` holds another run, or cannot be made.
        RunStopped: the run could not go on; what it has is written.
    """
    folder = None
    if out is not None:
        folder = SweepFolder(Path(out), site.manifest | plan.manifest())
    gathered, started = Gathered(), time.monotonic()

    def take(event: Event) -> None:
        if folder is not None and isinstance(event, Judgment):
            folder.add(event)
        if on_event is not None:
            on_event(event)
        gathered.take(event)

    judging = site.judging(gathered.responses, take)
    means = means_of(plan, judging, site.caller, gathered, site.embedded)

    def finished(*, stopped: bool = False) -> Sweep:
        """What there is, and written; who has stopped a sweep need not wait for figures."""
        judged = Batch(gathered.judged(plan))
        run = Run(
            judged,
            site.judges,
            site.rubric,
            prices=site.prices,
            seed=plan.seed,
            deliberating=site.deliberating,
        )
        gathered.fill(run)
        run.tally, run.elapsed_s = site.caller.tally, time.monotonic() - started
        sweep = Sweep(
            plan,
            site.rubric,
            run,
            judged,
            gathered.comparisons,
            gathered.variants,
            gathered.answers,
        )
        if folder is not None:
            folder.finish(sweep, drawn=not stopped)
            run.folder = folder.path
        return sweep

    try:
        try:
            await run_prompts(plan.prompts, means, take)
        except BaseException:
            finished(stopped=True)
            raise
        return finished()
    except (judging_floor.Abort, OSError) as error:
        raise RunStopped(str(error)) from error
