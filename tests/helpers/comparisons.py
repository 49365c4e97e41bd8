"""A comparison of responses."""

from __future__ import annotations

from persona_panel.rubrics import Comparison, Dimension, Rubric, Scale

RUBRIC = Rubric(
    id="plain",
    label="Plain",
    question="How plain is it?",
    dimensions=(
        Dimension(
            id="clarity",
            label="Clarity",
            definition="How it is.",
            guiding_question="Is it?",
            scale=Scale(min=1, max=10, low="not", high="very"),
        ),
    ),
)


def a_comparison(*texts: str, contexts: tuple[str | None, ...] | None = None) -> Comparison:
    """What a historian is asked about these texts."""
    return Comparison(
        rubric=RUBRIC,
        persona_label="Historian",
        persona_description="You ask when.",
        prompt="Is liberty one thing?",
        texts=texts,
        contexts=contexts or (None,) * len(texts),
    )
