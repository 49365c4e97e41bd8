"""What LangGraph's development server opens: a panel that judges, one that deliberates, one that
compares, and a sweep.

The panel is that of the file in PERSONA_PANEL_FILE, or the default one. Each graph is made in a
thread, and kept: the server asks for it at every request, and its loop must not wait for files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NotRequired, cast

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from persona_panel.calls.budget import NO_CAPS
from persona_panel.experiments.sweep.plan import sweep_plan_of
from persona_panel.experiments.sweep.running import Gathered, sweep_context
from persona_panel.graphs import Judgment, Response
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.framing import Degradation
from persona_panel.graphs.sweeping import sweeping_graph
from persona_panel.models.config import known_models
from persona_panel.planning.bound_models import texts_at_once
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.runs.executor import prepared
from persona_panel.runs.judging.model_access import graph_context
from persona_panel.runs.panel_graph import PanelGraph, panel_graph

ENVIRONMENT_VARIABLE = "PERSONA_PANEL_FILE"
COMPARING_ELICITATION = "ranking"


class SweptPromptInput(TypedDict):
    """A question, and the models whose answers are judged: the panel's own where none is named."""

    prompt: str
    targets: NotRequired[list[str]]


class SweptPromptState(SweptPromptInput):
    """Results of the prompt: its text by condition, the answers to each, what judges said of
    them, and how far each condition lowered the ratings."""

    variants: dict[str, str]
    responses: list[Response]
    judgments: list[Judgment]
    comparisons: list[Degradation]


async def judging() -> PanelGraph:
    """A response goes in; its judges' ratings and the panel's verdict come out."""
    return await _made_once(_judging)


async def deliberating() -> PanelGraph:
    """The same, where judges see each other's ratings and may revise theirs: in one round, unless
    the panel file says otherwise."""
    return await _made_once(_deliberating)


async def comparative() -> PanelGraph:
    """Responses to one prompt go in; each judge ranks them."""
    return await _made_once(_comparative)


async def sweeping() -> PanelGraph:
    """A prompt goes in; what pressure does to the answers of models comes out."""
    return await _made_once(_sweeping)


@cache
def _lock() -> asyncio.Lock:
    return asyncio.Lock()


async def _made_once(make: Callable[[], PanelGraph]) -> PanelGraph:
    # Two requests at once would make it twice.
    async with _lock():
        return await asyncio.to_thread(make)


@cache
def _plan() -> PanelPlan:
    file = os.environ.get(ENVIRONMENT_VARIABLE)
    return PanelPlan.from_file(file) if file else PanelPlan.of()


@cache
def _judging() -> PanelGraph:
    return panel_graph(_plan())


@cache
def _deliberating() -> PanelGraph:
    plan = _plan()
    return panel_graph(_with(plan, plan.settings.deliberation or Deliberation(rounds=1)))


def _with(plan: PanelPlan, deliberation: Deliberation | None) -> PanelPlan:
    return replace(plan, settings=plan.settings.model_copy(update={"deliberation": deliberation}))


@cache
def _comparative() -> PanelGraph:
    plan = _plan()
    if not plan.is_comparative:
        models = [replace(model, elicitation=COMPARING_ELICITATION) for model in plan.models]
        plan = _with(replace(plan, models=tuple(models)), None)
    return panel_graph(plan)


@cache
def _sweeping() -> PanelGraph:
    plan, inner = _plan(), sweeping_graph()
    # Read in this thread, as in `panel_graph`.
    known_models()

    async def sweep(state: SweptPromptState, runtime: Runtime[None]) -> dict[str, Any]:
        targets = state.get("targets") or [model.id for model in plan.models]
        swept = await asyncio.to_thread(sweep_plan_of, plan, [state["prompt"]], targets, {})
        gathered = Gathered()
        async with prepared(plan, NO_CAPS, more=swept.endpoints, off_loop=True) as caller:
            judges = graph_context(plan, gathered.responses, caller, gathered.take)
            context = sweep_context(swept, judges, caller, gathered, texts_at_once(plan.models))
            [prompt] = swept.prompts
            done = await inner.ainvoke(cast(Any, {"prompt": prompt.id}), context=context)
        return {
            "variants": {condition: text for (_, condition), text in context.variants.items()},
            "responses": list(gathered.responses.values()),
            "judgments": gathered.judgments,
            "comparisons": done["comparisons"],
        }

    builder = StateGraph(SweptPromptState, input_schema=SweptPromptInput)
    builder.add_node("sweep", sweep)
    builder.add_edge(START, "sweep")
    builder.add_edge("sweep", END)
    return cast(PanelGraph, builder.compile(name="sweeping"))
