"""Paired differences of two runs: by hand, by SciPy, and by what they must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.sampled_mean import influence_of, sampled_mean
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.paired import (
    by_other_judges,
    by_same_judges,
    paired_difference,
)

RNG = np.random.default_rng(0)
A, B = (np.round(RNG.normal(6, 1.5, (12, 4, 2))) for _ in range(2))
NAN = np.nan


def test_of_whole_ratings_it_is_the_paired_t_test() -> None:
    """With one pair to a prompt and no gap, difference, interval, p and effect size are those of
    SciPy's paired t-test of the composites."""
    a, b = (side.mean(axis=(1, 2)) for side in (A, B))
    found = paired_difference(by_same_judges(A, B), range(12))
    test = stats.ttest_rel(b, a)
    assert found.value == pytest.approx((b - a).mean())
    assert (found.a_mean, found.b_mean) == pytest.approx((a.mean(), b.mean()))
    assert found.p == pytest.approx(test.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(test.confidence_interval()))
    assert found.effect_size == pytest.approx((b - a).mean() / (b - a).std(ddof=1))
    assert (found.n, found.n_pairs) == (12, 12)


def test_a_prompt_counts_once() -> None:
    """Differences 2 and 4 on one prompt, 1 and 1 on two others: the means by prompt are 3, 1, 1,
    and their mean is 5/3, not 2."""
    differences = np.array([2.0, 4, 1, 1])[:, None, None]
    found = paired_difference(by_same_judges(np.zeros_like(differences), differences), "ppqr")
    assert found.value == pytest.approx(5 / 3)
    assert (found.n, found.n_pairs) == (3, 4)
    assert found.p == pytest.approx(stats.ttest_1samp([3.0, 1, 1], 0).pvalue)


def test_a_judge_who_rated_one_side_only_does_not_count() -> None:
    """The severe judge's rating of b is missing: with both judges of a, b would seem 2 points
    higher; by the judge of both it is level, and a's mean is that judge's."""
    a, b = np.array([[[8.0], [4.0]]]), np.array([[[8.0], [NAN]]])
    found = by_same_judges(a, b)
    assert (found.difference.tolist(), found.a.tolist(), found.b.tolist()) == ([0], [8], [8])


def test_a_pair_without_a_common_judge_is_left_out() -> None:
    """Of three prompts one has no judge of both sides, and two enter."""
    a = np.array([[[5.0], [NAN]], [[5.0], [5.0]], [[4.0], [5.0]]])
    b = np.array([[[NAN], [6.0]], [[6.0], [6.0]], [[6.0], [7.0]]])
    found = paired_difference(by_same_judges(a, b), "pqr")
    assert (found.n, found.n_pairs, found.value) == (2, 2, 1.5)


def test_wins_ties_and_losses_are_of_pairs() -> None:
    """Differences of 1, 0, a rounding error, −1 and −2: one win, two ties, two losses."""
    differences = np.array([1.0, 0, 1e-12, -1, -2])[:, None, None]
    found = paired_difference(by_same_judges(np.zeros_like(differences), differences), range(5))
    assert (found.wins, found.ties, found.losses) == (1, 2, 2)


@pytest.mark.parametrize(
    ("differences", "reason"),
    [
        ([2.0], Reason.FEW_CLUSTERS),
        ([1.0, 1.0, 1.0], Reason.NO_SPREAD),
        ([NAN], Reason.FEW_CLUSTERS),
    ],
)
def test_what_cannot_be_tested_says_why(differences: list[float], reason: Reason) -> None:
    """One prompt, and equal differences on all: no interval, p or effect size, and the reason."""
    b = np.array(differences)[:, None, None]
    found = paired_difference(by_same_judges(np.zeros_like(b), b), range(len(b)))
    assert found.reason is reason
    assert np.isnan([found.low, found.high, found.p, found.p_adjusted, found.effect_size]).all()
    assert not found.shown


def test_an_interval_ends_at_what_the_scale_allows() -> None:
    """On a scale of 9 points no difference is above 9: the upper end is cut there."""
    b = np.array([9.0, 9, 1])[:, None, None]
    found = paired_difference(by_same_judges(np.zeros_like(b), b), "pqr", most=9)
    assert found.high == 9
    assert found.low < 0


