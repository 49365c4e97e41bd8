"""Kendall's W against the paper's formula, Friedman's test, ρ, and enumeration."""

from __future__ import annotations

from itertools import permutations, product
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from persona_panel.statistics import Reason, kendall_w

COMPLETE = arrays(
    float,
    st.tuples(st.integers(3, 6), st.integers(2, 5)),
    elements=st.integers(1, 4).map(float),
)
SPARSE = arrays(
    float,
    st.tuples(st.integers(1, 8), st.integers(1, 4)),
    elements=st.sampled_from([1.0, 2.0, 3.0, nan]),
)


def test_hand_calculation() -> None:
    """W is 12 S / (m² (n³ − n)), its correction takes m Σ T off the denominator.

    Three raters rank four items 1 2 3 4, 2 1 3 4 and 1.5 1.5 3.5 3.5 (two ties of two, T =
    2 · (2³ − 2) = 12). Rank sums 4.5, 4.5, 9.5, 11.5; their mean is 7.5; S = 9 + 9 + 4 + 16
    = 38. W = 12 · 38 / (9 · 60) = 456/540; corrected 456 / (540 − 3 · 12) = 456/504.
    """
    ratings = np.array([[1, 2, 3, 4], [2, 1, 3, 4], [5, 5, 9, 9]]).T
    plain = kendall_w(ratings).mean
    assert plain.value == pytest.approx(456 / 540)
    assert (plain.n_items, plain.n_raters) == (4, 3)
    assert kendall_w(ratings, correct_ties=True).mean.value == pytest.approx(456 / 504)


@given(COMPLETE)
def test_corrected_w_equals_friedman(ratings: np.ndarray) -> None:
    """Friedman's χ² is m (n − 1) W with ties corrected: scipy's, divided, is ours."""
    n, m = ratings.shape
    ours = kendall_w(ratings, correct_ties=True).mean
    if (np.ptp(ratings, axis=0) == 0).all():
        assert ours.reason is Reason.CONSTANT_RATER
    else:
        chi2 = stats.friedmanchisquare(*ratings).statistic
        assert ours.value == pytest.approx(chi2 / (m * (n - 1)), abs=1e-12)


