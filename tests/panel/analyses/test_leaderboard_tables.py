"""What the tables of a leaderboard show, and what stands below them."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel.analyses.leaderboard_tables import (
    differences_table,
    leaderboard_table,
    strengths_tables,
)
from persona_panel.analyses.score import score_result
from persona_panel.results.result import Result
from persona_panel.statistics import WinCounts, bradley_terry
from persona_panel.statistics.core.means import FAR_OFF, NEAR_THE_END
from persona_panel.statistics.core.ranking import Leaderboard, rank_systems
from persona_panel.statistics.core.sampled_mean import JudgeSample
from tests.helpers.gate_runs import run_of
from tests.helpers.noise import a_run


def board(table: list[list[float]]) -> Leaderboard:
    """Of a prompts × systems table of composites."""
    names = [name for _ in table for name in "ABCDEF"[: len(table[0])]]
    prompts = [f"p{i}" for i, line in enumerate(table) for _ in line]
    values = np.array(table).ravel()
    return rank_systems(names, prompts, values, np.empty((len(values), 0)), [])


def test_unusual_coverage_is_said_below_the_systems_and_their_dimensions() -> None:
    """Of one of two systems a prompt of six falls from 9 to 3 on a scale from 1 to 10, or
    its mean is 9.4; of runs of
    noise, of few and of many prompts, nothing is said."""
    scores = np.array([[9, 9, 8, 9, 9, 3], [5, 6, 5, 7, 6, 5]]).T[:, :, None]
    run = run_of(scores, ["ash", "birch"])
    tables = {table.name: table for table in score_result(run).tables}
    remark = f"{FAR_OFF}. Coverage of such 95 % intervals may be above 95 %, up to 100 %."
    assert f"ash: {remark}" in tables["systems"].remarks
    assert len(tables["dimensions"].remarks) == 1
    assert tables["dimensions"].remarks[0].endswith(f": {remark}")
    assert "birch" not in tables["dimensions"].remarks[0]
    near = score_result(run_of(scores[:5] / 6 + 8, ["ash", "birch"]))["systems"].remarks
    assert (
        f"ash: {NEAR_THE_END}. Coverage of such 95 % intervals may be far below 95 %: rare "
        "prompts with a much different mean would change it."
    ) in near
    for n_prompts in (3, 12, 40):
        assert "Coverage" not in score_result(a_run(n_prompts, 3, "ab")).text(full=True)


def printed(found: Leaderboard) -> str:
    """The tables of the leaderboard, as a terminal shows them."""
    systems = {entry.system: entry for entry in found.systems}
    tables = [leaderboard_table(found, systems, "Systems")]
    tables.append(differences_table(found, list(systems), "Differences between systems"))
    return Result("score", (), tables).text()


def test_judges_with_the_same_ratings_are_named_below_the_systems() -> None:
    """Of six judges the second repeats the first, then all but the last do, then all; of five who
    do not, or who are no sample, nobody is named."""
    scores = np.random.default_rng(0).integers(1, 6, (20, 2, 6)).astype(float)
    scores += np.arange(1, 6).repeat(8).reshape(20, 2, 1)
    scores[:, :, 1] = scores[:, :, 0]
    most = np.concatenate([scores[:, :, :1].repeat(5, axis=2), scores[:, :, 5:]], axis=2)
    all_but_last = "persona 0, persona 1, persona 2, persona 3"
    for kept, named in (
        (scores, "persona 0 and persona 1"), (most, f"{all_but_last} and persona 4"),
        (scores[:, :, :1].repeat(6, axis=2), f"{all_but_last}, persona 4 and persona 5"),
        (scores[:, :, 1:], ""), (scores[:, :, :4], ""),
    ):  # fmt: skip
        remarks = score_result(run_of(kept, ["ash", "birch"]))["systems"].remarks
        told = (
            f"{named} gave the same ratings to 40 of 40 responses. Intervals over prompts and "
            "judges take them for independent."
        )
        assert [each for each in remarks if "the same ratings" in each] == [told] * bool(named)


def test_long_names_leave_the_systems_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 columns, with names of 21 letters, every name stands once in each table."""
    monkeypatch.setenv("COLUMNS", "80")
    names = ["llama-3.1-8b-instruct", "claude-3-5-sonnet"]
    rows = [(name, f"p{p}") for name in names for p in range(4)]
    values = np.arange(len(rows)) % 3 + 5.0
    systems, of = [one for one, _ in rows], [one for _, one in rows]
    found = rank_systems(systems, of, values, np.empty((len(rows), 0)), [])
    shown = printed(found).partition("Differences")[0]
    assert shown.count(names[0]) == 1
    assert max(map(len, shown.splitlines())) <= 80


def test_differences_are_explained() -> None:
    """Below the differences: what is random, what the effect size is, and what a range of ranks
    leaves out."""
    told = " ".join(printed(board([[9, 5.1], [8.5, 4.2], [9.2, 5], [8.8, 5.3], [9, 4.9]])).split())
    assert "A − B" in told
    assert "4.00" in told
    assert "over prompts, judges fixed" in told
    assert "the mean of the prompts' differences, divided by their standard deviation" in told
    assert "leave out a place only where p, adjusted, is below 0.05" in told
    assert "may leave out 0 where the adjusted p is above 0.05" in told


