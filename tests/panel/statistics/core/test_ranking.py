"""The leaderboard against numbers worked out by hand, scipy's and statsmodels'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from persona_panel.statistics import Difference, Reason
from persona_panel.statistics.core.ranking import (
    Leaderboard,
    SystemRank,
    Winner,
    competition_ranks,
    decisive_difference,
    rank_systems,
    verified_places,
    winner_among,
)
from persona_panel.statistics.core.sampled_mean import JudgeSample
from persona_panel.statistics.paired import by_same_judges, paired_difference

NAN = math.nan
Row = tuple[str, str, float]


def leaderboard(rows: Sequence[Row]) -> Leaderboard:
    """The leaderboard of (system, prompt, composite) rows, with the composite as its
    only dimension."""
    values = np.array([row[2] for row in rows], dtype=float)
    return rank_systems(
        [row[0] for row in rows], [row[1] for row in rows], values, values[:, None], ["d"]
    )


def board(rows: Sequence[Row]) -> tuple[SystemRank, ...]:
    """Its systems."""
    return leaderboard(rows).systems


def by_system(entries: Sequence[SystemRank]) -> dict[str, SystemRank]:
    return {entry.system: entry for entry in entries}


def grid(table: Sequence[Sequence[float]], systems: str = "ABCDEFGH") -> list[Row]:
    """Rows of a prompts × systems table."""
    return [
        (systems[j], f"p{i}", value)
        for i, line in enumerate(table)
        for j, value in enumerate(line)
        if not math.isnan(value)
    ]


def test_two_prompts_have_an_effect_size() -> None:
    """Gaps of 1 and 3: their mean 2 over their standard deviation √2."""
    [one] = leaderboard(grid([[2, 1], [5, 2]])).differences
    assert one.effect_size == pytest.approx(math.sqrt(2))


# Means and ranks


def test_means_are_those_of_prompts() -> None:
    """Two responses to one prompt count as one: mean(mean(2, 4), 9) = 6, not 5."""
    entries = by_system(
        board([("A", "p1", 2), ("A", "p1", 4), ("A", "p2", 9), ("B", "p1", 5), ("B", "p2", 5)])
    )
    assert entries["A"].composite.value == 6
    assert entries["B"].composite.value == 5
    assert (entries["A"].rank, entries["B"].rank) == (1, 2)
    assert entries["A"].n_prompts == 2


def test_dimensions_have_means_of_their_own() -> None:
    """Each dimension's mean is over the prompts that have it, also where the composite lacks."""
    [entry] = rank_systems(
        ["A", "A"],
        ["p1", "p2"],
        np.array([4.0, NAN]),
        np.array([[3.0, 5.0], [7.0, NAN]]),
        ["x", "y"],
    ).systems
    means = {name: mean.value for name, mean in entry.dimensions.items()}
    assert means == {"x": 5.0, "y": 5.0}
    assert (entry.composite.value, entry.n_prompts) == (4.0, 1)


def test_ties_share_the_better_rank() -> None:
    """Two systems at 5 behind one at 6 are both second, and the next is fourth."""
    entries = board([("D", "p", 1), ("C", "p", 5), ("A", "p", 6), ("B", "p", 5)])
    assert [(entry.system, entry.rank) for entry in entries] == [
        ("A", 1),
        ("B", 2),
        ("C", 2),
        ("D", 4),
    ]


def test_equal_means_tie_whatever_the_order_of_summing() -> None:
    """0.1, 0.2, 0.3 in either order have the same mean, though floats sum them differently."""
    entries = board(grid([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]]))
    assert [entry.rank for entry in entries] == [1, 1]


def test_competition_ranks_leave_the_missing_out() -> None:
    """NaN has no rank and takes none away from the others."""
    for values, ranks in (([7, 9, NAN, 7], [2, 1, NAN, 2]), ([NAN, NAN, NAN, 1], [NAN] * 3 + [1])):
        np.testing.assert_array_equal(competition_ranks(np.array(values)), ranks)


def test_a_system_without_a_composite_is_unranked_and_last() -> None:
    """NaN composites give no rank, no interval and the last place; the others keep theirs."""
    entries = board([("A", "p1", NAN), ("A", "p2", NAN), ("Z", "p1", 3), ("Z", "p2", 4)])
    assert [entry.system for entry in entries] == ["Z", "A"]
    last = entries[1]
    assert (last.rank, last.rank_low, last.rank_high, last.n_prompts) == (None, None, None, 0)
    assert math.isnan(last.composite.value)
    assert math.isnan(last.composite.low)
    assert entries[0].rank == 1


