"""The elicitation `pairwise`: its orders, its dialogue and its parser, with scripted replies."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.rubrics import ModelRequest, ParsedJudgment, load_elicitation
from persona_panel.rubrics.elicitations import pairwise
from persona_panel.rubrics.replies import Unreadable
from tests.helpers.comparisons import a_comparison
from tests.helpers.dialogues import played


def play(replies: Sequence[str]) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """The reading of a dialogue that gets these replies, all of them, and what it asked."""
    return played(pairwise.dialogue(a_comparison("One.", "Two.")), replies)


def test_is_found_by_name() -> None:
    """The elicitation is loaded by its file's name."""
    assert load_elicitation("pairwise") is pairwise


@given(st.integers(2, 8), st.integers())
def test_both_orders_of_every_pair(n: int, seed: int) -> None:
    """k responses take k (k − 1) calls: each pair once in either order, whatever the seed."""
    orders = pairwise.orders(n, seed)
    assert len(orders) == len(set(orders)) == n * (n - 1)
    assert {tuple(reversed(order)) for order in orders} == set(orders)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('{"better": "first"}', {"A": 1, "B": 2}),
        ('{"better": "second"}', {"A": 2, "B": 1}),
        ("Tie.", {"A": 1, "B": 1}),
    ],
)
def test_places(text: str, places: dict[str, float]) -> None:
    """The better of two has the first place, and two that tie share it."""
    reading, (ask,) = play([text])
    assert reading.status == "scored"
    assert reading.scores == places
    assert ask.blocks[0].index("One.") < ask.blocks[0].index("Two.")


def test_asked_once_more() -> None:
    """An answer that names none is asked for again; one that then declines is unparsed."""
    reading, (_, again) = play(["Response A, I think.", '{"better": "first"}'])
    assert reading.scores == {"A": 1, "B": 2}
    assert "not one of first, second, tie" in again.exchange[0][1]
    reading, _ = play(['{"better": "A"}', '{"better": "both"}'])
    assert reading.status == "unparsed"
    assert reading.raw == '{"better": "both"}'
    assert reading.scores == {}


def test_refused() -> None:
    """A judge that declines in words has refused, and is not asked again."""
    reading, _ = play(["I cannot judge this."])
    assert reading.status == "refused"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('```json\n{"Better": "Second"}\n```', "second"),
        ("**First**.", "first"),
        (" 'tie' ", "tie"),
        ('Both are good. {"better": "tie", "why": "level"}', "tie"),
    ],
)
def test_read(text: str, said: str) -> None:
    """Case, quotes, fences and prose around an object are no difference."""
    assert pairwise.read_better(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "The first is not better.",
        "first or second",
        '{"better": "first"} {"better": "second"}',
        '{"better": "first", "better": "tie"}',
        '{"better": ["first"]}',
        '{"better": null}',
        '{"worse": "first"}',
        "A",
    ],
)
def test_not_read(text: str) -> None:
    """What names none of the three, or two, is never guessed."""
    with pytest.raises(Unreadable):
        pairwise.read_better(text)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever a model writes is one of the three, or said to be unreadable."""
    for written in (text, "{" + text + "}", '{"better": "' + text + '"}'):
        with suppress(Unreadable):
            assert pairwise.read_better(written) in {"first", "second", "tie"}