def test_why_a_difference_is_not_tested_is_said() -> None:
    """With one prompt there is no interval and no p, of systems and of their difference."""
    told = printed(board([[9, 5]]))
    assert "No interval: composite: an interval needs two prompts" in told
    assert "No interval: difference: an interval needs two prompts" in told


def test_differences_that_lack_a_test_are_named_where_others_have_one() -> None:
    """B and C differ by 1 on every prompt, so that this pair alone has no spread."""
    told = printed(board([[9, 5, 4], [3, 6, 5], [6, 5.5, 4.5]]))
    assert "No interval: difference (B − C): no spread over prompts" in told


def test_equal_composites_are_no_interval_of_no_width() -> None:
    """Systems that have 5.24 and 5 on every prompt have no interval, with the reason."""
    told = printed(board([[5.24, 5.0]] * 3))
    assert "5.24 to 5.24" not in told
    assert "no spread over prompts" in told


def judged(ratings: np.ndarray) -> Leaderboard:
    """Of one system's ratings `(prompts, judges)`."""
    prompts = [f"p{i}" for i in range(len(ratings))]
    judges = JudgeSample(ratings[:, :, None], {"rater": [f"j{n}" for n in range(ratings.shape[1])]})
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


def test_many_differences_are_in_the_full_report() -> None:
    """Of six systems six of fifteen differences are shown, those of the first system before."""
    rng = np.random.default_rng(0)
    of = board((rng.normal(5, 1, (6, 6)) - np.arange(6)).tolist())
    systems = {entry.system: entry for entry in of.systems}
    table = differences_table(of, list(systems), "Differences between systems")
    short = Result("score", (), [table]).text("markdown")
    assert short.count(" − ") == 6
    assert all(f"A − {other}" in short for other in "BCDEF")
    assert Result("score", (), [table]).text("markdown", full=True).count(" − ") == 15
    assert "--full has the rest" in printed(of)


def test_a_system_that_declines_is_named_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of B 6 of 8 judgments are abstentions: its line has neither rank nor composite, and below the
    table stands why; programs have the mean of the others' ratings."""
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
    assert "B – – 2" in told
    systems = {entry.system: entry for entry in found.systems}
    assert leaderboard_table(found, systems, "").rows[1]["declining_mean"] == 4.65
    assert "Not ranked, as more than half of the judgments are abstentions: B (6 of 8)." in told


EVEN = [[0, 3, 2], [1, 0, 2], [2, 1, 0]]


def compared(*wins: list[list[int]], monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a table of wins a prompt, on 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    table = np.array(wins, dtype=float)
    names = ["anna", "bert", "carl"]
    found = bradley_terry(names, WinCounts(table, np.zeros_like(table)))
    return Result("score", (), list(strengths_tables(found, names))).text()


def test_figures_stand_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strength, win probability and both intervals of every system, on 80 columns."""
    other = [[0, 1, 4], [2, 0, 2], [1, 3, 0]]
    told = compared(EVEN, EVEN, EVEN, other, other, monkeypatch=monkeypatch)
    lines = told.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [sum(name in line for line in lines) for name in ("anna", "bert", "carl")] == [1, 1, 1]
    assert [line.count("[") for line in lines if "anna" in line] == [2]
    assert "0 is the mean. Win probability" in " ".join(told.split())
    assert "No interval" not in told
    assert "Undefined" not in told


def test_who_won_everything_is_named_and_has_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system and the reason, below the table of the others."""
    won = [[0, 3, 3], [0, 0, 2], [0, 1, 0]]
    told = " ".join(compared(won, won, [[0, 3, 3], [0, 0, 1], [0, 2, 0]],
                            monkeypatch=monkeypatch).split())  # fmt: skip
    assert "Undefined: strength (anna); win probability (anna): it won every comparison, so" in told
    assert "0 is the mean of those that have one" in told
    assert told.count("anna") == 3
    assert "inf" not in told.replace("finite", "")
    assert "nan" not in told


def test_two_prompts_have_no_interval_with_how_many_would_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Said once, as it holds for all."""
    told = " ".join(compared(EVEN, EVEN, monkeypatch=monkeypatch).split())
    assert "No interval: strength; win probability: fewer than five prompts." in told


def test_without_any_strength_the_reasons_stand_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """No column without a figure but the reason for each system."""
    told = compared(*[[[0, 1, 0], [1, 0, 0], [0, 0, 0]]] * 3, monkeypatch=monkeypatch)
    assert "carl" in told and "it was compared with no other system" in " ".join(told.split())
    told = compared(*[[[0, 1, 1], [0, 0, 1], [0, 0, 0]]] * 3, monkeypatch=monkeypatch)
    assert "no other system has a finite strength" in " ".join(told.split())
