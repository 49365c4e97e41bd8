"""Graphs that LangGraph's development server opens: a panel that judges, one that deliberates, one
that compares, and a sweep.

The panel is that of the file in PERSONA_PANEL_FILE, or the default one, with what a request's
config puts in its place (`PanelChoice`): models by their names, without an address, and files below
the folder in which the server was started. A graph is made in a thread, as the server's loop must
not wait for files. The one for requests that choose nothing is kept: the server asks for it at
each.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypeAlias, cast

from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import TypedDict

from persona_panel.calls.budget import NO_CAPS
from persona_panel.experiments.sweep.plan import sweep_plan_of
from persona_panel.experiments.sweep.running import Gathered, sweep_context
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.wording import did_you_mean, explain, shown
from persona_panel.graphs import Judgment, Response
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.framing import Degradation
from persona_panel.graphs.sweeping import sweeping_graph
from persona_panel.models.config import known_models
from persona_panel.planning.bound_models import texts_at_once
from persona_panel.planning.panel_plan import PanelPlan, refuse_unseen
from persona_panel.planning.settings import PanelFile
from persona_panel.runs.executor import prepared
from persona_panel.runs.model_access import graph_context
from persona_panel.runs.panel_graph import PanelGraph, panel_graph

if TYPE_CHECKING:
    from langgraph_sdk.runtime import ServerRuntime

ENVIRONMENT_VARIABLE = "PERSONA_PANEL_FILE"
COMPARING_ELICITATION = "ranking"
_FOLDER = Path.cwd().resolve()


def _of_panel_files(name: str) -> Any:
    return Field(default=None, description=PanelFile.model_fields[name].description)


class PanelChoice(BaseModel):
    """The panel of a request, as its config (`context`, or `configurable`) says: what it leaves out
    is the server's own."""

    model_config = ConfigDict(extra="forbid")

    panel: str | None = Field(
        default=None,
        description="A panel file below the server's folder, in place of its own.",
    )
    personas: str | None = _of_panel_files("personas")
    rubric: str | None = _of_panel_files("rubric")
    models: list[str] | None = _of_panel_files("models")
    elicitation: str | None = _of_panel_files("elicitation")


_SERVERS_OWN = ("__", "langgraph_", "thread_id", "checkpoint", "run_id", "graph_id", "assistant_id")
"""The beginnings of keys that the server or its client adds to a config."""


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


async def judging(runtime: ServerRuntime[Any]) -> PanelGraph:
    """A response goes in; its judges' ratings and the panel's verdict come out."""
    return await _made(_judging, runtime)


async def deliberating(runtime: ServerRuntime[Any]) -> PanelGraph:
    """The same, where judges see each other's ratings and may revise theirs: in one round, unless
    the panel file says otherwise."""
    return await _made(_deliberating, runtime)


async def comparative(runtime: ServerRuntime[Any]) -> PanelGraph:
    """Responses to one prompt go in; each judge ranks them."""
    return await _made(_comparative, runtime)


async def sweeping(runtime: ServerRuntime[Any]) -> PanelGraph:
    """A prompt goes in; what pressure does to the answers of models comes out."""
    return await _made(_sweeping, runtime)


_Make: TypeAlias = Callable[[PanelPlan], PanelGraph]


@cache
def _lock() -> asyncio.Lock:
    return asyncio.Lock()


async def _made(make: _Make, runtime: ServerRuntime[Any]) -> PanelGraph:
    # Before the server takes out of the context what the schema does not know.
    execution = runtime.execution_runtime
    chosen = {} if execution is None else execution.context or {}
    # Two requests at once would make it twice.
    async with _lock():
        return await asyncio.to_thread(_graph_of, make, chosen)


def _graph_of(make: _Make, chosen: Mapping[str, Any]) -> PanelGraph:
    own = {name: value for name, value in chosen.items() if not name.startswith(_SERVERS_OWN)}
    return make(_plan_of(own)) if own else _kept_graph(make)


@cache
def _kept_graph(make: _Make) -> PanelGraph:
    return make(_plan_of({}))


def _plan_of(chosen: Mapping[str, Any]) -> PanelPlan:
    """Return the panel of a request.

    Raises:
        ConfigurationError: its config has what no panel can be chosen by, an address or a file
            elsewhere, or no panel comes of it.
        InputError: a file cannot be read.
    """
    try:
        choice = PanelChoice.model_validate(chosen)
    except ValidationError as error:
        wrong = []
        for detail in error.errors():
            actual, expected = explain(detail)
            if detail["type"] == "extra_forbidden":
                known = PanelChoice.model_fields
                expected = f"one of {', '.join(known)}{did_you_mean(str(detail['loc'][0]), known)}"
            wrong.append(
                f"{'.'.join(map(str, detail['loc']))}: found {actual}; expected {expected}"
            )
        raise ConfigurationError(f"the config of the graph: {'; '.join(wrong)}") from None
    _refuse_addresses("models", choice.models or ())
    for name in ("panel", "personas", "rubric"):
        _refuse_outside(name, getattr(choice, name))
    parts: Any = choice.model_dump(exclude_none=True, exclude={"panel"})
    file = choice.panel or os.environ.get(ENVIRONMENT_VARIABLE)
    return PanelPlan.from_file(file, **parts) if file else PanelPlan.of(**parts)


def _refuse_addresses(name: str, models: Iterable[str]) -> None:
    # A request may come from a page: it has no server called, and no key sent there.
    for model in models:
        if "@" in model or "://" in model:
            raise ConfigurationError(
                f"{name}: found {shown(model)}; expected provider:name without an address, which "
                "only a panel file may have"
            )


def _refuse_outside(name: str, file: str | None) -> None:
    if file is not None and not (_FOLDER / file).resolve().is_relative_to(_FOLDER):
        raise ConfigurationError(
            f"{name}: found {shown(file)}; expected a file below the folder in which the server "
            "was started"
        )


def _judging(plan: PanelPlan) -> PanelGraph:
    return panel_graph(plan, context_schema=PanelChoice)


def _deliberating(plan: PanelPlan) -> PanelGraph:
    deliberation = plan.settings.deliberation or Deliberation(rounds=1)
    return panel_graph(_with(plan, deliberation), context_schema=PanelChoice)


def _with(plan: PanelPlan, deliberation: Deliberation | None) -> PanelPlan:
    return replace(plan, settings=plan.settings.model_copy(update={"deliberation": deliberation}))


def _comparative(plan: PanelPlan) -> PanelGraph:
    if not plan.is_comparative:
        models = [replace(model, elicitation=COMPARING_ELICITATION) for model in plan.models]
        refuse_unseen(plan.rubric.template, models, plan.personas)
        plan = _with(replace(plan, models=tuple(models)), None)
    return panel_graph(plan, context_schema=PanelChoice)


def _sweeping(plan: PanelPlan) -> PanelGraph:
    inner = sweeping_graph()
    # Read in this thread, as in `panel_graph`.
    known_models()

    async def sweep(state: SweptPromptState) -> dict[str, Any]:
        _refuse_addresses("targets", state.get("targets") or ())
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

    builder = StateGraph(SweptPromptState, PanelChoice, input_schema=SweptPromptInput)
    builder.add_node("sweep", sweep)
    builder.add_edge(START, "sweep")
    builder.add_edge("sweep", END)
    return cast(PanelGraph, builder.compile(name="sweeping"))
