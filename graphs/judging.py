"""The state machine that judges one response: read by every judge, then aggregate.

    START ─ Send ─▶ read ×… ─▶ aggregate ─▶ END

Where the panel deliberates, its readings meet in between, and may be sent back:

    … read ×… ─▶ confer ─ Send ─▶ read ×… ─▶ confer … ─▶ aggregate ─▶ END

A Send goes to the judges of each model in a batch, and to each judge where somebody looks at the
graph (`persona_panel.graphs.context.groups_of`).

`builder` has room for nodes of one's own before the first `read` and before `aggregate`.

Nothing here opens a socket, a file or a cache: what looks a response up and
calls a model is handed in as the run's context. The state holds a response's key
and small values; texts stay in the context, and each whole judgment is told to whoever
holds the run as soon as it is made. Not by LangGraph's custom stream, whose every item wakes
the event loop through a socket.
"""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, NotRequired, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from persona_panel.graphs.aggregate import aggregate
from persona_panel.graphs.context import (
    Abort,
    GraphContext,
    Unanswered,
    check_own,
)
from persona_panel.graphs.deliberation import (
    StoppingRuleError,
    latest_judgments,
    may_revise,
    should_continue,
)
from persona_panel.graphs.dialogues import ask_judge, ask_revision
from persona_panel.graphs.records import (
    Judge,
    Judgment,
    Verdict,
    without_texts,
)
from persona_panel.rubrics import (
    ModelResponse,
)


class JudgingState(TypedDict):
    """The state of a graph on one response.

    The last two are for nodes of one's own: a reason why nobody is to be asked, written before the
    first `read`, makes every judgment `skipped`; an adjudication, a judgment that decides where
    judges disagree, makes the verdict by itself.
    """

    response: str
    judgments: Annotated[list[Judgment], operator.add]
    verdict: Verdict
    skip_reason: NotRequired[str]
    adjudication: NotRequired[Judgment]


class ReadInput(TypedDict):
    """The input of one `read`: the response's key, the judges that read it, all of one model, what
    the panel judged of it so far, and why they are not asked, if they are not."""

    response: str
    judges: Sequence[Judge]
    judgments: list[Judgment]
    skip_reason: str | None


async def fan_out(state: JudgingState, runtime: Runtime[GraphContext]) -> list[Send]:
    """Send one `read` per group of judges."""
    # Coroutines, these small functions too: LangGraph sends any other to a thread.
    judgments, why = state.get("judgments", []), state.get("skip_reason")
    return [
        Send(
            "read",
            ReadInput(
                response=state["response"], judges=group, judgments=judgments, skip_reason=why
            ),
        )
        for group in runtime.context.groups
    ]


async def confer(state: JudgingState) -> dict[str, Any]:
    """Wait for all readings of a round; `next_round` decides what follows."""
    return {}


async def next_round(state: JudgingState, runtime: Runtime[GraphContext]) -> list[Send] | str:
    """Send another round, or go on to the verdict."""
    context, judgments = runtime.context, state["judgments"]
    if context.collecting and any(judgment.status == "skipped" for judgment in judgments):
        return "aggregate"
    try:
        if (rules := context.deliberation) and should_continue(
            judgments, rules, context.output_rubric
        ):
            return await fan_out(state, runtime)
    except StoppingRuleError as error:
        # To go on would cost rounds that the rule is there to save.
        raise Abort(f"{error}; repair the rule, then the same command goes on") from error
    return "aggregate"


async def read(job: ReadInput, runtime: Runtime[GraphContext]) -> dict[str, Any]:
    """Ask judges of one model, as `GraphContext.ask_all` does."""
    context = runtime.context
    response = context.responses[job["response"]]
    if (reason := job["skip_reason"]) is not None:
        context = replace(context, ask=_skipping(reason))
    judgments, judges = job["judgments"], job["judges"]
    now = latest_judgments(judgments) if judgments else {}
    if judgments:
        judges = [judge for judge in judges if judge not in now or may_revise(now[judge])]

    async def judged(judge: Judge) -> tuple[Judgment, bool]:
        async with context.exclusive(judge, response):
            if now and judge in now:
                judgment = await ask_revision(judge, response, judgments, context)
            else:
                judgment = await ask_judge(judge, response, context)
        context.on_judgment(judgment)
        # The raw text has been told; the state is for what is counted and what peers are shown.
        counted = without_texts(judgment, keep_rationale=context.deliberation is not None)
        return counted, judgment.cached

    return {"judgments": await context.ask_all(judges, job["response"], judged)}


