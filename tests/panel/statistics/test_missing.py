"""Missing ratings against cases worked out by hand, and against filled-in ratings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import Difference
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.missing import MissingRatings, missing_ratings

NAN = math.nan
AHEAD = Difference(1.0, p=0.01, a="A", b="B")


def missing_in(
    ratings: np.ndarray,
    difference: Difference = AHEAD,
    factors: Mapping[str, Sequence[str]] | None = None,
    highest: float = 10.0,
) -> MissingRatings | None:
    """Of ratings `(prompts, systems, judges)` from 1 to `highest` of the systems A, B, …"""
    prompts, systems, judges = ratings.shape
    return missing_ratings(
        ratings.reshape(-1, judges, 1),
        [chr(ord("A") + s) for s in range(systems)] * prompts,
        [f"p{p}" for p in range(prompts) for _ in range(systems)],
        [difference],
        (1.0, highest),
        factors,
    )


def test_bounds_are_those_of_the_ends_of_the_scale() -> None:
    """A leads by 3 and 2, and its rating of the third prompt, where B has 5, is missing: it lies
    between 4 below and 5 above. Seen from B the difference is turned to the side that is ahead."""
    ratings = np.array([[8, 5], [7, 5], [NAN, 5.0]])[:, :, None]
    for difference in (AHEAD, -AHEAD):
        found = missing_in(ratings, difference)
        assert found is not None
        [bounds] = found.bounds
        assert (bounds.a, bounds.b) == ("A", "B")
        assert (bounds.worst, bounds.best) == (pytest.approx(1 / 3), pytest.approx(10 / 3))
        assert found.shares == {"A": pytest.approx(1 / 3), "B": 0}
        assert not bounds.holds


def test_nothing_is_said_where_nothing_is_missing() -> None:
    """Neither of complete ratings, nor where there is no rating at all."""
    ratings = np.random.default_rng(0).uniform(1, 10, (4, 2, 3))
    assert missing_in(ratings) is None
    ratings[:] = NAN
    assert missing_in(ratings) is None


def test_a_large_difference_holds_however_the_missing_rating_was() -> None:
    """Ten prompts on which two judges put A about 6 above B, and one rating is missing: at the end
    of the scale it takes half of 9 from one prompt, and the worst case is still significant."""
    ratings = np.random.default_rng(1).normal(0, 0.3, (10, 2, 2)) + np.array([8.0, 2.0])[:, None]
    ratings[0, 0, 0] = NAN
    found = missing_in(ratings)
    assert found is not None
    [bounds] = found.bounds
    assert bounds.holds and bounds.tips_at == math.inf and bounds.worst > 5


def test_a_conclusion_tips_where_the_filled_in_differences_are_no_longer_significant() -> None:
    """Differences are filled in by hand, so many points below the judge's mean difference: just
    below the tipping point they are significant, just above they are not."""
    rng = np.random.default_rng(2)
    ratings = np.clip(rng.normal(5, 1, (12, 2, 3)) + np.array([1.5, 0.0])[:, None], 1, 10)
    ratings[:5, 0, 1] = ratings[7:, 1, 2] = NAN
    found = missing_in(ratings)
    assert found is not None
    [bounds] = found.bounds
    apart = ratings[:, 0] - ratings[:, 1]
    low = np.where(np.isnan(ratings), 1, ratings)[:, 0] - np.nan_to_num(ratings[:, 1], nan=10)
    for departure, significant in ((bounds.tips_at - 0.01, True), (bounds.tips_at + 0.01, False)):
        filled = np.where(np.isnan(apart), np.nanmean(apart, axis=0) - departure, apart)
        p = stats.ttest_1samp(np.maximum(filled, low).mean(axis=1), 0).pvalue
        assert (p < 0.05) == significant


def test_the_tipping_point_may_be_further_away_than_the_scale_is_long() -> None:
    """Of seven prompts the differences are 2, 4, 2, 4, 2, 4, and A has 2 where B is missing: that
    difference is 1 at most, 2 below the mean of 3, and t is its critical value 2.447 at −2.68."""
    ratings = np.array([[5, 3], [5, 1]] * 3 + [[2, NAN]])[:, :, None]
    found = missing_in(ratings, highest=5)
    assert found is not None
    tips_at = found.bounds[0].tips_at
    assert tips_at == pytest.approx(5.676, abs=0.002)
    assert stats.ttest_1samp([2, 4] * 3 + [3 - tips_at], 0).pvalue == pytest.approx(0.05, abs=1e-4)


def test_a_difference_does_not_hold_where_spread_alone_undoes_it() -> None:
    """No departure alike of both gaps undoes it: at the worst the differences are 2/3, 1/3, 4/3,
    2/3. If B had 1 in the first gap and 5 in the second, they would be 2, 1/3, 4/3, 2/3: higher on
    average, and not significant."""
    ratings = [
        [[5, 4, 5], [4, 3, NAN]],
        [[4, 3, 5], [2, NAN, 4]],
        [[4, 5, 5], [2, 3, 5]],
        [[3, 3, 4], [3, 3, 2]],
    ]
    found = missing_in(np.array(ratings), highest=5)
    assert found is not None
    [bounds] = found.bounds
    assert bounds.worst == pytest.approx((2 + 1 + 4 + 2) / 12)
    assert stats.ttest_1samp([2 / 3, 1 / 3, 4 / 3, 2 / 3], 0).pvalue < 0.05
    assert stats.ttest_1samp([2, 1 / 3, 4 / 3, 2 / 3], 0).pvalue == pytest.approx(0.061, abs=5e-4)
    assert bounds.tips_at == math.inf and not bounds.holds


@pytest.mark.parametrize("judges", [2, 5])
def test_what_holds_is_significant_however_gaps_are_filled_in(judges: int) -> None:
    """With every way to put the gaps at the ends of the scale, at which a conclusion that something
    undoes is undone: of prompts alone exactly; with judges as a sample no more is said to hold."""
    rng = np.random.default_rng(8)
    factors = {"judge": list("abcde")} if judges == 5 else None
    counts = [0, 0]
    for _ in range(150):
        lead = rng.uniform(0.5, 2.5)
        ratings = rng.normal(1.7, 0.4, (7, 2, judges)) + np.array([lead, 0.0])[:, None]
        ratings = np.clip(ratings, 1, 5)
        gaps = rng.permutation(ratings.size)[: 2 + judges // 2]
        ratings.flat[gaps] = NAN
        found = missing_in(ratings, factors=factors, highest=5)
        assert found is not None
        for ends in product((1.0, 5.0), repeat=len(gaps)):
            ratings.flat[gaps] = ends
            apart = ratings[:, 0] - ratings[:, 1]
            scores, moved = apart.mean(axis=1), apart - apart.mean(axis=1, keepdims=True)
            mean = sampled_mean(scores, moved / judges if factors else None, factors)
            if undone := not (mean.mean > 0 and mean.p_value < 0.05):
                break
        holds = found.bounds[0].holds
        assert not (holds and undone)
        assert factors or holds != undone
        counts[holds] += 1
    assert min(counts) > 15


def test_a_difference_that_is_not_significant_has_no_tipping_point() -> None:
    """There is nothing to be undone."""
    ratings = np.array([[8, 5], [7, 5], [NAN, 5.0]])[:, :, None]
    found = missing_in(ratings, Difference(1.0, p=0.3, a="A", b="B"))
    assert found is not None
    assert math.isnan(found.bounds[0].tips_at)


def test_p_values_are_those_of_all_permutations() -> None:
    """On each of five prompts one of the two ratings of A is missing, and none of B: of the 32 ways
    to exchange the systems within prompts, 2 differ as much. A is the lower one where the other
    judge rated both: with the scores go as many."""
    ratings = np.array([[[3, NAN], [8, 8]]] * 5, dtype=float)
    ratings += np.random.default_rng(3).normal(0, 0.1, ratings.shape)
    found = missing_in(ratings)
    assert found is not None
    assert found.p_system == pytest.approx(2 / 32, abs=0.02)
    assert found.p_scores == pytest.approx(2 / 32, abs=0.02)
    assert found.lower


def test_what_is_missing_alike_of_all_systems_has_no_test() -> None:
    """A judge who left out whole prompts left out all systems alike."""
    ratings = np.random.default_rng(4).uniform(1, 10, (6, 3, 2))
    ratings[:2, :, 0] = NAN
    found = missing_in(ratings)
    assert found is not None
    assert math.isnan(found.p_system) and math.isnan(found.p_scores)


def test_bounds_are_the_extremes_of_all_ways_to_fill_in() -> None:
    """Two prompts, two judges who rated and one who was asked and rated nothing: three of six
    ratings of A and of B are missing. The worst for A is 1 for its own and 10 for those of B, (−3
    − 11/3) / 2, the best the reverse."""
    ratings = np.array([[[8, NAN, NAN], [5, 4, NAN]], [[7, 6, NAN], [NAN, 5, NAN]]])
    for factors in (None, {"judge": ["ann", "bob", "cid"]}):
        found = missing_in(ratings, factors=factors)
        assert found is not None
        [bounds] = found.bounds
        assert bounds.worst == pytest.approx((-3 - 11 / 3) / 2)
        assert bounds.best == pytest.approx(((28 - 10) / 3 + (23 - 7) / 3) / 2)
        assert found.shares == {"A": 0.5, "B": 0.5}


def test_a_judge_without_a_difference_has_the_mean_of_the_others() -> None:
    """One judge puts A 1, 2 and 3 above B, the other rated B alone. Filled in with c on each
    prompt, the mean is (2 + c) / 2 and its standard error 1 / (2 √3): it is significant down to
    c = 4.3027 / √3 − 2, which lies 4 − 4.3027 / √3 below the first judge's mean of 2."""
    ratings = np.array([[[6, NAN], [5, 5]], [[7, NAN], [5, 5]], [[8, NAN], [5, 5.0]]])
    found = missing_in(ratings)
    assert found is not None
    assert found.bounds[0].tips_at == pytest.approx(4 - 4.302653 / math.sqrt(3), abs=1e-4)


