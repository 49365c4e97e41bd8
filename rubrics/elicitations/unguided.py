"""One number without a rubric: the baseline that shows what a rubric adds.

The judge is told the ends of the scale and nothing of the rubric, neither its question
nor its criteria (the baseline of the SCRuB paper, figure 8). Whether the response
abstains is not asked.
"""

from __future__ import annotations

from persona_panel.rubrics.elicitation import Dialogue, Question
from persona_panel.rubrics.rubric import CategoryScale, RealScale
from persona_panel.rubrics.wording import calls, one_number, output_rubric, serves

__all__ = ["GIVES_REASONS", "NEEDS_LOGPROBS", "calls", "dialogue", "output_rubric", "serves"]

NEEDS_LOGPROBS = False
GIVES_REASONS = False


def dialogue(question: Question) -> Dialogue:
    """Ask for the number; ask again once if the answer holds none."""
    (dimension,) = output_rubric(question.rubric).dimensions
    scale = dimension.scale
    if isinstance(scale, CategoryScale):
        raise TypeError(serves(question.rubric))

    kind = "any number" if isinstance(scale, RealScale) else "a whole number"
    task = (
        "How good is the response to the prompt? What makes a response good is for you to say. "
        f"Your answer is {kind} from {scale.min:g}, for the worst, to {scale.max:g}, for the best."
    )
    return one_number(question, task, dimension)
