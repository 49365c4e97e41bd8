"""A panel as a compiled LangGraph graph: the texts come in by its state, the verdict goes out.

What the judging graphs take as their context is put together here for each response: a server or a
graph of the user's own knows nothing of it. The loop that runs the graph is theirs, too, so files
are opened and read in a thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from graphs import Judgment, Response, Verdict
from graphs.comparative import comparative_graph
from graphs.context import Abort, GraphContext
from graphs.judging import judging_graph
from panel.calls.budget import NO_CAPS
from panel.errors import ConfigurationError, RunStopped
from panel.io.response_batch import Batch
from panel.judging.mode import mode_of
from panel.judging.model_access import graph_context
from panel.models.catalogue import known_models
from panel.plan.panel_plan import PanelPlan
from panel.runs.executor import prepared

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


class PanelInput(TypedDict):
    """What a panel is given to judge."""

    response: Response


class PanelState(PanelInput):
    """One response, what its judges said and what comes of it; judgments are without raw text."""

    judgments: list[Judgment]
    verdict: Verdict


class ComparingPanelInput(TypedDict):
    """What a panel is given to compare: responses to one prompt."""

    responses: list[Response]


class ComparingPanelState(ComparingPanelInput):
    """The responses to one prompt, what judges said and what comes of it."""

    judgments: list[Judgment]
    verdicts: list[Verdict]


PanelGraph = CompiledStateGraph[Any, None, Any, Any]


def panel_graph(
    plan: PanelPlan, checkpointer: BaseCheckpointSaver[Any] | None = None
) -> PanelGraph:
    """A panel as a compiled graph; see `panel.panel.Panel.graph`."""
    # The file of models is read here, once a process, and not in the loop that runs the graph.
    known_models()
    return _comparing(plan, checkpointer) if plan.is_comparative else _judging(plan, checkpointer)


def _judging(plan: PanelPlan, checkpointer: BaseCheckpointSaver[Any] | None) -> PanelGraph:
    # LangGraph finds it in the function below, and draws it.
    inner = judging_graph(plan.deliberation is not None)
    if plan.graph is not None:
        inner = plan.graph.compile(name="judging")

    async def judge(state: PanelState, runtime: Runtime[None]) -> dict[str, Any]:
        if "response" not in state:
            raise ConfigurationError("the panel's graph needs the input `response`; found none")
        responses = [Response.model_validate(state["response"])]
        async with _context_of(plan, responses, runtime) as context:
            [key] = context.responses
            done = await inner.ainvoke(cast(Any, {"response": key}), context=context)
        return {name: done[name] for name in ("judgments", "verdict") if name in done}

    builder = StateGraph(PanelState, input_schema=PanelInput)
    builder.add_node("judge", judge)
    builder.add_edge(START, "judge")
    builder.add_edge("judge", END)
    return cast(PanelGraph, builder.compile(checkpointer, name="panel"))


def _comparing(plan: PanelPlan, checkpointer: BaseCheckpointSaver[Any] | None) -> PanelGraph:
    inner = comparative_graph()

    async def compare(state: ComparingPanelState, runtime: Runtime[None]) -> dict[str, Any]:
        if "responses" not in state:
            raise ConfigurationError("the panel's graph needs the input `responses`; found none")
        responses = [Response.model_validate(one) for one in state["responses"]]
        async with _context_of(plan, responses, runtime) as context:
            keys = tuple(context.responses)
            done = await inner.ainvoke(cast(Any, {"responses": keys}), context=context)
        return {"judgments": done["judgments"], "verdicts": done["verdicts"]}

    builder = StateGraph(ComparingPanelState, input_schema=ComparingPanelInput)
    builder.add_node("compare", compare)
    builder.add_edge(START, "compare")
    builder.add_edge("compare", END)
    return cast(PanelGraph, builder.compile(checkpointer, name="panel"))


@asynccontextmanager
async def _context_of(
    plan: PanelPlan, responses: Sequence[Response], runtime: Runtime[None]
) -> AsyncIterator[GraphContext]:
    """The context of the graphs for responses that are judged together. Judgments go, as they are
    made, to whoever streams the graph's `custom` output.

    Raises:
        InputError: a response is too long for a model, or cannot be compared.
        RunStopped: the panel cannot go on.
    """
    batch = Batch(responses, one_prompt_each=True)
    mode_of(plan).check(batch)
    texts = {str(place): response for place, response in enumerate(batch)}
    try:
        async with prepared(plan, NO_CAPS, off_loop=True) as caller:
            yield graph_context(plan, texts, caller, runtime.stream_writer)
    except Abort as error:
        raise RunStopped(str(error)) from error
