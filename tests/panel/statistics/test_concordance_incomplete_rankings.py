"""W of incomplete rankings against published figures, Durbin's W, Friedman's and Kendall's."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from persona_panel.statistics import (
    AnalysisOptions,
    Ratings,
    Reason,
    agree,
    incomplete_concordance,
    kendall_w,
)
from persona_panel.statistics.concordance import leaves_out_raters

COMPLETE = arrays(
    float,
    st.tuples(st.integers(2, 6), st.integers(2, 5)),
    elements=st.integers(1, 4).map(float),
)
SPARSE = arrays(
    float,
    st.tuples(st.integers(1, 8), st.integers(1, 5)),
    elements=st.sampled_from([1.0, 2.0, 3.0, nan]),
)
FANO = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]
"""Seven items in seven blocks of three, every two items together once."""


def test_hand_calculation() -> None:
    """Three raters, three items, each rater sees two.

    They rank 1 before 2, 3 before 1 and 2 before 3, a circle: every total is 0, and so is T. If the
    last ranks 3 before 2 instead, ranks about their mean are ±½, times √(12 / 3) = ±1; totals are
    0, 2, −2 for items 1, 2, 3. Two items of a rater have the covariance −1, an item the variance
    2: V = 3 I − J, so that T = (4 + 4) / 3; nobody contradicts anybody, so W is 1. At random, T
    is 2 on average.
    """
    circle = np.array([[1, 2, nan], [2, nan, 1], [nan, 1, 2]])
    assert incomplete_concordance(circle).over_prompts.mean.value == pytest.approx(0)
    found = incomplete_concordance(np.array([[1, 2, nan], [2, nan, 2], [nan, 1, 1]]))
    assert found.statistic == pytest.approx(8 / 3)
    assert found.over_prompts.mean.value == pytest.approx(1)
    assert found.by_chance == pytest.approx(2 / (8 / 3))


@pytest.mark.parametrize(
    ("ratings", "statistic", "p_value"),
    [
        # Brady (1969), in Hollander & Wolfe (1999), as R's PMCMRplus 1.9 prints it.
        (
            [
                [3, 1, 5, 2, 0, 0, 0, 0],
                [5, 3, 4, nan, 2, 2, 3, 2],
                [15, 18, 21, 6, 17, 10, 8, 13],
            ],
            13.28095,
            0.001306405,
        ),
        # The assembly times of Skillings & Mack (1981), as R's Skillings.Mack 1.10 prints them.
        (
            [
                [3.2, 3.1, 4.3, 3.5, 3.6, 4.5, nan, 4.3, 3.5],
                [4.1, 3.9, 3.5, 3.6, 4.2, 4.7, 4.2, 4.6, nan],
                [3.8, 3.4, 4.6, 3.9, 3.7, 3.7, 3.4, 4.4, 3.7],
                [4.2, 4.0, 4.8, 4.0, 3.9, nan, nan, 4.9, 3.9],
            ],
            15.493049,
            0.001440296,
        ),
    ],
)
def test_published_figures(ratings: list[list[float]], statistic: float, p_value: float) -> None:
    """T is what R prints of two published examples, by χ² with one less than the items so is p,
    and the permutation test finds it as unlikely."""
    found = incomplete_concordance(ratings, n_permutations=1999)
    assert found.statistic == pytest.approx(statistic, abs=1e-5)
    assert stats.chi2.sf(found.statistic, len(ratings) - 1) == pytest.approx(p_value, rel=1e-5)
    assert found.over_prompts.mean.p_value < 0.003


@given(COMPLETE)
def test_complete_rankings_have_kendalls_w(ratings: np.ndarray) -> None:
    """Where all rated everything W is Kendall's, ties or not, and at random it is 1 / m."""
    ours, theirs = incomplete_concordance(ratings), kendall_w(ratings).mean
    assert ours.over_prompts.mean.value == pytest.approx(theirs.value, abs=1e-9)
    untied = ratings + np.linspace(0, 0.5, ratings.size).reshape(ratings.shape)
    assert incomplete_concordance(untied).by_chance == pytest.approx(1 / ratings.shape[1])
    assert ours.by_chance <= 1 / ratings.shape[1] + 1e-9
    assert not leaves_out_raters(ratings)


