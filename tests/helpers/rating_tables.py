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


def of_one_dimension(n_raters: int = 6, seed: int = 0, **names: object) -> Ratings:
    """Ratings 1-7 of 20 items of 5 prompts on one dimension."""
    rng = np.random.default_rng(seed)
    quality = np.random.default_rng(99).normal(size=(20, 1, 1))
    scores = np.clip(np.round(4 + 1.5 * quality + rng.normal(size=(20, n_raters, 1))), 1, 7)
    given: dict[str, object] = {
        "items": tuple(f"i{n}" for n in range(20)),
        "raters": tuple(f"r{n}" for n in range(n_raters)),
        "dimensions": ("all",),
        "groups": ("all",) * n_raters,
        "prompts": tuple(f"p{n // 4}" for n in range(20)),
    }
    return Ratings(**({"scores": scores} | given | names))  # type: ignore[arg-type]


def by_breakdown(rows: list[Row]) -> dict[tuple[str, str, str | None, str | None], Row]:
    """Rows by statistic, group, and what they are broken down by, of one dimension."""
    found = {(row.statistic, row.group, row.by, row.by_value): row for row in rows}
    assert len(found) == len(rows)
    assert not [row for row in rows if row.reason is Reason.ERROR]
    return found


def only(rows: list[Row], statistic: str, group: str = "all", dimension: str = "clarity") -> Row:
    """The row of a statistic."""
    (row,) = [
        row
        for row in rows
        if (row.statistic, row.group, row.dimension) == (statistic, group, dimension)
    ]
    return row


LABELS = ("x", "y")


def labelled(codes: list[list[float]], prefix: str) -> Ratings:
    """Labels by raters of one group `(items, raters)`."""
    scores = np.array(codes, dtype=float)
    return Ratings(
        scores[:, :, None],
        tuple(f"i{item}" for item in range(len(scores))),
        tuple(f"{prefix}{rater}" for rater in range(scores.shape[1])),
        ("use",),
        (prefix,) * scores.shape[1],
        categories={"use": LABELS},
    )
