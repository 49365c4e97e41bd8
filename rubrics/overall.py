"""One rating of a response as a whole: on which scale it is, and how it is asked for.

For elicitations that ask for no dimension by itself: `serves`, `output_rubric` and `calls` are
theirs. Their ratings come under the single
dimension `overall`: a table of them looks like any other, and cannot be mistaken for one
of the rubric's criteria.
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
from persona_panel.rubrics.exchange import ask_twice
from persona_panel.rubrics.rubric import Dimension, Rubric, once_a_rubric
from persona_panel.rubrics.scale import CategoryScale, RealScale, Scale
from persona_panel.rubrics.single_number import read_number
from persona_panel.rubrics.wording import SYSTEM, opening

_TOKENS = 4  # about what such an answer takes
_ID = "overall"
_LOW, _HIGH = "as bad as it could be", "as good as it could be"


def serves(rubric: Rubric) -> str | None:
    """None where the rubric has a scale for one number, else why it has none."""
    if _own(rubric) or len(_ranges(rubric)) == 1:
        return None
    if not rubric.numeric:
        return "it asks for one number, and every dimension of the rubric has categories"
    return "it asks for one number, and the rubric's dimensions have different scales"


@once_a_rubric
def output_rubric(rubric: Rubric) -> Rubric:
    """The rubric with one dimension, and without the question whether a response abstains.

    The dimension is the rubric's own `overall` where it has one; else its scale is the one
    that all dimensions rated by numbers share.

    Raises:
        ValueError: there is no such scale; see `serves`.
    """
    if why := serves(rubric):
        raise ValueError(why)
    return Rubric(
        id=rubric.id,
        label=rubric.label,
        question=rubric.question,
        dimensions=(_own(rubric) or _made(rubric),),
    )


def calls(rubric: Rubric, one_call_per_dimension: bool = False) -> Calls:
    """One call, answered by a number."""
    return Calls.just(1, _TOKENS)


def one_number(question: Question, task: str, dimension: Dimension) -> Dialogue:
    """Put a task that is answered by a number; once more if the answer holds none."""

    def read(reply: ModelResponse) -> ParsedJudgment:
        score = read_number(reply.text, dimension)
        return ParsedJudgment("scored", scores={dimension.id: score}, raw=reply.text)

    request = ModelRequest(
        system=SYSTEM,
        blocks=(*opening(question, task), "Now give your judgment: the number, nothing else."),
    )
    return (yield from ask_twice(request, read, "Give the number, and nothing else."))


def _own(rubric: Rubric) -> Dimension | None:
    return next((dimension for dimension in rubric.numeric if dimension.id == _ID), None)


def _made(rubric: Rubric) -> Dimension:
    ends = {(_scale(d).low, _scale(d).high) for d in rubric.numeric}
    low, high = ends.pop() if len(ends) == 1 else (_LOW, _HIGH)
    scale = _scale(rubric.numeric[0]).model_copy(update={"low": low, "high": high})
    return Dimension(
        id=_ID,
        label="Overall",
        definition="The response as a whole, all that counts taken together.",
        guiding_question="How good is the response as a whole?",
        scale=scale,
    )


def _ranges(rubric: Rubric) -> set[tuple[str, float, float]]:
    return {(_scale(d).kind, _scale(d).min, _scale(d).max) for d in rubric.numeric}


def _scale(dimension: Dimension) -> Scale | RealScale:
    if isinstance(dimension.scale, CategoryScale):
        raise TypeError(f"{dimension.id} has categories")
    return dimension.scale
