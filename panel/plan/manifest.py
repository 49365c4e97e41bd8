"""What run.json says of a panel: all that makes a run what it is. No keys, no headers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from persona_panel.calls.cache import key_of
from persona_panel.graphs import Response
from persona_panel.models.catalogue import Price
from persona_panel.plan.bound_models import BoundModel
from persona_panel.plan.panel_plan import PanelPlan


def manifest_of(plan: PanelPlan) -> dict[str, Any]:
    """A panel plan, as JSON has it."""
    rubric, output_rubric = plan.rubric, plan.output_rubric
    return {
        "personas": [persona.model_dump() for persona in plan.personas],
        "rubric": rubric.model_dump(mode="json"),
        # Null where ratings come as the rubric says.
        "output_rubric": None if output_rubric == rubric else output_rubric.model_dump(mode="json"),
        "models": [
            {"id": model.id, "model": model.config.model, "elicitation": model.elicitation}
            | {"parameters": dict(model.client.parameters)}
            for model in plan.models
        ],
        "layout": plan.layout,
        "replicates": plan.replicates,
        "plain_judge": plan.plain_judge,
        "one_dimension_per_call": plan.one_dimension_per_call,
        "deliberation": plan.deliberation and plan.deliberation.model_dump(),
        "seed": plan.seed,
        # Null where responses are judged by the usual graph.
        "graph": None if plan.graph is None else {"nodes": sorted(plan.graph.nodes)},
        "prompts": {model.id: _wording_of(model, plan) for model in plan.models},
        "prices": prices_document(plan.prices),
        "version": version("persona-panel"),
    }


def prices_document(prices: Mapping[str, Price | None]) -> dict[str, Any]:
    """Prices by model in US dollars for a million tokens, null where one is not known."""
    known = set(Price.model_fields)
    return {name: price and price.model_dump(include=known) for name, price in prices.items()}


def _wording_of(model: BoundModel, plan: PanelPlan) -> str:
    """A digest of the words in which a model is asked, whatever the response."""
    sample = Response(id="id", prompt="prompt", text="text", system="system")
    rubric, persona = plan.rubric, plan.personas[0]
    if plan.is_comparative:
        two = [sample, sample.model_copy(update={"id": "other"})]
        judge = next(judge for judge in plan.judges if judge.model == model.id)
        tasks = model.comparison_tasks(rubric, persona, judge, two, plan.seed)
        request = model.request_for(next(tasks))
    else:
        request = model.first_request(plan.first_rubric, persona, sample)
    return key_of(request, 1).hex()[:16]
