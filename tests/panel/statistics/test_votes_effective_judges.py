"""What a panel is worth: Spearman–Brown, effective judges, leaving out."""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from persona_panel.statistics import (
    Reason,
    effective_judges,
    icc,
    mean_reliability,
    spearman_brown,
)
from persona_panel.statistics.core.jackknife import Interval

RNG = np.random.default_rng(0)
PANEL = RNG.normal(size=(80, 1)) + RNG.normal(size=(80, 6))


def interval_of(*ratings: Any, **how: Any) -> Interval:
    """The interval of the effective number."""
    ci = effective_judges(*ratings, **how).ci
    assert ci is not None
    return ci


@given(
    arrays(float, (6, 4), elements=st.floats(-5, 5, width=16)),
)
def test_spearman_brown_links_one_judge_and_their_mean(ratings: np.ndarray) -> None:
    """The reliability of one of k judges, times k, is that of their mean: ICC(2,1), ICC(2,k)."""
    one, mean = icc(ratings, "icc2").value, icc(ratings, "icc2k").value
    if one > 1e-9:
        assert spearman_brown(one, 4) == pytest.approx(mean, abs=1e-6)


def test_spearman_brown_by_hand() -> None:
    """Twice the judges: 2 r / (1 + r); half of them: r / (2 − r); back again it is r. Of a
    reliability that is not above 0 nothing follows for more judges."""
    assert spearman_brown(0.6, [0, 0.5, 1, 2]) == pytest.approx([0, 3 / 7, 0.6, 0.75])
    assert spearman_brown(float(spearman_brown(0.3, 7)), 1 / 7) == pytest.approx(0.3)
    assert np.isnan(spearman_brown(-0.02, [1, 2, 60])).all()
    assert isnan(spearman_brown(0, 4))
    with pytest.raises(ValueError, match="at most 1"):
        spearman_brown(1.1, 2)
    with pytest.raises(ValueError, match="at least 0"):
        spearman_brown(0.5, -1)


def hadamard(n_judges: int) -> np.ndarray:
    """Eight items of judges whose scores are centred and uncorrelated: the columns of a Hadamard
    matrix without the first."""
    return np.array(
        [[(-1.0) ** (i & j).bit_count() for j in range(1, n_judges + 1)] for i in range(8)]
    )


def test_effective_judges_at_the_extremes() -> None:
    """Copies of one judge are one; nearly unrelated judges are nearly as many as they are."""
    one = np.arange(8.0)[:, None]
    assert effective_judges(np.repeat(one, 5, axis=1)).value == pytest.approx(1)
    ours = effective_judges(hadamard(6) + 0.1 * hadamard(7)[:, 6:])
    # Two judges share 0.01 of a variance of 1.01.
    assert (ours.n_items, ours.n_raters) == (8, 6)
    assert ours.value == pytest.approx(6 / (1 + 5 * 0.01 / 1.01))


def test_no_correlation_is_no_number_of_judges() -> None:
    """Judges who correlate by 0 or less have no effective number, and never more than they are."""
    for ratings in (hadamard(5), [[1, 3], [2, 2], [3, 1]]):
        found = effective_judges(ratings)
        assert isnan(found.value)
        assert found.reason is Reason.NOT_CORRELATED
    for seed in range(60):
        noise = np.random.default_rng(seed).normal(size=(40, 5))
        assert not effective_judges(noise).value > 5
        interval = interval_of(noise)
        assert 1 <= interval.low <= interval.high <= 5


def test_effective_judges_is_kish() -> None:
    """With the mean correlation r of k judges the number is k / (1 + (k − 1) r)."""
    r = np.corrcoef(PANEL.T)[np.triu_indices(6, 1)].mean()
    assert effective_judges(PANEL).value == pytest.approx(6 / (1 + 5 * r))


def test_agreement_by_being_right_is_not_dependence() -> None:
    """Against a reference only what judges say beyond it counts, whatever their units."""
    truth = RNG.normal(size=4000)
    noise = RNG.normal(size=(4000, 5))
    right = truth[:, None] + noise
    assert effective_judges(right).value < 2
    independent = effective_judges(right, truth)
    assert independent.reason is Reason.NOT_CORRELATED or independent.value > 4.7
    biased = right + 2 * RNG.normal(size=(4000, 1))
    assert effective_judges(biased, truth).value < 1.5
    units = right * [1, 2, 3, 4, 5] + 7
    assert effective_judges(units, truth).value == pytest.approx(independent.value, nan_ok=True)


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 7), st.integers(1, 5)),
        elements=st.sampled_from([1.0, 2.0, 4.0, nan]),
    ),
    st.integers(0, 2**32 - 1),
)
def test_effective_judges_properties(ratings: np.ndarray, seed: int) -> None:
    """From 1 to the number of judges; names, units and references are no matter."""
    rng = np.random.default_rng(seed)
    ours = effective_judges(ratings)
    assert isnan(ours.value) or 1 - 1e-9 <= ours.value <= ratings.shape[1]
    changed = ratings[:, rng.permutation(ratings.shape[1])] * 3 - 1
    assert effective_judges(changed).value == pytest.approx(ours.value, rel=1e-6, nan_ok=True)
    against = effective_judges(ratings, rng.choice([1.0, 2.0, nan], len(ratings)))
    assert (against.reason is None) != isnan(against.value)


