"""The run of a sweep: every prompt goes through the sweeping graph, and the results are gathered
and written into its folder.

prompts.jsonl holds the prompts, and responses.jsonl grows as the targets answer; where responses
are given, it holds these.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.caller import Caller
from persona_panel.calls.rate_limiter import InFlightLimit
from persona_panel.calls.tracing import is_traced, traced
from persona_panel.experiments.sweep.deltas import Cell
from persona_panel.experiments.sweep.plan import SweepPlan, endpoint_name, sweep_plan_of
from persona_panel.experiments.sweep.result import Sweep, condition_labels
from persona_panel.files.outputs import (
    as_json,
    cell_of,
    csv_of,
    json_lines,
    replace_file,
    sha256_of,
    without_texts,
)
from persona_panel.files.responses import Batch
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.graphs.context import Abort, Answered, GraphContext
from persona_panel.graphs.framing import BASELINE, Degradation, Prompt, Variant
from persona_panel.graphs.sweeping import (
    SweepContext,
    TargetAnswer,
    parts_of,
    response_key,
    response_of,
    sweeping_graph,
)
from persona_panel.models.config import Price, with_batches
from persona_panel.planning.bound_models import BoundModel, texts_at_once
from persona_panel.planning.panel_plan import PanelPlan, manifest_of, prices_document
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage
from persona_panel.runs.execution import CALLED, Execution, refuse_open_batches, start_of
from persona_panel.runs.executor import kept_going, notebook_progress, prepared, written_at_the_end
from persona_panel.runs.folder import HeldRun, RunFolder, held_in
from persona_panel.runs.judging.model_access import graph_context
from persona_panel.runs.judgment_lines import usage_document
from persona_panel.runs.kept import PROMPTS, RESPONSES, KeptTexts
from persona_panel.runs.output import AppendedFile, RunOutput, sent_to_address
from persona_panel.runs.provider_batches import batch_caller_factory
from persona_panel.runs.request_files import Exported, RequestFiles, export
from persona_panel.runs.run import Run
from persona_panel.statistics.figures import plots_at_hand

if TYPE_CHECKING:
    from persona_panel.experiments.sweep.plan import Models, Options


_WHAT = ("system", "dimension", "condition")
_FIGURES = (
    "delta", "ci_low", "ci_high", "p_value", "p_holm", "p_bounded", "p_sign", "sd", "effect_size",
)  # fmt: skip
_COUNTS = ("n_pairs", "n_abstained", "n_fell", "n_rose")


class SweepFolder:
    """One sweep's folder, open for writing; see `persona_panel.runs.folder.RunFolder`."""

    def __init__(
        self,
        output: RunOutput,
        manifest: Mapping[str, Any],
        plan: SweepPlan,
        start: Mapping[str, Any],
    ) -> None:
        self.path = output.folder
        self._texts = output.texts
        self._run = RunFolder(output, manifest, texts_of(plan), start)
        self._answers: AppendedFile | None = None
        if plan.responses is None:
            self._answers = AppendedFile(self.path / RESPONSES, _result, fresh=output.overwrite)

    def add(self, event: Judgment | TargetAnswer) -> None:
        """Append a judgment or a target's answer."""
        if isinstance(event, Judgment):
            self._run.add(event)
        elif self._answers is not None and event.text is not None:
            line = _answer(event)
            self._answers.add(line if self._texts else without_texts(line))
            # A judgment must not be written before its response.
            self._answers.flush()

    def flush(self) -> None:
        """Hand the judgments that were appended to the operating system."""
        self._run.flush()

    def discard(self) -> None:
        """Close the files without what this sweep has written; see `RunFolder.discard`."""
        if self._answers is not None:
            self._answers.discard()
        self._run.discard()

    def finish(self, sweep: Sweep, *, drawn: bool) -> None:
        """Close the growing files, and write all others; with figures if `drawn`."""
        lacking = 0 if self._answers is None else self._answers.close()
        if not self._run.finish(sweep.run, sweep.responses, lacking=lacking):
            return
        summary = as_json(sweep.document(), orjson.OPT_INDENT_2) + b"\n"
        replace_file(self.path / "summary.json", summary)
        if sweep.plan.responses is None:
            variants = [_variant(variant, texts=self._texts) for variant in sweep.variants]
            replace_file(self.path / "framings.jsonl", json_lines(variants))
            # They came in any order; figures of a sweep that is read again depend on the order of
            # the prompts.
            answers = [_answer(answer) for answer in _in_order(sweep) if answer.text is not None]
            kept = answers if self._texts else [without_texts(line) for line in answers]
            replace_file(self.path / RESPONSES, json_lines(kept))
        replace_file(self.path / "deltas.csv", deltas_csv(sweep.cells))
        if drawn and plots_at_hand():
            from persona_panel.experiments.sweep.plots import draw

            for name, content in draw(sweep, condition_labels(sweep.plan)):
                replace_file(self.path / name, content)

    def require_whole(self) -> None:
        """Refuse a folder whose files are not whole; see `RunFolder.require_whole`."""
        self._run.require_whole()


