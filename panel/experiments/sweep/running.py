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
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.caller import Caller
from persona_panel.calls.in_flight import InFlightLimit
from persona_panel.experiments.sweep.deltas import Cell
from persona_panel.experiments.sweep.plan import (
    SweepPlan,
    before_judging,
    endpoint_name,
    sweep_plan_of,
)
from persona_panel.experiments.sweep.result import Sweep, condition_labels
from persona_panel.files.outputs import (
    cell_of,
    csv_of,
    json_lines,
    replace_file,
    sha256_of,
    without_texts,
)
from persona_panel.files.responses import Batch
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.graphs.context import Answered, GraphContext
from persona_panel.graphs.framing import BASELINE, Degradation, Prompt, Variant
from persona_panel.graphs.sweeping import (
    SweepContext,
    TargetAnswer,
    parts_of,
    response_of,
    sweeping_graph,
)
from persona_panel.models.config import Price, with_batches
from persona_panel.planning.bound_models import Models, texts_at_once
from persona_panel.planning.panel_plan import PanelPlan, manifest_of, prices_document
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.page_columns import plots_at_hand
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage
from persona_panel.runs.cost_estimate import CostEstimate
from persona_panel.runs.execution import CALLED, Execution, start_of
from persona_panel.runs.executor import PanelJob, notebook_progress
from persona_panel.runs.folder import RunFolder
from persona_panel.runs.job import at_once, kept_going, predicted_calls
from persona_panel.runs.judgment_lines import usage_document
from persona_panel.runs.kept import PROMPTS, RESPONSES, KeptTexts
from persona_panel.runs.mode import mode_of
from persona_panel.runs.model_access import graph_context, is_traced, traced
from persona_panel.runs.output import AppendedFile, RunOutput
from persona_panel.runs.run import Run

if TYPE_CHECKING:
    from persona_panel.experiments.sweep.plan import Options


