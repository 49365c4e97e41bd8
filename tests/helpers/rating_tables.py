"""Rating tables for the tests of statistics."""

from __future__ import annotations

from math import nan

import numpy as np

from persona_panel.statistics import AnalysisOptions, Ratings, Reason, Row

QUICK = AnalysisOptions(n_permutations=39, min_shared=10)


RNG = np.random.default_rng(0)


QUALITY = RNG.normal(size=(24, 1, 2))


def made_up(seed: int, n_raters: int, **names: object) -> Ratings:
    """Ratings 1–5 of 24 items of 6 prompts and 4 sources on 2 dimensions, a tenth missing."""
    rng = np.random.default_rng(seed)
    noisy = QUALITY + 0.8 * rng.normal(size=(24, n_raters, 2))
    scores = np.digitize(noisy, [-1.2, -0.4, 0.4, 1.2]) + 1.0
    scores[rng.random(scores.shape) < 0.1] = nan
    given: dict[str, object] = {
        "items": tuple(f"i{n}" for n in range(24)),
        "raters": tuple(f"r{seed}-{n}" for n in range(n_raters)),
        "dimensions": ("clarity", "depth"),
        "groups": ("human",) * n_raters,
        "prompts": tuple(f"p{n // 4}" for n in range(24)),
        "sources": tuple("abcd"[n % 4] for n in range(24)),
    }
    return Ratings(scores, **(given | names))  # type: ignore[arg-type]


HUMANS = made_up(1, 5)


PANEL = made_up(2, 3, groups=("m1", "m1", "m2"))


def by_name(rows: list[Row]) -> dict[tuple[str, ...], Row]:
    """Rows by statistic, group, what they are broken down by if they are, and dimension."""
    found = {
        (row.statistic, row.group, *([row.by_value] if row.by_value else []), row.dimension): row
        for row in rows
    }
    assert len(found) == len(rows), "a statistic of a group and dimension has one row"
    assert not [row for row in rows if row.reason is Reason.ERROR]
    return found
