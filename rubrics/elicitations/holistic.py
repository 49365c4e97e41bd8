"""One number for the response as a whole, with the rubric in view.

The dimensions are criteria to be weighed together and are not rated one by one (the
ensemble's protocol in the SCRuB paper, Prompt 4). Whether the response abstains is not
asked.
"""

from __future__ import annotations

from persona_panel.rubrics.elicitation import Dialogue, Question
from persona_panel.rubrics.wording import (
    calls,
    criteria,
    one_number,
    output_rubric,
    scale_words,
    serves,
)

__all__ = ["GIVES_REASONS", "NEEDS_LOGPROBS", "calls", "dialogue", "output_rubric", "serves"]

NEEDS_LOGPROBS = False
GIVES_REASONS = False


def dialogue(question: Question) -> Dialogue:
    """Ask for the number; ask again once if the answer holds none."""
    (dimension,) = output_rubric(question.rubric).dimensions
    task = (
        f"{criteria(question.rubric)}\n\nWeigh all of these criteria together, and rate none "
        f"of them by itself. Your answer is one number for the response as a whole. "
        f"{scale_words(dimension)}"
    )
    return one_number(question, task, dimension)
