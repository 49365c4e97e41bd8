"""A dialogue played with replies written beforehand."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.rubrics import (
    Elicitation,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
    Rubric,
)
from tests.helpers.dialogues import played


def play_dialogue(
    elicitation: Elicitation, rubric: Rubric, replies: Sequence[ModelResponse | str]
) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """The reading of a dialogue that gets these replies, all of them, and what it asked."""
    dialogue = elicitation.dialogue(
        Question(rubric, "Historian", "You ask when.", "Is liberty one?", "It is many.")
    )
    return played(dialogue, replies)
