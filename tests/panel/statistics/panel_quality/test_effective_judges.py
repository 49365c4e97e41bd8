"""What a panel is worth: Spearman–Brown, effective judges, leaving out, smallest subset."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from panel.statistics import (
    Reason,
    Statistic,
    correlation,
    effective_judges,
    icc,
    jackknife,
    krippendorff_alpha,
    leave_one_judge_out,
    resampled_effective_judges,
    row_means,
    smallest_subset,
    spearman_brown,
)

RNG = np.random.default_rng(0)
PANEL = RNG.normal(size=(80, 1)) + RNG.normal(size=(80, 6))


@given(
    arrays(float, (6, 4), elements=st.floats(-5, 5, width=16)),
)
def test_spearman_brown_links_one_judge_and_their_mean(ratings: np.ndarray) -> None:
    """The reliability of one of k judges, times k, is that of their mean: ICC(2,1), ICC(2,k)."""
    one, mean = icc(ratings, "icc2").value, icc(ratings, "icc2k").value
    if not isnan(one) and not isnan(mean) and 1 + 3 * one > 1e-3:
        assert spearman_brown(one, 4) == pytest.approx(mean, abs=1e-6)


def test_spearman_brown_by_hand() -> None:
    """Twice the judges: 2 r / (1 + r); half of them: r / (2 − r); back again it is r."""
    assert spearman_brown(0.6, [0, 0.5, 1, 2]) == pytest.approx([0, 3 / 7, 0.6, 0.75])
    assert spearman_brown(float(spearman_brown(0.3, 7)), 1 / 7) == pytest.approx(0.3)
    assert isnan(spearman_brown(-0.5, 4))
    with pytest.raises(ValueError, match="at most 1"):
        spearman_brown(1.1, 2)
    with pytest.raises(ValueError, match="at least 0"):
        spearman_brown(0.5, -1)


def test_effective_judges_at_the_extremes() -> None:
    """Copies of one judge are one; unrelated judges are as many as they are.

    The columns of a Hadamard matrix without the first are centred and orthogonal.
    """
    one = np.arange(8.0)[:, None]
    assert effective_judges(np.repeat(one, 5, axis=1)).value == pytest.approx(1)
    hadamard = np.array([[(-1) ** (i & j).bit_count() for j in range(1, 8)] for i in range(8)])
    ours = effective_judges(hadamard)
    assert (ours.value, ours.n_items, ours.n_raters) == (pytest.approx(7), 8, 7)


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
    assert effective_judges(right, truth).value == pytest.approx(5, abs=0.3)
    biased = right + 2 * RNG.normal(size=(4000, 1))
    assert effective_judges(biased, truth).value < 1.5
    units = right * [1, 2, 3, 4, 5] + 7
    assert effective_judges(units, truth).value == pytest.approx(
        effective_judges(right, truth).value
    )


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 7), st.integers(1, 5)),
        elements=st.sampled_from([1.0, 2.0, 4.0, nan]),
    ),
    st.integers(0, 2**32 - 1),
)
def test_effective_judges_properties(ratings: np.ndarray, seed: int) -> None:
    """Never below 1; judges have no names and no units; a reference may be anything."""
    rng = np.random.default_rng(seed)
    ours = effective_judges(ratings)
    assert not ours.value < 1 - 1e-9
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
    assert effective_judges([[1, 3], [2, 2], [3, 1]]).reason is Reason.NOT_POSITIVE
    with pytest.raises(ValueError, match="2 reference scores for 3 items"):
        effective_judges(np.ones((3, 2)), [1, 2])


def test_effective_judges_has_an_interval() -> None:
    """Resampled with weights of one it is itself, and its interval holds it."""
    resampled = resampled_effective_judges(PANEL)
    assert resampled(np.ones((1, 80)))[0] == pytest.approx(effective_judges(PANEL).value)
    interval = jackknife(resampled, 80)
    assert interval.low < effective_judges(PANEL).value < interval.high


def test_leave_one_judge_out() -> None:
    """Each judge's column, or all columns of one label, is taken away in turn."""
    noisy = np.hstack([PANEL, RNG.normal(size=(80, 1))])

    def alpha(ratings: np.ndarray) -> Statistic:
        return krippendorff_alpha(ratings, "interval")

    ours = leave_one_judge_out(noisy, alpha)
    assert ours.judges == tuple(range(7))
    assert ours.full == alpha(noisy)
    assert ours.without[2] == alpha(np.delete(noisy, 2, axis=1))
    assert np.argmax(ours.change) == 6
    models = leave_one_judge_out(noisy, alpha, list("aaabbbb"))
    assert models.judges == ("a", "b")
    assert models.without == (alpha(noisy[:, 3:]), alpha(noisy[:, :3]))


