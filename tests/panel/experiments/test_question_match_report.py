"""Diversity of texts, by hand and within its bounds."""

from __future__ import annotations

import math
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.experiments.question_match import (
    Match,
    compression_diversity,
    match_result,
    ngram_diversity,
)
from persona_panel.graphs import Response


def test_ngrams_by_hand() -> None:
    """Different by all n-grams of the joined texts, split at spaces, as the package `diversity`
    counts them: case and punctuation count, and n-grams cross from one text into the next."""
    texts = ["Why is it so?", "why is it true?"]
    # Why is it so? why is it true?: 6 of 8 words (is, it twice); of 7 pairs 6 (is it twice); of 6
    # triples and 5 quadruples all
    for longest, expected in enumerate((6 / 8, 6 / 7, 1, 1), 1):
        before = ngram_diversity(texts, longest - 1) if longest > 1 else 0
        assert ngram_diversity(texts, longest) - before == pytest.approx(expected)
    assert ngram_diversity(texts) == pytest.approx(6 / 8 + 6 / 7 + 2)


def test_nothing_has_no_diversity() -> None:
    """Without an n-gram of a length there is no number, rather than a zero."""
    assert math.isnan(ngram_diversity(["why not"]))
    assert math.isnan(ngram_diversity([]))
    assert math.isnan(compression_diversity([]))


def test_how_most_questions_begin_is_counted_by_system() -> None:
    """Two of three questions of a system begin alike, whatever their case; another's are apart."""
    asked = {
        "s": ("What evidence is there?", "what evidence does she give?", "Why?"),
        "t": ("How?",),
    }
    questions = [
        Response(id=f"{system}{n}", prompt="Ask.", prompt_id="i", text=text, system=system)
        for system, texts in asked.items()
        for n, text in enumerate(texts)
    ]
    matches = [Match("i", each.id, each.system, None) for each in questions]
    rows = match_result(questions, matches)["openings"].rows
    assert [(row["system"], row["opening"], row["n"]) for row in rows] == [
        ("s", "what evidence", 2), ("s", "why?", 1), ("t", "how?", 1),
    ]  # fmt: skip
    assert rows[0]["share"] == pytest.approx(2 / 3)


def test_compression_is_size_by_size() -> None:
    """gzip is deflate and 18 bytes around it, whatever the platform."""
    texts = ["Why is it so?", "Is this a cause, or do they only come together?"]
    joined = " ".join(texts).encode()
    deflated = zlib.compressobj(9, wbits=-15)
    size = len(deflated.compress(joined) + deflated.flush()) + 18
    assert compression_diversity(texts) == pytest.approx(size / len(joined))


def test_repetition_is_less_diverse() -> None:
    """A question said twenty times is less diverse than twenty questions, by every measure."""
    first, second = ("who", "what", "when", "where", "why"), ("how", "which", "whose", "cause")
    various = [f"{a} {b} {a}{b} {b}{a}?" for a in first for b in second]
    same = [various[0]] * 20
    for measure in (ngram_diversity, compression_diversity):
        assert measure(same) < measure(various) / 2


@given(st.lists(st.text(), min_size=1, max_size=6), st.integers(1, 4))
def test_bounds(texts: list[str], longest: int) -> None:
    """Each length adds a share above 0 and at most 1."""
    found = ngram_diversity(texts, longest)
    assert math.isnan(found) or 0 < found <= longest
