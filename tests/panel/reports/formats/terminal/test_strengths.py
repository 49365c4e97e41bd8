"""The table of strengths, and what stands below it where some are undefined."""

from __future__ import annotations

import io

import numpy as np
import pytest

from persona_panel.reports.formats.terminal.strengths import show_strengths
from persona_panel.results.console import output
from persona_panel.statistics import WinCounts, bradley_terry

EVEN = [[0, 3, 2], [1, 0, 2], [2, 1, 0]]


def printed(*wins: list[list[int]], monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a table of wins a prompt, on 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    table = np.array(wins, dtype=float)
    names = ["anna", "bert", "carl"]
    to = io.StringIO()
    show_strengths(bradley_terry(names, WinCounts(table, np.zeros_like(table))), output(to))
    return to.getvalue()


def test_figures_stand_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strength, win probability and both intervals of every system, on 80 columns."""
    other = [[0, 1, 4], [2, 0, 2], [1, 3, 0]]
    told = printed(EVEN, EVEN, EVEN, other, other, monkeypatch=monkeypatch)
    lines = told.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [sum(name in line for line in lines) for name in ("anna", "bert", "carl")] == [1, 1, 1]
    assert [line.count(" to ") for line in lines if "anna" in line] == [2]
    assert "0 is the mean. Win probability" in " ".join(told.split())
    assert "No " not in told


def test_who_won_everything_is_named_and_has_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system and the reason, below the table of the others."""
    won = [[0, 3, 3], [0, 0, 2], [0, 1, 0]]
    told = " ".join(printed(won, won, [[0, 3, 3], [0, 0, 1], [0, 2, 0]],
                            monkeypatch=monkeypatch).split())  # fmt: skip
    assert "No strength: anna (it won every comparison, so no finite strength fits)." in told
    assert "0 is the mean of those listed" in told
    assert told.count("anna") == 1
    assert "inf" not in told.replace("finite", "")
    assert "nan" not in told


def test_two_prompts_have_no_interval_with_how_many_would_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Said once, as it holds for all."""
    told = " ".join(printed(EVEN, EVEN, monkeypatch=monkeypatch).split())
    assert "No interval (its interval takes five prompts)." in told


def test_without_any_strength_the_reason_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No empty table and nothing of how to read one."""
    told = printed(*[[[0, 1, 0], [1, 0, 0], [0, 0, 0]]] * 3, monkeypatch=monkeypatch)
    assert "No strength: carl (it was compared with no other system)." in " ".join(told.split())
    told = printed(*[[[0, 1, 1], [0, 0, 1], [0, 0, 0]]] * 3, monkeypatch=monkeypatch)
    assert "No strength: bert (no other system has a finite strength)." in " ".join(told.split())
    assert "log-odds" not in told
