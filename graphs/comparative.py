"""The state machine that compares the responses to one prompt with each other.

    START ─ Send ─▶ compare ×… ─▶ aggregate ─▶ END

As in `persona_panel.graphs.judging`, whose means, dialogues and Sends these are: what differs is
that a judge is asked about several responses at once, and that one answer bears on several
judgments.
"""

from __future__ import annotations

import asyncio
import json
import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Annotated, Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from persona_panel.graphs.aggregate import aggregate
from persona_panel.graphs.context import GraphContext
from persona_panel.graphs.dialogues import DialogueResult, run_dialogue
from persona_panel.graphs.records import (
    ComparisonTask,
    Judge,
    Judgment,
    Response,
    Verdict,
    by_id,
    comparison_tasks,
)
from persona_panel.rubrics import Usage, load_comparing
from persona_panel.rubrics.comparison import (
    PREFERRED,
    Order,
    Places,
    Standing,
    labels_of,
    outcome,
    standings,
)


class ComparativeState(TypedDict):
    """The state of a graph on the responses to one prompt."""

    responses: tuple[str, ...]
    judgments: Annotated[list[Judgment], operator.add]
    verdicts: list[Verdict]


class CompareInput(TypedDict):
    """The input of one `compare`: the responses' keys and the judges, all of one model."""

    responses: tuple[str, ...]
    judges: Sequence[Judge]


async def fan_out(state: ComparativeState, runtime: Runtime[GraphContext]) -> list[Send]:
    """Send one `compare` per group of judges."""
    return [
        Send("compare", CompareInput(responses=state["responses"], judges=group))
        for group in runtime.context.groups
    ]


async def compare(job: CompareInput, runtime: Runtime[GraphContext]) -> dict[str, Any]:
    """Ask judges of one model, as `GraphContext.ask_all` does."""
    context = runtime.context
    responses = by_id([context.responses[key] for key in job["responses"]])

    async def compared(judge: Judge) -> tuple[list[Judgment], bool]:
        judgments = await compare_all(judge, responses, context)
        for judgment in judgments:
            context.on_judgment(judgment)
        # What was said has been told; the state is for what is counted.
        counted = [replace(judgment, raw="", comparisons={}) for judgment in judgments]
        return counted, all(judgment.cached for judgment in judgments)

    answers = await context.ask_all(job["judges"], tuple(job["responses"]), compared)
    return {"judgments": list(chain.from_iterable(answers))}


async def compare_all(
    judge: Judge, responses: Sequence[Response], context: GraphContext
) -> list[Judgment]:
    """Have one judge compare all responses to a prompt, given in the order of their ids.

    Never raises but for cancellation and `Abort`, as `persona_panel.graphs.dialogues.ask_judge`.
    """
    persona = context.personas[judge.persona]
    elicitation = load_comparing(judge.elicitation)
    asked = list(
        comparison_tasks(context.rubric, persona, judge, responses, context.layout, context.seed)
    )

    async def held(task: ComparisonTask) -> DialogueResult:
        first = task.responses[0]
        async with context.exclusive(judge, first):
            return await run_dialogue(elicitation.dialogue(task.comparison), judge, first, context)

    answers = await asyncio.gather(*(held(task) for task in asked))
    return judgments_of(judge, responses, list(zip(asked, answers, strict=True)))


def judgments_of(
    judge: Judge,
    responses: Sequence[Response],
    answers: Sequence[tuple[ComparisonTask, DialogueResult]],
) -> list[Judgment]:
    """Turn a judge's answers into judgments, response by response; `responses` are in the order in
    which tasks number them.

    A response is `scored` where it was compared with any other, and its error says how many
    comparisons are missing; else its status is that of the first that is missing. It is
    `skipped` where any was not asked for at all: which ones a run that was stopped has is no
    accident, as it is for one answer in many that cannot be read.

    What an answer took is shared out in whole tokens among the responses that it is about, so
    that sums over judgments are what was spent.
    """
    placed = [(task.order, _places(task, held)) for task, held in answers]
    ranked = standings(len(responses), placed)
    return [
        _judgment(judge, i, responses, answers, placed, standing)
        for i, standing in enumerate(ranked)
    ]


