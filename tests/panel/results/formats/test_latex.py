"""Results as LaTeX."""

from __future__ import annotations

from tests.helpers.results import SAMPLE


def test_a_table_has_a_caption_and_sentences_are_comments() -> None:
    """What all lines have in common stands in the caption."""
    latex = SAMPLE.text("latex")
    assert r"\caption{Means over prompts: composite}" in latex
    assert "% Nothing is significant." in latex