def test_nothing_to_rank_is_an_empty_board() -> None:
    """No responses make no entries, and no error."""
    empty = rank_systems([], [], np.empty(0), np.empty((0, 2)), ["x", "y"])
    assert (empty.systems, empty.differences, empty.winner) == ((), (), None)


# Intervals


def test_one_prompt_has_no_interval() -> None:
    """A single prompt cannot be resampled: NaN and None, while the rank stands."""
    for entry in board([("A", "p", 1), ("B", "p", 2)]):
        assert math.isnan(entry.composite.low)
        assert math.isnan(entry.composite.high)
        assert (entry.rank_low, entry.rank_high) == (None, None)
        assert entry.rank is not None


def test_a_system_with_one_prompt_has_none_beside_others_with_many() -> None:
    """The interval is refused system by system."""
    entries = by_system(board([*grid([[1.0], [2.0], [3.0]]), ("B", "p0", 9.0)]))
    assert math.isnan(entries["B"].composite.low)
    assert entries["B"].rank_low is None
    assert entries["A"].composite.low < 2.0 < entries["A"].composite.high


def test_the_interval_is_students_over_prompts() -> None:
    """That of scipy, of the composite and of the dimension; a prompt counts once."""
    values = np.random.default_rng(5).normal(6, 1.5, 7)
    rows = grid([[value] for value in values])
    [entry] = board([*rows, ("A", "p0", values[0] + 1), ("A", "p0", values[0] - 1)])
    expected = stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
    assert (entry.composite.low, entry.composite.high) == pytest.approx(expected)
    assert entry.dimensions["d"].ends == pytest.approx(expected)


def test_equal_composites_have_no_interval() -> None:
    """Four prompts at 5.24 tell nothing of how unsure 5.24 is: no interval, and why."""
    [entry] = board(grid([[5.24]] * 4))
    assert math.isnan(entry.composite.low)
    assert entry.composite.reason is Reason.NO_SPREAD


# Differences


def test_differences_are_paired_t_tests_adjusted_over_all_pairs() -> None:
    """Of the prompts that both answered, scipy's paired t-test, its interval and d; p is multiplied
    by 3, 1 and 1 (Shaffer 1986); the better system comes first."""
    table = np.array(TABLE)
    found = leaderboard(grid(TABLE))
    assert [(one.a, one.b) for one in found.differences] == [("A", "B"), ("A", "C"), ("B", "C")]
    p_values = []
    for one in found.differences:
        a, b = table[:, "ABC".index(one.a)], table[:, "ABC".index(one.b)]
        both = ~np.isnan(a + b)
        test = stats.ttest_rel(a[both], b[both])
        interval = test.confidence_interval()
        assert (one.p, one.low, one.high) == pytest.approx(
            (test.pvalue, interval.low, interval.high)
        )
        gaps = (a - b)[both]
        assert one.value == pytest.approx(gaps.mean())
        assert one.effect_size == pytest.approx(gaps.mean() / gaps.std(ddof=1))
        assert one.n == both.sum()
        p_values.append(test.pvalue)
    least = 3 * min(p_values)
    assert [one.p_adjusted for one in found.differences] == pytest.approx(
        [min(1, max(p, least)) for p in p_values]
    )


def test_a_sure_order_has_ranks_of_one_place() -> None:
    """Systems that are far apart on each of eight prompts have one place each, and a winner."""
    rng = np.random.default_rng(0)
    found = leaderboard(grid((np.array([9, 5, 1]) + rng.normal(0, 0.3, (8, 3))).tolist()))
    assert [(e.rank_low, e.rank, e.rank_high) for e in found.systems] == [
        (1, 1, 1),
        (2, 2, 2),
        (3, 3, 3),
    ]
    assert found.winner is not None
    assert found.winner.system == "A"
    assert verified_places([one.system for one in found.systems], found.differences) == 2


def paired(a: str, b: str, value: float, p: float) -> Difference:
    return Difference(value, p=p, a=a, b=b)


