"""Win rates, means by source and distributions, by hand."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from persona_panel.statistics import (
    Reason,
    preferences,
    source_means,
)


def test_preferences_by_hand() -> None:
    """Comparisons are within prompt and rater, between sources; ties are halves.

    Prompt a, items h m m: rater 1 gives 5 3 9: h beats one model and loses to one; m first.
    Rater 2 gives 4 4 gap: a tie, shared first place. Prompt b, items h m: rater 1 gives 2 1:
    h wins. h wins 1 + 0 + 1/2 + 1 of 4 comparisons; first places 0 + 1/2 + 1 of 3 rankings.
    """
    ratings = [[5, 4], [3, 4], [9, nan], [2, nan], [1, nan]]
    ours = preferences(ratings, list("hmmhm"), list("aaabb"))
    assert ours.sources == ("h", "m")
    assert ours.win_rate == pytest.approx([2.5 / 4, 1.5 / 4])
    assert ours.n_comparisons.tolist() == [4, 4]
    assert ours.first_place == pytest.approx([1.5 / 3, 1.5 / 3])
    assert ours.n_rankings.tolist() == [3, 3]


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 8), st.integers(1, 3)),
        elements=st.sampled_from([1.0, 2.0, 3.0, nan]),
    ),
    st.integers(0, 2**32 - 1),
)
def test_preferences_properties(ratings: np.ndarray, seed: int) -> None:
    """Every comparison has one win to give, every ranking one first place; order is all."""
    rng = np.random.default_rng(seed)
    sources = rng.choice(list("abc"), len(ratings)).tolist()
    prompts = rng.integers(0, 2, len(ratings)).tolist()
    ours = preferences(ratings, sources, prompts)
    total = np.nansum(ours.win_rate * ours.n_comparisons)
    assert total == pytest.approx(ours.n_comparisons.sum() / 2)
    rankings = [
        {source for source, own, score in zip(sources, prompts, column, strict=True)
         if own == prompt and score == score}
        for prompt in set(prompts)
        for column in ratings.T
    ]  # fmt: skip
    firsts = np.nansum(ours.first_place * ours.n_rankings)
    assert firsts == pytest.approx(sum(len(ranked) > 1 for ranked in rankings))
    changed = preferences(np.exp(ratings), sources, prompts)
    assert changed.win_rate == pytest.approx(ours.win_rate, nan_ok=True)
    assert changed.first_place == pytest.approx(ours.first_place, nan_ok=True)


def test_preferences_are_resampled_by_prompt() -> None:
    """A prompt drawn twice gives its comparisons and rankings twice."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 5, (9, 3)).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = nan
    sources, prompts = list("abcabbcca"), [0, 0, 0, 1, 1, 1, 2, 2, 2]
    drawn = np.array([2, 0, 1])
    items = np.concatenate([np.flatnonzero(np.array(prompts) == p) for p in (0, 0, 2)])
    expected = preferences(
        ratings[items], [sources[i] for i in items], np.repeat([0, 1, 2], 3).tolist()
    )
    found = preferences(ratings, sources, prompts).resampled
    weights = drawn[prompts][None].astype(float)
    for place in range(len(expected.sources)):
        wins, firsts = (found[name][place](weights)[0] for name in ("win_rate", "first_place"))
        assert wins == pytest.approx(expected.win_rate[place])
        assert firsts == pytest.approx(expected.first_place[place])


def test_one_source_has_nothing_to_win() -> None:
    """Without another source there is no comparison and no rate."""
    ours = preferences([[1.0], [2.0]], ["h", "h"])
    assert np.isnan(ours.win_rate).all()
    assert np.isnan(ours.first_place).all()


def test_source_means_by_hand() -> None:
    """Items count once, where both sides rated them; r is over sources.

    a: panel 1 3, humans (2, 4) → 3 and 5; means 2 and 4. b: panel 4, human 6. c: panel 1,
    human 2; the item that the panel skipped is out. r of 2 4 1 and 4 6 2: deviations
    −1/3 5/3 −4/3 and 0 2 −2, so (10 + 8)/3 / sqrt(42/9 · 8) = 0.98198.
    """
    panel = [1, 3, 4, 1, nan]
    humans = [[2, 4], [5, nan], [6, nan], [2, nan], [9, 9]]
    ours = source_means(panel, humans, list("aabcc"))
    assert ours.sources == ("a", "b", "c")
    assert ours.panel.tolist() == [2, 4, 1]
    assert ours.humans.tolist() == [4, 6, 2]
    assert ours.n_items.tolist() == [2, 1, 1]
    assert ours.pearson.value == pytest.approx(6 / (42 / 9 * 8) ** 0.5)
    assert ours.pearson.n_items == 3
    alone = source_means(panel, humans, ["a"] * 5).pearson
    assert alone.reason is Reason.FEW_SOURCES
    # Two points are on a line, so that r would be 1 or -1 whatever the means.
    assert source_means(panel, humans, list("aabbb")).pearson.reason is Reason.TWO_SOURCES
