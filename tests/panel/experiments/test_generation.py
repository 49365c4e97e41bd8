"""What is made of a model's answer."""

from __future__ import annotations

from persona_panel.experiments.generation import (
    questions_of,
    reads_as_refusal,
)


def test_a_long_text_that_says_i_cannot_is_no_refusal() -> None:
    """A refusal is short: an essay may begin with the same words."""
    refusal = "I'm sorry, but I can't help with that."
    assert reads_as_refusal(refusal)
    assert not reads_as_refusal(f"{refusal} " + "An essay goes on. " * 40)
    assert not reads_as_refusal("Loyalty binds a group.")


def test_questions_are_lines_that_ask() -> None:
    """Numbering, emphasis and what stands around the questions are left out; each comes once."""
    text = "Sure! Here you go:\n1) **Who pays?**\n- Who pays?\n(2) Since when?\nI hope it helps."
    assert questions_of(text) == ("Who pays?", "Since when?")
    assert questions_of("None.") == ()
