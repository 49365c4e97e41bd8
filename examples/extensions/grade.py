"""A school grade from A to F for the response as a whole."""

from persona_panel.rubrics.elicitation import (
    Calls,
    Dialogue,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
)
from persona_panel.rubrics.replies import Unreadable
from persona_panel.rubrics.rubric import Rubric
from persona_panel.rubrics.wording import (
    SYSTEM,
    ask_twice,
    criteria,
    opening,
    output_rubric,
    serves,
)

__all__ = ["GIVES_REASONS", "NEEDS_LOGPROBS", "calls", "dialogue", "output_rubric", "serves"]

NEEDS_LOGPROBS = False
GIVES_REASONS = False
GRADES = "FEDCBA"


def calls(rubric: Rubric, one_call_per_dimension: bool = False) -> Calls:
    """One call, two where the first answer cannot be read."""
    return Calls.just(1, 2)


def dialogue(question: Question) -> Dialogue:
    ((dimension, scale),) = output_rubric(question.rubric).numeric_scales.items()

    def read(reply: ModelResponse) -> ParsedJudgment:
        grade = reply.text.strip(" *.\n").upper()
        if len(grade) != 1 or grade not in GRADES:
            raise Unreadable("it is not one grade from A to F")
        share = GRADES.index(grade) / (len(GRADES) - 1)
        score = scale.min + share * (scale.max - scale.min)
        return ParsedJudgment("scored", {dimension: score}, raw=reply.text)

    task = f"{criteria(question.rubric)}\n\nGive the response one grade, from A to F."
    request = ModelRequest(
        system=SYSTEM,
        blocks=(*opening(question, task), "Now give your judgment: the letter, nothing else."),
        max_tokens=8,
    )
    return ask_twice(request, read, "Give one letter from A to F, and nothing else.")
