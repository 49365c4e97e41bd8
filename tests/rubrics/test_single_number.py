"""Reading an answer that is one number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.rubrics import Dimension, RealScale, Scale
from persona_panel.rubrics.replies import Unreadable
from persona_panel.rubrics.single_number import read_number

TEN = Dimension(
    id="overall",
    label="Overall",
    definition="All of it.",
    guiding_question="How good?",
    scale=Scale(min=1, max=10, low="poor", high="good"),
)
UNIT = TEN.model_copy(update={"scale": RealScale(min=0, max=1, low="poor", high="good")})


@pytest.mark.parametrize(
    "text",
    [
        "7",
        " 7\n",
        "7.",
        "7.0",
        "**7**",
        "7/10",
        "**Score:** 7 / 10",
        "Score: 7 out of 10",
        "Overall score is 7.",
        "My final rating: **7**",
        "7 points",
        "It cites 3 sources and runs to 2 pages.\n\nScore: 7",
        "Final answer: 7\n\nIt would have been 9 with more evidence.",
        "7\n7",
        "I'd give it a 7.",
        "On a scale from 1 to 10, I would rate this response 7.",
        "As a historian, I find it thin: 7/10",
        '{"overall": 7}',
        '```json\n{"score": "7/10"}\n```',
    ],
)
def test_a_seven(text: str) -> None:
    """Whatever stands around it, a number that is stated once is read."""
    assert read_number(text, TEN) == 7.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "does not state a number"),
        ("Seven", "does not state a number"),
        ("7 or 8", "more than one number"),
        ("7-8", "more than one number"),
        ("Score: 7–8", "more than one number"),
        ("7\n8", "more than one number"),
        ("Score: 7\nRating: 6", "more than one number"),
        ("It cites 3 sources.", "does not state a number"),
        ("I would not give it a 9.", "does not state a number"),
        ("I'm sorry, I cannot rate these 3 claims.", "does not state a number"),
        ("I must decline to rate these 3 claims.", "does not state a number"),
        ("11", "is '11', not a whole number from 1 to 10"),
        ("0", "is '0'"),
        ("-7", "is '-7'"),
        ("7.5", "is '7.5'"),
        ("7,5", "is '7,5'"),
        ("7/5", "is '7/5'"),
        ("7_5", "more than one number"),
        ("1e1", "does not state a number"),
        ("70%", "does not state a number"),
        ("The 7th of them", "does not state a number"),
        ("9" * 5000, "not a whole number"),
        ('{"overall": 7, "depth": 8', "no complete JSON object"),
        ('{"clarity": 7}', "keys are missing: overall"),
        ('{"overall": 7} {"overall": 8}', "contradict"),
    ],
)
def test_nothing_is_guessed(text: str, why: str) -> None:
    """Of two numbers none is chosen; none is rounded, clipped or picked up in passing."""
    with pytest.raises(Unreadable, match=why):
        read_number(text, TEN)


@pytest.mark.parametrize(("text", "value"), [("0.75", 0.75), ("Score: 1", 1.0), ("0", 0.0)])
def test_a_real_scale(text: str, value: float) -> None:
    """On a scale of real numbers decimals are read as they are."""
    assert read_number(text, UNIT) == value


@pytest.mark.parametrize("text", ["1.000", "2,000", "Score: 1.500", '{"score": "1,500"}', "١.٥٠٠"])
def test_a_number_of_thousands_or_of_decimals_is_refused(text: str) -> None:
    """On a scale that has thousands, a point or comma before three digits says either; it is not
    a thousandth of what was meant."""
    wide = TEN.model_copy(update={"scale": RealScale(min=0, max=10_000, low="poor", high="good")})
    with pytest.raises(Unreadable):
        read_number(text, wide)


@pytest.mark.parametrize(
    ("text", "value"),
    [("7,5", 7.5), ("0.125", 0.125), ("1500", 1500), ("1500.125", 1500.125), ("1.5000", 1.5)],
)
def test_decimals_of_a_wide_scale_are_read(text: str, value: float) -> None:
    """What can only be decimals is read, with a comma or a point."""
    wide = TEN.model_copy(update={"scale": RealScale(min=0, max=10_000, low="poor", high="good")})
    assert read_number(text, wide) == value


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever a model writes, what comes back is on the scale, or it is Unreadable."""
    try:
        value = read_number(text, TEN)
    except Unreadable:
        return
    assert value in range(1, 11)
    assert str(int(value)) in text or any(char.isdigit() for char in text)


@given(
    st.integers(1, 10),
    st.sampled_from(["", "Score: ", "**Rating:** ", "Overall: ", "The final score is "]),
    st.sampled_from(["", ".", "/10", " out of 10", " points"]),
    st.sampled_from(["", "It is clear, on the whole.\n\n", "\n"]),
)
def test_every_form_of_every_number(value: int, name: str, end: str, before: str) -> None:
    """Names, ends and words before a line's number change nothing."""
    assert read_number(f"{before}{name}{value}{end}", TEN) == value


@given(st.integers(1, 10), st.integers(1, 10), st.sampled_from([" or ", " to ", "\n", ", ", "-"]))
def test_two_numbers(first: int, second: int, between: str) -> None:
    """Two different numbers are never read as one of them."""
    if first == second:
        assert read_number(f"{first}", TEN) == first
        return
    with pytest.raises(Unreadable):
        read_number(f"{first}{between}{second}", TEN)