def _in_order(sweep: Sweep) -> list[TargetAnswer]:
    """Return the targets' answers in the order of prompts, systems and conditions."""
    plan = sweep.plan
    prompts = [prompt.id for prompt in plan.prompts]
    axes = (prompts, plan.systems, (BASELINE, *plan.conditions))
    places = [{name: place for place, name in enumerate(axis)} for axis in axes]

    def place(answer: TargetAnswer) -> tuple[int, ...]:
        names = (answer.prompt_id, answer.system, answer.condition)
        return tuple(known[name] for known, name in zip(places, names, strict=True))

    return sorted(sweep.answers, key=place)


def texts_of(plan: SweepPlan) -> KeptTexts:
    """Return the texts of a sweep: the responses that are given, else its prompts."""
    if plan.responses is None:
        asked = [{"prompt_id": prompt.id, "prompt": prompt.text} for prompt in plan.prompts]
        return KeptTexts.of_lines(PROMPTS, asked)
    # In the order of the prompts, which the folder does not say otherwise.
    places = {prompt.id: place for place, prompt in enumerate(plan.prompts)}
    lines = [
        _response(
            response.prompt_id, response.prompt, response.condition, response.system, response.text
        )
        for response in sorted(plan.responses, key=lambda response: places[response.prompt_id])
    ]
    return KeptTexts.of_lines(RESPONSES, lines)


def _result(line: Mapping[str, Any]) -> tuple[str, str]:
    return (line["prompt_id"], line["id"])


def deltas_csv(cells: Iterable[Cell]) -> bytes:
    """Return deltas.csv: one cell a line; a missing figure is empty."""
    rows: list[list[Any]] = [[*_WHAT, *_FIGURES, *_COUNTS]]
    for cell in cells:
        delta = cell.delta
        figures = [delta.value, delta.ci_low, delta.ci_high]
        bounded = math.nan if delta.p_bounded is None else delta.p_bounded
        figures += [delta.p_value, delta.p_holm, bounded, delta.p_sign, delta.sd, delta.effect_size]
        shown = ["" if math.isnan(value) else f"{value:.6f}" for value in figures]
        what = map(cell_of, (cell.system, cell.dimension, cell.condition))
        rows.append([*what, *shown, delta.n_pairs, cell.n_abstained, cell.n_fell, cell.n_rose])
    return csv_of(rows)


def _variant(variant: Variant, *, texts: bool) -> dict[str, Any]:
    said = variant.text
    digest = None if said is None else sha256_of(said)
    return {
        "prompt_id": variant.prompt_id,
        "condition": variant.condition,
        "attempt": variant.attempt,
        "used": variant.used,
        **({"prompt": said} if texts else {"prompt_sha256": digest}),
        "checks": variant.checks,
        "faults": list(variant.faults),
        "rewriter": variant.rewriter,
        "checker": variant.checker,
    }