def test_places_are_verified_from_the_first_on() -> None:
    """A is better than all at 0.04 at most, B than C and D, which are open: two places; with A and
    B open none, although B and C are apart. A difference from the other side counts the same."""
    pairs = [
        paired("A", "B", 1, 0.04), paired("A", "C", 2, 0.01), paired("D", "A", -3, 0.001),
        paired("B", "C", 1, 0.02), paired("B", "D", 2, 0.03), paired("C", "D", 1, 0.2),
    ]  # fmt: skip
    assert verified_places("ABCD", pairs) == 2
    assert winner_among("ABCD", pairs) == Winner("A", 0.04)
    decisive = decisive_difference("ABCD", pairs)
    assert decisive is not None
    assert (decisive.a, decisive.b, decisive.p) == ("A", "B", 0.04)
    assert verified_places("ABCD", [paired("A", "B", 1, 0.06), *pairs[1:]]) == 0
    assert winner_among("ABCD", [paired("A", "B", 1, 0.06), *pairs[1:]]) is None
    assert verified_places("ABCD", [*pairs[:4], paired("B", "D", 2, 0.05), pairs[5]]) == 1
    assert verified_places("ABCD", [*pairs[:5], paired("C", "D", 1, 0.04)]) == 3
    assert [verified_places(few, pairs) for few in ("", "A", "AB")] == [0, 0, 1]


def test_a_place_is_not_verified_where_a_difference_is_missing_or_the_other_way() -> None:
    """Without the test of A and C, or with A below C on the prompts that both answered, A is not
    shown to be the best; the latter, adjusted or not, is the hardest to tell."""
    near, far = replace(paired("A", "B", 1, 0.04), p_adjusted=0.12), paired("A", "C", 2, NAN)
    assert verified_places("ABC", [near, far]) == verified_places("ABC", [near]) == 0
    assert winner_among("ABC", [near, far]) is None
    found = decisive_difference("ABC", [near, far])
    assert found is not None
    assert (found.b, found.p, math.isnan(found.p_adjusted)) == ("B", 0.04, True)
    below = paired("C", "A", 2, 0.001)
    assert winner_among("ABC", [near, below]) is None
    hardest = decisive_difference("ABC", [near, below])
    assert hardest is not None
    assert (hardest.b, hardest.value, hardest.p) == ("C", -2, 0.001)
    assert decisive_difference("ABC", [far]) is None


def test_an_unsure_order_has_no_winner() -> None:
    """Two systems that win two prompts each may both be first or second."""
    found = leaderboard(grid([[9, 1], [1, 9], [8, 2], [2, 8]]))
    assert [(entry.rank_low, entry.rank_high) for entry in found.systems] == [(1, 2), (1, 2)]
    assert found.winner is None


def test_of_equal_systems_one_is_ahead_in_five_percent_at_most() -> None:
    """With 8 equal systems and 5 prompts some two have ranges of ranks that do not overlap in
    at most 5 % of 200 boards, but for chance (the bootstrap's had 43 %)."""
    rng, apart = np.random.default_rng(0), 0
    for _ in range(200):
        scores = np.round(rng.normal(6, 1, (5, 1)) + rng.normal(0, 1, (5, 8)), 1)
        found = board(grid(scores.tolist()))
        ranges = [(entry.rank_low or 0, entry.rank_high or 9) for entry in found]
        apart += max(low for low, _ in ranges) > min(high for _, high in ranges)
    # More than 19 of 200 come with a probability of 0.2 % where it is 5 %.
    assert apart <= 19


TABLE = [
    [7.0, 6.5, 3.0],
    [8.0, NAN, 4.0],
    [6.0, 7.5, 9.0],
    [5.5, 6.0, NAN],
    [9.0, 6.2, 5.0],
    [NAN, 5.0, 5.0],
]


# Judges as a sample


def rated(n_prompts: int, n_judges: int, seed: int = 0) -> tuple[np.ndarray, JudgeSample]:
    """Ratings `(2 n_prompts, judges, 1)` of two systems, and their judges."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(6, 1, (2 * n_prompts, n_judges, 1)) + rng.normal(0, 1, (1, n_judges, 1))
    factors = {"rater": [f"j{judge}" for judge in range(n_judges)]}
    return ratings, JudgeSample(ratings, factors)


@pytest.mark.parametrize("n_prompts", [6, 40])
def test_judges_add_their_variance(n_prompts: int) -> None:
    """The squared error is that of the prompts' means plus that of the judges' means, with
    Satterthwaite's degrees of freedom; of a difference severity falls out."""
    ratings, judges = rated(n_prompts, 8)
    means = ratings.mean(axis=(1, 2))
    found = rank_systems(
        ["A", "B"] * n_prompts,
        [f"p{i // 2}" for i in range(2 * n_prompts)],
        means,
        np.empty((2 * n_prompts, 0)),
        [],
        judges=judges,
        random="prompts-and-judges",
    )
    a = ratings[::2, :, 0]
    entry = {one.system: one for one in found.systems}["A"]
    low, high = crossed_interval(a)
    assert (entry.with_judges.low, entry.with_judges.high) == pytest.approx((low, high))
    [one] = found.differences
    sign = 1 if one.a == "A" else -1
    low, high = crossed_interval(sign * (a - ratings[1::2, :, 0]))
    assert one.ends == pytest.approx((low, high))


