"""The multiverse: which analyses there are, and what each concludes of a table by hand."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.ranking import rank_systems
from persona_panel.statistics.core.sampled_mean import JudgeSample
from persona_panel.statistics.multiverse import (
    Exclusion,
    Multiverse,
    Specification,
    least_correlated,
    multiverse,
    nearly_constant,
    ranks_by_judge,
    z_scores_by_judge,
)

SYSTEMS, PROMPTS = [*"ababab"], [*"ppqqrr"]
# Two judges prefer a by 1 or 2 points, the third b by 8 or 7.
RATED = np.array([[5.0, 5, 1], [4, 4, 9], [6, 6, 1], [4, 4, 9], [5, 5, 2], [4, 4, 9]])[..., None]
THIRD = Exclusion("the third judge", np.array([True, True, False]))


def firsts(computed: Multiverse) -> dict[tuple[str, str], str]:
    return {
        (each.choices.aggregation, each.choices.without): each.first for each in computed.analyses
    }


def test_each_analysis_of_a_table_by_hand() -> None:
    """b leads by the mean, (−1 −1 +8)/3 and so on, a by median and ranks (2 judges of 3), and
    without the third judge by all; of two judges there is no median, of three no trimmed mean."""
    computed = multiverse({"quality": RATED}, SYSTEMS, PROMPTS, [THIRD])
    assert computed is not None
    assert firsts(computed) == {
        ("mean", ""): "b", ("median", ""): "a", ("ranks", ""): "a", ("z-scores", ""): "a",
        ("mean", THIRD.name): "a", ("ranks", THIRD.name): "a", ("z-scores", THIRD.name): "a",
    }  # fmt: skip
    assert computed.leader == "b"
    # By prompt the mean has −(1 + 1 − 8)/3, −(2 + 2 − 8)/3 and −(1 + 1 − 7)/3: 2, 4/3 and 5/3,
    # with mean 5/3 and standard deviation 1/3.
    assert computed.main.lead.value == pytest.approx(5.0)
    assert (computed.main.winner, computed.main.lead.b) == ("b", "a")
    # Without the third judge b is behind by 1, 2 and 1: mean −4/3, standard deviation 1/√3.
    [without] = [
        each for each in computed.analyses if dict(each.changed) == {"without": THIRD.name}
    ]
    assert without.lead.value == pytest.approx(-4 / np.sqrt(3))
    assert (without.n_judges, without.n_prompts, without.lead.n) == (2, 3, 3)


def test_a_lead_without_ratings_of_the_same_prompt_says_why() -> None:
    """Both answered both prompts, each was rated on the other one: the mean of a is higher, and
    there is no difference."""
    rated = np.array([[5.0, 6], [np.nan, np.nan], [np.nan, np.nan], [4, 3]])[..., None]
    computed = multiverse({"quality": rated}, [*"abab"], [*"ppqq"])
    assert computed is not None and computed.leader == "a"
    assert np.isnan(computed.main.lead.value)
    assert computed.main.lead.reason == Reason.NO_SHARED_RATINGS


def test_the_highest_mean_is_not_ahead_of_who_is_better_on_the_prompts_of_both() -> None:
    """A has 9 on five prompts that B did not answer, and is a point or more below it on the five
    others: its mean is the highest, and neither is first."""
    ours, theirs = [5.0, 5, 6, 5, 6], [6.0, 6.5, 7.5, 6.5, 7.5]
    rated = np.array([9.0] * 5 + ours + theirs)[:, None, None]
    prompts = [*range(10), *range(5, 10)]
    computed = multiverse({"quality": rated}, ["A"] * 10 + ["B"] * 5, [str(n) for n in prompts])
    assert computed is not None
    main = computed.main
    assert (computed.leader, main.ranks, main.first, main.winner) == ("A", {"A": 1, "B": 2}, "", "")
    assert main.is_behind("A") and not main.is_behind("B")
    assert main.lead.high < 0


def test_the_fewest_changes_are_named() -> None:
    """Each of four choices alone reverses b's lead; two together are no news."""
    computed = multiverse({"quality": RATED}, SYSTEMS, PROMPTS, [THIRD])
    assert computed is not None
    least = computed.least_changes(lambda each: each.first != "b")
    assert [sorted(each.changed) for each in least] == [
        [("aggregation", "median")], [("aggregation", "ranks")], [("aggregation", "z-scores")],
        [("without", THIRD.name)],
    ]  # fmt: skip


