"""Reasons first, in a scratchpad, then the JSON object of `dimensions`.

The variant with justification of the debate-speeches paper (section 4 and Appendix B),
for every dimension at once. The reasons are the judgment's rationale.
"""

from __future__ import annotations

import re
from dataclasses import replace

from persona_panel.rubrics.elicitation import (
    Calls,
    Dialogue,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
)
from persona_panel.rubrics.replies import TOKENS_A_KEY, Unreadable, form_of, keys_of, read_ratings
from persona_panel.rubrics.rubric import Rubric
from persona_panel.rubrics.wording import ask_twice, criteria, opening, words_of

NEEDS_LOGPROBS = False
GIVES_REASONS = True

_REASONS_TOKENS = 200
_MAX_TOKENS = 2048
_OPEN = re.compile(r"<\s*scratchpad\s*>", re.IGNORECASE)
_CLOSE = re.compile(r"<\s*/\s*scratchpad\s*>", re.IGNORECASE)
_CODE_FENCE = re.compile(r"```\w*\s*$")


def serves(rubric: Rubric) -> None:
    """Return None: it serves every rubric, as JSON has numbers and text."""


def output_rubric(rubric: Rubric) -> Rubric:
    """Return every dimension, on its own scale."""
    return rubric


def calls(rubric: Rubric, one_call_per_dimension: bool = False) -> Calls:
    """Return one call, with some sentences, then some tokens for each key of its answer."""
    return Calls.just(1, _REASONS_TOKENS + TOKENS_A_KEY * len(keys_of(rubric)))


def dialogue(question: Question) -> Dialogue:
    """Ask for reasons and ratings; ask again once for ratings that cannot be read.

    Reasons that came with ratings that could not be read are kept.
    """
    rubric, words = question.rubric, words_of(question)
    reasons: str | None = None

    def read(reply: ModelResponse) -> ParsedJudgment:
        nonlocal reasons
        thoughts, answer = split(reply.text)
        reasons = thoughts or reasons
        return replace(read_ratings(answer, rubric), raw=reply.text)

    task = f"{criteria(rubric)}\n\n{words.scratchpad.format(form=form_of(rubric))}"
    request = ModelRequest(
        system=words.system,
        blocks=(*opening(question, task), words.give_scratchpad),
        max_tokens=_MAX_TOKENS,
    )
    reading = yield from ask_twice(request, read, words.again_scratchpad, rubric.asked_in)
    return replace(reading, rationale=reasons)


def split(text: str) -> tuple[str | None, str]:
    """Return the reasons that an answer gives, None where there are none, and what follows them.

    Where the scratchpad is left open, or there is none, the reasons end with the first
    brace: a draft of the ratings among them is then part of the answer.

    Raises:
        Unreadable: there is more than one scratchpad.
    """
    closed = list(_CLOSE.finditer(text))
    if len(closed) > 1 or len(_OPEN.findall(text)) > 1:
        raise Unreadable("it holds more than one scratchpad")
    if closed:
        reasons, answer = text[: closed[0].start()], text[closed[0].end() :]
        if "{" not in answer:
            # Some write the ratings inside.
            reasons, answer = _before_brace(reasons)
    else:
        reasons, answer = _before_brace(text)
    reasons = _CODE_FENCE.sub("", _OPEN.sub("", reasons))
    return reasons.strip() or None, answer


def _before_brace(text: str) -> tuple[str, str]:
    place = text.find("{")
    return (text, "") if place < 0 else (text[:place], text[place:])
