"""Human ceilings against a loop over scipy."""

from __future__ import annotations

from math import isnan, nan
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
    correlation,
    human_ceiling,
)
from persona_panel.statistics.core.correlation import CorrelationKind
from persona_panel.statistics.human_raters import mean_of_others

RATINGS = arrays(
    float,
    st.tuples(st.integers(1, 7), st.integers(1, 4)),
    elements=st.sampled_from([1.0, 2.0, 3.0, nan]),
)
KINDS = st.sampled_from(get_args(CorrelationKind))


def test_hand_calculation() -> None:
    """Each rater is held against the mean of the others, then raters are averaged.

    Ratings 1 1 3, 2 2 2 and 3 4 1. Others of the first: 2, 2, 2.5; of the second: 2, 2, 2;
    of the third: 1, 2, 3.5. τ_b: 1 2 3 against 2 2 2.5 has 2 concordant of 3 and one tie,
    2 / sqrt(3 · 2) = 0.8165; the second rater faces a constant; the third is −1.
    """
    ratings = np.array([[1, 1, 3], [2, 2, 2], [3, 4, 1]])
    assert mean_of_others(ratings.astype(float)).T.tolist() == [
        [2, 2, 2.5],
        [2, 2, 2],
        [1, 2, 3.5],
    ]
    ours = human_ceiling(ratings, "tau_b")
    assert ours.value == pytest.approx((2 / 6**0.5 - 1) / 2)
    assert (ours.note, ours.n_raters) == ("1 constant raters left out", 2)


def test_equals_a_loop_over_scipy() -> None:
    """With gaps the others are those who rated the item."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (40, 1)) + rng.integers(-1, 2, (40, 5)).astype(float)
    ratings[rng.random(ratings.shape) < 0.5] = nan
    expected = []
    for rater in range(5):
        pairs = [
            (row[rater], np.nanmean(np.delete(row, rater)))
            for row in ratings
            if not isnan(row[rater]) and (~np.isnan(row)).sum() > 1
        ]
        expected.append(stats.kendalltau(*zip(*pairs, strict=True), variant="c").statistic)
    assert human_ceiling(ratings, "tau_c").value == pytest.approx(np.mean(expected))


@given(RATINGS, KINDS, st.integers(0, 2**32 - 1))
def test_resampled_equals_the_mean_of_repeated_items(
    ratings: np.ndarray, kind: CorrelationKind, seed: int
) -> None:
    """A weight of k is worth k copies of the item; who the others are stays."""
    drawn = np.random.default_rng(seed).integers(0, 4, (2, len(ratings))).astype(float)
    others = mean_of_others(ratings)
    raters = np.flatnonzero(np.sum(~np.isnan(others), axis=0) >= 2)
    for row, found in zip(drawn, human_ceiling(ratings, kind).resampled(drawn), strict=True):
        values = [
            correlation(
                np.repeat(ratings[:, rater], row.astype(int)),
                np.repeat(others[:, rater], row.astype(int)),
                kind,
            ).value
            for rater in raters
        ]
        defined = [value for value in values if not isnan(value)]
        expected = np.mean(defined) if defined else nan
        assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_within_prompts() -> None:
    """Inside prompts two raters who disagree have no ceiling, however prompts differ."""
    ratings = np.array([[1, 2], [2, 1], [8, 9], [9, 8]])
    inside = by_prompt(lambda items: human_ceiling(ratings[items], "tau_b"), "aabb", 4)
    assert inside.mean.value == -1
    assert human_ceiling(ratings, "tau_b").value > 0


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1.0], [2.0]], Reason.FEW_PEOPLE),
        ([[1.0, nan], [nan, 2.0]], Reason.NO_SHARED_ITEMS),
        ([[1.0, 2.0]], Reason.FEW_ITEMS),
        ([[1.0, 1.0], [1.0, 2.0]], Reason.CONSTANT_RATER),
    ],
)
def test_undefined_has_a_reason(ratings: list[list[float]], reason: Reason) -> None:
    """What cannot be computed is NaN and says why."""
    ours = human_ceiling(ratings, "pearson")
    assert isnan(ours.value)
    assert ours.reason is reason
