"""The reliability of people's mean: Cronbach's α where all rated all, and with gaps."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from persona_panel.statistics import Reason, mean_reliability

RNG = np.random.default_rng(2)
CROSSED = RNG.normal(size=(30, 1)) + RNG.normal(size=(30, 4)) + np.arange(4)


def test_where_all_rated_all_it_is_cronbachs_alpha() -> None:
    """k / (k − 1) times 1 less the raters' variances over that of their sum."""
    expected = 4 / 3 * (1 - CROSSED.var(axis=0).sum() / CROSSED.sum(axis=1).var())
    assert mean_reliability(CROSSED).value == pytest.approx(expected)


def test_where_each_rated_one_item_it_is_icc_of_the_mean() -> None:
    """Of 30 items by four other people each: ICC(1,k) by mean squares."""
    nested = np.full((30, 120), nan)
    for item in range(30):
        nested[item, 4 * item : 4 * item + 4] = CROSSED[item]
    between = 4 * CROSSED.mean(axis=1).var(ddof=1)
    within = CROSSED.var(axis=1, ddof=1).mean()
    assert mean_reliability(nested).value == pytest.approx((between - within) / between)


def test_severity_is_noise_as_far_as_raters_are_not_shared() -> None:
    """Of 4,000 items by three of 60 people, quality sd 1, severity 0.8, noise 1: the variance of
    the mean is 1 + (0.64 + 1) / 3 but for the little severity that two items share."""
    rng = np.random.default_rng(0)
    quality, severity = rng.normal(size=4000), 0.8 * rng.normal(size=60)
    severity *= 0.8 / severity.std()
    ratings = np.full((4000, 60), nan)
    for item in range(4000):
        who = rng.permutation(60)[:3]
        ratings[item, who] = quality[item] + severity[who] + rng.normal(size=3)
    assert mean_reliability(ratings).value == pytest.approx(1 / (1 + 1.64 / 3), abs=0.02)


def test_a_weight_is_so_many_items() -> None:
    """With an item left out it is that of the others."""
    weights = np.ones((1, 30))
    weights[0, 7] = 0
    found = mean_reliability(CROSSED).resampled(weights)[0]
    assert found == pytest.approx(mean_reliability(np.delete(CROSSED, 7, axis=0)).value)


def test_undefined() -> None:
    """No ratings, one person, one item, one person an item and means that are all the same are
    named."""
    assert mean_reliability([[nan, nan], [nan, nan]]).reason is Reason.FEW_PEOPLE
    assert mean_reliability([[1.0], [2.0]]).reason is Reason.FEW_PEOPLE
    assert mean_reliability([[1.0, 2.0]]).reason is Reason.FEW_ITEMS
    assert mean_reliability([[1.0, nan], [nan, 2.0]]).reason is Reason.NO_SHARED_ITEMS
    assert mean_reliability([[1, 2], [2, 1], [1, 2]]).reason is Reason.NO_VARIANCE