def test_judges_who_are_a_sample_add_their_variance() -> None:
    """Five judges put A from 1 below to 2 above B, a little more on one prompt and less on the
    next; of the first, the rating of A on the first prompt is missing. Filled in at its worst, −4,
    the prompts alone leave the difference significant; that the judges differ does not."""
    apart = np.array([-1, 0, 0.5, 1.5, 2]) + np.tile([0.1, -0.1], 10)[:, None]
    ratings = np.stack([5 + apart, np.full((20, 5), 5.0)], axis=1)
    ratings[0, 0, 0] = NAN
    filled = apart.copy()
    filled[0, 0] = 1 - 5
    n, k = filled.shape
    of_prompts = filled.mean(axis=1).var(ddof=1) / n
    of_judges = filled.mean(axis=0).var(ddof=1) / k
    t_prompts = filled.mean() / math.sqrt(of_prompts)
    assert t_prompts > stats.t.ppf(0.975, n - 1)
    total = of_prompts + of_judges
    df = total**2 / (of_prompts**2 / (n - 1) + of_judges**2 / (k - 1))
    assert filled.mean() / math.sqrt(total) < stats.t.ppf(0.975, df)
    for factors, holds in ((None, True), ({"judge": list("abcde")}, False)):
        found = missing_in(ratings, factors=factors)
        assert found is not None
        assert found.bounds[0].holds == holds


