"""One JSON object with a whole number for every dimension, and the abstention flag.

An answer that cannot be read is asked for once more, with what was wrong quoted;
after that it is `unparsed` and its text is kept.
"""

from __future__ import annotations

from typing import Any

from rubrics.elicitation import Ask, Dialogue, Question, Reading, Reply
from rubrics.replies import Unreadable, is_refusal, read_flag, read_object, read_score
from rubrics.rubric import Rubric, once_a_rubric
from rubrics.wording import SYSTEM, criteria, opening

NEEDS_LOGPROBS = False


def calls(rubric: Rubric) -> tuple[int, int]:
    """One call; a dozen tokens for each key of its answer."""
    return 1, 12 * len(_keys(rubric))


def dialogue(question: Question) -> Dialogue:
    """Ask for every dimension at once; ask again once if the answer cannot be read."""
    rubric = question.rubric
    ask = Ask(
        system=SYSTEM,
        blocks=(
            *opening(question, f"{criteria(rubric)}\n\n{_answer_form(rubric)}"),
            "Now give your judgment: the JSON object, nothing else.",
        ),
        schema=_schema(rubric),
    )
    reply = yield ask
    first = _read(reply, rubric)
    if first.status != "unparsed":
        return first
    correction = (
        f"That answer cannot be used: {first.error}. Give the JSON object again, complete "
        "and corrected, and nothing else."
    )
    reply = yield Ask(
        system=ask.system,
        blocks=ask.blocks,
        exchange=((reply.text, correction),),
        schema=ask.schema,
    )
    return _read(reply, rubric)


@once_a_rubric
def _keys(rubric: Rubric) -> tuple[str, ...]:
    keys = tuple(dimension.id for dimension in rubric.dimensions)
    return (*keys, "abstained") if rubric.abstention else keys


@once_a_rubric
def _answer_form(rubric: Rubric) -> str:
    parts = [
        "Answer with one JSON object. For every criterion it has a key, the name in "
        "backquotes, whose value is your rating."
    ]
    if rubric.not_assessable:
        parts.append("Where a criterion cannot be assessed the value is null.")
    if rubric.abstention:
        asked = rubric.abstention
        parts.append(
            f"{asked.definition} A further key, `abstained`, is true or false: "
            f"{asked.guiding_question}"
        )
    return " ".join(parts)


@once_a_rubric
def _schema(rubric: Rubric) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for dimension in rubric.dimensions:
        kind = ["integer", "null"] if rubric.not_assessable else "integer"
        values: list[int | None] = list(dimension.scale.values)
        if rubric.not_assessable:
            values.append(None)
        properties[dimension.id] = {"type": kind, "enum": values}
    if rubric.abstention:
        properties["abstained"] = {"type": "boolean"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _read(reply: Reply, rubric: Rubric) -> Reading:
    raw = reply.text
    if reply.refusal is not None:
        return Reading("refused", raw=raw or reply.refusal, error=reply.refusal)
    if reply.finish_reason == "length":
        return Reading("unparsed", raw=raw, error="it was cut off at the token limit")
    if not raw.strip():
        return Reading("unparsed", raw=raw, error="it is empty")
    if "{" not in raw and is_refusal(raw):
        return Reading("refused", raw=raw, error="the judge declined to rate")
    try:
        answer = read_object(raw, _keys(rubric))
        abstained = read_flag(answer["abstained"], "abstained") if rubric.abstention else None
        scores = {
            dimension.id: float(read_score(answer[dimension.id], dimension))
            for dimension in rubric.dimensions
            if not (answer[dimension.id] is None and (rubric.not_assessable or abstained))
        }
    except Unreadable as error:
        return Reading("unparsed", raw=raw, error=str(error))
    return Reading(
        "abstained" if abstained else "scored", scores=scores, abstained=abstained, raw=raw
    )