@given(st.integers(2, 6), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_w_is_the_mean_spearman(n: int, m: int, seed: int) -> None:
    """Without ties the mean pairwise ρ is (m W − 1) / (m − 1)."""
    rng = np.random.default_rng(seed)
    ranks = rng.permuted(np.tile(np.arange(n, dtype=float), (m, 1)), axis=1).T
    w = kendall_w(ranks).mean.value
    rhos = np.corrcoef(ranks.T)[np.triu_indices(m, 1)]
    assert (m * w - 1) / (m - 1) == pytest.approx(rhos.mean(), abs=1e-12)
    assert kendall_w(ranks, correct_ties=True).mean.value == pytest.approx(w)


@given(SPARSE, st.integers(0, 2**32 - 1), st.booleans())
def test_prompts_are_taken_one_by_one(ratings: np.ndarray, seed: int, correct: bool) -> None:
    """All prompts at once give what each gives alone, and the mean is over the defined ones."""
    prompts = np.random.default_rng(seed).integers(0, 3, len(ratings)).tolist()
    result = kendall_w(ratings, prompts, correct_ties=correct)
    for name, value in zip(result.prompts, result.values, strict=True):
        alone = kendall_w(ratings[np.array(prompts) == name], correct_ties=correct).mean
        assert (value.reason, value.n_items, value.n_raters) == (
            alone.reason,
            value.n_items,
            value.n_raters,
        )
        assert value.value == pytest.approx(alone.value, nan_ok=True)
        assert not value.value > 1 + 1e-12
        assert not value.value < 0
    defined = [value.value for value in result.values if not isnan(value.value)]
    expected = np.mean(defined) if defined else nan
    assert result.mean.value == pytest.approx(expected, nan_ok=True)


@given(SPARSE, st.integers(0, 2**32 - 1))
def test_only_order_counts_and_nobody_has_a_name(ratings: np.ndarray, seed: int) -> None:
    """Each rater's monotone transform and any shuffle of raters or items leave W alone."""
    rng = np.random.default_rng(seed)
    changed = np.exp(ratings * rng.uniform(0.5, 2, ratings.shape[1]))
    changed = changed[rng.permutation(len(ratings))][:, rng.permutation(ratings.shape[1])]
    ours, theirs = kendall_w(ratings).mean, kendall_w(changed).mean
    assert ours.reason is theirs.reason
    assert ours.value == pytest.approx(theirs.value, nan_ok=True)


def test_incomplete_raters_are_left_out_not_completed() -> None:
    """W is over raters who rated all that anyone rated; an item nobody rated is no item."""
    ratings = np.array([[1, 1, 3], [2, 3, nan], [3, 2, 1], [nan, nan, nan]])
    ours = kendall_w(ratings).mean
    assert ours == kendall_w(ratings[:3, :2]).mean
    assert (ours.n_items, ours.n_raters) == (3, 2)


def test_permutation_test_equals_enumeration() -> None:
    """Random shuffles approach the p-value of all rankings that two raters could give.

    One prompt of four items, one of three: 4! · 3! orders of the second rater against the
    first's, which may be held still.
    """
    first, second = np.array([[1, 2, 3, 4], [1, 3, 2, 4]]).T, np.array([[1, 2, 3], [2, 1, 3]]).T
    ratings = np.vstack([first, second]).astype(float)
    prompts = list("aaaabbb")
    means = []
    for p, q in product(permutations(range(4)), permutations(range(3))):
        shuffled = ratings.copy()
        shuffled[:4, 1] = ratings[list(p), 1]
        shuffled[4:, 1] = ratings[4 + np.array(q), 1]
        means.append(kendall_w(shuffled, prompts).mean.value)
    ours = kendall_w(ratings, prompts, n_permutations=9999).mean
    expected = np.mean(np.array(means) >= ours.value - 1e-12)
    assert ours.p_value == pytest.approx(expected, abs=0.015)
    assert kendall_w(ratings, prompts, n_permutations=9999).mean == ours
    assert isnan(kendall_w(ratings, prompts).mean.p_value)


def test_random_rankings_are_not_significant() -> None:
    """Under the null hypothesis p-values are spread evenly: 5 % lie below 0.05."""
    rng = np.random.default_rng(0)
    prompts = np.repeat(np.arange(4), 3).tolist()
    p_values = [
        kendall_w(rng.normal(size=(12, 3)), prompts, n_permutations=199, seed=seed).mean.p_value
        for seed in range(400)
    ]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.03)
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1.0], [2.0]], Reason.FEW_RATERS),
        ([[1.0, 2.0]], Reason.FEW_ITEMS),
        ([[1.0, nan], [2.0, 3.0], [nan, 1.0]], Reason.NO_COMPLETE_RATERS),
        (np.empty((0, 2)), Reason.FEW_RATERS),
    ],
)
def test_undefined_has_a_reason(ratings: object, reason: Reason) -> None:
    """What cannot be computed is NaN and says why, also when its test is asked for."""
    ours = kendall_w(ratings, n_permutations=9).mean  # type: ignore[arg-type]
    assert isnan(ours.value)
    assert ours.reason is reason


def test_constant_raters() -> None:
    """Raters who tie everything agree on nothing by the paper's W, and have no corrected one."""
    ratings = [[2, 2], [2, 2], [2, 2]]
    assert kendall_w(ratings).mean.value == 0
    assert kendall_w(ratings, correct_ties=True).mean.reason is Reason.CONSTANT_RATER


def test_correcting_for_ties_leaves_the_p_value_of_one_prompt() -> None:
    """Of one prompt both W are the same sum of squares over a constant of its own, in the data and
    in every shuffle, so that the same shuffles reach them."""
    ratings = [[1, 1, 2], [1, 2, 2], [2, 2, 3], [3, 2, 3], [3, 3, 3]]
    plain, corrected = (
        kendall_w(ratings, correct_ties=ties, n_permutations=199).mean for ties in (False, True)
    )
    assert corrected.value > plain.value
    assert 1 / 200 < corrected.p_value < 1
    assert corrected.p_value == plain.p_value
