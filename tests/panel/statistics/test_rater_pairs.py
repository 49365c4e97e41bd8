"""Means over pairs of raters against loops over scipy and scikit-learn."""

from __future__ import annotations

from itertools import combinations
from math import inf, isnan, nan
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from persona_panel.statistics import (
    Reason,
    by_prompt,
    cohen_kappa,
    pairwise,
    tau_b_matrix,
)
from persona_panel.statistics.rater_pairs import PairStatistic

STATISTICS = get_args(PairStatistic)
RATINGS = arrays(
    float,
    st.tuples(st.integers(1, 7), st.integers(1, 4)),
    elements=st.sampled_from([1.0, 2.0, 3.0, 5.0, nan]),
)


def of_pair(x: np.ndarray, y: np.ndarray, statistic: str) -> float:
    """One pair's value by scipy, or by our tested κ."""
    both = ~np.isnan(x + y)
    x, y = x[both], y[both]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return nan
    if statistic.startswith("cohen"):
        return cohen_kappa(x, y, statistic.rpartition("_")[2]).value  # type: ignore[arg-type]
    functions = {"tau_b": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}
    return float(functions[statistic](x, y).statistic)


@given(RATINGS, st.sampled_from(STATISTICS))
def test_equals_a_loop_over_pairs(ratings: np.ndarray, statistic: PairStatistic) -> None:
    """The mean is over the pairs that have a value; the others are counted."""
    n_raters = ratings.shape[1]
    shared = {
        (a, b): of_pair(ratings[:, a], ratings[:, b], statistic)
        for a, b in combinations(range(n_raters), 2)
        if (~np.isnan(ratings[:, a] + ratings[:, b])).sum() >= 2
    }
    ours = pairwise(ratings, statistic)
    assert [tuple(pair) for pair in ours.pairs] == list(shared)
    assert ours.values == pytest.approx(list(shared.values()), abs=1e-9, nan_ok=True)
    defined = [value for value in shared.values() if not isnan(value)]
    expected = np.mean(defined) if defined else nan
    assert ours.mean.value == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert ours.n_undefined == len(shared) - len(defined)


