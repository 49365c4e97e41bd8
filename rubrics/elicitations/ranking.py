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
from persona_panel.rubrics.wording import ask_twice, criteria, words_of

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
    labels, rubric, words = labels_of(comparison), comparison.rubric, words_of(comparison)
    n = len(labels)
    order = words.order.format(n=n, labels=words.comma.join(labels))

    def read(reply: ModelResponse) -> ParsedJudgment:
        return ParsedJudgment("scored", scores=read_places(reply.text, labels), raw=reply.text)

    request = ModelRequest(
        system=words.system,
        blocks=(*opening(comparison, f"{criteria(rubric)}\n\n{order}"), words.give_json),
        schema=_schema(labels),
        max_tokens=max(1024, _LONGEST_REPLY + _MOST_A_LABEL * n),
    )
    return (yield from ask_twice(request, read, words.again_order, rubric.asked_in))


def read_places(text: str, labels: tuple[str, ...]) -> dict[str, float]:
    """Return the place of every label, 1 the best.

    Raises:
        Unreadable: a label has no place or two, there is a label that was not given, or a
            place is no whole number from 1 to the number of labels.
    """
    answer = read_object(text, tuple(label.lower() for label in labels))
    known = {label.lower() for label in labels}
    if unknown := [key for key in answer if key not in known and _looks_like_a_label(key)]:
        listed = [key.upper() for key in unknown]
        raise Unreadable("there is no response {labels}", labels=listed)
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
