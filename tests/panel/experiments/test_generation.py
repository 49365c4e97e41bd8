"""What is made of a model's answer."""

from __future__ import annotations

import pytest

from persona_panel.experiments.generation import (
    n_words,
    questions_of,
    reads_as_refusal,
    trimmed,
)


@pytest.mark.parametrize(
    ("text", "most", "kept", "at"),
    [
        ("One two three.", 3, "One two three.", None),
        ("One two. Three four five. Six", 5, "One two. Three four five.", "sentence"),
        ("One two. Three four five. Six", 4, "One two.", "sentence"),
        # Neither an abbreviation nor an initial ends a sentence.
        ("It ends. Then Dr. Who came", 4, "It ends.", "sentence"),
        ("It ends. Then J. Mill came", 4, "It ends.", "sentence"),
        ("He asked “why?” and left us", 4, "He asked “why?”", "sentence"),
        ("No end in sight here", 3, "No end in", "word"),
        ("Line one.\n\n  Line two goes on", 3, "Line one.", "sentence"),
        ("ein zwei。 drei vier", 2, "ein zwei。", "sentence"),
    ],
)
def test_a_text_is_cut_behind_its_last_whole_sentence(
    text: str, most: int, kept: str, at: str | None
) -> None:
    """What is kept is a beginning of the text within the cap, and it says where it was cut."""
    cut = trimmed(text, most)
    assert (cut.text, cut.at) == (kept, at)
    assert text.startswith(cut.text)
    assert n_words(cut.text) <= most


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
