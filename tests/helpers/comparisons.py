"""A comparison of responses."""

from __future__ import annotations

from persona_panel.rubrics import Comparison
from tests.helpers.plain_rubric import plain_rubric

RUBRIC = plain_rubric("clarity")


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