@given(RATINGS, st.sampled_from(STATISTICS), st.integers(0, 2**32 - 1))
def test_resampled_equals_repeating_the_rows(
    ratings: np.ndarray, statistic: PairStatistic, seed: int
) -> None:
    """A weight of k is worth k copies of the item, for the pairs that the data settle on."""
    drawn = np.random.default_rng(seed).integers(0, 4, (3, len(ratings))).astype(float)
    pairs = pairwise(ratings, statistic).pairs
    for row, found in zip(drawn, pairwise(ratings, statistic).mean.resampled(drawn), strict=True):
        repeated = np.repeat(ratings, row.astype(int), axis=0)
        values = np.array([of_pair(repeated[:, a], repeated[:, b], statistic) for a, b in pairs])
        defined = values[~np.isnan(values)]
        expected = defined.mean() if len(defined) else nan
        assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_tau_b_of_many_raters_leaves_no_seam() -> None:
    """The matrix product gives scipy's τ_b when items come in several blocks."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (450, 15)).astype(float)
    ratings[rng.random(ratings.shape) < 0.4] = nan
    matrix = tau_b_matrix(ratings)
    assert matrix == pytest.approx(matrix.T)
    for a, b in [(0, 1), (3, 14)]:
        expected = of_pair(ratings[:, a], ratings[:, b], "tau_b")
        assert matrix[a, b] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_without_raters_there_is_a_reason(statistic: PairStatistic) -> None:
    """Where the only rater is left out, the mean over pairs says that raters are too few."""
    assert pairwise(np.empty((3, 0)), statistic).mean.reason is Reason.FEW_RATERS


@given(RATINGS, st.integers(0, 2**32 - 1))
def test_raters_have_no_names(ratings: np.ndarray, seed: int) -> None:
    """Shuffling raters and items changes no mean."""
    rng = np.random.default_rng(seed)
    shuffled = ratings[rng.permutation(len(ratings))][:, rng.permutation(ratings.shape[1])]
    for statistic in STATISTICS:
        expected = pairwise(ratings, statistic).mean
        ours = pairwise(shuffled, statistic).mean
        assert ours.value == pytest.approx(expected.value, abs=1e-9, nan_ok=True)
        assert (ours.n_items, ours.n_raters) == (expected.n_items, expected.n_raters)


def test_within_prompts() -> None:
    """Inside prompts a pair agrees or not; that prompts differ does not help it.

    Prompt a: raters 1 2 and 2 1, τ = −1. Prompt b: 8 9 and 8 9, τ = 1. Their mean is 0,
    over all four items τ = (5 − 1) / 6.
    """
    ratings = np.array([[1, 2], [2, 1], [8, 8], [9, 9]])
    inside = by_prompt(lambda items: pairwise(ratings[items], "tau_b").mean, "aabb", 4)
    assert inside.mean.value == 0
    assert pairwise(ratings, "tau_b").mean.value == pytest.approx(4 / 6)


def test_what_enters_is_counted() -> None:
    """Items that two raters rated enter, also where the third did not; one that a single rater
    rated does not, nor a rater who is constant."""
    ratings = np.array([[1, 2, 4], [2, 3, 4], [3, 1, nan], [4, nan, nan]])
    mean = pairwise(ratings, "tau_b").mean
    assert (mean.n_items, mean.n_raters) == (3, 2)


def test_pairs_without_two_shared_items_are_left_out() -> None:
    """A pair with one shared item is neither in the mean nor undefined."""
    ratings = np.array([[1, 1, 3], [2, 2, nan], [3, 4, nan]])
    found = pairwise(ratings, "tau_b")
    assert [tuple(p) for p in found.pairs] == [(0, 1)]
    assert found.n_undefined == 0
    with pytest.raises(ValueError, match="found 'kappa'"):
        pairwise(ratings, "kappa")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1.0], [2.0]], Reason.FEW_RATERS),
        ([[1.0, nan], [nan, 2.0]], Reason.NO_SHARED_ITEMS),
        ([[1.0, 2.0]], Reason.FEW_ITEMS),
        ([[1.0, 2.0, nan], [nan, 1.0, 2.0]], Reason.NO_PAIRS),
        ([[1.0, 2.0], [1.0, 3.0]], Reason.CONSTANT_RATER),
        (np.empty((0, 2)), Reason.FEW_RATERS),
    ],
)
def test_undefined_has_a_reason(ratings: object, reason: Reason) -> None:
    """What cannot be computed is NaN and says why."""
    for statistic in STATISTICS:
        ours = pairwise(ratings, statistic).mean  # type: ignore[arg-type]
        assert isnan(ours.value)
        assert ours.reason is reason


@pytest.mark.parametrize(
    ("statistic", "kind", "limits"),
    [
        ("tau_b", "correlation", (-1.0, 1.0)),
        ("spearman", "correlation", (-1.0, 1.0)),
        ("pearson", "correlation", (-1.0, 1.0)),
        ("cohen_kappa_none", "kappa", (-inf, 1.0)),
        ("cohen_kappa_linear", "number", (-inf, 1.0)),
        ("cohen_kappa_quadratic", "number", (-inf, 1.0)),
    ],
)
def test_the_interval_of_a_mean_is_of_its_statistic(
    statistic: PairStatistic, kind: str, limits: tuple[float, float]
) -> None:
    """A mean of correlations has an interval by Fisher's z, which keeps it within −1 and 1; one of
    κ ends at 1."""
    mean = pairwise([[1, 1, 3], [2, 2, 2], [3, 3, 1]], statistic).mean
    assert (mean.kind, mean.limits) == (kind, limits)
