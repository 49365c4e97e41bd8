"""One number for the response as a whole, with the rubric in view.

The dimensions are criteria to be weighed together and are not rated one by one (the
ensemble's protocol in the SCRuB paper, Prompt 4). Whether the response abstains is not
asked.
"""

from __future__ import annotations

from rubrics.elicitation import Dialogue, Question
from rubrics.overall import TOKENS, one_number, overall, why_no_overall
from rubrics.rubric import Rubric
from rubrics.wording import criteria, scale_words

NEEDS_LOGPROBS = False
GIVES_REASONS = False


def serves(rubric: Rubric) -> str | None:
    """Rubrics that have a scale for one number."""
    return why_no_overall(rubric)


def rated(rubric: Rubric) -> Rubric:
    """The single dimension `overall`."""
    return overall(rubric)


def calls(rubric: Rubric, apart: bool = False) -> tuple[int, int]:
    """One call, answered by a number."""
    return 1, TOKENS


def dialogue(question: Question) -> Dialogue:
    """Ask for the number; ask again once if the answer holds none."""
    (dimension,) = overall(question.rubric).dimensions
    task = (
        f"{criteria(question.rubric)}\n\nWeigh all of these criteria together, and rate none "
        f"of them by itself. Your answer is one number for the response as a whole. "
        f"{scale_words(dimension)}"
    )
    return one_number(question, task, dimension)
