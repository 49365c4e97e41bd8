"""Means on a scale with two ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.means import (
    AT_THE_END,
    FAR_OFF,
    NEAR_THE_END,
    scaled_interval,
    unusual_coverage,
)
from persona_panel.statistics.core.sampled_mean import sampled_mean


def test_means_at_the_top_of_a_scale_are_covered() -> None:
    """Ten judges, four of five prompts' ratings the highest: of 2,000 samples of twelve prompts the
    interval holds the mean of all prompts in at least 93 %, Student's in fewer than 90 %."""
    rng = np.random.default_rng(1)
    latent = 5.7 + 0.9 * rng.normal(size=(100_000, 1)) + 0.7 * rng.normal(size=(100_000, 10))
    prompts = np.clip(np.round(latent), 1, 5).mean(axis=1)
    held = student = n = 0
    reach = float(stats.t.ppf(0.975, 11)) / math.sqrt(12)
    for drawn in prompts[rng.integers(len(prompts), size=(2_000, 12))]:
        found = sampled_mean(drawn, limits=(1, 5))
        if found.reason is not None:
            continue
        n += 1
        low, high = found.interval()
        held += low <= prompts.mean() <= high
        student += abs(prompts.mean() - drawn.mean()) <= reach * drawn.std(ddof=1)
    assert n > 1_900
    assert held / n > 0.93
    assert student / n < 0.9


def test_within_a_scale_it_is_about_students() -> None:
    """Thirty values about the middle of the scale: the ends differ from Student's by a hundredth of
    the width; without ends of the scale, not at all."""
    values = np.random.default_rng(2).normal(5.5, 1, 30)
    expected = stats.t.interval(0.95, 29, values.mean(), stats.sem(values))
    assert sampled_mean(values, limits=(1, 10)).interval() == pytest.approx(expected, abs=0.02)
    assert sampled_mean(values).interval() == pytest.approx(expected)


def test_where_half_lie_at_the_end_skewness_is_corrected() -> None:
    """The low end solves Hall's equation for the transformed t."""
    values = np.array([5.0] * 9 + [4.6, 4.4, 3.0])
    error = float(stats.sem(values))
    a = float(stats.skew(values)) / math.sqrt(12)

    def beyond(low: float) -> float:
        t = (values.mean() - low) / error
        return t + a / 3 * t**2 + a**2 / 27 * t**3 + a / 6 - float(stats.t.ppf(0.975, 11))

    found = sampled_mean(values, limits=(1, 5)).interval()
    assert found[0] == pytest.approx(float(optimize.brentq(beyond, 1, values.mean())))
    plain = scaled_interval(float(values.mean()), [(error, 11.0)], (1, 5))
    assert found[0] < plain[0]


def test_one_value_off_the_end_has_no_interval() -> None:
    """How far others would fall is not known from one; of a share it is."""
    found = sampled_mean(np.array([5.0] * 11 + [4.0]), limits=(1, 5))
    assert found.reason is Reason.ONE_OFF_THE_END
    assert math.isnan(found.interval()[0])
    assert sampled_mean(np.array([5.0] * 11 + [4.0])).reason is None
    low, high = sampled_mean(np.array([1.0] * 11 + [0.0]), limits=(0, 1)).interval()
    assert 0.5 < low < 11 / 12 < high < 1


