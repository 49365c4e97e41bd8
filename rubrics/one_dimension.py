"""A judgment in one call a dimension: the rubric's dimensions, each asked for by itself.

The argument-quality paper asks so (argument-quality.txt, section 3.4): a judge that rates one
quality sees no other, and its ratings do not lean on each other. It is the same for every
elicitation that rates the rubric's dimensions.
"""

from __future__ import annotations

import json
from dataclasses import replace

from persona_panel.rubrics.elicitation import Calls, Dialogue, Elicitation, ParsedJudgment, Question
from persona_panel.rubrics.rubric import Rubric, once_a_rubric


@once_a_rubric
def single_dimension_rubrics(rubric: Rubric) -> tuple[Rubric, ...]:
    """A rubric for each dimension; whether a response abstains is asked with the first."""
    return tuple(
        rubric.model_copy(
            update={
                "dimensions": (dimension,),
                "abstention": None if place else rubric.abstention,
                "composite": None,
            }
        )
        for place, dimension in enumerate(rubric.dimensions)
    )


def dialogue_of(
    elicitation: Elicitation, question: Question, *, one_dimension_per_call: bool
) -> Dialogue:
    """The whole exchange with one judge, for all dimensions at once or one after the other.

    One after the other, the first dimension whose answer cannot be used ends it, and the reading
    is that answer's; so does an abstention.
    """
    if not one_dimension_per_call:
        return elicitation.dialogue(question)
    return _dimension_by_dimension(elicitation, question)


def _dimension_by_dimension(elicitation: Elicitation, question: Question) -> Dialogue:
    readings: dict[str, ParsedJudgment] = {}
    for rubric in single_dimension_rubrics(question.rubric):
        [dimension] = rubric.dimensions
        reading = yield from elicitation.dialogue(replace(question, rubric=rubric))
        readings[dimension.id] = reading
        if reading.status == "abstained":
            break
        if reading.status != "scored":
            raw = _raw(readings)
            return ParsedJudgment(reading.status, raw=raw, error=f"{dimension.id}: {reading.error}")
    said = list(readings.values())
    reasons = [
        f"{name}: {one.rationale}" for name, one in readings.items() if one.rationale is not None
    ]
    return ParsedJudgment(
        said[-1].status,
        scores={name: score for one in readings.values() for name, score in one.scores.items()},
        abstained=said[0].abstained,
        rationale="\n".join(reasons) or None,
        raw=_raw(readings),
        off_scale={name: off for one in readings.values() for name, off in one.off_scale.items()},
        labels={name: label for one in readings.values() for name, label in one.labels.items()},
    )


def calls_by_dimension(
    elicitation: Elicitation, rubric: Rubric, one_call_per_dimension: bool = False
) -> Calls:
    """What a judgment takes that is asked for dimension by dimension."""
    each = [
        elicitation.calls(one, one_call_per_dimension) for one in single_dimension_rubrics(rubric)
    ]
    return Calls(
        # An abstention ends it with the first dimension.
        each[0].fewest if rubric.abstention else sum(calls.fewest for calls in each),
        sum(calls.most for calls in each),
        sum(calls.reckoned for calls in each),
        max(calls.tokens for calls in each),
    )


def _raw(readings: dict[str, ParsedJudgment]) -> str:
    """What a judge answered, by dimension."""
    return json.dumps({name: one.raw for name, one in readings.items()}, ensure_ascii=False)
