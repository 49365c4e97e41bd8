"""Effective votes of judges who differ in one thing, and the panel beside its best judge."""

from __future__ import annotations

from math import isnan, nan, sqrt

import numpy as np
import pytest

from persona_panel.statistics import Reason, effective_votes
from persona_panel.statistics.votes import same_ratings

RNG = np.random.default_rng(7)
ITEMS = RNG.normal(size=(40, 1))
SCORES = ITEMS + RNG.normal(size=(40, 5)) * [0.7, 0.7, 0.7, 0.3, 0.3]


def correlation(a: int, b: int, kept: np.ndarray | None = None) -> float:
    rows = np.arange(40) if kept is None else kept
    return float(np.corrcoef(SCORES[rows, a], SCORES[rows, b])[0, 1])


def number(r: float, k: int = 3) -> float:
    return k / (1 + (k - 1) * r)


def test_the_number_is_kish_s_of_the_mean_correlation_inside_sets() -> None:
    """Three judges of a set have three pairs; pairs of other sets do not count. A source of two is
    counted as three, like the others; sets of one judge are left out."""
    found, _ = effective_votes(SCORES, {"far": [(0, 1, 2), (3,)], "near": [(3, 4)], "none": [(1,)]})
    far = (correlation(0, 1) + correlation(0, 2) + correlation(1, 2)) / 3
    assert [one.source for one in found] == ["far", "near"]
    assert found[0].correlation == pytest.approx(far)
    assert [one.votes.value for one in found] == pytest.approx(
        [number(far), number(correlation(3, 4))]
    )
    assert [(one.n_judges, one.largest_set, one.n_sets) for one in found] == [(3, 3, 1), (3, 2, 1)]
    assert all(1 <= one.votes.low < one.votes.value < one.votes.high <= 3 for one in found)


def test_the_interval_of_a_difference_is_mover_s() -> None:
    """From each side's own interval, and from how both move as one item is left out (Zou 2007)."""
    sides, (difference,) = effective_votes(SCORES, {"a": [(0, 1)], "b": [(3, 4)]})
    a, b = (one.votes for one in sides)
    left_out = [np.delete(np.arange(40), item) for item in range(40)]
    moved = [[correlation(*pair, kept) for kept in left_out] for pair in ((0, 1), (3, 4))]
    r = float(np.corrcoef(moved)[0, 1])
    down, up = a.value - a.low, b.high - b.value
    low = a.value - b.value - sqrt(down**2 + up**2 - 2 * r * down * up)
    up, down = a.high - a.value, b.value - b.low
    high = a.value - b.value + sqrt(up**2 + down**2 - 2 * r * up * down)
    assert (difference.low, difference.high) == pytest.approx((low, high))
    assert (difference.a, difference.b) == ("a", "b")


def test_intervals_of_several_differences_hold_together() -> None:
    """Of three sources the interval of one difference is wider than of two alone."""
    two = effective_votes(SCORES, {"a": [(0, 1)], "b": [(3, 4)]})[1][0]
    three = effective_votes(SCORES, {"a": [(0, 1)], "b": [(3, 4)], "c": [(1, 2)]})[1]
    assert len(three) == 3
    assert three[0].high - three[0].low > 1.05 * (two.high - two.low)


def test_a_higher_level_never_narrows_a_difference() -> None:
    """Two sources move against each other, and the interval of one reaches the number of judges at
    the level for three sources alone: their difference then is not held more narrowly than where
    they are the only two."""
    scores = np.array([
        [-0.3, -0.8, 4.0, 4.4, 0], [-1.1, -1.1, -2.7, -0.7, 1], [0.0, 0.8, 3.4, 1.4, 0],
        [-1.2, -0.4, -1.8, -3.5, 2], [0.8, 3.2, 1.7, 0.2, 0], [-1.2, -2.6, 0.9, 7.6, 1],
        [-0.7, -4.7, -2.6, -7.5, 3], [1.3, 0.6, 7.4, 6.7, 0],
    ])  # fmt: skip
    two = effective_votes(scores, {"a": [(0, 1)], "b": [(2, 3)]})
    three = effective_votes(scores, {"a": [(0, 1)], "b": [(2, 3)], "c": [(0, 4)]})
    assert max(one.votes.high for one in two[0]) < 2
    assert three[1][0].low < two[1][0].low < two[1][0].high < three[1][0].high


