"""Leave-one-out substitution against a plain loop over scikit-learn, as its authors do it."""

from __future__ import annotations

from itertools import combinations
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score

from persona_panel.statistics import Reason, substitution

SCALE = [1, 2, 3, 4, 5]


def authors(ratings: np.ndarray, panel: np.ndarray, min_shared: int) -> list[list[float]]:
    """κ of every pair of humans and of every substituted pair, 0 for a constant rater."""
    humans, replaced = [], []
    for a, b in combinations(range(ratings.shape[1]), 2):
        both = ~np.isnan(ratings[:, a] + ratings[:, b])
        if both.sum() < min_shared:
            continue
        x, y, judge = ratings[both, a], ratings[both, b], panel[both]
        for pairs, one, other in ((humans, x, y), (replaced, x, judge), (replaced, y, judge)):
            constant = len(set(one)) == 1 or len(set(other)) == 1
            kappa = (
                cohen_kappa_score(
                    one.astype(int), other.astype(int), labels=SCALE, weights="quadratic"
                )
                if not constant
                else 0.0
            )
            pairs.append(kappa)
    return [humans, replaced]


@given(
    arrays(
        float,
        st.tuples(st.integers(3, 12), st.integers(2, 5)),
        elements=st.sampled_from([1.0, 3.0, 4.0, 5.0, nan]),
    ),
    st.integers(0, 2**32 - 1),
)
def test_equals_the_authors_protocol(ratings: np.ndarray, seed: int) -> None:
    """Means are over pairs who share enough items, constant raters counted as 0."""
    panel = np.random.default_rng(seed).choice([2.0, 3.0], len(ratings))
    humans, replaced = authors(ratings, panel, 3)
    ours = substitution(ratings, panel, min_shared=3)
    for found, expected in ((ours.humans, humans), (ours.panel, replaced)):
        assert found.n_pairs == len(expected)
        mean = np.mean(expected) if expected else nan
        assert found.with_zeros.value == pytest.approx(mean, abs=1e-9, nan_ok=True)
        if found.n_constant < found.n_pairs:
            alone = np.sum(expected) / (found.n_pairs - found.n_constant)
            assert found.without.value == pytest.approx(alone, abs=1e-9)
        else:
            assert isnan(found.without.value)


def test_constant_and_missing_are_counted_apart() -> None:
    """A constant panel is 0 or left out, as asked; a panel that rated nothing is neither."""
    ratings = np.array([[1, 2], [2, 2], [3, 4.0]])
    constant = substitution(ratings, [3, 3, 3], min_shared=2).panel
    assert (constant.with_zeros.value, constant.n_constant, constant.n_missing) == (0, 2, 0)
    assert constant.without.reason is Reason.CONSTANT_RATER
    absent = substitution(ratings, [nan, nan, nan], min_shared=2).panel
    assert (absent.n_pairs, absent.n_constant, absent.n_missing) == (2, 0, 2)
    assert absent.with_zeros.reason is Reason.NO_SHARED_ITEMS
    partly = substitution(ratings, [1, nan, 3], min_shared=2).panel
    assert partly.with_zeros.n_items == 2
    # The first human 1 3 against 1 3: κ = 1. The second 2 4 against 1 3: observed distance 1,
    # expected (1 + 1 + 9 + 1)/4 = 3, κ = 2/3.
    assert partly.with_zeros.value == pytest.approx((1 + 2 / 3) / 2)


def test_a_panel_that_repeats_a_human_agrees_with_them() -> None:
    """Substituted by the other human of the pair, κ is 1 and the humans' κ."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (60, 2)).astype(float)
    ours = substitution(ratings, ratings[:, 1])
    expected = (1 + ours.humans.without.value) / 2
    assert ours.panel.with_zeros.value == pytest.approx(expected)
    assert (ours.humans.n_pairs, ours.panel.n_pairs) == (1, 2)


@pytest.mark.parametrize("zeros", [True, False])
def test_resampled_equals_repeating_the_items(zeros: bool) -> None:
    """A weight of k is worth k copies of the item, with and without the zeros."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 4, (9, 3)).astype(float)
    panel = rng.integers(1, 4, 9).astype(float)
    drawn = rng.multinomial(9, np.full(9, 1 / 9), size=20).astype(float)
    whole = substitution(ratings, panel, min_shared=1)
    sides = (whole.humans, whole.panel)
    functions = [(side.with_zeros if zeros else side.without).resampled for side in sides]
    for row, *found in zip(drawn.astype(int), *(f(drawn) for f in functions), strict=True):
        repeated = substitution(
            np.repeat(ratings, row, axis=0), np.repeat(panel, row), min_shared=1
        )
        for value, mean in zip(found, (repeated.humans, repeated.panel), strict=True):
            expected = mean.with_zeros if zeros else mean.without
            assert value == pytest.approx(expected.value, nan_ok=True)


def test_undefined_has_a_reason() -> None:
    """Pairs that share too little, and bad input, are named."""
    ratings = [[1, 2], [2, 3]]
    assert substitution(ratings, [1, 2]).humans.with_zeros.reason is Reason.FEW_SHARED
    one = substitution([[1.0], [2.0]], [1, 2])
    assert one.humans.with_zeros.reason is Reason.FEW_PEOPLE
    with pytest.raises(ValueError, match="3 scores of the panel for 2 items"):
        substitution(ratings, [1, 2, 3])
    with pytest.raises(ValueError, match="at least 1 shared item"):
        substitution(ratings, [1, 2], min_shared=0)


def test_items_of_any_pair_are_counted_once() -> None:
    """Three people: the first two share items 0 to 3, the last two 3 to 6, in all seven."""
    people = np.full((8, 3), np.nan)
    people[:4, 0] = [1, 2, 1, 2]
    people[:7, 1] = [1, 2, 2, 1, 1, 2, 2]
    people[3:7, 2] = [1, 2, 1, 2]
    kappas = substitution(people, np.arange(8.0) % 2 + 1, min_shared=4)
    assert kappas.humans.with_zeros.n_items == 7
    assert kappas.panel.with_zeros.n_items == 7
