"""All responses to a prompt at once, put in order of merit, ties allowed.

They stand before each judge in an order of its own, drawn by lot, under labels that say
nothing of who wrote them.
"""

from __future__ import annotations

import random
import re
from typing import Any

from persona_panel.rubrics.comparison import labels_of, opening, preferred
from persona_panel.rubrics.elicitation import (
    Comparison,
    Dialogue,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
)
from persona_panel.rubrics.replies import Unreadable, read_object, read_score
from persona_panel.rubrics.rubric import Dimension, Rubric, Scale
from persona_panel.rubrics.wording import SYSTEM, ask_twice, criteria

NEEDS_LOGPROBS = False
GIVES_REASONS = False
COMPARES = True
DRAWN = True

_TOKENS_A_LABEL = 12
_MOST_A_LABEL = 12
_LONGEST_REPLY = 64
"""Tokens of an answer besides its labels: a code fence, a few words."""


def serves(rubric: Rubric) -> None:
    """Return None: it serves every rubric, as all criteria are weighed together."""


def output_rubric(rubric: Rubric) -> Rubric:
    """Return the single dimension `preferred`: the share of the others that a response is placed
    above, a tie counting half."""
    return preferred(rubric)


def orders(n: int, seed: int) -> list[tuple[int, ...]]:
    """Return a single order, drawn at random from the seed."""
    return [tuple(random.Random(seed).sample(range(n), n))]


def tokens(n: int) -> int:
    """Return a label and its place, for each."""
    return _TOKENS_A_LABEL * n


def dialogue(comparison: Comparison) -> Dialogue:
    """Ask for everyone's place; ask again once if the answer cannot be read."""
    labels = labels_of(comparison)
    n = len(labels)
    task = (
        f"{criteria(comparison.rubric)}\n\nBelow are {n} responses to one prompt, labelled "
        f"{', '.join(labels)}. Weigh all of these criteria together, and put the responses in "
        "order of merit; how long one is, and where it stands, is no merit. Answer with one JSON "
        f"object that has every label as a key and its place as the value: 1 for the best, up to "
        f"{n}. Responses of equal merit share a place."
    )

    def read(reply: ModelResponse) -> ParsedJudgment:
        return ParsedJudgment("scored", scores=read_places(reply.text, labels), raw=reply.text)

    request = ModelRequest(
        system=SYSTEM,
        blocks=(
            *opening(comparison, task),
            "Now give your judgment: the JSON object, nothing else.",
        ),
        schema=_schema(labels),
        max_tokens=max(1024, _LONGEST_REPLY + _MOST_A_LABEL * n),
    )
    wanted = "Give the JSON object again, every label once with its place, and nothing else."
    return (yield from ask_twice(request, read, wanted))


def read_places(text: str, labels: tuple[str, ...]) -> dict[str, float]:
    """Return the place of every label, 1 the best.

    Raises:
        Unreadable: a label has no place or two, there is a label that was not given, or a
            place is no whole number from 1 to the number of labels.
    """
    answer = read_object(text, tuple(label.lower() for label in labels))
    known = {label.lower() for label in labels}
    if unknown := [key for key in answer if key not in known and _looks_like_a_label(key)]:
        raise Unreadable(f"there is no response {', '.join(unknown).upper()}")
    scale = Scale(min=1, max=len(labels), low="best", high="worst")
    return {
        label: float(read_score(answer[label.lower()], _place_of(label, scale))) for label in labels
    }


def _looks_like_a_label(key: str) -> bool:
    return re.fullmatch(r"[a-z]{1,2}", key) is not None


def _place_of(label: str, scale: Scale) -> Dimension:
    return Dimension(
        id=label.lower(), label=label, definition="place", guiding_question="place", scale=scale
    )


def _schema(labels: tuple[str, ...]) -> dict[str, Any]:
    places = list(range(1, len(labels) + 1))
    return {
        "type": "object",
        "properties": {label: {"type": "integer", "enum": places} for label in labels},
        "required": list(labels),
        "additionalProperties": False,
    }
