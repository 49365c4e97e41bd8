"""A rubric, dimensions and judgments of tests about what becomes of ratings."""

from __future__ import annotations

from persona_panel.graphs import Judge, Judgment
from persona_panel.rubrics import Dimension, Rubric, Scale, Status

PLAIN = Rubric(
    id="plain",
    label="Plain",
    question="How plain is it?",
    dimensions=(
        Dimension(
            id="clarity",
            label="Clarity",
            definition="How clear it is.",
            guiding_question="Is it?",
            scale=Scale(min=1, max=10, low="not", high="very"),
        ),
    ),
)


def a_dimension(name: str) -> Dimension:
    """A dimension with a scale from 1 to 10."""
    return Dimension(
        id=name,
        label=name.title(),
        definition="Defined.",
        guiding_question="Is it?",
        scale=Scale(min=1, max=10, low="poor", high="good"),
    )


def a_judgment(
    persona: str,
    status: Status = "scored",
    abstained: bool | None = False,
    **scores: float,
) -> Judgment:
    """What a persona said of one response."""
    return Judgment(
        prompt_id="p1",
        id="r1",
        system="human",
        judge=Judge(persona, "m", "dimensions"),
        status=status,
        scores=scores,
        abstained=abstained,
    )
