"""A rubric that asks how plain a text is."""

from __future__ import annotations

from persona_panel.rubrics import Dimension, Rubric, Scale


def plain_rubric(*names: str, id: str = "plain", most: int = 10) -> Rubric:
    """The rubric with dimensions of these names, each on a scale from 1 to `most`."""
    return Rubric(
        id=id,
        label=id.title(),
        question="How plain is it?",
        dimensions=tuple(
            Dimension(
                id=name,
                label=name.title(),
                definition="How it is.",
                guiding_question="Is it?",
                scale=Scale(min=1, max=most, low="not", high="very"),
            )
            for name in names
        ),
    )
