"""Sets that check whether a rater reads: each text says how it is to be ranked and rated."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from persona_panel.study.packet import ShownDimension
from persona_panel.study.settings import Task

PROMPT = "Before you go on: please read both texts to their end, and do what they say."
_BOTH = (
    "This text was not written as an answer. It is here to check that texts are read to their end, "
    "as anybody may skim the odd one in a long session. "
)


def attention_texts(
    dimensions: Sequence[ShownDimension], tasks: Sequence[Task], draw: Random
) -> list[tuple[str, int, dict[str, int | str]]]:
    """The two texts of an attention set, in an order that is drawn.

    Returns:
        Of each text what it says, the rank it asks for, and the score on each dimension.
    """
    ranks = draw.sample((1, 2), 2)
    found = []
    for rank, end in zip(ranks, draw.sample((0, -1), 2), strict=True):
        scores = {one.id: _value_of(one, end) for one in dimensions}
        wanted = []
        if "rank" in tasks:
            wanted.append(f"give it rank {rank}")
        if "rate" in tasks:
            wanted.append(f"rate it {_in_words(dimensions, scores)}")
        said = f"{_BOTH}Please {' and '.join(wanted)}, whatever you think of it."
        found.append((said, rank, scores))
    return found


def _value_of(dimension: ShownDimension, end: int) -> int | str:
    """The lowest (0) or highest (-1) value of a scale."""
    if dimension.kind == "category":
        return dimension.values[end][0]
    # A scale of numbers has both ends.
    return (dimension.min, dimension.max)[end] or 0


def _in_words(dimensions: Sequence[ShownDimension], scores: dict[str, int | str]) -> str:
    if len(set(scores.values())) == 1 and len(dimensions) > 1:
        return f"{next(iter(scores.values()))} on every scale"
    return ", ".join(f"{scores[one.id]} on “{one.label}”" for one in dimensions)
