"""Small deliberations to test with, and any at all."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np
from hypothesis import strategies as st

from persona_panel.statistics.revisions import Revisions


def revisions(
    before: Any,
    after: Any,
    *,
    stated: Any = None,
    deliberated: Sequence[bool] | None = None,
    prompts: Sequence[str] | None = None,
    steps: Sequence[float] | None = None,
) -> Revisions:
    """A deliberation of `(responses, judges)` or `(responses, judges, dimensions)` scores; each
    response to its own prompt, whole numbers and nothing stated unless said."""
    first, last = (np.array(side, dtype=float) for side in (before, after))
    if first.ndim == 2:
        first, last = first[:, :, None], last[:, :, None]
    n, j, d = first.shape
    return Revisions(
        first,
        last,
        np.zeros((n, j), bool) if stated is None else np.array(stated, dtype=bool),
        np.ones(n, bool) if deliberated is None else np.array(deliberated, dtype=bool),
        [f"p{i}" for i in range(n)] if prompts is None else list(prompts),
        np.ones(d) if steps is None else np.array(steps, dtype=float),
    )


@st.composite
def any_revisions(draw: st.DrawFn) -> Revisions:
    """Up to four responses, four judges and two dimensions, with gaps, halves and moves."""
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 2)))
    score = st.sampled_from([nan, 1.0, 1.4, 1.5, 2.0, 3.0, 4.0])

    def scores() -> Any:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(score, min_size=size, max_size=size))).reshape(shape)

    def flags(*sizes: int) -> Any:
        size = int(np.prod(sizes))
        return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))).reshape(sizes)

    before, deliberated = scores(), flags(shape[0])
    after = np.where(deliberated[:, None, None], scores(), before)
    prompts = [f"p{i // 2}" for i in range(shape[0])]
    return Revisions(before, after, flags(*shape[:2]), deliberated, prompts, np.ones(shape[2]))
