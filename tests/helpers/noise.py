"""A run of noise, in which one persona is above the others on one response."""

from __future__ import annotations

import numpy as np

from persona_panel import Panel
from persona_panel.files.responses import Item
from persona_panel.graphs.aggregate import aggregate
from persona_panel.runs.collected import judgment_of_row
from persona_panel.runs.run import Run
from persona_panel.testing import ScriptedModel


def a_run(n_prompts: int, n_systems: int, models: str, personas: str = "perspectives") -> Run:
    """Judgments of noise by this panel; on the first response, where there are two models, the
    second persona is 4 points above the others."""
    plan = Panel(personas, [ScriptedModel(model=name) for name in models]).plan
    items = [
        Item(f"p{i}", f"r{s}", f"system-{s}") for i in range(n_prompts) for s in range(n_systems)
    ]
    rubric = plan.output_rubric
    run = Run(items, {item.prompt_id: "Why?" for item in items}, [*plan.judges], rubric,
              prices={}, seed=0)  # fmt: skip
    run.personas = tuple(plan.personas)
    scores = np.random.default_rng(0).integers(4, 8, run.ratings.shape).astype(float)
    second = [judge.persona == plan.personas[-1].id for judge in plan.judges]
    scores[0, second] = 10
    for item, row in zip(items, scores, strict=True):
        judgments = [
            judgment_of_row(item, judge, one.tolist(), rubric)
            for judge, one in zip(plan.judges, row, strict=True)
        ]
        for judgment in judgments:
            run.add(judgment)
        run.conclude(aggregate(judgments, rubric))
    return run