@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(3, 6))
def test_complete_rankings_have_friedmans_statistic(seed: int, n: int, m: int) -> None:
    """Without ties T is scipy's Friedman χ²."""
    ratings = np.random.default_rng(seed).normal(size=(n, m))
    expected = stats.friedmanchisquare(*ratings).statistic
    assert incomplete_concordance(ratings).statistic == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1))
def test_balanced_blocks_have_durbins_w(seed: int) -> None:
    """In a balanced incomplete block design W is 12 S / (λ² n (n² − 1)), and T Durbin's χ²,
    12 (n − 1) S / (r n (k² − 1)): here n = 7, k = r = 3, λ = 1."""
    rng = np.random.default_rng(seed)
    ratings = np.full((7, 7), nan)
    for rater, items in enumerate(FANO):
        ratings[list(items), rater] = rng.permutation(3) + 1
    sums = np.nansum(ratings, axis=1)
    spread = np.sum((sums - sums.mean()) ** 2)
    found = incomplete_concordance(ratings)
    assert found.over_prompts.mean.value == pytest.approx(12 * spread / (7 * 48))
    assert found.statistic == pytest.approx(12 * 6 * spread / (3 * 7 * 8))


@settings(max_examples=200)
@given(SPARSE, st.integers(0, 2**32 - 1))
def test_w_lies_between_0_and_1_and_nobody_has_a_name(ratings: np.ndarray, seed: int) -> None:
    """T is not more than unanimous raters reach; it is the same for any monotone transform of a
    rater, and for any order of raters and items."""
    rng = np.random.default_rng(seed)
    ours = incomplete_concordance(ratings)
    if isnan(ours.statistic):
        assert ours.over_prompts.mean.reason is not None
        return
    changed = np.exp(ratings * rng.uniform(0.5, 2, ratings.shape[1]))
    changed = changed[rng.permutation(len(ratings))][:, rng.permutation(ratings.shape[1])]
    assert incomplete_concordance(changed).statistic == pytest.approx(ours.statistic, abs=1e-9)
    assert 0 <= ours.over_prompts.mean.value <= 1


@given(SPARSE, st.integers(0, 2**32 - 1))
def test_unanimous_raters_have_a_w_of_1(ratings: np.ndarray, seed: int) -> None:
    """Whoever saw what: raters of one order without ties have a W of 1."""
    order = np.random.default_rng(seed).permutation(len(ratings)).astype(float)
    found = incomplete_concordance(np.where(np.isnan(ratings), nan, order[:, None]))
    if found.over_prompts.mean.reason is None:
        assert found.over_prompts.mean.value == pytest.approx(1)


def test_what_tells_nothing_of_agreement_is_left_out() -> None:
    """An item that one rater alone rated, and then a rater of one item alone, change nothing."""
    ratings = np.array([[1, 2, nan], [2, 1, nan], [3, 3, 1], [4, nan, nan]])
    ours = incomplete_concordance(ratings)
    assert ours.over_prompts.mean == incomplete_concordance(ratings[:3, :2]).over_prompts.mean
    assert leaves_out_raters(ratings)


