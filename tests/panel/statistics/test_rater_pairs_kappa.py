"""Cohen's κ against scikit-learn, Fleiss' κ against statsmodels and published values."""

from __future__ import annotations

from math import isnan, nan
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from persona_panel.statistics import (
    Reason,
    cohen_kappa,
    fleiss_kappa,
)
from persona_panel.statistics.rater_pairs import KappaWeights

WEIGHTS = get_args(KappaWeights)
SCORE = st.sampled_from([1.0, 2.0, 4.0, 5.0, nan])
PAIR = st.integers(1, 12).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=SCORE), arrays(float, n, elements=SCORE))
)
RATINGS = arrays(float, st.tuples(st.integers(1, 7), st.integers(1, 5)), elements=SCORE)

# Gwet (2014), table 2.10 and R's irrCAC::raw.4raters: twelve units, four raters. irrCAC
# (0.4.4, Python; it pins an old scipy and so is no test dependency) gives Fleiss' κ 0.76117.
FOUR_RATERS = np.array(
    [
        [1, 1, nan, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [nan, 5, 5, 5],
        [nan, nan, 1, 1],
        [nan, nan, 3, nan],
    ]
)


@given(PAIR, st.sampled_from(WEIGHTS))
def test_cohen_equals_scikit_learn(pair: tuple[np.ndarray, np.ndarray], weights: str) -> None:
    """κ is scikit-learn's over all values of the scale, and undefined for a constant rater."""
    x, y = pair
    both = ~np.isnan(x + y)
    ours = cohen_kappa(x, y, weights)  # type: ignore[arg-type]
    if not both.any():
        assert ours.reason is Reason.NO_SHARED_ITEMS
    elif np.ptp(x[both]) == 0 or np.ptp(y[both]) == 0:
        assert ours.reason is Reason.CONSTANT_RATER
    else:
        theirs = cohen_kappa_score(
            x[both].astype(int),
            y[both].astype(int),
            labels=[1, 2, 3, 4, 5],
            weights=None if weights == "none" else weights,
        )
        assert ours.value == pytest.approx(theirs, abs=1e-12)
        assert (ours.n_items, ours.n_raters) == (both.sum(), 2)


def test_cohen_by_hand() -> None:
    """Weighted κ is 1 − observed over expected squared distance.

    1 2 3 against 1 3 3. Observed: 0 + 1 + 0 = 1 of 3. Expected: each of 1 2 3 against 1 3 3,
    (0 + 4 + 4) + (1 + 1 + 1) + (4 + 0 + 0) = 15 of 9. κ = 1 − (1/3) / (15/9) = 0.8.
    """
    assert cohen_kappa([1, 2, 3], [1, 3, 3]).value == pytest.approx(0.8)


def test_distances_are_between_values() -> None:
    """A scale of unequal steps is taken as it is; by its places it is another figure."""
    x, y = [1, 2, 10, 10, 2], [1, 10, 10, 2, 2]
    by_place = cohen_kappa([1, 2, 3, 3, 2], [1, 3, 3, 2, 2])
    assert by_place.value == pytest.approx(cohen_kappa_score(x, y, weights="quadratic"))
    assert cohen_kappa(x, y).value != pytest.approx(by_place.value)


@given(PAIR, st.sampled_from(WEIGHTS), st.integers(0, 2**32 - 1))
def test_cohen_resampled_equals_repeating_the_items(
    pair: tuple[np.ndarray, np.ndarray], weights: KappaWeights, seed: int
) -> None:
    """A weight of k is worth k copies of the item."""
    x, y = pair
    drawn = np.random.default_rng(seed).integers(0, 4, (3, len(x))).astype(float)
    ours = cohen_kappa(x, y, weights).resampled(drawn)
    for row, value in zip(drawn.astype(int), ours, strict=True):
        expected = cohen_kappa(np.repeat(x, row), np.repeat(y, row), weights).value
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(PAIR)
def test_cohen_properties(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """κ is symmetric, at most 1, 1 with oneself, and weighted κ does not see affine changes."""
    x, y = pair
    for weights in WEIGHTS:
        value = cohen_kappa(x, y, weights).value
        assert cohen_kappa(y, x, weights).value == pytest.approx(value, abs=1e-12, nan_ok=True)
        assert not value > 1 + 1e-12
        changed = cohen_kappa(3 * x - 7, 3 * y - 7, weights).value
        assert changed == pytest.approx(value, abs=1e-12, nan_ok=True)
        if not isnan(value):
            assert cohen_kappa(x, x, weights).value == pytest.approx(1)


def test_fleiss_published_examples() -> None:
    """Fleiss' κ is that of worked examples: complete, and with gaps.

    Complete: the ten subjects, five categories and fourteen raters of Wikipedia's article
    on Fleiss' kappa, κ = 0.210. With gaps: Gwet's four raters, 0.76117 by irrCAC.
    """
    table = np.array(
        [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ]
    )
    ratings = np.array([np.repeat(np.arange(5), row) for row in table])
    assert fleiss_kappa(ratings).value == pytest.approx(0.210, abs=5e-4)
    ours = fleiss_kappa(FOUR_RATERS)
    assert ours.value == pytest.approx(0.76117, abs=5e-6)
    assert (ours.n_items, ours.n_raters) == (11, 4)


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 7), st.integers(2, 5)),
        elements=st.integers(1, 3).map(float),
    )
)
def test_fleiss_equals_statsmodels(ratings: np.ndarray) -> None:
    """Where everyone rated everything Fleiss' κ is statsmodels'."""
    assume(np.ptp(ratings) > 0 and len(ratings) > 1)
    table, _ = aggregate_raters(ratings.astype(int))
    assert fleiss_kappa(ratings).value == pytest.approx(statsmodels_fleiss(table), abs=1e-12)


@given(RATINGS, st.integers(0, 2**32 - 1))
def test_fleiss_properties(ratings: np.ndarray, seed: int) -> None:
    """Raters are interchangeable, names of categories do not matter, weights are copies."""
    rng = np.random.default_rng(seed)
    value = fleiss_kappa(ratings).value
    assert not value > 1 + 1e-12
    shuffled = rng.permuted(np.cos(ratings), axis=1)
    assert fleiss_kappa(shuffled).value == pytest.approx(value, abs=1e-9, nan_ok=True)
    drawn = rng.integers(0, 4, (3, len(ratings))).astype(float)
    for row, found in zip(drawn, fleiss_kappa(ratings).resampled(drawn), strict=True):
        repeated = np.repeat(ratings, row.astype(int), axis=0)
        expected = fleiss_kappa(repeated).value
        assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1.0], [2.0]], Reason.FEW_RATERS),
        ([[1.0, nan], [nan, 2.0]], Reason.NO_SHARED_ITEMS),
        ([[2.0, 2.0], [2.0, 2.0]], Reason.ONE_VALUE),
        ([[1.0, 2.0], [1.0, nan]], Reason.FEW_ITEMS),
        (np.empty((0, 2)), Reason.FEW_RATERS),
    ],
)
def test_fleiss_undefined_has_a_reason(ratings: object, reason: Reason) -> None:
    """What cannot be computed is NaN and says why."""
    ours = fleiss_kappa(ratings)  # type: ignore[arg-type]
    assert isnan(ours.value)
    assert ours.reason is reason


def test_unknown_weights_are_refused() -> None:
    """Weights that do not exist are named."""
    with pytest.raises(ValueError, match="found 'cubic'"):
        cohen_kappa([1, 2], [1, 2], "cubic")  # type: ignore[arg-type]