def _answer(answer: TargetAnswer) -> dict[str, Any]:
    """Return an answer in the form that `--responses` reads, with its origin."""
    said = str(answer.text)
    own = _response(answer.prompt_id, answer.asked, answer.condition, answer.system, said)
    return own | {
        "cut_off": answer.cut_off,
        "usage": usage_document(answer.usage),
        "latency_s": round(answer.latency_s, 6),
        "cached": answer.cached,
    }


def _response(
    prompt_id: str, prompt: str, condition: str, system: str, text: str
) -> dict[str, Any]:
    """Return a response under the id that it has in the run's other files."""
    return {
        "prompt_id": prompt_id,
        "id": response_of(prompt_id, system, condition, prompt, text).id,
        "prompt": prompt,
        "condition": condition,
        "system": system,
        "response": text,
    }


PROMPTS_IN_FLIGHT = 32
"""Enough that no gate stands idle while another prompt is being rewritten."""

Event = Variant | TargetAnswer | Judgment | Verdict | Degradation
OnEvent = Callable[[Event], None]


class Gathered:
    """The events of a sweep so far."""

    def __init__(self) -> None:
        self.variants: list[Variant] = []
        self.answers: list[TargetAnswer] = []
        self.judgments: list[Judgment] = []
        self.verdicts: list[Verdict] = []
        self.comparisons: list[Degradation] = []
        self.responses: dict[str, Response] = {}
        self.usage: dict[str, Usage] = {}

    def take(self, event: Event) -> None:
        """Keep an event; of a judgment only what is counted."""
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
        """Add the judgments, and the usage of rewriters and targets, to a run."""
        for judgment in self.judgments:
            run.add(judgment)
        for verdict in self.verdicts:
            run.conclude(verdict)
        run.usage |= self.usage

    def judged(self, plan: SweepPlan) -> list[Response]:
        """Return the judged responses, in the order of prompts, systems and conditions."""
        prompts = {prompt.id: place for place, prompt in enumerate(plan.prompts)}
        systems = {name: place for place, name in enumerate(plan.systems)}
        conditions = {name: place for place, name in enumerate((BASELINE, *plan.conditions))}
        heard = {(judgment.prompt_id, judgment.id) for judgment in self.judgments}

        def place(key: str) -> tuple[int, int, int]:
            prompt, system, condition = parts_of(key)
            return prompts[prompt], systems[system], conditions[condition]

        ordered = [self.responses[key] for key in sorted(self.responses, key=place)]
        return [response for response in ordered if (response.prompt_id, response.id) in heard]


def sweep_context(
    plan: SweepPlan,
    judging: GraphContext,
    caller: Caller,
    gathered: Gathered,
    texts_at_once: int | None,
) -> SweepContext:
    """Return the context of the sweeping graph. `judging` reads from `gathered.responses`."""

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

    keys_of: dict[str, list[str]] = {}
    if plan.responses is not None:
        keys_of = {prompt.id: [] for prompt in plan.prompts}
        baselines = {prompt.id: prompt.text for prompt in plan.prompts}
        for response in plan.responses:
            key = response_key(response.prompt_id, response.system, response.condition)
            seen = (
                baselines[response.prompt_id] if plan.judge_sees == "baseline" else response.prompt
            )
            gathered.responses[key] = response_of(
                response.prompt_id, response.system, response.condition, seen, response.text
            )
            keys_of[response.prompt_id].append(key)
    text_slot: AbstractAsyncContextManager[object]
    text_slot = nullcontext() if texts_at_once is None else asyncio.Semaphore(texts_at_once)
    return SweepContext(
        judging=judging,
        framings=plan.framings,
        prompts={prompt.id: prompt for prompt in plan.prompts},
        conditions=plan.conditions,
        systems=plan.systems,
        rewriters=plan.dealt(),
        given=keys_of,
        judge_sees=plan.judge_sees,
        words=plan.words,
        variants={},
        responses=gathered.responses,
        say=say,
        forget=forget,
        text_slot=text_slot,
    )


