"""Alignments of plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from persona_panel.statistics import LearntAlignment, Ratings, align


def learnt_alignment(
    judges: np.ndarray, people: np.ndarray, prompts: Sequence[Any] | None = None, **how: Any
) -> LearntAlignment:
    """Return the alignment of ratings `(items, raters)` of one dimension."""
    items = tuple(f"i{n}" for n in range(len(judges)))
    ours, theirs = (
        Ratings(
            side[:, :, None], items, tuple(f"{name}{n}" for n in range(side.shape[1])), ("all",),
            (name,) * side.shape[1], None if prompts is None else tuple(map(str, prompts)),
        )
        for name, side in (("judge", judges), ("human", people))
    )  # fmt: skip
    [learnt] = align(ours, theirs, **how).dimensions
    return learnt
