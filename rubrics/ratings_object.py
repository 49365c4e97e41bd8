"""The JSON object in which several elicitations have a judge answer: its form and its reading.

It has a key for every dimension and, where the rubric asks for it, the abstention flag.
"""

from __future__ import annotations

from typing import Any

from persona_panel.rubrics.elicitation import ParsedJudgment, Status
from persona_panel.rubrics.replies import read_flag, read_label, read_object, read_score
from persona_panel.rubrics.rubric import Dimension, Rubric, once_a_rubric
from persona_panel.rubrics.scale import CategoryScale, RealScale

TOKENS_A_KEY = 16
"""About how many tokens a key takes with its value, where a small model writes it; others get by
with less."""


@once_a_rubric
def keys_of(rubric: Rubric) -> tuple[str, ...]:
    """The object's keys, in the rubric's order."""
    keys = tuple(dimension.id for dimension in rubric.dimensions)
    return (*keys, "abstained") if rubric.abstention else keys


@once_a_rubric
def form_of(rubric: Rubric) -> str:
    """What the object is to look like, in words."""
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
def schema_of(rubric: Rubric) -> dict[str, Any]:
    """The object's JSON schema, for models that can be held to one."""
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


def read_ratings(text: str, rubric: Rubric) -> ParsedJudgment:
    """What the object in `text` says.

    Raises:
        Unreadable: there is none, or it does not say what was asked.
    """
    answer = read_object(text, keys_of(rubric))
    abstained = read_flag(answer["abstained"], "abstained") if rubric.abstention else None
    scores: dict[str, float] = {}
    labels: dict[str, str] = {}
    for name, plain, dimension in _plain_values_of(rubric):
        value = answer[name]
        # As nearly always.
        if type(value) is int and value in plain:
            scores[name] = float(value)
        elif value is None and (rubric.not_assessable or abstained):
            continue
        elif dimension.scale.kind == "category":
            labels[name] = read_label(value, dimension)
        else:
            scores[name] = float(read_score(value, dimension))
    status: Status = "abstained" if abstained else "scored"
    # By place, in half the time.
    return ParsedJudgment(status, scores, abstained, None, text, None, {}, labels)


@once_a_rubric
def _plain_values_of(rubric: Rubric) -> list[tuple[str, range, Dimension]]:
    """Each dimension with its id and the numbers that can be its rating as they are: none where it
    has other values than whole numbers."""
    return [(one.id, _whole_numbers(one), one) for one in rubric.dimensions]


def _whole_numbers(dimension: Dimension) -> range:
    scale = dimension.scale
    return scale.values if scale.kind == "integer" else range(0)


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