def test_effective_judges_undefined() -> None:
    """One judge, constant judges, and judges who only repeat the reference have no number."""
    assert effective_judges([[1.0], [2.0]]).reason is Reason.FEW_RATERS
    assert effective_judges([[1, 1], [1, 1]]).reason is Reason.CONSTANT_RATER
    truth = np.array([1.0, 2.5, 3.7])
    repeated = effective_judges(np.stack([truth, 2 * truth], axis=1), truth)
    assert repeated.reason is Reason.CONSTANT_RATER
    with pytest.raises(ValueError, match="2 reference scores for 3 items"):
        effective_judges(np.ones((3, 2)), [1, 2])


def test_a_noisy_reference_is_corrected_for() -> None:
    """Ten judges whose errors correlate by 0.2 are worth 10 / (1 + 9 × 0.2) = 3.57, however many
    people the reference is the mean of; without the correction three people make that 2.1."""
    rng = np.random.default_rng(5)
    truth, shared = rng.normal(size=(2, 20_000, 1))
    judges = truth + np.sqrt(0.2) * shared + np.sqrt(0.8) * rng.normal(size=(20_000, 10))
    for n_people in (30, 3):
        people = truth + 1.5 * rng.normal(size=(20_000, n_people)) + rng.normal(size=n_people)
        assert effective_judges(judges, people).value == pytest.approx(10 / 2.8, abs=0.4)
    assert effective_judges(judges, people.mean(axis=1)).value == pytest.approx(2.1, abs=0.1)


def test_the_correction_is_the_partial_correlation_of_a_noisy_control() -> None:
    """Of two judges r̄ is (ρ r12 − r1x r2x) / √((ρ − r1x²)(ρ − r2x²)), ρ the reliability of x."""
    people, y = PANEL[:, [0, 3]], PANEL[:, 1:3] + PANEL[:, 4:5]
    r = np.corrcoef(np.column_stack([y, people.mean(axis=1)]).T)
    rho = mean_reliability(people).value
    partial = (rho * r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt(
        (rho - r[0, 2] ** 2) * (rho - r[1, 2] ** 2)
    )
    assert partial > 0
    found = effective_judges(y, people)
    assert found.value == pytest.approx(2 / (1 + partial))


def test_a_reference_whose_noise_is_not_known_is_said() -> None:
    """One person an item tells no noise, and people who share nothing have no reliability."""
    one = np.where(np.arange(80)[:, None] % 2 == np.arange(2), PANEL[:, :2], nan)
    assert effective_judges(PANEL, one).reason is Reason.UNKNOWN_NOISE
    opposed = np.stack([PANEL[:, 0], -PANEL[:, 0] + 0.1 * PANEL[:, 1]], axis=1)
    assert effective_judges(PANEL, opposed).reason is Reason.UNRELIABLE_REFERENCE
    # Two people who correlate by 0: a reliability of 0 is none, either.
    apart = np.tile([[1.0, 1], [1, -1], [-1, 1], [-1, -1]], (20, 1))
    assert effective_judges(PANEL, apart).reason is Reason.UNRELIABLE_REFERENCE


def test_the_interval_is_that_of_the_mean_correlation() -> None:
    """By hand: r̄ without each item gives its standard error, Student's t on Fisher's scale the
    ends, and these in k / (1 + (k − 1) r̄) those of the number."""

    def mean_correlation(ratings: np.ndarray) -> float:
        return float(np.corrcoef(ratings.T)[np.triu_indices(6, 1)].mean())

    without = np.array([mean_correlation(np.delete(PANEL, item, axis=0)) for item in range(80)])
    error = np.sqrt(79 / 80 * np.sum((without - without.mean()) ** 2))
    r = mean_correlation(PANEL)
    reach = scipy.stats.t.ppf(0.975, 79) * error / (1 - r**2)
    interval = interval_of(PANEL)
    assert interval.low == pytest.approx(6 / (1 + 5 * np.tanh(np.arctanh(r) + reach)))
    assert interval.high == pytest.approx(6 / (1 + 5 * np.tanh(np.arctanh(r) - reach)))
    one_prompt = interval_of(PANEL, None, ["p"] * 80)
    assert one_prompt.reason is Reason.FEW_FOR_A_CORRELATION


def test_the_interval_over_judges_is_wider() -> None:
    """The panels without each judge add their variance."""
    alone = interval_of(PANEL)
    left = [[np.delete(PANEL, judge, axis=1) for judge in range(6)]]
    both = interval_of(PANEL, judges=left)
    assert both.high - both.low > alone.high - alone.low


def test_groups_of_many_items_are_drawn_by_a_seed_of_zero() -> None:
    """More than 200 items are left out in groups: the same ones unless another seed is named."""
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(260, 4)) + rng.normal(size=(260, 1))
    first, zero, other = (interval_of(noise, **named) for named in ({}, {"seed": 0}, {"seed": 1}))
    assert first == zero
    assert first.low != other.low
