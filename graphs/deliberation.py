"""When a panel goes on about a response, and what each judge then sees: pure rules.

The loop that follows them is in `graphs.judging`; the words that judges are told are in
`rubrics.conference`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from graphs.aggregate import count, summarise
from graphs.records import Judge, Judgment
from personas import Persona
from rubrics import CategoryScale, Rubric
from rubrics.conference import Peer, ratings_in_words
from rubrics.rubric import Dimension

Reveal = Literal["scores", "rationales", "both"]
_REAL_STEPS = 10


class Deliberation(BaseModel):
    """How a panel deliberates after each judge has read alone.

    Args:
        rounds: of revision, at most.
        reveal: what judges see of each other.
        until_settled: stop once a round changes nothing, or where there is nothing to settle.
        spread_above: deliberate only on responses whose spread is larger (see `spread`).
        named: whether peers go by persona and model; by default they are anonymous.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rounds: int = Field(ge=1, le=20)
    reveal: Reveal = "scores"
    until_settled: bool = False
    spread_above: float | None = Field(default=None, ge=0)
    named: bool = False


def standing(judgments: Sequence[Judgment]) -> dict[Judge, Judgment]:
    """Each judge's last judgment."""
    return {judgment.judge: judgment for judgment in sorted(judgments, key=lambda j: j.round)}


def goes_on(judgments: Sequence[Judgment], rules: Deliberation, rubric: Rubric) -> bool:
    """Whether there is to be another round."""
    last = max(judgment.round for judgment in judgments)
    now = [judgment for judgment in standing(judgments).values() if may_revise(judgment)]
    if last > rules.rounds or len(now) < 2:
        return False
    if last == 1 and rules.spread_above is not None and spread(now, rubric) <= rules.spread_above:
        return False
    return not (rules.until_settled and settled(judgments, rubric))


def may_revise(judgment: Judgment) -> bool:
    """Whether there is a judgment to revise."""
    return judgment.status in ("scored", "abstained")


def spread(judgments: Sequence[Judgment], rubric: Rubric) -> float:
    """How far judges lie apart on the dimension where they do most.

    The standard deviation (n − 1) of the ratings, in points of the scale; for categories,
    the share of judges (0 to 1) outside the most frequent one. 0 with fewer than two ratings.
    """
    return max(_spread_on(dimension, judgments) for dimension in rubric.dimensions)


def settled(judgments: Sequence[Judgment], rubric: Rubric) -> bool:
    """Whether the last round changed nothing, or all judges rate alike."""
    last = max(judgment.round for judgment in judgments)
    if last > 1:
        before = standing([judgment for judgment in judgments if judgment.round < last])
        return not any(
            moved(before[judgment.judge], judgment, rubric)
            for judgment in judgments
            if judgment.round == last
        )
    first, *others = [judgment for judgment in judgments if may_revise(judgment)]
    return not any(moved(first, other, rubric) for other in others)


def moved(before: Judgment, after: Judgment, rubric: Rubric) -> bool:
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


def peers_of(
    judgment: Judgment,
    judgments: Sequence[Judgment],
    rules: Deliberation,
    rubric: Rubric,
    personas: Mapping[str, Persona],
    seed: int,
) -> list[Peer]:
    """What a judge sees of the others' last judgments, in an order of its own.

    The order depends on the seed, the response, the judge and the round, and on nothing else.
    """
    others = [
        other
        for judge, other in standing(judgments).items()
        if judge != judgment.judge and may_revise(other)
    ]
    others.sort(key=lambda other: other.judge.id)
    places = [judgment.prompt_id, judgment.id, judgment.judge.id, str(judgment.round)]
    random.Random(f"{seed}\n" + "\n".join(places)).shuffle(others)
    return [
        Peer(
            name=_name(other.judge, personas) if rules.named else f"reader {number}",
            ratings=None
            if rules.reveal == "rationales"
            else ratings_in_words(other.scores, other.labels, other.abstained, rubric),
            rationale=None if rules.reveal == "scores" else _reasons(other),
        )
        for number, other in enumerate(others, start=1)
    ]


def _reasons(judgment: Judgment) -> str | None:
    return "\n".join(filter(None, (judgment.rationale, judgment.changed_because))) or None


def _name(judge: Judge, personas: Mapping[str, Persona]) -> str:
    return f"{personas[judge.persona].label}, {judge.model}"


def _spread_on(dimension: Dimension, judgments: Sequence[Judgment]) -> float:
    if isinstance(dimension.scale, CategoryScale):
        labels = [j.labels[dimension.id] for j in judgments if dimension.id in j.labels]
        counts = count(labels, dimension.scale.names).counts.values()
        return 1 - max(counts) / len(labels) if labels else 0.0
    ratings = [j.scores[dimension.id] for j in judgments if dimension.id in j.scores]
    return summarise(ratings).sd if len(ratings) > 1 else 0.0
