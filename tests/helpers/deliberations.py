"""A run whose judges deliberated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from persona_panel import Composite, Dimension, Ratings, Rubric, Scale
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge
from persona_panel.runs.collected import CollectedRatings
from persona_panel.runs.deliberation import DeliberationReport, deliberation_of

TEN = [Judge(f"persona{i}", "local:m", "dimensions") for i in range(10)]


def deliberation(
    before: Any,
    after: Any,
    *,
    stated: Any = None,
    human: Ratings | None = None,
    rubric: Rubric | None = None,
    judges: Sequence[Judge] | None = None,
    deliberated: Sequence[bool] | None = None,
) -> DeliberationReport:
    """Of `(responses, judges, dimensions)` scores on whole numbers: two systems A and B in turn,
    the two responses to a prompt one after the other, all of them deliberated unless
    it is said."""
    first = np.array(before, dtype=float)
    n, j, d = first.shape
    items = [Item(f"p{i // 2}", "ab"[i % 2] + f"{i // 2}", "AB"[i % 2]) for i in range(n)]
    revised = CollectedRatings(
        items, list(judges or TEN[:j]), rubric or rated(d), deliberating=True
    )
    revised.before, revised.ratings = first, np.array(after, dtype=float)
    revised.deliberated[:] = True if deliberated is None else deliberated
    if stated is not None:
        revised.stated = stated
    return deliberation_of(revised, seed=0, humans=human)


def rated(d: int, composite: Composite | None = None) -> Rubric:
    """A rubric of one or two dimensions on whole numbers from 0 to 20."""
    scale = Scale(min=0, max=20, low="none", high="full")
    return Rubric(
        id="r",
        label="R",
        question="How good?",
        dimensions=tuple(
            Dimension(
                id=name, label=name.title(), definition="d", guiding_question="g?", scale=scale
            )
            for name in ("clarity", "depth")[:d]
        ),
        composite=composite,
    )


HUMAN = np.arange(1.0, 17.0)


SWAPPED = HUMAN.reshape(8, 2)[:, ::-1].ravel()


NAMES = tuple(f"p{i // 2}/{'ab'[i % 2]}{i // 2}" for i in range(16))


JUDGED = np.repeat(SWAPPED[:, None, None], 2, axis=1)


AGREED = np.repeat(HUMAN[:, None, None], 2, axis=1)


def humans(
    items: tuple[str, ...] = NAMES, dimension: str = "clarity", *, ranks: bool = False
) -> Ratings:
    """Two humans, one half a point below and one half a point above."""
    scores = np.stack([HUMAN - 0.5, HUMAN + 0.5], axis=1)[:, :, None]
    return Ratings(
        17 - scores if ranks else scores,
        items,
        ("h1", "h2"),
        (dimension,),
        ("human", "human"),
        lower_is_better=ranks,
    )