def test_no_more_is_combined_than_fits() -> None:
    """3 aggregations of two judges, 6 dimensions and 40 exclusions would be 738 analyses, and with
    two changes at most 2 + 5 + 40 + 10 + 80 + 200 + 1 = 338."""
    rng = np.random.default_rng(0)
    terms = {f"d{d}": rng.normal(size=(80, 2, 1)) for d in range(6)}
    out = [Exclusion(f"prompt {p}", responses=np.arange(80) // 2 != p) for p in range(40)]
    systems, prompts = ["a", "b"] * 40, [place // 2 for place in range(80)]
    computed = multiverse(terms, systems, prompts, out)
    assert computed is not None
    assert len(computed.analyses) + computed.n_undefined == 338
    assert max(len(each.changed) for each in computed.analyses) == 2
    assert not computed.main.changed


def test_what_leaves_the_same_is_one_exclusion() -> None:
    """Nothing, all, and what another exclusion leaves out already make no analysis."""
    nothing = Exclusion("nothing", np.ones(3, bool))
    everything = Exclusion("everything", np.zeros(3, bool))
    again = Exclusion("the third, again", THIRD.judges)
    computed = multiverse({"quality": RATED}, SYSTEMS, PROMPTS, [nothing, everything, THIRD, again])
    assert computed is not None
    assert {each.choices.without for each in computed.analyses} == {"", THIRD.name}


def ratings(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    values = draw(st.lists(st.integers(1, 10), min_size=48, max_size=48))
    return np.array(values, dtype=float).reshape(12, 4, 1)


@st.composite
def boards(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Ratings of two systems on six prompts by four judges, some missing."""
    rated = ratings(draw)
    missing = draw(st.lists(st.booleans(), min_size=48, max_size=48))
    if draw(st.booleans()):
        rated[np.array(missing).reshape(rated.shape) & (np.arange(4) > 0)[None, :, None]] = np.nan
    return rated


def lead_of(each: Specification) -> list[float]:
    return [each.lead.value, each.lead.low, each.lead.high, each.lead.p]


@given(boards(), st.integers(-5, 5), st.integers(2, 3))
def test_severity_and_spread_of_a_judge_change_no_ranks_and_z_scores(
    rated: np.ndarray[Any, Any], shift: int, factor: int
) -> None:
    """A constant added to a judge's ratings changes no mean difference either."""
    assert np.allclose(
        z_scores_by_judge(rated), z_scores_by_judge(factor * rated + shift), equal_nan=True
    )
    prompts = np.arange(12) // 2
    of = ranks_by_judge(rated, prompts)
    assert np.array_equal(of, ranks_by_judge(factor * rated + shift, prompts), equal_nan=True)
    moved = rated.copy()
    moved[:, 0] += shift
    pair = [
        multiverse({"quality": each}, ["a", "b"] * 6, prompts.tolist()) for each in (rated, moved)
    ]
    first, second = pair
    if first is None or second is None:
        assert first is second
        return
    for one, other in zip(first.analyses, second.analyses, strict=True):
        if one.choices.aggregation != "median" and first.leader == second.leader:
            assert np.allclose(lead_of(one), lead_of(other), equal_nan=True, atol=1e-6)


@given(boards())
def test_each_analysis_of_means_is_a_leaderboard(rated: np.ndarray[Any, Any]) -> None:
    """Computed together they are what each is alone, of the ratings that it keeps; with missing
    ratings, too: differences are within judges."""
    systems, prompts = ["a", "b"] * 6, [str(place // 2) for place in range(12)]
    out = [Exclusion(str(j), np.arange(4) != j) for j in range(4)]
    out.append(Exclusion("first", responses=np.arange(12) > 1))
    computed = multiverse({"quality": rated}, systems, prompts, out)
    assert computed is not None
    of_means = [each for each in computed.analyses if each.choices.aggregation == "mean"]
    kept = {each.name: each for each in [Exclusion(), *out]}
    for each in of_means:
        own = kept[each.choices.without]
        judges = slice(None) if own.judges is None else own.judges
        rows = range(12) if own.responses is None else np.flatnonzero(own.responses)
        terms = rated[rows][:, judges]
        with np.errstate(invalid="ignore"), warnings.catch_warnings(action="ignore"):
            means = np.nanmean(terms, axis=1)[:, 0]
        board = rank_systems(
            [systems[row] for row in rows], [prompts[row] for row in rows], means,
            np.empty((len(rows), 0)), [], judges=JudgeSample(terms, {}),
        )  # fmt: skip
        assert [*each.ranks] == board.ranked
        [one], [other] = board.differences, each.differences
        assert (one.a, one.n, one.reason) == (other.a, other.n, other.reason)
        for name in ("value", "low", "high", "p", "p_adjusted"):
            of = getattr(one, name), getattr(other, name)
            assert np.allclose(*of, rtol=1e-9, atol=1e-12, equal_nan=True), name


@given(boards())
def test_medians_and_trimmed_means_are_of_the_judges_kept(rated: np.ndarray[Any, Any]) -> None:
    """Without each judge in turn, and with copies of all so that trimming leaves some out, the mean
    difference is that of scipy's and numpy's figures by prompt."""
    rated = np.concatenate([rated, rated + 1], axis=1)
    systems, prompts = ["a", "b"] * 6, [str(place // 2) for place in range(12)]
    out = [Exclusion(str(j), np.arange(8) != j) for j in range(8)]
    computed = multiverse({"quality": rated}, systems, prompts, out)
    assert computed is not None
    for each in computed.analyses:
        if each.choices.aggregation not in ("median", "trimmed mean"):
            continue
        own = np.delete(rated[..., 0], [int(j) for j in each.choices.without], axis=1)
        apart = []
        for pair in own.reshape(6, 2, -1):
            both = pair[:, ~np.isnan(pair).any(axis=0)]
            if each.choices.aggregation == "median":
                a, b = np.median(both, axis=1)
            else:
                a, b = trim_mean(both, 0.2, axis=1)
            apart.append(a - b)
        [found] = each.differences
        sign = 1 if found.a == "a" else -1
        assert sign * found.value == pytest.approx(np.mean(apart))


def test_a_median_takes_judges_who_rated_the_whole_prompt() -> None:
    """The severe third judge rated one of two texts of the first prompt, and does not count there:
    medians are 5 and 4 of two judges, not 5 of two and 4 of three."""
    rated = np.array([[6.0, 4, np.nan], [5, 3, 1], [6, 4, 5], [5, 3, 4]])[..., None]
    computed = multiverse({"quality": rated}, [*"abab"], [*"ppqq"])
    assert computed is not None
    [of] = [each for each in computed.analyses if each.choices.aggregation == "median"]
    assert of.differences[0].value == pytest.approx(1.0)


def test_ranks_are_shares_of_the_others_that_are_below() -> None:
    """Of three texts 5, 3, 3: 1, 1/4 and 1/4, as a tie counts half; of one text alone none."""
    rated = np.array([5.0, 3, 3, 9])[:, None, None]
    found = ranks_by_judge(rated, np.array([0, 0, 0, 1]))[:, 0, 0]
    assert np.allclose(found, [1, 0.25, 0.25, np.nan], equal_nan=True)


def test_a_judge_who_hardly_varies_has_no_z_scores() -> None:
    """Standard deviations are 4, 4 and c: 4 is the median, and a quarter of it 1. With c = 0.9 each
    point of the third judge would weigh more than four of another; with 1.1 he counts."""
    for c, there in ((0.9, False), (1.1, True)):
        rated = np.array([[-4.0, 4, -c], [0, 0, 0], [4, -4, c]])[..., None]
        assert nearly_constant(rated).tolist() == [False, False, not there]
        third = [-1.0, 0, 1] if there else [np.nan] * 3
        assert np.allclose(z_scores_by_judge(rated)[:, 2, 0], third, equal_nan=True)


def test_the_judge_against_the_others_correlates_least() -> None:
    """The third rates the other way round; of two judges there is none."""
    # r with the mean of the others: −0.954, −0.944 and −12 / √(32 · 14/3) = −0.982.
    rated = np.array([[1.0, 2, 9], [2, 3, 5], [4, 5, 1]])
    assert least_correlated(rated) == 2
    assert least_correlated(rated[:, :2]) is None


def test_one_system_has_no_analyses() -> None:
    """There is nothing to compare."""
    assert multiverse({"quality": RATED}, ["a"] * 6, PROMPTS) is None
