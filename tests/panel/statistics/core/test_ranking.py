"""The leaderboard against numbers worked out by hand, a naive bootstrap and SciPy's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

from panel.statistics.core.ranking import SystemRank, competition_ranks, rank_systems

NAN = math.nan
Row = tuple[str, str, float]


def board(rows: Sequence[Row], seed: int = 0) -> list[SystemRank]:
    """The leaderboard of (system, prompt, composite) rows, with the composite as its
    only dimension."""
    values = np.array([row[2] for row in rows], dtype=float)
    return rank_systems(
        [row[0] for row in rows],
        [row[1] for row in rows],
        values,
        values[:, None],
        ["d"],
        seed=seed,
    )


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


# Means and ranks


def test_means_are_those_of_prompts() -> None:
    """Two responses to one prompt count as one: mean(mean(2, 4), 9) = 6, not 5."""
    entries = by_system(
        board([("A", "p1", 2), ("A", "p1", 4), ("A", "p2", 9), ("B", "p1", 5), ("B", "p2", 5)])
    )
    assert entries["A"].composite == 6
    assert entries["B"].composite == 5
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
        seed=0,
    )
    assert entry.dimensions == {"x": 5.0, "y": 5.0}
    assert (entry.composite, entry.n_prompts) == (4.0, 1)


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
    """NaN has no rank and takes none away from the others, row by row."""
    ranks = competition_ranks(np.array([[7.0, 9.0, NAN, 7.0], [NAN, NAN, NAN, 1.0]]))
    np.testing.assert_array_equal(ranks, [[2, 1, NAN, 2], [NAN, NAN, NAN, 1]])


def test_a_system_without_a_composite_is_unranked_and_last() -> None:
    """NaN composites give no rank, no interval and the last place; the others keep theirs."""
    entries = board([("A", "p1", NAN), ("A", "p2", NAN), ("Z", "p1", 3), ("Z", "p2", 4)])
    assert [entry.system for entry in entries] == ["Z", "A"]
    last = entries[1]
    assert (last.rank, last.rank_low, last.rank_high, last.n_prompts) == (None, None, None, 0)
    assert math.isnan(last.composite)
    assert math.isnan(last.ci_low)
    assert entries[0].rank == 1


def test_nothing_to_rank_is_an_empty_board() -> None:
    """No responses make no entries, and no error."""
    assert rank_systems([], [], np.empty(0), np.empty((0, 2)), ["x", "y"], seed=0) == []


# Intervals


def test_one_prompt_has_no_interval() -> None:
    """A single prompt cannot be resampled: NaN and None, while the rank stands."""
    for entry in board([("A", "p", 1), ("B", "p", 2)]):
        assert math.isnan(entry.ci_low)
        assert math.isnan(entry.ci_high)
        assert (entry.rank_low, entry.rank_high) == (None, None)
        assert entry.rank is not None


def test_a_system_with_one_prompt_has_none_beside_others_with_many() -> None:
    """The interval is refused system by system."""
    entries = by_system(board([*grid([[1.0], [2.0], [3.0]]), ("B", "p0", 9.0)]))
    assert math.isnan(entries["B"].ci_low)
    assert entries["B"].rank_low is None
    assert entries["A"].ci_low < 2.0 < entries["A"].ci_high


def test_a_sure_order_has_rank_intervals_of_one_place() -> None:
    """A system that is ahead on every prompt is ahead in every resample."""
    entries = board(grid([[9, 5, 1], [8, 6, 2], [9, 4, 3], [7, 5, 1]]))
    assert [(e.rank_low, e.rank, e.rank_high) for e in entries] == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]


def test_an_unsure_order_has_wide_rank_intervals() -> None:
    """Two systems that win two prompts each may both be first or second."""
    for entry in board(grid([[9, 1], [1, 9], [8, 2], [2, 8]])):
        assert (entry.rank_low, entry.rank_high) == (1, 2)


def test_the_seed_decides_the_numbers() -> None:
    """One seed gives one result twice; another seed another interval and the same composite."""
    rows = grid(np.random.default_rng(3).uniform(1, 10, (12, 3)).tolist())
    assert board(rows, 1) == board(rows, 1)
    one, other = board(rows, 1), board(rows, 2)
    assert [e.composite for e in one] == [e.composite for e in other]
    assert [e.ci_low for e in one] != [e.ci_low for e in other]


TABLE = [
    [7.0, 6.5, 3.0],
    [8.0, NAN, 4.0],
    [6.0, 7.5, 9.0],
    [5.5, 6.0, NAN],
    [9.0, 6.2, 5.0],
    [NAN, 5.0, 5.0],
]


def test_the_bootstrap_is_that_of_a_naive_loop() -> None:
    """With the same 2,000 draws, prompts picked one by one give the same means, ranks, bounds."""
    n_prompts, n_systems = len(TABLE), len(TABLE[0])
    generator = np.random.default_rng(11)
    means: list[list[float]] = [[] for _ in range(n_systems)]
    ranks: list[list[int]] = [[] for _ in range(n_systems)]
    for _ in range(2_000):
        times = generator.multinomial(n_prompts, [1 / n_prompts] * n_prompts)
        drawn = [TABLE[i] for i in range(n_prompts) for _ in range(times[i])]
        found = {}
        for system in range(n_systems):
            values = [line[system] for line in drawn if not math.isnan(line[system])]
            if values:
                found[system] = sum(values) / len(values)
        for system, mean in found.items():
            means[system].append(mean)
            ranks[system].append(1 + sum(other > mean + 1e-9 for other in found.values()))
    entries = by_system(board(grid(TABLE), seed=11))
    for system, name in enumerate("ABC"):
        entry = entries[name]
        low, high = np.percentile(means[system], [2.5, 97.5])
        assert (entry.ci_low, entry.ci_high) == pytest.approx((low, high), abs=1e-9)
        best, worst = np.percentile(ranks[system], [2.5, 97.5])
        assert (entry.rank_low, entry.rank_high) == (math.floor(best), math.ceil(worst))


def test_the_bootstrap_agrees_with_scipy() -> None:
    """SciPy's percentile bootstrap of the mean over 40 prompts gives the same interval."""
    values = np.random.default_rng(5).normal(6, 1.5, 40)
    [entry] = board(grid([[value] for value in values]))
    theirs = bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    # Two Monte Carlo quantiles of a mean whose standard error is 0.24.
    assert (entry.ci_low, entry.ci_high) == pytest.approx((theirs.low, theirs.high), abs=0.05)


