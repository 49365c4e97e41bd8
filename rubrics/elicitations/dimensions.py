"""One JSON object with a rating for every dimension, and the abstention flag.

An answer that cannot be read is asked for once more, with what was wrong quoted;
after that it is `unparsed` and its text is kept.
"""

from __future__ import annotations

from persona_panel.rubrics.elicitation import (
    Calls,
    Dialogue,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
)
from persona_panel.rubrics.replies import (
    TOKENS_A_KEY,
    form_of,
    keys_of,
    read_ratings,
    schema_of,
)
from persona_panel.rubrics.rubric import Rubric, once_a_rubric
from persona_panel.rubrics.wording import ask_twice, criteria, opening, words_of

NEEDS_LOGPROBS = False
GIVES_REASONS = False


def serves(rubric: Rubric) -> None:
    """Return None: it serves every rubric, as JSON has numbers and text."""


def output_rubric(rubric: Rubric) -> Rubric:
    """Return every dimension, on its own scale."""
    return rubric


def calls(rubric: Rubric, one_call_per_dimension: bool = False) -> Calls:
    """Return one call, with some tokens for each key of its answer."""
    return Calls.just(1, TOKENS_A_KEY * len(keys_of(rubric)))


@once_a_rubric
def _task(rubric: Rubric) -> str:
    return f"{criteria(rubric)}\n\n{form_of(rubric)}"


def dialogue(question: Question) -> Dialogue:
    """Ask for every dimension at once; ask again once if the answer cannot be read."""
    rubric, words = question.rubric, words_of(question)

    def read(reply: ModelResponse) -> ParsedJudgment:
        return read_ratings(reply.text, rubric)

    request = ModelRequest(
        words.system,
        (*opening(question, _task(rubric)), words.give_json),
        schema=schema_of(rubric),
    )
    return (yield from ask_twice(request, read, words.again_json, rubric.asked_in))
