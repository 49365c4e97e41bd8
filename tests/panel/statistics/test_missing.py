"""Missing ratings against cases worked out by hand, and against filled-in ratings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import Difference
from persona_panel.statistics.missing import MissingRatings, missing_ratings

NAN = math.nan
AHEAD = Difference(1.0, p=0.01, a="A", b="B")


def missing_in(ratings: np.ndarray, difference: Difference = AHEAD) -> MissingRatings | None:
    """Of ratings `(prompts, systems, judges)` from 1 to 10 of the systems A, B, …"""
    prompts, systems, judges = ratings.shape
    return missing_ratings(
        ratings.reshape(-1, judges, 1),
        [chr(ord("A") + s) for s in range(systems)] * prompts,
        [f"p{p}" for p in range(prompts) for _ in range(systems)],
        [difference],
        (1.0, 10.0),
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
    """Neither of complete ratings, nor of a judge who rated nothing: that is no reading of it."""
    ratings = np.random.default_rng(0).uniform(1, 10, (4, 2, 3))
    assert missing_in(ratings) is None
    ratings[:, :, 1] = NAN
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