def test_smallest_subset_finds_the_judges_that_matter() -> None:
    """Where two judges decide the ranking and others add a hair, those two are enough.

    The panel's mean is (9 a + 9 b + noise)/k: with a and b alone the order is nearly kept.
    """
    a, b = RNG.normal(size=(2, 200))
    noise = 0.05 * RNG.normal(size=(200, 4))
    ratings = np.column_stack([noise[:, :2], 9 * a, noise[:, 2:], 9 * b])
    ours = smallest_subset(ratings, costs=[1, 1, 5, 1, 1, 1])
    assert sorted(ours.judges) == [2, 5]
    assert ours.tau >= 0.95
    assert ours.held_out[0] < 0.95
    assert ours.held_out[-1] == pytest.approx(1)
    assert ours.cost_saved == pytest.approx(1 - 6 / 10)


def test_smallest_subset_is_judged_on_held_out_prompts() -> None:
    """The curve is what plain code finds: chosen on one half of the prompts, tried on the other."""
    ratings = PANEL.copy()
    ratings[RNG.random(ratings.shape) < 0.2] = nan
    prompts = np.repeat(np.arange(20), 4)
    ours = smallest_subset(ratings, prompts.tolist(), n_folds=2, threshold=0.5, seed=3)
    fold = np.random.default_rng(3).permutation(20)[prompts] % 2
    curves = []
    for held in range(2):
        chosen: list[int] = []
        train, test = ratings[fold != held], ratings[fold == held]
        curve = []
        while len(chosen) < 6:
            taus = {
                judge: correlation(
                    row_means(train[:, [*chosen, judge]]), row_means(train), "tau_b"
                ).value
                for judge in range(6)
                if judge not in chosen
            }
            chosen.append(max(taus, key=lambda judge: taus[judge]))
            curve.append(correlation(row_means(test[:, chosen]), row_means(test), "tau_b").value)
        curves.append(curve)
    assert ours.held_out == pytest.approx(np.mean(curves, axis=0))
    assert len(ours.judges) == np.flatnonzero(ours.held_out >= 0.5)[0] + 1


def test_two_judges_of_one_prompt_lack_prompts_not_judges() -> None:
    """Two judges are enough to choose from, one prompt is not; one judge is too few on any."""
    ratings = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])
    assert smallest_subset(ratings, ["p"] * 3).reason is Reason.FEW_CLUSTERS
    assert smallest_subset(ratings[:, :1], ["p", "q", "r"]).reason is Reason.FEW_RATERS


def test_smallest_subset_undefined() -> None:
    """One judge, one prompt and an unreachable threshold are named; so is bad input."""
    assert smallest_subset([[1.0], [2.0]]).reason is Reason.FEW_RATERS
    assert smallest_subset(PANEL, ["a"] * 80).reason is Reason.FEW_CLUSTERS
    missed = smallest_subset(PANEL, threshold=1.5)
    assert (missed.judges, missed.reason) == ((), Reason.NOT_REACHED)
    assert isnan(missed.cost_saved)
    with pytest.raises(ValueError, match="6 positive numbers"):
        smallest_subset(PANEL, costs=[1, 2])
    with pytest.raises(ValueError, match="found 1"):
        smallest_subset(PANEL, n_folds=1)
