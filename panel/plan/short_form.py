"""A panel in short, for a Python prompt and a notebook: who judges by what. No keys, no
addresses."""

from __future__ import annotations

from persona_panel.files.secrets import SECRETS
from persona_panel.plan.judge_counts import counted_judges
from persona_panel.plan.panel_plan import PanelPlan
from persona_panel.statistics.core.display import Facts, counted


def plan_facts(plan: PanelPlan) -> Facts:
    """Sizes and names; as HTML with a table of the personas."""
    rubric = plan.rubric
    models = [SECRETS.scrub(model.id) for model in plan.models]
    return Facts(
        "Panel",
        [
            counted_judges(plan.judges),
            counted(len(plan.personas), "persona"),
            f"models {' and '.join(models)}" if len(models) > 1 else f"model {models[0]}",
            f"rubric {':'.join(filter(None, (rubric.id, rubric.variant)))}",
            counted(len(plan.output_rubric.dimensions), "dimension"),
        ],
        ("persona", "axis"),
        [(persona.label, persona.axis) for persona in plan.personas],
    )
