"""Diversity of texts, by hand and within its bounds."""

from __future__ import annotations

import math
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.experiments.questions.match import (
    compression_diversity,
    distinct_n,
    ngram_diversity,
)


def test_distinct_by_hand() -> None:
    """Different by all n-grams, over all texts at once, without crossing from one to the next."""
    texts = ["Why is it so?", "why is it true?"]
    # words: why is it so why is it true, 5 of 8; pairs: (why is) (is it) (it so) and
    # (why is) (is it) (it true), 4 of 6; triples: 2 + 2, of which (why is it) is there twice
    assert distinct_n(texts, 1) == pytest.approx(5 / 8)
    assert distinct_n(texts, 2) == pytest.approx(4 / 6)
    assert distinct_n(texts, 3) == pytest.approx(3 / 4)
    assert distinct_n(texts, 4) == pytest.approx(2 / 2)
    assert ngram_diversity(texts) == pytest.approx(5 / 8 + 4 / 6 + 3 / 4 + 1)


def test_nothing_has_no_diversity() -> None:
    """Without an n-gram of a length there is no number, rather than a zero."""
    assert math.isnan(distinct_n(["why"], 2))
    assert math.isnan(ngram_diversity(["why not"]))
    assert math.isnan(compression_diversity([]))


def test_compression_is_size_by_size() -> None:
    """gzip is deflate and 18 bytes around it, whatever the platform."""
    texts = ["Why is it so?", "Is this a cause, or do they only come together?"]
    joined = "\n".join(texts).encode()
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
def test_bounds(texts: list[str], n: int) -> None:
    """A share is above 0 and at most 1, and saying everything twice halves nothing but adds."""
    found = distinct_n(texts, n)
    if not math.isnan(found):
        assert 0 < found <= 1
        assert distinct_n(texts * 2, n) == pytest.approx(found / 2)
