"""Comparing the responses to a prompt with each other: what is asked, and what follows.

For elicitations that compare. Each says in which orders the responses stand before a
judge, and how the judge's answer about one order is read; the rating that follows is the
same for all: the share of the others that a response is preferred to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Literal

from persona_panel.rubrics.elicitation import Comparison
from persona_panel.rubrics.probabilities import letters
from persona_panel.rubrics.rubric import Dimension, RealScale, Rubric, once_a_rubric
from persona_panel.rubrics.wording import fence_for, fenced, laid_out, words_of

MOST = 100
"""The most responses to a prompt that can be compared."""

Outcome = Literal["first", "second", "tie"]
"""The preferred one of two responses, by their place."""

Order = tuple[int, ...]
"""The responses that stand before a judge together, by number, from the first to the last."""

Places = Mapping[int, float]
"""The place that each response of an order was given, by its number: 1 is the best."""

PREFERRED = Dimension(
    id="preferred",
    label="Preferred",
    definition="How the response stands among all responses to the same prompt.",
    guiding_question="What share of the other responses is it preferred to?",
    scale=RealScale(min=0, max=1, low="to none of the others", high="to all of the others"),
)


@once_a_rubric
def preferred(rubric: Rubric) -> Rubric:
    """Return the rubric with the one dimension `preferred`, and without the question whether a
    response abstains."""
    return Rubric(
        id=rubric.id,
        label=rubric.label,
        question=rubric.question,
        dimensions=(PREFERRED,),
        language=rubric.language,
        translation=rubric.translation,
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """A response's place in comparisons.

    `share` is the share of the other responses that it is preferred to, from 0 to 1, a tie
    counting half; NaN where it was compared with none. `missing` of the `of` orders in which
    it stands have no answer.
    """

    share: float
    missing: int
    of: int


def outcome(places: Places, first: int, second: int) -> Outcome:
    """Return which of two responses that stood before a judge in this order has the better
    place.
    """
    if places[first] == places[second]:
        return "tie"
    return "first" if places[first] < places[second] else "second"


def standings(n: int, answers: Sequence[tuple[Order, Places | None]]) -> list[Standing]:
    """Return the standing of each of n responses, from orders with their answers, None for a gap.

    Responses that were to stand together in several orders count only where all of these
    have an answer: in one alone, the place would count as if it were merit.
    """
    gaps = {frozenset(order) for order, places in answers if places is None}
    won: list[list[float]] = [[] for _ in range(n)]
    for order, places in answers:
        if places is None or frozenset(order) in gaps:
            continue
        for first, second in combinations(order, 2):
            points = {"first": 1.0, "second": 0.0, "tie": 0.5}[outcome(places, first, second)]
            won[first].append(points)
            won[second].append(1 - points)
    return [
        Standing(
            share=math.fsum(own) / len(own) if own else math.nan,
            missing=sum(i in order for order, places in answers if places is None),
            of=sum(i in order for order, _ in answers),
        )
        for i, own in enumerate(won)
    ]


def labels_of(comparison: Comparison) -> tuple[str, ...]:
    """Return the names of the texts before a judge: A, B, C … in their order."""
    return tuple(islice(letters(), len(comparison.texts)))


def opening(comparison: Comparison, task: str) -> tuple[str, ...]:
    """Return the first blocks of a question that compares: the task with all texts, and the
    judge.
    """
    return laid_out(comparison, task, _material(comparison))


def _material(comparison: Comparison) -> str:
    """Return the prompt, what the texts are about, and every text under its label, each in its
    fence."""
    contexts, item, words = comparison.contexts, comparison.rubric.item, words_of(comparison)
    context_name = words.part(item.context)
    known = [context for context in contexts if context is not None]
    fence = fence_for(comparison.prompt, *comparison.texts, *known)
    parts = [fenced(words.part(item.prompt), comparison.prompt, fence)]
    shared = len(set(contexts)) == 1
    if shared and known:
        parts.append(fenced(context_name, known[0], fence))
    for label, text, context in zip(labels_of(comparison), comparison.texts, contexts, strict=True):
        if context is not None and not shared:
            of_label = words.context_of.format(context=context_name, label=label)
            parts.append(fenced(of_label, context, fence))
        parts.append(fenced(f"{words.part(item.response)} {label}", text, fence))
    return "\n\n".join([words.compared_material.format(fence=fence), *parts])
