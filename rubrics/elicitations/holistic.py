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
    words_of,
)

__all__ = ["GIVES_REASONS", "NEEDS_LOGPROBS", "calls", "dialogue", "output_rubric", "serves"]

NEEDS_LOGPROBS = False
GIVES_REASONS = False


def dialogue(question: Question) -> Dialogue:
    """Ask for the number; ask again once if the answer holds none."""
    (dimension,) = output_rubric(question.rubric).dimensions
    scale = scale_words(dimension, question.rubric.asked_in)
    weigh = words_of(question).weigh_together.format(scale=scale)
    return one_number(question, f"{criteria(question.rubric)}\n\n{weigh}", dimension)