# What holds for every batch

_scores = st.one_of(st.just(NAN), st.floats(0, 100).map(lambda x: round(x, 3)))
_rows = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from(["p1", "p2", "p3", "p4"]), _scores),
    min_size=1,
    max_size=24,
)


@given(_rows)
def test_everything_stays_within_its_bounds(rows: list[Row]) -> None:
    """Means and intervals lie within a system's own values, ranks within 1 to n, in order."""
    entries = board(rows)
    ranked = [entry for entry in entries if entry.rank is not None]
    assert [e.rank for e in ranked] == sorted(e.rank or 0 for e in ranked)
    assert [e.system for e in entries[: len(ranked)]] == [e.system for e in ranked]
    for entry in ranked:
        own = [v for system, _, v in rows if system == entry.system and not math.isnan(v)]
        slack = 1e-9
        assert min(own) - slack <= entry.composite <= max(own) + slack
        assert 1 <= (entry.rank or 0) <= len(ranked)
        if not math.isnan(entry.ci_low):
            assert min(own) - slack <= entry.ci_low <= entry.ci_high <= max(own) + slack
            assert entry.rank_low is not None
            assert entry.rank_high is not None
            assert 1 <= entry.rank_low <= entry.rank_high <= len(ranked)


@given(_rows, st.randoms(use_true_random=False))
def test_the_order_of_responses_changes_nothing(rows: list[Row], random: Any) -> None:
    """Shuffled responses give the same board, intervals included."""
    shuffled = list(rows)
    random.shuffle(shuffled)
    for one, other in zip(board(rows), board(shuffled), strict=True):
        assert (one.system, one.rank, one.n_prompts) == (other.system, other.rank, other.n_prompts)
        assert (one.rank_low, one.rank_high) == (other.rank_low, other.rank_high)
        assert [one.composite, one.ci_low, one.ci_high] == pytest.approx(
            [other.composite, other.ci_low, other.ci_high], abs=1e-9, nan_ok=True
        )