def test_judges_as_a_sample_are_the_leaderboards() -> None:
    """With personas as a sample, the error is that of `sampled_mean` of the differences, whose
    judges are paired: what a judge gives to both sides does not count."""
    factors = {"persona": ["x", "y", "z", "w"]}
    severity = np.array([3.0, -2, 1, 0])[None, :, None]
    plain = paired_difference(by_same_judges(A[:, :, :1], B[:, :, :1]), range(12), factors)
    severe = paired_difference(
        by_same_judges(A[:, :, :1] + severity, B[:, :, :1] + severity), range(12), factors
    )
    assert plain.reason is Reason.FEW_JUDGES
    factors = {"persona": ["x", "y", "z", "w"] * 2}
    sides = [np.concatenate([side[:, :, :1], side[:, :, 1:]], axis=1) for side in (A, B)]
    paired = by_same_judges(*sides)
    assert paired.influence == pytest.approx(influence_of(sides[1] - sides[0]))
    assert severe.value == pytest.approx(plain.value)
    eight = {"judge": list("abcdefgh")}
    found = paired_difference(paired, range(12), eight)
    expected = sampled_mean(paired.difference, paired.influence, eight)
    assert (found.low, found.high) == pytest.approx(expected.interval())
    fixed = paired_difference(paired, range(12))
    assert found.high - found.low > fixed.high - fixed.low
    shifted = [side + np.linspace(-3, 3, 8)[None, :, None] for side in sides]
    again = paired_difference(by_same_judges(*shifted), range(12), eight)
    assert (again.low, again.high) == pytest.approx((found.low, found.high))


def test_panels_without_a_common_factor_have_no_interval_over_judges() -> None:
    """Two panels that share neither personas nor models: the difference is there, with the reason
    why judges cannot be a sample of both."""
    found = paired_difference(by_other_judges(A, B), range(12), {})
    assert found.value == pytest.approx(B.mean() - A.mean())
    assert found.reason is Reason.NO_COMMON_FACTOR


def test_two_panels_may_have_other_judges_and_terms() -> None:
    """Two judges on two dimensions against one judge on one: the difference of their composites,
    and the judges of both in the influence, those of a first, with the sign turned."""
    a, b = np.array([[[4.0, 6.0], [6.0, 8.0]]]), np.array([[[9.0]]])
    found = by_other_judges(a, b)
    assert (found.a.tolist(), found.b.tolist(), found.difference.tolist()) == ([6], [9], [3])
    # The first judge is one point below the mean of 2, so 0.5 a judge; less of a is more of b − a.
    assert found.influence.tolist() == [[0.5, -0.5, 0.0]]


def test_personas_that_both_panels_share_are_paired() -> None:
    """Each persona is as severe in both panels: as a sample they add nothing to what prompts leave
    open, though they differ by points; where severity is of one panel, they do."""
    severity = np.array([2.0, -2, 1, -1, 0])[None, :, None]
    noise = RNG.normal(0, 0.5, (2, 10, 5, 1))
    noise -= noise.mean(axis=1, keepdims=True)
    level = RNG.normal(0, 1, (2, 10, 1, 1))
    factors = {"persona": list("abcde") * 2}
    both = by_other_judges(*(level + noise + severity))
    one = by_other_judges(level[0] + noise[0], level[1] + noise[1] + severity)
    shared, own = (paired_difference(sides, range(10), factors) for sides in (both, one))
    fixed = paired_difference(both, range(10))
    assert shared.high - shared.low == pytest.approx(fixed.high - fixed.low)
    assert own.high - own.low > 1.3 * (fixed.high - fixed.low)


def test_p_values_are_adjusted_over_all_and_a_repeated_test_counts_once() -> None:
    """p of 0.01, 0.02 and 0.04: by Holm 0.03, 0.04, 0.04; where the second is the first under
    another name, it has the first's, of two tests. What is primary is a family of its own."""
    differences = [RNG.normal(1, 1, 8)[:, None, None] for _ in range(3)]
    found = [
        paired_difference(by_same_judges(np.zeros_like(one), one), range(8)) for one in differences
    ]
    p = [one.p for one in found]
    order = np.argsort(p)
    expected = np.maximum.accumulate(np.array(p)[order] * [3, 2, 1])
    assert [holm_adjusted(found)[i].p_adjusted for i in order] == pytest.approx(
        np.minimum(expected, 1)
    )
    beside = [one.p_adjusted for one in holm_adjusted(found, primary=[False, True, False])]
    others = np.maximum.accumulate(np.sort([p[0], p[2]]) * [2, 1])
    assert beside[1] == p[1]
    assert sorted([beside[0], beside[2]]) == pytest.approx(others.tolist())
    repeated = holm_adjusted([found[0], found[0], found[1]], same_as=[0, 0, 2])
    two = np.sort([p[0], p[1]]) * [2, 1]
    assert repeated[0].p_adjusted == repeated[1].p_adjusted
    assert sorted({one.p_adjusted for one in repeated}) == pytest.approx(
        sorted(np.maximum.accumulate(two))
    )


def test_shapes_that_cannot_be_paired_are_refused() -> None:
    """Other judges are no pairs, nor are other numbers of texts."""
    with pytest.raises(ValueError, match="cannot be paired"):
        by_same_judges(A, B[:, :3])
    with pytest.raises(ValueError, match="12 and 11 texts"):
        by_other_judges(A, B[:11])
