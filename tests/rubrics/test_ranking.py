"""The elicitation `ranking`: its order, its dialogue and its parser, with scripted replies."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.rubrics import Comparison, ModelRequest, ParsedJudgment, load_elicitation
from persona_panel.rubrics.elicitations import ranking
from persona_panel.rubrics.replies import Unreadable
from tests.helpers.comparisons import a_comparison
from tests.helpers.dialogues import played

LABELS = ("A", "B", "C")
THREE = a_comparison("One.", "Two.", "Three.")


def play(
    replies: Sequence[str], comparison: Comparison = THREE
) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """The reading of a dialogue that gets these replies, all of them, and what it asked."""
    return played(ranking.dialogue(comparison), replies)


def test_is_found_by_name() -> None:
    """The elicitation is loaded by its file's name."""
    assert load_elicitation("ranking") is ranking


def test_the_order_is_drawn_by_lot() -> None:
    """An order has everyone once, is the same for a seed, and differs from seed to seed."""
    drawn = [ranking.orders(6, seed) for seed in range(60)]
    for orders in drawn:
        (order,) = orders
        assert sorted(order) == list(range(6))
    assert drawn == [ranking.orders(6, seed) for seed in range(60)]
    # Of 60 draws none is first always: a fair lot leaves one of six out once in 10^4 times.
    assert {order[0] for (order,) in drawn} == set(range(6))


def test_one_ask() -> None:
    """The question holds every text under its label, and its schema a place for each label."""
    reading, (ask,) = play(['{"A": 2, "B": 1, "C": 2}'])
    assert reading.status == "scored"
    assert reading.scores == {"A": 2, "B": 1, "C": 2}
    assert reading.raw == '{"A": 2, "B": 1, "C": 2}'
    assert "labelled A, B, C" in ask.blocks[0]
    assert ask.schema is not None
    assert list(ask.schema["properties"]) == ["A", "B", "C"]
    assert ask.schema["properties"]["A"]["enum"] == [1, 2, 3]


def test_asked_once_more() -> None:
    """A label without a place is asked for again, with what was wrong; then that counts."""
    reading, (_, again) = play(['{"A": 1, "B": 2}', '{"A": 1, "B": 2, "C": 3}'])
    assert reading.scores == {"A": 1, "B": 2, "C": 3}
    assert "missing: c" in again.exchange[0][1]


def test_unparsed() -> None:
    """What cannot be read twice is unparsed, keeps its text, and has no places."""
    reading, _ = play(["A, then B.", '{"A": 1, "B": 2, "C": 9}'])
    assert reading.status == "unparsed"
    assert reading.raw == '{"A": 1, "B": 2, "C": 9}'
    assert reading.scores == {}
    assert "1 to 3" in str(reading.error)


@pytest.mark.parametrize(
    "text",
    [
        '{"A": 1, "B": 2, "C": 2}',
        'By merit:\n```json\n{"a": 1, "b": "2", "c": 2.0,}\n```\nThat is all.',
        '{"C": "2/3", "B": 2, "A": 1}',
        'Draft {"A": 1}, final: {"A": 1, "B": 2, "C": 2}',
        '{"A": 1, "B": 2, "C": 2, "rationale": "B and C are level"}',
    ],
)
def test_read(text: str) -> None:
    """Prose, fences, case and the order of keys are no difference."""
    assert ranking.read_places(text, LABELS) == {"A": 1, "B": 2, "C": 2}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("B is best.", "no complete JSON"),
        ('{"A": 1, "B": 2}', "missing: c"),
        ('{"A": 1, "B": 2, "C": 3, "D": 4}', "no response D"),
        ('{"A": 1, "B": 2, "C": 3, "A": 2}', "two things"),
        ('{"A": 1, "B": 2, "C": 3, "a": 3}', "two things"),
        ('{"A": 1, "B": 2, "C": 3} or {"A": 2, "B": 1, "C": 3}', "contradict"),
        ('{"A": 0, "B": 1, "C": 2}', "1 to 3"),
        ('{"A": 1.5, "B": 1, "C": 2}', "whole number"),
        ('{"A": "best", "B": 2, "C": 3}', "whole number"),
        ('{"A": null, "B": 2, "C": 3}', "whole number"),
        ('{"A": true, "B": 2, "C": 3}', "whole number"),
        ('["B", "A", "C"]', "no complete JSON"),
    ],
)
def test_not_read(text: str, why: str) -> None:
    """A label missing, unknown or placed twice, and a place that is none, are never guessed."""
    with pytest.raises(Unreadable, match=why):
        ranking.read_places(text, LABELS)


@given(st.lists(st.integers(1, 30), min_size=2, max_size=30), st.randoms())
def test_what_is_written_is_read(places: list[int], lot: random.Random) -> None:
    """Any places of any number of labels come back, whatever the order of the keys."""
    comparison = a_comparison(*("Text." for _ in places))
    labels = ranking.labels_of(comparison)
    said = {label: min(place, len(places)) for label, place in zip(labels, places, strict=True)}
    keys = list(said)
    lot.shuffle(keys)
    assert ranking.read_places(json.dumps({key: said[key] for key in keys}), labels) == said


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever a model writes gives a place to all labels, or is said to be unreadable."""
    for written in (text, "{" + text + "}", '{"A": 1, "B": ' + text):
        with suppress(Unreadable):
            assert set(ranking.read_places(written, LABELS)) == set(LABELS)
