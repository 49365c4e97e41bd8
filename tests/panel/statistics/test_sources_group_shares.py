"""Shares of features by group, and differences between groups."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.sources import group_shares, share_differences


def test_shares_of_a_group_have_an_interval_over_prompts() -> None:
    """Five prompts with 4 texts each, of which 0, 1, 2, 3 and 4 have the feature: 0.5 with the
    standard error of the mean of the prompts' shares, Student's t with 4 degrees of freedom, and
    Wilson's ends; twice the texts of each prompt say no more."""
    has = np.array([[place < n] for n in range(5) for place in range(4)])
    prompts = np.repeat(list("pqrst"), 4).tolist()
    [found] = group_shares(has, ["g"] * 20, prompts)
    assert (found.n_with, found.of, found.value, found.reason) == (10, 20, 0.5, None)
    error = np.std([0, 0.25, 0.5, 0.75, 1], ddof=1) / math.sqrt(5)
    # Wilson's interval at 0.5 with z² / n = 4 · reach²: reach / √(1 + 4 · reach²) to either side.
    reach = float(stats.t.ppf(0.975, 4)) * error
    half = reach / math.sqrt(1 + 4 * reach**2)
    assert found.ends == pytest.approx((0.5 - half, 0.5 + half))
    [twice] = group_shares(np.repeat(has, 2, axis=0), ["g"] * 40, np.repeat(prompts, 2).tolist())
    assert twice.ends == pytest.approx(found.ends)


def test_differences_are_paired_by_prompt_and_corrected() -> None:
    """The t-test of SciPy on the prompts' shares, of the prompts that both groups have; Holm's
    factor is the number of tests, and what has no spread is none."""
    rng = np.random.default_rng(4)
    has = rng.random((60, 3)) < 0.5
    has[:, 2] = False
    groups = np.tile(["a", "b"], 30).tolist()
    prompts = np.repeat([f"p{i}" for i in range(10)], 6).tolist()
    # A prompt of one group alone.
    has = np.vstack([has, [[True, True, False]]])
    found = share_differences(has, [*groups, "a"], [*prompts, "alone"])
    assert [one.feature for one in found] == [0, 1, 2]
    table = has[:60].reshape(10, 3, 2, 3).mean(axis=1)
    expected = [stats.ttest_rel(table[:, 0, i], table[:, 1, i]) for i in range(2)]
    for one, test in zip(found, expected, strict=False):
        interval = test.confidence_interval()
        assert one.n == 10
        assert one.p == pytest.approx(test.pvalue)
        assert one.ends == pytest.approx((interval.low, interval.high))
    low, high = sorted(one.p for one in found[:2])
    assert sorted(one.p_adjusted for one in found[:2]) == pytest.approx(
        [min(1, 2 * low), min(1, max(2 * low, high))]
    )
    assert (found[2].value, found[2].reason) == (0.0, Reason.NO_SPREAD)
    assert math.isnan(found[2].p_adjusted)
    assert not found[2].shown


def test_groups_without_a_common_prompt_are_not_compared() -> None:
    """There is no difference, and the reason says so."""
    [found] = share_differences([[True], [False]], ["a", "b"], ["p", "q"])
    assert math.isnan(found.value)
    assert found.reason is Reason.FEW_CLUSTERS
