"""Texts of one kind of author against those of another."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.significance import holm
from persona_panel.statistics.sources import AuthorShare, author_shares

KINDS = ["human", "model", "model"]


def by_figure(found: list[AuthorShare]) -> dict[tuple[str, str], AuthorShare]:
    return {(one.figure, one.a): one for one in found}


def test_shares_by_hand() -> None:
    """One human text beside two of models in three prompts: it is above both, tied with the best
    and above the other, below both."""
    scores = [9, 3, 4, 5, 5, 1, 2, 6, 7]
    found = by_figure(author_shares(scores, KINDS * 3, list("aaabbbccc")))
    assert found["each", "human"].value == pytest.approx((1 + 0.75 + 0) / 3)
    assert found["best", "human"].value == pytest.approx((1 + 0.5 + 0) / 3)
    assert found["first place", "model"].value == pytest.approx((0 + 0.5 + 1) / 3)
    assert found["best", "human"].chance == pytest.approx(1 / 3)
    assert {one.n for one in found.values()} == {3}
    assert {one.reason for one in found.values()} == {Reason.FEW_SHARED_PROMPTS}


def test_a_side_that_always_wins_has_an_exact_interval() -> None:
    """Eight wins in eight prompts: Clopper's and Pearson's interval, and the test of eight signs;
    what is one test under four names is corrected for once."""
    found = author_shares([9, 3] * 8, ["human", "model"] * 8, np.repeat(np.arange(8), 2))
    whole = by_figure(found)["each", "human"]
    assert (whole.value, whole.high) == (1, 1)
    assert whole.low == pytest.approx(stats.binomtest(8, 8).proportion_ci(0.95).low)
    assert whole.p == pytest.approx(2 / 2**8)
    assert [one.p_adjusted for one in found] == pytest.approx([2 / 2**8] * 4)
    assert all(one.shown for one in found)


def test_p_values_are_adjusted_over_what_differs() -> None:
    """With one text beside two, wins and first places are two questions."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=36) + np.tile([1.0, 0, 0], 12)
    found = by_figure(author_shares(scores, KINDS * 12, np.repeat(np.arange(12), 3)))
    each, best = found["each", "human"], found["best", "human"]
    assert [each.p_adjusted, best.p_adjusted] == pytest.approx(holm([each.p, best.p]))
    assert found["first place", "model"].p_adjusted == best.p_adjusted
    expected = stats.binomtest(round(12 * best.value), 12, 1 / 3, alternative="greater").pvalue
    assert best.p == pytest.approx(2 * expected, abs=0.02)


def test_what_shares_no_prompt_is_not_compared() -> None:
    """Prompts with one kind alone, texts without a kind or a score: nothing to say."""
    assert author_shares([1, 2, 3, 4], ["x", "x", "y", None], list("aabb")) == []
    assert author_shares([1, nan], ["x", "y"], list("aa")) == []


def test_the_smallest_p_value_is_one_of_ten_thousand() -> None:
    """Of 16 prompts a is ahead on all: that 2 of 2^16 signs are as extreme is drawn 9,999 times."""
    scores = [score for n in range(16) for score in (1.0, 0.0)]
    [row, *_] = author_shares(scores, ["a", "b"] * 16, [n // 2 for n in range(32)])
    assert (row.value, row.p) == (1.0, 1e-4)