def crossed_interval(table: np.ndarray) -> tuple[float, float]:
    """Of a mean over rows and columns that are both samples, by the formula: never narrower than
    over rows alone."""
    rows = table.mean(axis=1).var(ddof=1) / len(table)
    columns = table.mean(axis=0).var(ddof=1) / table.shape[1]
    df = (rows + columns) ** 2 / (rows**2 / (len(table) - 1) + columns**2 / (table.shape[1] - 1))
    both = math.sqrt(rows + columns) * stats.t.ppf(0.975, df)
    reach = max(both, math.sqrt(rows) * stats.t.ppf(0.975, len(table) - 1))
    return float(table.mean() - reach), float(table.mean() + reach)


def test_four_judges_are_no_sample() -> None:
    """With four judges, or replicates of one, the interval over prompts and judges is refused, with
    the reason."""
    ratings, judges = rated(6, 4)
    for sample, why in (
        (judges, Reason.FEW_JUDGES),
        (replace(judges, factors={}), Reason.SAME_JUDGES),
    ):
        found = rank_systems(
            ["A"] * 12,
            [f"p{i}" for i in range(12)],
            ratings.mean(axis=(1, 2)),
            np.empty((12, 0)),
            [],
            judges=sample,
        )
        [entry] = found.systems
        assert math.isnan(entry.with_judges.low)
        assert entry.with_judges.reason is why
        assert not math.isnan(entry.composite.low)


def test_prompts_that_agree_have_no_interval_over_judges_too() -> None:
    """Where a system has one composite on every prompt, judges who differ give no interval: it
    would be narrowest where least is known."""
    levels = np.array([4.0, 5.0, 6.0, 7.0, 8.0])
    ratings = np.tile(levels, (3, 1))[:, :, None]
    found = rank_systems(
        ["A"] * 3,
        ["p", "q", "r"],
        ratings.mean(axis=(1, 2)),
        np.empty((3, 0)),
        [],
        judges=JudgeSample(ratings, {"rater": [f"j{n}" for n in range(5)]}),
        random="prompts-and-judges",
    )
    [entry] = found.systems
    assert (entry.composite.reason, entry.with_judges.reason) == (
        Reason.NO_SPREAD,
        Reason.NO_SPREAD,
    )
    assert math.isnan(entry.with_judges.low)


def test_intervals_are_cut_at_the_scale() -> None:
    """No composite, dimension or difference lies beyond what its scale allows, so no interval
    does; a difference's ends within the scale are what they would be without it."""
    composites = np.array([9.5, 1.5, 6.0, 3.0])
    told = [
        rank_systems(
            ["A", "B"] * 2, ["p", "p", "q", "q"], composites, composites[:, None], ["d"], **limits
        )
        for limits in ({}, {"limits": (1.0, 10.0), "dimension_limits": [(0.0, 9.8)]})
    ]
    (free, _), (cut, _) = (board.systems for board in told)
    assert free.composite.low < 1
    assert free.composite.high > 10
    assert 1 < cut.composite.low < cut.composite.value < cut.composite.high < 10
    low, high = cut.dimensions["d"].ends
    assert 0 < low < cut.composite.value < high < 9.8
    (loose,), (within,) = (board.differences for board in told)
    assert loose.high > 9
    assert within.ends == (-9, 9)
    assert (within.p, within.p_adjusted) == (loose.p, loose.p_adjusted)


# What holds for every batch

_scores = st.one_of(st.just(NAN), st.floats(0, 100).map(lambda x: round(x, 3)))
_rows = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from(["p1", "p2", "p3", "p4"]), _scores),
    min_size=1,
    max_size=24,
)


