"""Runs made of scores, for tests of requirements on their figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.rubrics import Rubric
from persona_panel.runs.run import Run
from tests.helpers.judgments import PLAIN


def run_of(scores: ArrayLike, systems: Sequence[str], rubric: Rubric = PLAIN) -> Run:
    """A run of one model's personas on scores `(prompts, systems, judges)`, the same on each
    dimension of the rubric; NaN is a judgment that failed, −∞ one that is an abstention."""
    values = np.asarray(scores, dtype=float)
    n_prompts, _, n_judges = values.shape
    panel = [Judge(f"persona {j}", "m", "dimensions") for j in range(n_judges)]
    items = [Item(f"p{p}", f"{name}{p}", name) for p in range(n_prompts) for name in systems]
    run = Run(items, {}, panel, rubric, prices={"m": None}, seed=0)
    for item, ratings in zip(items, values.reshape(-1, n_judges).tolist(), strict=True):
        judgments = [
            Judgment(
                *item,
                judge,
                "failed" if np.isnan(rating) else "scored" if np.isfinite(rating) else "abstained",
                scores={dimension.id: rating for dimension in rubric.numeric}
                if np.isfinite(rating)
                else {},
                error="the server is gone" if np.isnan(rating) else None,
            )
            for judge, rating in zip(panel, ratings, strict=True)
        ]
        for judgment in judgments:
            run.add(judgment)
        run.conclude(aggregate(judgments, rubric))
    return run
