"""The sign-flip test against hand-counted patterns and scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from persona_panel.statistics.core.means import items_needed
from persona_panel.statistics.core.significance import sign_flip_p_values


def test_four_items_by_hand() -> None:
    """1, 2, 3, −1 sum to 5; of the 16 patterns ±7 (2) and ±5 (4 more) reach 5 in size."""
    # 7 = all aligned with (1, 2, 3, 1): 2 patterns. 5 = one of the two 1s turned: 2 × 2.
    # 3 would take the 2, or both 1s: too small. So p = 6 / 16.
    assert sign_flip_p_values([[1.0], [2.0], [3.0], [-1.0]])[0].tolist() == [6 / 16]


def test_what_is_missing_takes_no_part() -> None:
    """Missing items leave the p-value of the others; below two items there is none."""
    nan = np.nan
    differences = np.array([[1.0, nan, 5.0], [2.0, 1.0, nan], [3.0, 2.0, nan], [nan, 3.0, nan]])
    p_values, _ = sign_flip_p_values(differences)
    # Of three differences of one sign only the two patterns of one sign are as extreme: 2/8.
    assert p_values[:2].tolist() == [0.25, 0.25]
    assert np.isnan(p_values[2])


@pytest.mark.parametrize("seed", range(3))
def test_as_scipy_has_it_exact(seed: int) -> None:
    """For nine items scipy's exact paired permutation test gives the same p."""
    differences = np.random.default_rng(seed).normal(0.4, 1, 9)
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    [ours], _ = sign_flip_p_values(differences[:, None])
    assert ours == pytest.approx(theirs.pvalue, abs=1e-12)


def test_drawn_patterns_come_near_the_exact_p() -> None:
    """With 20 items patterns are drawn; p is within sampling error of scipy's with 99,999."""
    differences = np.random.default_rng(5).normal(0.35, 1, 20)
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=99_999, rng=1
    ).pvalue
    [ours], _ = sign_flip_p_values(differences[:, None], n_permutations=20_000, seed=3)
    # The standard error of a p near 0.1 from 20,000 patterns is 0.002.
    assert ours == pytest.approx(theirs, abs=0.01)
    [again], _ = sign_flip_p_values(differences[:, None], n_permutations=20_000, seed=3)
    assert ours == again


def test_of_fourteen_items_all_patterns_are_tried() -> None:
    """Of equal differences two of the 2¹⁴ patterns are as extreme; of one item more, drawn patterns
    hardly meet one, and the data themselves are added to them."""
    assert sign_flip_p_values(np.ones((14, 1)))[0] == 2 / 2**14
    assert sign_flip_p_values(np.ones((15, 1)), n_permutations=99)[0] == 1 / 100


def test_p_is_never_zero() -> None:
    """Thirty equal differences: no pattern drawn is as extreme, and p is 1 / (n + 1)."""
    p_values, _ = sign_flip_p_values(np.ones((30, 1)), n_permutations=999)
    assert p_values == 1 / 1000


def test_nothing_is_no_evidence() -> None:
    """Where all differences are 0 every pattern is as extreme: p is 1."""
    assert sign_flip_p_values(np.zeros((20, 2)))[0].tolist() == [1.0, 1.0]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=2, max_size=10))
def test_the_sign_of_all_does_not_matter(values: list[int]) -> None:
    """The test is two-sided: differences and their negatives have the same p, within (0, 1]."""
    differences = np.array(values, dtype=float)[:, None]
    [p], _ = sign_flip_p_values(differences)
    assert p == sign_flip_p_values(-differences)[0]
    assert 0 < p <= 1


def test_refused() -> None:
    """One dimension, an infinity or no permutations at all are refused."""
    for wrong in ([1.0, 2.0], [[np.inf]]):
        with pytest.raises(ValueError):
            sign_flip_p_values(wrong)
    with pytest.raises(ValueError, match="at least one"):
        sign_flip_p_values(np.ones((30, 1)), n_permutations=0)


def test_the_largest_of_what_is_left_is_compared_step_by_step() -> None:
    """By hand, from all 2⁹ patterns: |sum| / √Σx² of each column, the maximum over the columns that
    are not yet rejected, and p-values that do not fall from one step to the next; a column without
    two values has none, and does not count."""
    rng = np.random.default_rng(5)
    values = rng.normal(0.8, 1, (9, 4))
    values[0, 1] = np.nan
    lone = np.full((9, 1), np.nan)
    lone[0] = 100.0
    raw, adjusted = sign_flip_p_values(np.hstack([values, lone]))
    assert np.isnan([raw[4], adjusted[4]]).all()
    filled = np.nan_to_num(values)
    signs = np.array(list(itertools.product([1, -1], repeat=9)))
    sizes = np.abs(signs @ filled) / np.sqrt((filled**2).sum(axis=0))
    order, running = np.argsort(-sizes[0]), 0.0
    for step, column in enumerate(order):
        largest = sizes[:, order[step:]].max(axis=1)
        running = max(running, float(np.mean(largest >= sizes[0, column] - 1e-12)))
        assert adjusted[column] == pytest.approx(running)
        assert raw[column] == pytest.approx(np.mean(sizes[:, column] >= sizes[0, column] - 1e-12))


@pytest.mark.parametrize("level", [0.05, 0.01, 0.002])
def test_as_many_items_are_needed_as_give_a_small_enough_p(level: float) -> None:
    """Where all have the same sign, 2 of 2ⁿ patterns are as far from 0."""
    n = items_needed(level)
    assert sign_flip_p_values(np.ones((n, 1)))[0] < level
    assert sign_flip_p_values(np.ones((n - 1, 1)))[0] >= level