_WHAT = ("system", "dimension", "condition")
_FIGURES = (
    "ci_low", "ci_high", "p_value", "p_max_t", "p_bounded", "sd", "effect_size",
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
        if not self._run.finish(sweep.run, sweep.responses, sweep.document, lacking=lacking):
            return
        if sweep.plan.responses is None:
            variants = [_variant(variant, texts=self._texts) for variant in sweep.variants]
            replace_file(self.path / "framings.jsonl", json_lines(variants))
            # They came in any order; figures of a sweep that is read again depend on the order of
            # the prompts.
            order = _order_of(sweep.plan)
            answers = [answer for answer in sweep.answers if answer.text is not None]
            answers.sort(key=lambda each: order(each.prompt_id, each.system, each.condition))
            lines = map(_answer, answers)
            kept = lines if self._texts else map(without_texts, lines)
            replace_file(self.path / RESPONSES, json_lines(kept))
        replace_file(self.path / "deltas.csv", deltas_csv(sweep.cells))
        if drawn and plots_at_hand():
            from persona_panel.experiments.sweep.plots import draw

            for name, content in draw(sweep, condition_labels(sweep.plan)):
                replace_file(self.path / name, content)

    def require_whole(self) -> None:
        """Refuse a folder whose files are not whole; see `RunFolder.require_whole`."""
        self._run.require_whole()


def _order_of(plan: SweepPlan) -> Callable[[str, str, str], tuple[int, ...]]:
    """Return what says the place of a prompt, a system and a condition, in the plan's order."""
    axes = ([prompt.id for prompt in plan.prompts], plan.systems, (BASELINE, *plan.conditions))
    places = [{name: place for place, name in enumerate(axis)} for axis in axes]
    return lambda *names: tuple(known[name] for known, name in zip(places, names, strict=True))


def texts_of(plan: SweepPlan) -> KeptTexts:
    """Return the texts of a sweep: the responses that are given, else its prompts."""
    if plan.responses is None:
        asked = [{"prompt_id": prompt.id, "prompt": prompt.text} for prompt in plan.prompts]
        return KeptTexts.of_lines(PROMPTS, asked)
    # In the order of the prompts, which the folder does not say otherwise.
    places = {prompt.id: place for place, prompt in enumerate(plan.prompts)}
    lines = [
        _response(each.prompt_id, each.prompt, each.condition, each.system, each.text)
        for each in sorted(plan.responses, key=lambda each: places[each.prompt_id])
    ]
    return KeptTexts.of_lines(RESPONSES, lines)


def _result(line: Mapping[str, Any]) -> tuple[str, str]:
    return (line["prompt_id"], line["id"])


def deltas_csv(cells: Iterable[Cell]) -> bytes:
    """Return deltas.csv: one cell a line; a missing figure is empty."""
    rows: list[list[Any]] = [[*_WHAT, "delta", *_FIGURES, *_COUNTS]]
    for cell in cells:
        delta = cell.delta
        figures = [delta.value, *(getattr(delta, name) for name in _FIGURES)]
        shown = ["" if each is None or math.isnan(each) else f"{each:.6f}" for each in figures]
        what = map(cell_of, (cell.system, cell.dimension, cell.condition))
        rows.append([*what, *shown, delta.n_pairs, cell.n_abstained, cell.n_fell, cell.n_rose])
    return csv_of(rows)


def _variant(variant: Variant, *, texts: bool) -> dict[str, Any]:
    text = variant.text
    digest = None if text is None else sha256_of(text)
    return {
        "prompt_id": variant.prompt_id, "condition": variant.condition, "attempt": variant.attempt,
        "used": variant.used, **({"prompt": text} if texts else {"prompt_sha256": digest}),
        "checks": variant.checks, "faults": list(variant.faults), "rewriter": variant.rewriter,
        "checker": variant.checker,
    }  # fmt: skip


def _answer(answer: TargetAnswer) -> dict[str, Any]:
    """Return an answer in the form that `--responses` reads, with its origin."""
    text = str(answer.text)
    own = _response(answer.prompt_id, answer.asked, answer.condition, answer.system, text)
    cost = {"usage": usage_document(answer.usage), "latency_s": round(answer.latency_s, 6)}
    return own | {"cut_off": answer.cut_off, **cost, "cached": answer.cached}


def _response(
    prompt_id: str, prompt: str, condition: str, system: str, text: str
) -> dict[str, Any]:
    """Return a response under the id that it has in the run's other files."""
    own = response_of(prompt_id, system, condition, prompt, text).id
    return {
        "prompt_id": prompt_id, "id": own, "prompt": prompt, "condition": condition,
        "system": system, "response": text,
    }  # fmt: skip


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
        order = _order_of(plan)
        heard = {(judgment.prompt_id, judgment.id) for judgment in self.judgments}
        keys = sorted(self.responses, key=lambda key: order(*parts_of(key)))
        ordered = [self.responses[key] for key in keys]
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

    by_prompt = {} if plan.responses is None else plan.responses_by_prompt()
    for responses in by_prompt.values():
        gathered.responses |= responses
    text_slot: AbstractAsyncContextManager[object]
    text_slot = nullcontext() if texts_at_once is None else asyncio.Semaphore(texts_at_once)
    return SweepContext(
        judging=judging,
        framings=plan.framings,
        prompts={prompt.id: prompt for prompt in plan.prompts},
        conditions=plan.conditions,
        systems=plan.systems,
        rewriters=plan.dealt(),
        response_keys={prompt: list(responses) for prompt, responses in by_prompt.items()},
        judge_sees=plan.judge_sees,
        words=plan.words,
        variants={},
        responses=gathered.responses,
        say=say,
        forget=forget,
        text_slot=text_slot,
    )


async def run_prompts(prompts: Sequence[Prompt], context: SweepContext, take: OnEvent) -> None:
    """Run every prompt through the graph, some at a time; raises Abort if the run cannot go on."""
    limit = InFlightLimit(PROMPTS_IN_FLIGHT)

    async def run_prompt(prompt: Prompt) -> None:
        async with limit.slot(), aclosing(_events(prompt, context)) as events:
            async for event in events:
                take(event)

    await at_once(map(run_prompt, prompts))


async def _events(prompt: Prompt, context: SweepContext) -> AsyncGenerator[Event, None]:
    stream = sweeping_graph().astream(
        cast(Any, {"prompt": prompt.id}), context=context, stream_mode=["custom", "updates"],
        subgraphs=True,
    )  # fmt: skip
    async for namespace, mode, chunk in cast(AsyncIterator[Any], stream):
        if mode == "custom":
            yield chunk
        elif not namespace and isinstance(chunk, Mapping) and "compare" in chunk:
            for comparison in chunk["compare"]["comparisons"]:
                yield comparison


class Sweeping(PanelJob[Sweep]):
    """A sweep; see `Panel.asweep`."""

    def __init__(
        self,
        panel: PanelPlan,
        prompts: Sequence[str | Prompt] | None,
        targets: Models,
        options: Options,
        out: str | Path | RunOutput | None = None,
    ) -> None:
        self.sweep = sweep_plan_of(panel, prompts, targets, options)
        n = self.sweep.n_responses
        output = None if out is None else RunOutput.of(out)
        super().__init__(panel, output, f"at most {counted(n, 'response')}", self.sweep.endpoints)
        self.most_results = n * len(panel.judges)
        # A variant, a response, a reading decides what others are asked.
        self.others_too = self.sweep.responses is None or panel.settings.deliberation is not None

    @property
    def manifest(self) -> dict[str, Any]:
        prices = prices_document(self._prices)
        return manifest_of(self.plan) | self.sweep.manifest() | {"prices": prices}

    @cached_property
    def texts(self) -> KeptTexts:
        return texts_of(self.sweep)

    def estimate(self) -> list[CostEstimate]:
        with predicted_calls() as predicted:
            parts, batch = before_judging(self.sweep, predicted)
            return [*parts, *mode_of(self.plan).estimate(Batch(batch), predicted)]

    async def collect(self, caller: Caller) -> None:
        gathered = Gathered()
        judging = graph_context(self.plan, gathered.responses, caller, lambda _: None)
        await self._run_prompts(replace(judging, collecting=True), caller, gathered, lambda _: None)

    async def run(
        self,
        caps: Caps = NO_CAPS,
        execution: Execution = CALLED,
        on_event: OnEvent | None = None,
    ) -> Sweep:
        panel, plan, output = self.plan, self.sweep, self.output
        async with self.calling(caps, execution) as caller:
            folder = None
            if output is not None:
                start = start_of(output, self.models.values(), caps)
                folder = SweepFolder(output, self.manifest, plan, start)
            report = on_event or notebook_progress(self.most_results)
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

            sweep: Sweep | None = None

            def finish(stopped: bool) -> None:
                """Write what there is; a sweep that was stopped has no figures."""
                nonlocal sweep
                judged = Batch(gathered.judged(plan))
                run = Run.of(panel, judged, self._prices)
                gathered.fill(run)
                run.calls, run.elapsed_s = caller.counts, time.monotonic() - started
                sweep = Sweep(
                    plan, panel.output_rubric, run, judged, gathered.comparisons,
                    gathered.variants, gathered.answers,
                )  # fmt: skip
                if folder is not None:
                    folder.finish(sweep, drawn=not stopped)
                    run.folder = folder.path

            discard = (lambda: None) if folder is None else folder.discard
            async with self.asking(caller, execution, finish, discard):
                judging = graph_context(panel, gathered.responses, caller, take)
                await self._run_prompts(judging, caller, gathered, take)
            if folder is not None:
                folder.require_whole()
        assert sweep is not None  # noqa: S101
        return sweep

    async def _run_prompts(
        self, judging: GraphContext, caller: Caller, gathered: Gathered, take: OnEvent
    ) -> None:
        at_once = texts_at_once(self.plan.models)
        context = sweep_context(self.sweep, judging, caller, gathered, at_once)
        await run_prompts(self.sweep.prompts, context, take)

    @property
    def _prices(self) -> dict[str, Price | None]:
        return with_batches({name: model.price for name, model in self.models.items()})
