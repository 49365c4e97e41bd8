"""One JSON object with a rating for every dimension, and the abstention flag.

An answer that cannot be read is asked for once more, with what was wrong quoted;
after that it is `unparsed` and its text is kept.
"""

from __future__ import annotations

from typing import Any

from rubrics.elicitation import Ask, Dialogue, Question, Reading, Reply
from rubrics.replies import (
    Unreadable,
    is_refusal,
    read_flag,
    read_label,
    read_object,
    read_score,
)
from rubrics.rubric import Dimension, Rubric, once_a_rubric
from rubrics.scale import CategoryScale, RealScale
from rubrics.wording import SYSTEM, criteria, opening

NEEDS_LOGPROBS = False


def serves(rubric: Rubric) -> None:
    """Every rubric: JSON has numbers and text."""


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
    if rubric.categories:
        parts.append("Where a criterion lists names, the value is one of them, as text.")
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
    properties: dict[str, Any] = {
        dimension.id: _value_schema(dimension, rubric.not_assessable)
        for dimension in rubric.dimensions
    }
    if rubric.abstention:
        properties["abstained"] = {"type": "boolean"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _value_schema(dimension: Dimension, nullable: bool) -> dict[str, Any]:
    scale = dimension.scale
    if isinstance(scale, RealScale):
        kind = ["number", "null"] if nullable else "number"
        return {"type": kind, "minimum": scale.min, "maximum": scale.max}
    name = "string" if isinstance(scale, CategoryScale) else "integer"
    values: list[int | str | None] = list(scale.values)
    if nullable:
        values.append(None)
    return {"type": [name, "null"] if nullable else name, "enum": values}


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
        rated = [
            dimension
            for dimension in rubric.dimensions
            if not (answer[dimension.id] is None and (rubric.not_assessable or abstained))
        ]
        scores: dict[str, float] = {}
        labels: dict[str, str] = {}
        for dimension in rated:
            if isinstance(dimension.scale, CategoryScale):
                labels[dimension.id] = read_label(answer[dimension.id], dimension)
            else:
                scores[dimension.id] = float(read_score(answer[dimension.id], dimension))
    except Unreadable as error:
        return Reading("unparsed", raw=raw, error=str(error))
    return Reading(
        "abstained" if abstained else "scored",
        scores=scores,
        abstained=abstained,
        raw=raw,
        labels=labels,
    )
