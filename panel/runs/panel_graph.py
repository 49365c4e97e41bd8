"""A panel as a compiled LangGraph graph: the texts come in by its state, the verdict goes out.

What the judging graphs take as their context is put together here for each response: a server or a
graph of the user's own knows nothing of it. The loop that runs the graph is theirs, too, so files
are opened and read in a thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime
from pydantic import BaseModel, ValidationError
from typing_extensions import TypedDict

from persona_panel.calls.budget import NO_CAPS
from persona_panel.files.errors import ConfigurationError, Fault, InputError, RunStopped
from persona_panel.files.responses import Batch
from persona_panel.files.wording import explain
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.graphs.comparative import comparative_graph
from persona_panel.graphs.context import Abort, GraphContext
from persona_panel.graphs.judging import judging_graph
from persona_panel.models.config import known_models
from persona_panel.models.event_loops import run_in_loop
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.runs.executor import prepared
from persona_panel.runs.mode import mode_of
from persona_panel.runs.model_access import graph_context

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


class PanelInput(TypedDict):
    """The input of a panel that judges responses one by one."""

    response: Response


class PanelState(PanelInput):
    """The state of a panel: one response, what its judges said and its verdict; judgments are
    without raw text."""

    judgments: list[Judgment]
    verdict: Verdict


class ComparingPanelInput(TypedDict):
    """The input of a panel that compares: responses to one prompt."""

    responses: list[Response]


class ComparingPanelState(ComparingPanelInput):
    """The state of a panel that compares: the responses to one prompt, what judges said and their
    verdicts."""

    judgments: list[Judgment]
    verdicts: list[Verdict]


PanelGraph = CompiledStateGraph[Any, None, Any, Any]
_InnerGraph = CompiledStateGraph[Any, GraphContext, Any, Any]


def panel_graph(
    plan: PanelPlan,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    context_schema: type[BaseModel] | None = None,
) -> PanelGraph:
    """Return a panel as a compiled graph; see `persona_panel.panel.Panel.graph`.

    `context_schema` says what a server that makes the graph for a request asks for before.
    """
    # The file of models is read here, once a process, and not in the loop that runs the graph.
    known_models()
    # LangGraph finds it in the functions below, and draws it.
    inner: _InnerGraph
    schemas: tuple[Any, Any]
    if plan.is_comparative:
        name, judged, schemas = "compare", _compared, (ComparingPanelState, ComparingPanelInput)
        inner = cast(_InnerGraph, comparative_graph())
    else:
        name, judged, schemas = "judge", _judged, (PanelState, PanelInput)
        deliberates = plan.settings.deliberation is not None
        own = plan.graph and plan.graph.compile(name="judging")
        inner = cast(_InnerGraph, own or judging_graph(deliberates))

    def judge(state: Any) -> dict[str, Any]:
        return run_in_loop(judged(plan, inner, state, get_runtime()))

    async def ajudge(state: Any) -> dict[str, Any]:
        return await judged(plan, inner, state, get_runtime())

    builder = StateGraph(schemas[0], cast(Any, context_schema), input_schema=schemas[1])
    builder.add_node(name, RunnableLambda(judge, ajudge, name=name))
    builder.add_edge(START, name)
    builder.add_edge(name, END)
    return builder.compile(checkpointer, name="panel")


async def _judged(
    plan: PanelPlan, inner: _InnerGraph, state: Any, runtime: Runtime[None]
) -> dict[str, Any]:
    responses = [_response(_required(state, "response"))]
    async with _context_of(plan, responses, runtime) as context:
        [key] = context.responses
        done = await inner.ainvoke({"response": key}, context=context)
    return {name: done[name] for name in ("judgments", "verdict") if name in done}


async def _compared(
    plan: PanelPlan, inner: _InnerGraph, state: Any, runtime: Runtime[None]
) -> dict[str, Any]:
    responses = [_response(each) for each in _required(state, "responses")]
    async with _context_of(plan, responses, runtime) as context:
        done = await inner.ainvoke({"responses": tuple(context.responses)}, context=context)
    return {"judgments": done["judgments"], "verdicts": done["verdicts"]}


def _required(state: Mapping[str, Any], name: str) -> Any:
    if name not in state:
        raise ConfigurationError(f"the panel's graph needs the input `{name}`; found none")
    return state[name]


def _response(value: Any) -> Response:
    """Return a response of a graph's input, which may be JSON's."""
    try:
        return Response.model_validate(value)
    except ValidationError as error:
        faults = []
        for detail in error.errors(include_url=False):
            actual, expected = explain(detail)
            field = ".".join(map(str, detail["loc"])) or None
            faults.append(Fault("response", actual, expected, field=field))
        raise InputError(faults) from None


@asynccontextmanager
async def _context_of(
    plan: PanelPlan, responses: Sequence[Response], runtime: Runtime[None]
) -> AsyncIterator[GraphContext]:
    """Open the context of the graphs for responses that are judged together. Judgments go, as they
    are made, to whoever streams the graph's `custom` output. Raises InputError: a response is too
    long for a model, or cannot be compared; RunStopped: the panel cannot go on."""
    batch = Batch(responses, one_prompt_each=True)
    mode_of(plan).check(batch)
    texts = {str(place): response for place, response in enumerate(batch)}
    try:
        async with prepared(plan, NO_CAPS, off_loop=True) as caller:
            yield graph_context(plan, texts, caller, runtime.stream_writer)
    except Abort as error:
        raise RunStopped(str(error)) from error
