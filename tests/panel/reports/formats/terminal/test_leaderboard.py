"""The leaderboard's tables, and what is said below them."""

from __future__ import annotations

import io

import numpy as np
import pytest

from persona_panel.reports.formats.terminal.leaderboard import show_leaderboard
from persona_panel.results.console import output
from persona_panel.statistics.core.ranking import (
    JudgeSample,
    Leaderboard,
    influence_of,
    rank_systems,
)


def board(table: list[list[float]]) -> Leaderboard:
    """Of a prompts × systems table of composites."""
    names = [name for _ in table for name in "ABCDEF"[: len(table[0])]]
    prompts = [f"p{i}" for i, line in enumerate(table) for _ in line]
    values = np.array(table).ravel()
    return rank_systems(names, prompts, values, np.empty((len(values), 0)), [])


def printed(found: Leaderboard) -> str:
    to = io.StringIO()
    show_leaderboard("Systems", found, output(to))
    return to.getvalue()


def test_long_names_leave_the_systems_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 columns, with names of 21 letters: the heads are on two lines, and the number of
    prompts, which all systems have alike, is said once; where they have not, it is a column."""
    monkeypatch.setenv("COLUMNS", "80")
    names = ["llama-3.1-8b-instruct", "claude-3-5-sonnet"]

    def shown(prompts: list[int]) -> str:
        rows = [(name, f"p{p}") for name, n in zip(names, prompts, strict=True) for p in range(n)]
        values = np.arange(len(rows)) % 3 + 5.0
        systems, of = [one for one, _ in rows], [one for _, one in rows]
        found = rank_systems(systems, of, values, np.empty((len(rows), 0)), [])
        return printed(found).partition("Differences")[0]

    told = shown([4, 4])
    assert told.startswith("Systems, 4 prompts each\n")
    assert told.count(names[0]) == 1
    assert "over prompts \n" in told
    assert "and judges \n" in told
    assert shown([4, 3]).startswith("Systems\n")
    assert "prompts \n" in shown([4, 3])


def test_differences_are_explained() -> None:
    """Below the differences: what is random, what the effect size is, and what a range of ranks
    leaves out."""
    told = " ".join(printed(board([[9, 5.1], [8.5, 4.2], [9.2, 5], [8.8, 5.3], [9, 4.9]])).split())
    assert "A − B" in told
    assert "4.00" in told
    assert "over prompts, with these judges as they are" in told
    assert "the mean of the prompts' differences, divided by their standard deviation" in told
    assert "leave out a place only where p, adjusted, is below 0.05" in told
    assert "may leave out 0 where the adjusted p is above 0.05" in told


def test_why_a_difference_is_not_tested_is_said() -> None:
    """With one prompt there is no interval and no p, of systems and of their difference."""
    told = printed(board([[9, 5]]))
    assert "No interval over prompts: an interval needs at least two prompts" in told
    assert "No interval and no p: an interval needs at least two prompts" in told


def test_differences_that_lack_a_test_are_named_where_others_have_one() -> None:
    """B and C differ by 1 on every prompt, so that this pair alone has no spread."""
    told = printed(board([[9, 5, 4], [3, 6, 5], [6, 5.5, 4.5]]))
    assert "No interval and no p for B − C: no spread over prompts" in told


def test_equal_composites_are_no_interval_of_no_width() -> None:
    """Systems that have 5.24 and 5 on every prompt have no interval, with the reason."""
    told = printed(board([[5.24, 5.0]] * 3))
    assert "5.24 to 5.24" not in told
    assert "no spread over prompts" in told


def judged(ratings: np.ndarray) -> Leaderboard:
    """Of one system's ratings `(prompts, judges)`."""
    prompts = [f"p{i}" for i in range(len(ratings))]
    judges = JudgeSample(
        influence_of(ratings[:, :, None]), {"rater": [f"j{n}" for n in range(ratings.shape[1])]}
    )
    return rank_systems(
        ["A"] * len(ratings),
        prompts,
        ratings.mean(axis=1),
        np.empty((len(ratings), 0)),
        [],
        judges=judges,
    )


def test_equal_intervals_are_explained() -> None:
    """With two prompts and judges that are all but alike both intervals are the same, and a remark
    says why; with judges who differ they are not, and there is none."""
    alike = np.array([[2.0, 2, 2, 2, 2.1], [6, 6, 6, 6, 6.1]])
    assert "Where both intervals are the same" in printed(judged(alike))
    differ = np.array([[2.0, 4, 6, 8, 9], [2.1, 4, 6, 8, 9.1], [2.0, 4.1, 6.1, 8, 9]])
    assert "Where both intervals are the same" not in printed(judged(differ))


def test_one_system_has_no_differences() -> None:
    """Of a single system there is no table of differences."""
    assert "Differences" not in printed(board([[5.0], [6.0]]))


def test_many_differences_are_in_the_file() -> None:
    """Of six systems six of fifteen differences are shown, those of the first system before."""
    rng = np.random.default_rng(0)
    told = printed(board((rng.normal(5, 1, (6, 6)) - np.arange(6)).tolist()))
    assert "9 more differences are in summary.json" in told
    assert all(f"A − {other}" in told for other in "BCDEF")


def test_a_system_that_declines_is_named_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of B 6 of 8 judgments are abstentions: its line has its mean and neither rank nor interval,
    and below the table stands why."""
    monkeypatch.delenv("COLUMNS", raising=False)
    table = np.array([[9, 5.1], [8.5, 4.2]])
    counts = np.array([[0, 4], [3, 4]] * 2)
    found = rank_systems(
        ["A", "B"] * 2,
        ["p", "p", "q", "q"],
        table.ravel(),
        np.empty((4, 0)),
        [],
        abstentions=counts,
    )
    told = " ".join(printed(found).split())
    assert "B – 4.65 – – 2" in told
    assert "Not ranked, as more than half of the judgments are abstentions: B (6 of 8)." in told
