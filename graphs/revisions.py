"""What changes between the rounds of a deliberation: pure functions of judgments."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from persona_panel.graphs.records import Judge, Judgment
from persona_panel.rubrics import CategoryScale, Rubric
from persona_panel.rubrics.rubric import Dimension

_REAL_STEPS = 10


def latest_judgments(judgments: Sequence[Judgment]) -> dict[Judge, Judgment]:
    """Each judge's last judgment."""
    return {judgment.judge: judgment for judgment in sorted(judgments, key=attrgetter("round"))}


def may_revise(judgment: Judgment) -> bool:
    """Whether there is a judgment to revise."""
    return judgment.status in ("scored", "abstained")


def has_changed(before: Judgment, after: Judgment, rubric: Rubric) -> bool:
    """Whether two judgments differ: by half a step (see `step`), by a category, by a rating that
    one of them lacks, or in what they say of abstention."""
    if before.abstained != after.abstained or before.labels != after.labels:
        return True
    if before.scores.keys() != after.scores.keys():
        return True
    return any(
        abs(after.scores[dimension.id] - before.scores[dimension.id]) >= step(dimension) / 2
        for dimension in rubric.numeric
        if dimension.id in before.scores
    )


def step(dimension: Dimension) -> float:
    """What counts as a step on a numeric scale: 1 on integers, a tenth of a range of reals."""
    scale = dimension.scale
    if isinstance(scale, CategoryScale):
        raise ValueError(f"{dimension.id} is rated by categories, which have no steps")
    return 1.0 if scale.kind == "integer" else (scale.max - scale.min) / _REAL_STEPS