@given(_rows)
def test_everything_stays_within_its_bounds(rows: list[Row]) -> None:
    """Means lie within a system's own values and their intervals, ranks within 1 to n and their
    ranges."""
    entries = board(rows)
    ranked = [entry for entry in entries if entry.rank is not None]
    assert [e.rank for e in ranked] == sorted(e.rank or 0 for e in ranked)
    assert [e.system for e in entries[: len(ranked)]] == [e.system for e in ranked]
    for entry in ranked:
        own = [v for system, _, v in rows if system == entry.system and not math.isnan(v)]
        slack = 1e-9
        assert min(own) - slack <= entry.composite.value <= max(own) + slack
        assert 1 <= (entry.rank or 0) <= len(ranked)
        if not math.isnan(entry.composite.low):
            assert entry.composite.low < entry.composite.value < entry.composite.high
        if entry.rank_low is not None:
            assert entry.rank is not None
            assert entry.rank_high is not None
            assert 1 <= entry.rank_low <= entry.rank <= entry.rank_high <= len(ranked)


@given(_rows, st.randoms(use_true_random=False))
def test_the_order_of_responses_changes_nothing(rows: list[Row], random: Any) -> None:
    """Shuffled responses give the same board, intervals included."""
    shuffled = list(rows)
    random.shuffle(shuffled)
    for one, other in zip(board(rows), board(shuffled), strict=True):
        assert (one.system, one.rank, one.n_prompts) == (other.system, other.rank, other.n_prompts)
        assert (one.rank_low, one.rank_high) == (other.rank_low, other.rank_high)
        assert [one.composite.value, one.composite.low, one.composite.high] == pytest.approx(
            [other.composite.value, other.composite.low, other.composite.high],
            abs=1e-9,
            nan_ok=True,
        )


def test_a_system_that_mostly_declines_is_shown_and_not_ranked() -> None:
    """C has the highest mean, and 6 of its 10 judgments are abstentions: it is on the board with
    that mean, without rank, interval or difference, and A and B are ranked as if it were not there.
    With 5 of 10, half and no more, it is first."""
    table = np.array([[5.0, 4, 9], [6, 5, 8], [7, 5, 9], [6, 4, 7]])
    names, prompts = ["A", "B", "C"] * 4, [f"p{i}" for i in range(4) for _ in range(3)]

    def board(n_abstained: list[int]) -> Leaderboard:
        counts = np.zeros((12, 2), dtype=np.intp)
        counts[:, 1] = 3
        counts[2::3] = [[n, m] for n, m in zip(n_abstained, [3, 3, 2, 2], strict=True)]
        return rank_systems(
            names, prompts, table.ravel(), table.reshape(12, 1), ["x"], abstentions=counts
        )

    found = board([3, 3, 0, 0])
    last = found.systems[-1]
    assert (last.system, last.composite.value, last.dimensions["x"].value) == ("C", 8.25, 8.25)
    assert (last.rank, last.rank_low, last.rank_high) == (None, None, None)
    assert (last.n_abstained, last.n_judged, last.declines) == (6, 10, True)
    assert np.isnan([last.composite.low, last.composite.high, *last.dimensions["x"].ends]).all()
    assert last.composite.reason == Reason.DECLINES
    assert [(one.a, one.b) for one in found.differences] == [("A", "B")]
    without = rank_systems(
        ["A", "B"] * 4,
        [f"p{i}" for i in range(4) for _ in range(2)],
        table[:, :2].ravel(),
        np.empty((8, 0)),
        [],
    )
    assert [(e.system, e.rank, e.rank_high, e.composite.low) for e in found.systems[:2]] == [
        (e.system, e.rank, e.rank_high, e.composite.low) for e in without.systems
    ]
    assert found.differences[0].p_adjusted == without.differences[0].p_adjusted
    assert [e.system for e in board([3, 2, 0, 0]).systems] == ["C", "A", "B"]


# Judges who did not rate all


def board_of(ratings: np.ndarray, **options: object) -> Leaderboard:
    """The leaderboard of `(prompts, systems, judges)`, systems named A, B, …."""
    prompts, systems, judges = ratings.shape
    flat = ratings.reshape(-1, judges)
    with np.errstate(all="ignore"):
        composites = np.nanmean(flat, axis=1)
    return rank_systems(
        [chr(ord("A") + s) for s in range(systems)] * prompts,
        [f"p{p:02}" for p in range(prompts) for _ in range(systems)],
        composites,
        np.empty((len(flat), 0)),
        [],
        judges=JudgeSample(flat[:, :, None], {"rater": [f"j{j}" for j in range(judges)]}),
        **options,  # type: ignore[arg-type]
    )