def _places(task: ComparisonTask, held: DialogueResult) -> Places | None:
    if held.reading.status != "scored":
        return None
    labels = labels_of(task.comparison)
    return {i: held.reading.scores[label] for i, label in zip(task.order, labels, strict=True)}


def _judgment(
    judge: Judge,
    i: int,
    responses: Sequence[Response],
    answers: Sequence[tuple[ComparisonTask, DialogueResult]],
    placed: Sequence[tuple[Order, Places | None]],
    standing: Standing,
) -> Judgment:
    own = [(task, held) for task, held in answers if i in task.order]
    missing = [held.reading for _, held in own if held.reading.status != "scored"]
    skipped = next((reading for reading in missing if reading.status == "skipped"), None)
    lost = skipped or next(iter(missing), None)
    scored = skipped is None and not math.isnan(standing.share)
    error = None if lost is None else lost.error
    if scored and lost is not None:
        error = (
            f"{standing.missing} of {standing.of} comparisons are missing, the first {lost.status}"
            f": {lost.error}"
        )
    parts = [_part(held, task.order.index(i), len(task.order)) for task, held in own]
    return Judgment(
        prompt_id=responses[i].prompt_id or "",
        id=responses[i].id,
        system=responses[i].system,
        judge=judge,
        status="scored" if scored or lost is None else lost.status,
        scores={PREFERRED.id: standing.share} if scored else {},
        raw=_raw(i, own),
        usage=sum((usage for usage, _ in parts), Usage()),
        latency_s=math.fsum(latency for _, latency in parts),
        cached=all(held.cached for _, held in own),
        error=error,
        comparisons={
            responses[other].id: outcome(places, i, other)
            for order, places in placed
            if places is not None and i in order
            for other in order[order.index(i) + 1 :]
        },
    )


def _part(held: DialogueResult, place: int, n: int) -> tuple[Usage, float]:
    """Return one response's part of what an answer about n took; the parts add up to the whole."""

    def part(whole: int) -> int:
        return whole * (place + 1) // n - whole * place // n

    # What was cached apart from what was not, so that no part has more cached than read.
    usage = held.usage
    cached, written = part(usage.cached), part(usage.written)
    fresh = part(usage.input - usage.cached - usage.written)
    reasoning = part(usage.reasoning)
    shared = Usage(
        input=cached + written + fresh,
        cached=cached,
        output=part(usage.output - usage.reasoning) + reasoning,
        written=written,
        odd=usage.odd,
        reasoning=reasoning,
    )
    return shared, held.latency_s / n


def _raw(i: int, own: Sequence[tuple[ComparisonTask, DialogueResult]]) -> str:
    """Return the judge's words: those of its one answer, or of all in which the response stood
    first, as JSON by the id of what stood second."""
    if len(own) == 1:
        return own[0][1].reading.raw
    replies = {task.responses[1].id: held.reading.raw for task, held in own if task.order[0] == i}
    return json.dumps(replies, ensure_ascii=False)


async def conclude(state: ComparativeState, runtime: Runtime[GraphContext]) -> dict[str, Any]:
    """Compute the panel's verdict on each response, in the order of their ids."""
    by_response: dict[str, list[Judgment]] = {}
    for judgment in state["judgments"]:
        by_response.setdefault(judgment.id, []).append(judgment)
    output_rubric = runtime.context.output_rubric
    return {"verdicts": [aggregate(judgments, output_rubric) for judgments in by_response.values()]}


@cache
def comparative_graph() -> CompiledStateGraph[
    ComparativeState, GraphContext, ComparativeState, ComparativeState
]:
    """Return the compiled graph; one serves every panel, since a panel comes as context.

    Input `{"responses": keys}`, the keys in `GraphContext.responses` of all responses to a
    prompt, two at least; output the whole `ComparativeState`.
    """
    builder = StateGraph(ComparativeState, context_schema=GraphContext)
    builder.add_node("compare", cast(Any, compare))
    builder.add_node("aggregate", conclude)
    builder.add_conditional_edges(START, fan_out, ["compare"])
    builder.add_edge("compare", "aggregate")
    builder.add_edge("aggregate", END)
    return builder.compile(name="comparing")