@given(st.lists(st.integers(1, 5), min_size=2, max_size=30))
def test_no_end_lies_beyond_the_scale(ratings: list[int]) -> None:
    values = np.array(ratings, dtype=float)
    found = sampled_mean(values, limits=(1, 5))
    low, high = found.interval()
    assert found.reason is not None or 1 <= low <= values.mean() <= high <= 5


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        # A gap of 4 of 9 points, of a range of 4.5.
        ([9, 9.2, 9.5, 9.1, 5], FAR_OFF),
        # A gap of 2.9 points is less than a third of nine.
        ([9, 9.2, 9.5, 9.1, 6.1], None),
        # Two of five are no few.
        ([9, 9.2, 9.5, 4, 5], None),
        # Six of eight at the top; with five of them no remark.
        ([10] * 6 + [9, 8.5], AT_THE_END),
        ([10] * 5 + [9, 9, 8.5], None),
        # Means of 9.2 and 1.8 are within 0.9 of an end, those of 8.9 and 2.1 are not.
        ([9.0, 9.2, 9.4], NEAR_THE_END),
        ([1.7, 1.8, 1.9], NEAR_THE_END),
        ([8.7, 8.9, 9.1], None),
        ([2.0, 2.1, 2.2], None),
        ([9.0, 9.4] * 6, NEAR_THE_END),
        ([9.0, 9.4] * 7, None),
        # Ones and tens are a share; two values are too few.
        ([10] * 9 + [1], None),
        ([9.2, 9.4], None),
    ],
)
def test_means_that_are_covered_unusually_are_known_by_their_values(
    values: list[float], kind: str | None
) -> None:
    """On a scale from 1 to 10; nothing without a scale."""
    assert unusual_coverage(np.array(values, dtype=np.float64), (1.0, 10.0)) is kind
    assert unusual_coverage(np.array(values, dtype=np.float64), (-math.inf, math.inf)) is None


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([9.0] * 3 + [8.5] * 9, NEAR_THE_END), ([9.0] * 3 + [8.5] * 10, None),
        ([1.0] * 3 + [1.5] * 9, NEAR_THE_END),
        ([9.0] * 8 + [8.5], AT_THE_END), ([9.0] * 9 + [8.5] * 3, AT_THE_END),
        ([9.0] * 6 + [7.0] * 2 + [1.5], FAR_OFF),
        ([2.0, 2.0, 6.0, 7.0, 7.5, 8.0, 8.0, 8.2], FAR_OFF),
        ([5.0, 6.0, 7.0, 6.5, 5.5], None), ([1.0, 9.0, 9.0], None), ([8.9, 9.0], None),
    ],
)  # fmt: skip
def test_of_what_values_an_interval_may_not_cover(values: list[float], kind: str | None) -> None:
    """Of a scale from 1 to 9: a quarter of them at most that lie far from the others, three
    quarters at an end, a mean near the end with twelve prompts or fewer; of two ends alone none."""
    assert unusual_coverage(np.array(values), (1.0, 9.0)) == kind
    assert unusual_coverage(np.array(values), (-math.inf, 9.0)) is None


def test_a_mean_of_few_values_has_wilsons_ends() -> None:
    """From 3 to 11 the mean 6 is a share of 3/8, whose standard error grows as √(p (1 − p)): its
    ends solve |p − 3/8| = t · error · √(p (1 − p) / (3/8 · 5/8)), here of three degrees of freedom;
    of several errors the widest counts."""
    reach = float(stats.t.ppf(0.975, 3)) * 0.5 / 8

    def beyond(p: float) -> float:
        return abs(p - 3 / 8) - reach * math.sqrt(p * (1 - p) / (15 / 64))

    expected = [3 + 8 * optimize.brentq(beyond, *ends) for ends in ((1e-9, 3 / 8), (3 / 8, 1))]
    assert scaled_interval(6, [(0.5, 3)], (3, 11)) == pytest.approx(expected)
    assert scaled_interval(6, [(0.5, 3), (0.1, 3)], (3, 11)) == pytest.approx(expected)


def test_a_mean_at_an_end_has_students_interval_cut_there() -> None:
    """There no share has a spread."""
    reach = float(stats.t.ppf(0.95, 3)) * 0.5
    for mean, ends in ((3, (3, 3 + reach)), (11, (11 - reach, 11))):
        assert scaled_interval(mean, [(0.5, 3)], (3, 11), 0.9) == pytest.approx(ends)