def _skipping(reason: str) -> Callable[..., Awaitable[ModelResponse]]:
    async def ask(*_: object) -> ModelResponse:
        raise Unanswered("skipped", reason)

    return ask


async def conclude(state: JudgingState, runtime: Runtime[GraphContext]) -> dict[str, Any]:
    """Compute the panel's verdict on the response, or take that of whoever adjudicated."""
    context, judgments = runtime.context, state["judgments"]
    adjudication, models = state.get("adjudication"), context.models
    own = [
        entry
        for entry in judgments
        if not isinstance(entry, Judgment) or entry.judge.model not in models
    ]
    if own or adjudication is not None:
        check_own(own, adjudication, context.responses[state["response"]], context.output_rubric)
    last = list(latest_judgments(judgments).values())
    if adjudication is not None:
        last = [adjudication]
    return {"verdict": aggregate(last, context.output_rubric)}


Builder = StateGraph[JudgingState, GraphContext, JudgingState, JudgingState]


def builder(
    *,
    deliberating: bool = True,
    before_read: str | None = None,
    before_aggregate: str | None = None,
) -> Builder:
    """Return the graph before it is compiled, so that nodes of one's own can be added to it.

    Input is `{"response": key}`, the key of a response in `GraphContext.responses`. A `Panel` takes
    the graph as `Panel(graph=…)` and fills in the context.

    Args:
        deliberating: whether it can deliberate, where its context says how.
        before_read: the name of a node that the caller adds with `add_node`: the graph begins there
            and goes on to the first `read`.
        before_aggregate: likewise, a node through which all judgments go before `aggregate`.
    """
    graph = StateGraph(JudgingState, context_schema=GraphContext)
    # With `ReadInput` as its schema the state would have a channel for each key that it is sent.
    graph.add_node("read", read, input_schema=JudgingState)  # type: ignore[call-overload]
    graph.add_node("aggregate", conclude)
    if before_read is not None:
        graph.add_edge(START, before_read)
    graph.add_conditional_edges(before_read or START, fan_out, ["read"])
    last = before_aggregate or "aggregate"
    if deliberating:
        graph.add_node("confer", confer)
        graph.add_edge("read", "confer")
        graph.add_conditional_edges("confer", next_round, {"read": "read", "aggregate": last})
    else:
        graph.add_edge("read", last)
    if before_aggregate is not None:
        graph.add_edge(before_aggregate, "aggregate")
    graph.add_edge("aggregate", END)
    return graph


@cache
def judging_graph(
    deliberating: bool = False,
) -> CompiledStateGraph[JudgingState, GraphContext, JudgingState, JudgingState]:
    """Return the compiled graph; one serves every panel, since a panel comes as context.

    `deliberating`: the one for panels whose context says how they deliberate.

    Input `{"response": key}`, the key of a response in `GraphContext.responses`; output the
    whole `JudgingState`.
    """
    return builder(deliberating=deliberating).compile(name="judging")


async def judge_response(key: str, context: GraphContext) -> JudgingState:
    """Return the judgments and the verdict of the context's own graph, or of `judging_graph`.

    Raises:
        Abort: the context's graph waits for an answer to an `interrupt`, or ends without a verdict.
    """
    graph = context.graph or judging_graph(context.deliberation is not None)
    start, kept = cast(Any, {"response": key}), ["judgments", "verdict"]
    # Not `ainvoke`: it streams each node's update besides (what that takes is written above).
    values = graph.astream(start, context=context, stream_mode="values", output_keys=kept)
    done: dict[str, Any] = {}
    async for value in values:
        done = value
    if "verdict" not in done:
        response = context.responses[key]
        waiting = "__interrupt__" in done
        raise Abort(
            f"the panel's graph {'waits for an answer' if waiting else 'ended without a verdict'} "
            f"about the response {response.id!r} to the prompt {response.prompt_id!r}"
            + ("; answers can be given to Panel.graph() alone" if waiting else "")
        )
    return cast(JudgingState, done)