def test_scores_that_do_not_differ_have_no_test() -> None:
    """On each of five prompts a rating of A is missing, and all others are 5: what is missing
    differs by system, and goes with no score."""
    ratings = np.array([[[5, NAN], [5, 5]]] * 5, dtype=float)
    found = missing_in(ratings)
    assert found is not None
    assert found.p_system == pytest.approx(2 / 32, abs=0.02)
    assert math.isnan(found.p_scores) and not found.lower


def test_what_others_rate_lower_is_told_within_judges() -> None:
    """A judge puts A 2 below B, and a lenient one rated A alone: more is missing of B, which the
    others rate higher, though the mean of its ratings is lower."""
    ratings = np.array([[[3, 9], [5, NAN]]] * 5, dtype=float)
    ratings += np.random.default_rng(5).normal(0, 0.1, ratings.shape)
    found = missing_in(ratings)
    assert found is not None
    assert not found.lower


@pytest.mark.parametrize("n", [20, 3])
def test_a_p_value_counts_the_data_as_one_of_2000_orders(n: int) -> None:
    """So that it is never 0: of 20 prompts that all lack A, no order of 1,999 differs as much; of 3
    about a quarter do."""
    ratings = np.array([[[3, NAN], [8, 8]]] * n, dtype=float)
    ratings += np.random.default_rng(3).normal(0, 0.1, ratings.shape)
    found = missing_in(ratings)
    assert found is not None
    times = found.p_system * 2000
    assert times == pytest.approx(round(times)) and found.p_system <= 1
    assert found.p_system == pytest.approx(
        1 / 2000 if n == 20 else 0.25, abs=0 if n == 20 else 0.03
    )
