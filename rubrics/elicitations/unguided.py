"""One number without a rubric: the baseline that shows what a rubric adds.

The judge is told the ends of the scale and nothing of the rubric, neither its question
nor its criteria (the baseline of the SCRuB paper, figure 8). Whether the response
abstains is not asked.
"""

from __future__ import annotations

from persona_panel.rubrics.elicitation import Dialogue, Question
from persona_panel.rubrics.rubric import CategoryScale, RealScale
from persona_panel.rubrics.wording import calls, one_number, output_rubric, serves, words_of

__all__ = ["GIVES_REASONS", "NEEDS_LOGPROBS", "calls", "dialogue", "output_rubric", "serves"]

NEEDS_LOGPROBS = False
GIVES_REASONS = False


def dialogue(question: Question) -> Dialogue:
    """Ask for the number; ask again once if the answer holds none."""
    (dimension,) = output_rubric(question.rubric).dimensions
    scale = dimension.scale
    if isinstance(scale, CategoryScale):
        raise TypeError(serves(question.rubric))

    words = words_of(question)
    template = words.unguided_real if isinstance(scale, RealScale) else words.unguided_whole
    task = template.format(min=f"{scale.min:g}", max=f"{scale.max:g}")
    return one_number(question, task, dimension)
