"""Entropy of scores and the share of the commonest, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from persona_panel.statistics import (
    Reason,
    mode_share,
    score_entropy,
)


def test_by_hand() -> None:
    """Half, a quarter and a quarter have 0.5 · 1 + 2 · 0.25 · 2 = 1.5 bits."""
    ratings = [[1, 1], [2, 3], [np.nan, np.nan]]
    assert score_entropy(ratings).value == pytest.approx(1.5)
    assert mode_share(ratings).value == 0.5
    assert (score_entropy(ratings).n_items, score_entropy(ratings).n_raters) == (2, 2)


def test_one_value_has_no_entropy() -> None:
    """Where all is one value nothing is told, which is a result: 0 bits, all at the mode."""
    assert score_entropy([[7, 7], [7, 7]]).value == 0
    assert mode_share([[7, 7], [7, 7]]).value == 1


def test_no_ratings() -> None:
    """Without ratings there is neither, in no resample either."""
    nothing = np.full((3, 2), np.nan)
    assert score_entropy(nothing).reason == mode_share(nothing).reason == Reason.NO_RATINGS
    assert np.isnan(mode_share(nothing).resampled(np.ones((2, 3)))).all()


def test_a_resample_without_a_rating_has_neither() -> None:
    """Of one item with a single rating, one with 5 and 6 and one that nobody rated: drawn alone,
    the first has 0 bits, the second 1, and the third none at all."""
    some = [[4.0, np.nan], [5.0, 6.0], [np.nan, np.nan]]
    each_alone = np.eye(3)
    np.testing.assert_array_equal(score_entropy(some).resampled(each_alone), [0, 1, np.nan])
    np.testing.assert_array_equal(mode_share(some).resampled(each_alone), [1, 0.5, np.nan])


ratings = arrays(
    float, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(1, 5).map(float)
)


@given(ratings)
def test_against_scipy(values: np.ndarray) -> None:
    """scipy's entropy of the counts, and statistics.mode's share."""
    counts = np.unique(values, return_counts=True)[1]
    assert score_entropy(values).value == pytest.approx(stats.entropy(counts, base=2), abs=1e-12)
    assert mode_share(values).value == pytest.approx(counts.max() / values.size)


@given(ratings, st.integers(0, 100))
def test_a_resample_is_the_statistic_of_its_items(values: np.ndarray, seed: int) -> None:
    """Weights give what the drawn items give."""
    n = len(values)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=3).astype(float)
    entropies = score_entropy(values).resampled(weights)
    shares = mode_share(values).resampled(weights)
    for row, entropy, share in zip(weights, entropies, shares, strict=True):
        drawn = np.repeat(values, row.astype(int), axis=0)
        assert entropy == pytest.approx(score_entropy(drawn).value, abs=1e-12)
        assert share == pytest.approx(mode_share(drawn).value)
