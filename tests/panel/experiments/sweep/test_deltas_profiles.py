"""Profiles of cells that claim something, or nothing."""

from __future__ import annotations

import pytest

from persona_panel.experiments.sweep.deltas import Cell, Mean, SweepLabels, profiles


def cell(dimension: str, condition: str, value: float = 1.0, *, shown: bool = True) -> Cell:
    p = 0.01 if shown else 0.2
    delta = Mean(value, value - 0.5, value + 0.5, p, p, None, 1.0, value, 100)
    return Cell("s", dimension, condition, delta, 0, 0, 0, 0, 3.0, 1.2)


@pytest.mark.parametrize(
    ("cells", "kind", "name"),
    [
        ([cell("a", "x", shown=False)], "none shown", "no significant degradation"),
        ([cell("a", "x"), cell("b", "x", shown=False)], "one cell", "degrades in a under x"),
        (
            [cell("a", "x"), cell("b", "x")],
            "one condition",
            "degrades in several dimensions under x",
        ),
        (
            [cell("a", "x"), cell("a", "y")],
            "one dimension",
            "degrades in a under several conditions",
        ),
        (
            [cell("a", "x"), cell("b", "y")],
            "several",
            "degrades in several dimensions under several conditions",
        ),
    ],
)
def test_kinds(cells: list[Cell], kind: str, name: str) -> None:
    """Only cells that are shown decide what a system is vulnerable to."""
    [profile] = profiles(cells, ["s"], "placebo")
    assert (profile.kind, profile.in_words(SweepLabels())) == (kind, name)


def test_an_interval_that_holds_zero_claims_nothing() -> None:
    """A small adjusted p is not enough where the interval reaches 0."""
    mean = Mean(0.4, 0.0, 0.8, 0.001, 0.02, None, 0.8, 0.5, 100)
    [profile] = profiles([Cell("s", "a", "x", mean, 0, 0, 0, 0, 3.0, 1.2)], ["s"], None)
    assert profile.kind == "none shown"
    assert profile.degraded == ()


def test_the_placebo_is_no_pressure() -> None:
    """What rewording alone degrades is told, and is no vulnerability to pressure."""
    [profile] = profiles([cell("a", "placebo")], ["s"], "placebo")
    assert (profile.kind, profile.rewording, len(profile.degraded)) == ("none shown", True, 1)


def test_the_largest_come_first_and_improvements_apart() -> None:
    """Degraded cells by size; what got better is not among them."""
    cells = [cell("a", "x", 1), cell("b", "x", 3), cell("c", "x", -2)]
    [profile] = profiles(cells, ["s"], None)
    assert [one.dimension for one in profile.degraded] == ["b", "a"]
    assert [one.dimension for one in profile.improved] == ["c"]