async def _collect(panel: PanelPlan, plan: SweepPlan, caller: Caller) -> None:
    """Ask every question that follows from the cached answers, for the caller to collect; the
    answers are dropped."""
    gathered = Gathered()
    judging = graph_context(panel, gathered.responses, caller, lambda _: None)
    judging = replace(judging, collecting=True)
    context = sweep_context(plan, judging, caller, gathered, texts_at_once(panel.models))
    await run_prompts(plan.prompts, context, lambda _: None)


async def run_prompts(prompts: Sequence[Prompt], context: SweepContext, take: OnEvent) -> None:
    """Run every prompt through the graph, some at a time.

    Raises:
        Abort: the run cannot go on.
    """
    limit = InFlightLimit(PROMPTS_IN_FLIGHT)

    async def run_prompt(prompt: Prompt) -> None:
        async with limit.slot(), aclosing(_events(prompt, context)) as events:
            async for event in events:
                take(event)

    try:
        async with asyncio.TaskGroup() as tasks:
            for prompt in prompts:
                tasks.create_task(run_prompt(prompt))
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
        report = on_event or notebook_progress(n_responses * len(panel.judges))
        gathered, started = Gathered(), time.monotonic()

        def take(event: Event) -> None:
            if folder is not None:
                match event:
                    case Judgment() | TargetAnswer():
                        kept_going(caller, folder.path, folder.add, event)
                    case Verdict():
                        kept_going(caller, folder.path, folder.flush)
            report(event)
            gathered.take(event)

        judging = graph_context(panel, gathered.responses, caller, take)
        context = sweep_context(plan, judging, caller, gathered, texts_at_once(panel.models))
        sweep: Sweep | None = None

        def finish(stopped: bool) -> None:
            """Write what there is; a sweep that was stopped has no figures."""
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
            await caller.look_at_connections()
    assert sweep is not None  # noqa: S101
    return sweep


async def export_sweep(
    panel: PanelPlan,
    prompts: Sequence[str | Prompt] | None,
    targets: Models,
    options: Options,
    files: RequestFiles,
) -> Exported:
    """Write the next requests of a sweep that the cache does not answer, to be answered elsewhere;
    call no model that can be asked in this way. Raises as `run_sweep` and `export`."""
    plan = sweep_plan_of(panel, prompts, targets, options)
    models = _models(panel, plan)
    caller_factory, _ = batch_caller_factory(models, others_too=_others_too(panel, plan))
    async with prepared(
        panel, NO_CAPS, more=plan.endpoints, caller_factory=caller_factory, probed=False
    ) as caller:
        return await export(caller, models, lambda: _collect(panel, plan, caller), files)


def _models(panel: PanelPlan, plan: SweepPlan) -> dict[str, BoundModel]:
    """Return all models of a sweep, by the names under which they are called."""
    return {model.id: model for model in panel.models} | plan.endpoints


def _others_too(panel: PanelPlan, plan: SweepPlan) -> bool:
    """Return whether a model's answers decide what others are asked: a variant, a response, a
    reading."""
    return plan.responses is None or panel.settings.deliberation is not None


def held_sweep(
    panel: PanelPlan,
    prompts: Sequence[str | Prompt] | None,
    targets: Models,
    options: Options,
    output: RunOutput,
    caps: Caps = NO_CAPS,
) -> HeldRun:
    """Return what a folder holds of this sweep; refuse what `run_sweep` would refuse; see
    `held_in`."""
    plan = sweep_plan_of(panel, prompts, targets, options)
    models = _models(panel, plan)
    return held_in(output, _manifest(panel, plan), texts_of(plan), models, caps)


def _prices(panel: PanelPlan, plan: SweepPlan) -> dict[str, Price | None]:
    return with_batches({name: model.price for name, model in _models(panel, plan).items()})


def _manifest(panel: PanelPlan, plan: SweepPlan) -> dict[str, Any]:
    prices = prices_document(_prices(panel, plan))
    return manifest_of(panel) | plan.manifest() | {"prices": prices}