def test_a_reference_leaves_errors_alone() -> None:
    """Judges who agree because they are right are independent beside what is true."""
    own = effective_votes(SCORES, {"near": [(0, 1, 2)]})[0][0]
    beside = effective_votes(SCORES, {"near": [(0, 1, 2)]}, ITEMS[:, 0])[0][0]
    assert own.votes.value < 1.7 < 2.6 < beside.votes.value


@pytest.mark.parametrize("seed", [0, 8])
def test_errors_below_the_noise_of_people_have_no_number(seed: int) -> None:
    """Judges with an error of 0.3 beside three people with one of 1: less the noise of their mean,
    errors have no variance (seed 0) or correlate by −1.38 (seed 8), which no correlation can."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(40, 1))
    judges = truth + 0.3 * rng.normal(size=(40, 3))
    people = truth + rng.normal(size=(40, 3))
    ((one,), _) = effective_votes(judges, {"personas": [(0, 1, 2)]}, people)
    assert one.votes.reason is Reason.NOISE_ABOVE_ERRORS
    assert isnan(one.correlation) and isnan(one.votes.value) and isnan(one.votes.low)


def test_judges_who_say_the_same_are_one_vote_without_an_interval() -> None:
    """Replicates at temperature 0 say nothing of how replicates vary."""
    same = np.repeat(ITEMS, 3, axis=1)
    found, (difference,) = effective_votes(
        np.c_[same, SCORES], {"same": [(0, 1, 2)], "far": [(3, 4, 5)]}
    )
    assert found[0].votes.value == pytest.approx(1)
    assert found[0].votes.reason is Reason.IDENTICAL_JUDGES
    assert isnan(difference.low)
    with pytest.raises(ValueError, match="no set has two"):
        effective_votes(SCORES, {"alone": [(0,), (1,)]})


def test_who_gave_the_same_ratings_by_hand() -> None:
    """Of 40 items raters 0, 2 and 4 rate two dimensions the same, raters 1 and 3 a third otherwise.
    Where rater 2 has another second dimension in two items, 38 of 40 are 95 %. Rater 4 lacks the
    first item: in 39 all three have one such item, then three, and 36 of 39 are below 95 %."""
    rated = np.repeat(np.arange(40.0)[:, None, None] % 5, 5, axis=1).repeat(2, axis=2)
    rated[::3, 1] += 1
    rated[::3, 3] -= 1
    rated[0, 4] = nan
    rated[1:3, 2, 1] = 9
    assert same_ratings(rated[:, :4]) == [([0, 2], 38, 40)]
    rated[1, 2, 1] = 1
    assert same_ratings(rated) == [([0, 2, 4], 38, 39)]
    rated[3:5, 2, 1] = 9
    assert same_ratings(rated) == [([0, 4], 39, 39)]


def test_too_few_items_or_one_rating_are_nobody_s_repetition() -> None:
    """Nine items are too few; of ten that all have the same ratings nothing is known."""
    rated = np.repeat(np.arange(10.0)[:, None, None], 3, axis=1)
    assert same_ratings(rated) == [([0, 1, 2], 10, 10)]
    assert same_ratings(rated[:9]) == same_ratings(np.ones((10, 3, 1))) == []


def test_three_groups_whose_raters_are_mixed() -> None:
    """Each has its own, in the order of their first raters."""
    three = np.random.default_rng(0).random((10, 3, 1))
    groups = same_ratings(three[:, [0, 1, 2, 0, 2, 1, 1]])
    assert groups == [([0, 3], 10, 10), ([1, 5, 6], 10, 10), ([2, 4], 10, 10)]
