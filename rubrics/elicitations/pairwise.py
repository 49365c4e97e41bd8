"""Every two responses to a prompt side by side, in both orders.

What a judge gives to the place in which a response stands is given once to either of the
two, so that it cancels; how much that is, the two answers together tell.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

from persona_panel.rubrics.comparison import labels_of, opening, preferred
from persona_panel.rubrics.elicitation import (
    Comparison,
    Dialogue,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
)
from persona_panel.rubrics.replies import read_label, read_object
from persona_panel.rubrics.rubric import CategoryScale, Dimension, Rubric
from persona_panel.rubrics.wording import ask_twice, criteria, words_of

NEEDS_LOGPROBS = False
GIVES_REASONS = False
COMPARES = True
DRAWN = False

_BETTER = Dimension(
    id="better",
    label="Better",
    definition="The better of two responses.",
    guiding_question="Which is better?",
    scale=CategoryScale(
        values={"first": "response A", "second": "response B", "tie": "neither is better"}
    ),
)
_PLACES = {"first": (1.0, 2.0), "second": (2.0, 1.0), "tie": (1.0, 1.0)}


def serves(rubric: Rubric) -> None:
    """Return None: it serves every rubric, as all criteria are weighed together."""


def output_rubric(rubric: Rubric) -> Rubric:
    """Return the single dimension `preferred`: the share of the others that a response is preferred
    to, the mean of both orders, a tie counting half."""
    return preferred(rubric)


def orders(n: int, seed: int) -> list[tuple[int, ...]]:
    """Return both orders of every pair; nothing is drawn."""
    return list(permutations(range(n), 2))


def tokens(n: int) -> int:
    """Return the tokens of a word and the object around it, as a small model writes them."""
    return 28


def dialogue(comparison: Comparison) -> Dialogue:
    """Ask which is better; ask again once if the answer cannot be read."""
    labels, rubric, words = labels_of(comparison), comparison.rubric, words_of(comparison)

    def read(reply: ModelResponse) -> ParsedJudgment:
        places = dict(zip(labels, _PLACES[read_better(reply.text)], strict=True))
        return ParsedJudgment("scored", scores=places, raw=reply.text)

    request = ModelRequest(
        system=words.system,
        blocks=(
            *opening(comparison, f"{criteria(rubric)}\n\n{words.better.format()}"),
            words.give_json,
        ),
        schema=_SCHEMA,
    )
    return (yield from ask_twice(request, read, words.again_better, rubric.asked_in))


def read_better(text: str) -> str:
    """Return the answer: `first`, `second` or `tie`, in an object or alone.

    Raises:
        Unreadable: it is none of them, or more than one.
    """
    value = read_object(text, ("better",))["better"] if "{" in text else text
    return read_label(value, _BETTER)


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"better": {"type": "string", "enum": list(_PLACES)}},
    "required": ["better"],
    "additionalProperties": False,
}
