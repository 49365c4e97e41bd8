"""What a plan says to the graphs, whether calls are made or only followed through the cache."""

from __future__ import annotations

from typing import Any

from persona_panel.graphs.context import GraphContext
from persona_panel.plan.panel_plan import PanelPlan


def context_of(plan: PanelPlan, **others: Any) -> GraphContext:
    """The context of a plan's graphs; `others` are its other fields: the texts, and how models are
    called."""
    return GraphContext(
        rubric=plan.rubric,
        layout=plan.layout,
        deliberation=plan.deliberation,
        seed=plan.seed,
        one_call_per_dimension=plan.one_call_per_dimension,
        one_dimension_per_call=plan.one_dimension_per_call,
        personas=plan.personas_by_id,
        judges=plan.judges,
        graph=None if plan.graph is None else plan.graph.compile(name="judging"),
        **others,
    )