def test_permutation_test_equals_enumeration() -> None:
    """Random shuffles approach the p-value of all rankings that the raters could give of what
    they saw, ties kept, summed over two prompts."""
    one = np.array([[1, 1, nan], [2, nan, 1], [3, 2, 1], [nan, 3, 2]])
    two = np.array([[1, 2, nan], [2, 1, nan], [nan, nan, nan], [nan, nan, nan]])
    ratings, prompts = np.vstack([one, two]), list("aaaabbbb")
    sums = []
    for first, second, third, fourth in product(
        permutations([1, 2, 3]), permutations([1, 2, 3]), permutations([1, 1, 2]), (0, 1)
    ):
        shuffled = ratings.copy()
        shuffled[[0, 1, 2], 0] = first
        shuffled[[0, 2, 3], 1] = second
        shuffled[[1, 2, 3], 2] = third
        shuffled[[4, 5], 1] = (1, 2) if fourth else (2, 1)
        sums.append(incomplete_concordance(shuffled, prompts).statistic)
    ours = incomplete_concordance(ratings, prompts, n_permutations=9999)
    expected = np.mean(np.array(sums) >= ours.statistic - 1e-9)
    assert ours.over_prompts.mean.p_value == pytest.approx(expected, abs=0.015)
    assert ours.statistic_by_chance == pytest.approx(np.mean(sums))
    assert incomplete_concordance(ratings, prompts, n_permutations=9999) == ours


def test_random_rankings_are_not_significant() -> None:
    """Under the null hypothesis 5 % of p-values lie below 0.05, in a rotated design with ties."""
    rng = np.random.default_rng(0)
    prompts = np.repeat(np.arange(3), 5).tolist()
    p_values = []
    for seed in range(300):
        ratings = rng.integers(1, 5, (15, 4)).astype(float)
        for prompt, rater in product(range(3), range(4)):
            ratings[5 * prompt + rng.integers(0, 5), rater] = nan
        found = incomplete_concordance(ratings, prompts, n_permutations=199, seed=seed)
        p_values.append(found.over_prompts.mean.p_value)
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.04)
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1.0], [2.0]], Reason.FEW_RATERS),
        ([[1.0, 2.0]], Reason.FEW_ITEMS),
        ([[1.0, nan], [2.0, nan], [nan, 1.0], [nan, 2.0]], Reason.NO_OVERLAP),
        ([[1.0, nan], [2.0, 1.0], [nan, 2.0]], Reason.NO_OVERLAP),
        (np.empty((0, 2)), Reason.FEW_RATERS),
    ],
)
def test_undefined_has_a_reason(ratings: object, reason: Reason) -> None:
    """What cannot be computed is NaN and says why: raters who share one item at most could only
    be found to agree."""
    found = incomplete_concordance(ratings, n_permutations=9)  # type: ignore[arg-type]
    assert found.over_prompts.mean.reason is reason
    assert isnan(found.statistic)


def test_it_stands_beside_kendalls_w_where_that_leaves_raters_out() -> None:
    """`agree` has its row, with T and what is expected at random in the note, where raters rated
    different items, and none where all rated the same."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(30, 1))
    scores = np.round(3 + 2 * (quality + rng.normal(size=(30, 4))), 1)
    prompts = tuple(f"p{item // 5}" for item in range(30))
    whole = Ratings(
        scores[:, :, None],
        tuple(f"i{item}" for item in range(30)),
        tuple("abcd"),
        ("all",),
        ("human",) * 4,
        prompts,
    )
    for prompt in range(6):
        for rater in range(4):
            scores[5 * prompt + (prompt + rater) % 5, rater] = nan
    options = AnalysisOptions(n_permutations=9999)
    rows = {row.statistic: row for row in agree(replace(whole, scores=scores[:, :, None]), options)}
    row, expected = rows["kendall_w_incomplete"], incomplete_concordance(scores, prompts)
    assert row.value == expected.over_prompts.mean.value
    assert row.ci_low < row.value < row.ci_high
    assert row.p_value < 0.05
    assert row.note.startswith(f"Skillings-Mack T {expected.statistic:.1f}; at random T ")
    assert rows["kendall_w"].reason is Reason.NO_COMPLETE_RATERS
    full = replace(whole, scores=np.nan_to_num(scores)[:, :, None])
    assert "kendall_w_incomplete" not in {row.statistic for row in agree(full, options)}