def test_a_judge_who_read_one_system_moves_no_difference() -> None:
    """The first judge gives A 6, 7, 8 and B 5, 7, 7: by this judge A leads by 1, 0, 1. The second
    rates B alone, and gives 10: B has the higher mean, and the lead of A and its rank stay."""
    ratings = np.full((3, 2, 2), NAN)
    ratings[:, :, 0] = [[6, 5], [7, 7], [8, 7]]
    ratings[:, 1, 1] = 10
    found = board_of(ratings)
    assert {entry.system: entry.composite.value for entry in found.systems} == {"A": 7, "B": 49 / 6}
    assert [entry.system for entry in found.systems] == ["A", "B"]
    [difference] = found.differences
    assert (difference.a, difference.b, difference.n) == ("A", "B", 3)
    assert difference.value == pytest.approx(2 / 3)
    assert difference.p == pytest.approx(stats.ttest_1samp([1, 0, 1], 0).pvalue)


def test_systems_without_a_judge_in_common_have_no_difference() -> None:
    """One judge rates A alone and another B alone: nothing tells severity from merit."""
    ratings = np.full((4, 2, 2), NAN)
    ratings[:, 0, 0], ratings[:, 1, 1] = [5, 6, 7, 5], [9, 8, 9, 9]
    found = board_of(ratings)
    [difference] = found.differences
    assert math.isnan(difference.value) and math.isnan(difference.p)
    assert difference.reason == Reason.NO_SHARED_JUDGES
    assert [entry.rank_low for entry in found.systems] == [None, None]
    assert found.winner is None


def test_the_difference_of_two_systems_is_that_of_compared_texts() -> None:
    """Of two systems, a leaderboard with gaps has the difference, interval and p-value, also over
    judges, that `compare` has of the same ratings."""
    rng = np.random.default_rng(3)
    ratings = rng.normal(6, 1, (12, 2, 6))
    ratings[rng.random(ratings.shape) < 0.2] = NAN
    for random in ("prompts", "prompts-and-judges"):
        [difference] = board_of(ratings, random=random).differences
        sides = [ratings[:, "AB".index(name), :, None] for name in (difference.b, difference.a)]
        factors = {"rater": [f"j{j}" for j in range(6)]} if random != "prompts" else None
        compared = paired_difference(by_same_judges(*sides), range(12), factors)
        assert difference.value == pytest.approx(compared.value)
        assert difference.ends == pytest.approx(compared.ends)
        assert difference.p == pytest.approx(compared.p)


@given(st.integers(0, 10_000), st.lists(st.floats(-5, 5), min_size=4, max_size=4))
@settings(max_examples=25, deadline=None)
def test_severity_moves_no_difference(seed: int, severities: list[float]) -> None:
    """Whoever rated what: ranks, differences and p-values stay as judges become more severe."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(6, 1, (5, 3, 4))
    ratings[rng.random(ratings.shape) < 0.3] = NAN
    ratings[:, :, 0] = rng.normal(6, 1, (5, 3))
    before, after = board_of(ratings), board_of(ratings + severities)
    assert [entry.system for entry in before.systems] == [entry.system for entry in after.systems]
    for one, other in zip(before.differences, after.differences, strict=True):
        assert (one.value, one.p) == pytest.approx((other.value, other.p), abs=1e-6)


@pytest.mark.parametrize(("abstained", "declines"), [(2, False), (3, True)])
def test_who_abstains_on_more_than_half_of_the_judgments_declines(
    abstained: int, declines: bool
) -> None:
    """On half of them it does not: it is ranked, and its abstentions are counted."""
    names, prompts = ["A", "B"] * 5, [f"p{n // 2}" for n in range(10)]
    values = np.arange(10.0)
    counts = np.array([(0, 4), (abstained, 4)] * 5)
    found = rank_systems(names, prompts, values, values[:, None], ["d"], abstentions=counts)
    b = by_system(found.systems)["B"]
    assert (b.declines, b.rank is None) == (declines, declines)
    assert (b.n_abstained, b.n_judged, b.n_prompts) == (5 * abstained, 20, 5)
