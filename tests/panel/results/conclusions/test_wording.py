"""Names, numbers and money in sentences."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from persona_panel.results.conclusions.wording import (
    all_dimensions,
    as_many,
    dimension_called,
    dollars,
    first_of,
    grouped,
    in_brackets,
    interval,
    judged,
    listed,
    match_sentence,
    missing_judgments,
    origin_sentences,
    p_adjusted,
    points,
    rescaling_of,
    spent,
    two_digits,
    would_show,
)
from persona_panel.statistics.core.means import Assurance
from persona_panel.statistics.core.table import Coverage, ItemMatch, Ratings, RatingsOrigin


def test_names_in_a_row() -> None:
    """Up to four are named, of more their number where the noun is known."""
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(list("abcd"), "systems") == "a, b, c and d"
    assert listed(list("abcde"), "systems") == "5 systems"
    assert listed(list("abcde")) == "a, b, c, d and e"
    assert first_of(["a", "b"], 2) == "a; b"
    assert first_of(["a", "b", "c"], 2) == "a; b; 1 more"
    assert grouped([1, 2, 3, 4], lambda n: None if n == 4 else n % 2) == {1: [1, 3], 0: [2]}
    assert in_brackets("", "a", "b") == " (a, b)"
    assert in_brackets("") == ""


def test_dimensions_have_names() -> None:
    """The composite has an article, two are both."""
    assert dimension_called("composite") == "the composite"
    assert dimension_called("depth") == "depth"
    assert all_dimensions(2) == "both dimensions"
    assert all_dimensions(3) == "all 3 dimensions"


def test_judgments_are_counted() -> None:
    """Abstentions are there, and what is missing is so by its status."""
    assert judged(Coverage(1040, 1030, 7, {"failed": 3})) == "1,037 of 1,040 judgments (3 failed)"
    assert judged(Coverage(1, 1, 0, {})) == "1 of 1 judgment"
    assert missing_judgments(3, 40) == "3 of 40 judgments are missing"
    text = missing_judgments(3, 40, of="a", by_status={"failed": 2, "refused": 1})
    assert text == "3 of 40 judgments of a are missing (2 failed, 1 refused)"


def test_figures_in_words() -> None:
    """A missing one is nothing."""
    assert interval(-0.5, 2) == "95 % interval −0.50 to 2.00"
    assert interval(nan, 2) == ""
    assert points(-0.5) == "0.50 points"
    assert points(0.25, "") == "0.25"
    assert p_adjusted(nan) == ""
    assert p_adjusted(0.0009) == "adjusted p < 0.001"
    assert p_adjusted(0.001) == "adjusted p 0.001"
    assert p_adjusted(0.0456) == "adjusted p 0.046"


@pytest.mark.parametrize(
    ("needed", "rounded"),
    [(1, 1), (9, 9), (10, 10), (99, 99), (100, 100), (101, 110), (1234, 1300), (9999, 10_000)],
)
def test_numbers_needed_have_two_digits(needed: int, rounded: int) -> None:
    """Rounded up."""
    assert two_digits(needed) == rounded
    assert as_many(needed, "item") == f"about {rounded:,} items"
    assert as_many(None) == "more than 10,000 prompts"


@pytest.mark.parametrize(
    ("assured", "sentence"),
    [
        (Assurance(12, 138, 0.9), "About 140 new prompts would show it with a probability of 80 %"),
        (
            Assurance(12, None, 0.69),
            "New prompts would show it with a probability of at most 69 %, however many",
        ),
        (
            Assurance(12, None, 0.8),
            "More than 10,000 new prompts would show it with a probability of 80 %",
        ),
        (
            Assurance(12, None, 0.0),
            "New prompts would show it with a probability of at most 0 %, however many",
        ),
        (
            Assurance(12, None, nan),
            "No number of new prompts would show it with a probability of 80 %",
        ),
    ],
)
def test_new_values_show_what_is_open(assured: Assurance, sentence: str) -> None:
    """With how many, or with what probability at most, or with none."""
    assert would_show(assured, "show it") == f"{sentence} (now 12)."


@pytest.mark.parametrize(
    ("usd", "in_all", "text"),
    [
        ([0.5, 1.0], None, "$1.50"),
        ([0.5, 0.5], None, "$1.00"),
        ([0.25], None, "$0.2500"),
        ([0.5, None], 2.0, "$0.5000 of about $2.00 + unknown"),
        ([None], None, "price unknown"),
        ([0.0, None], None, "price unknown"),
        ([0.0], None, None),
        ([], None, None),
    ],
)
def test_money_is_spent(usd: list[float | None], in_all: float | None, text: str | None) -> None:
    """To the cent from a dollar on; what is not known is said."""
    assert spent(usd, in_all) == text
    assert dollars(1234.5) == "$1,234.50"


def test_what_matches_nothing_is_named() -> None:
    """Up to ten items; then the sentence ends with dots."""
    one = ItemMatch(4, ("x",), "runs/a")
    assert match_sentence(one) == (
        "1 of the 4 items that people rated is not in runs/a and counts for nothing: 'x'; 3 "
        "(75.0 %) match."
    )
    many = ItemMatch(40, tuple("abcdefghijk"), "runs/a")
    assert match_sentence(many) == (
        "11 of the 40 items that people rated are not in runs/a and count for nothing: 'a', 'b', "
        "'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', …; 29 (72.5 %) match."
    )
    ten = ItemMatch(40, tuple("abcdefghij"), "runs/a")
    assert "…" not in match_sentence(ten)
    origin = RatingsOrigin("f.csv", "Read.", ("odd",), match=one)
    assert origin_sentences(origin) == ["Read.", match_sentence(one), "Warning: odd"]
    assert origin_sentences(RatingsOrigin("f.csv", "", match=ItemMatch(4, (), "runs/a"))) == []


def test_different_scales_are_put_together_as_shares() -> None:
    """Only where there are two dimensions, and their scales differ."""

    def rated(*scales: tuple[float, float]) -> Ratings:
        names = tuple("ab"[: len(scales)])
        scores = np.ones((2, 1, len(scales)))
        return Ratings(
            scores, ("x", "y"), ("r",), names, ("g",), scales=dict(zip(names, scales, strict=True))
        )

    assert len(list(rescaling_of(rated((1, 5), (0, 100))))) == 1
    assert list(rescaling_of(rated((1, 5), (1, 5)))) == []
    assert list(rescaling_of(rated((1, 5)))) == []
