"""What is concluded from a sweep, rule by rule."""

from __future__ import annotations

import re
from math import nan
from typing import Any

import numpy as np
import pytest

from persona_panel.experiments.sweep.conclusion import sweep_conclusion
from persona_panel.experiments.sweep.deltas import Cell, Mean, Names, SweepLabels, measure, profiles
from persona_panel.results.conclusions.score import Judged
from persona_panel.statistics.core.means import assured

WHOLE = Judged(n_judges=6, n_personas=3, n_models=2, expected=60, scored=60)


def cell(
    dimension: str,
    condition: str,
    value: float,
    p: float,
    *,
    reach: float = 0.5,
    sd: float = 1.0,
    n: int = 100,
    p_bounded: float | None = None,
) -> Cell:
    delta = Mean(value, value - reach, value + reach, p, p, p_bounded, sd, value / sd, n)
    return Cell("s", dimension, condition, delta, 0, 0, 0, 0, 3.0, 1.2)


def concluded(cells: list[Cell], judged: Judged = WHOLE) -> list[str]:
    found = profiles(cells, ["s"], "placebo")
    return sweep_conclusion(cells, found, judged, SweepLabels())


def test_degradations_and_improvements_are_claimed_where_they_are_shown() -> None:
    """One cell worse, one better, one open, each with its figures; the widest interval of what is
    open, and how many prompts would establish its Δ: an effect of 0.3, in one of one open cells,
    takes 340 prompts (`assured`)."""
    open_ = cell("c", "x", 0.3, 0.4, n=30)
    said = concluded([cell("a", "x", 2, 0.01), cell("b", "x", -1, 0.02), open_])
    assert said[0] == (
        "s degrades in a under x, by 2.00 points (95 % interval 1.50 to 2.50, adjusted p 0.01); it "
        "improves in b under x, by 1.00 points (95 % interval 0.50 to 1.50, adjusted p 0.02)."
    )
    assert said[1].endswith("in 1 such cell intervals reach up to a Δ of 0.80 (c under x).")
    needed = assured(0.3, 1.0, 30, 0.0, 0.05).needed
    assert needed is not None
    assert 330 < needed <= 340
    assert said[2] == (
        "About 340 new prompts would establish the largest of them (0.30 points, c under x) with a "
        "probability of 80 % (now 30)."
    )


def test_labels_stand_in_place_of_ids() -> None:
    """All prompts fall, by 0.4 or 0.6: 2 of 4,096 patterns of signs are as far from 0; 2 more are,
    of the other cell, whose Δs have one size."""
    delta = np.tile([0.4, 0.6], 12).reshape(1, 12, 1, 2)
    delta[0, :, 0] = np.tile([[0.4, 0.5], [0.6, -0.5]], (6, 1))
    none = np.zeros((1, 12, 1), dtype=np.intp)
    found = measure(delta, Names(("s",), ("p",) * 12, ("x",), ("a", "b")), none, none)
    cells = list(found.cells)
    labels = SweepLabels({"a": "Clarity"}, {"x": "Flattery"})
    [profile] = profiles(cells, ["s"], None)
    said = sweep_conclusion(cells, [profile], WHOLE, labels)
    assert cells[0].delta.p_max_t == pytest.approx(4 / 4096)
    assert said[0].startswith("s degrades in Clarity under Flattery, by 0.50 points (95 % interval")
    assert profile.in_words(labels) == "degrades in Clarity under Flattery"


def test_of_many_cells_the_largest_are_named() -> None:
    """Five cells degrade: three are named, two are counted."""
    [said] = concluded([cell(name, "x", 2 + i, 0.01) for i, name in enumerate("abcde")])
    assert said.startswith("s degrades in e under x, by 6.00 points")
    assert said.endswith("; and in 2 more cells.")


def test_nothing_shown_is_no_robustness() -> None:
    """No change is significant, and the interval that reaches farthest is named."""
    said = concluded([cell("a", "x", 0.4, 0.06, reach=0.8), cell("b", "x", 0.1, 0.9)])
    assert said[0] == "s: no change is significant in any of 2 cells."
    assert "does not show that there is none" in said[1]
    assert "up to a Δ of 1.20 (a under x)" in said[1]


def test_a_strong_delta_that_may_be_chance_is_not_claimed() -> None:
    """A Δ of 3 whose adjusted p is 0.2 is no degradation."""
    assert "no change is significant" in concluded([cell("a", "x", 3, 0.2)])[0]


def test_few_prompts_can_show_nothing() -> None:
    """Student's test takes two prompts; where all have the same Δ, six are the least: 2⁻⁵ = 0.031,
    and five give 0.0625."""
    assert concluded([cell("a", "x", 3, nan, n=1)])[1] == (
        "With 1 prompt no effect of any size can be significant: at least 2 prompts are needed."
    )
    same = cell("a", "x", 3, 0.0625, n=5, reach=nan, sd=nan)
    assert concluded([same])[1:] == [
        "All prompts have the same Δ (3.00 points, a under x): it can be significant from 6 "
        "prompts on."
    ]


def test_where_asymmetry_blocks_a_claim_no_number_is_given() -> None:
    """A degradation that the first test shows, but the test for asymmetric Δs does not."""
    said = concluded([cell("a", "x", 0.6, 0.001, p_bounded=0.2, n=30)])
    assert said[-1] == (
        "The changes are plainly asymmetric, and the largest of these degradations (0.60 points, a "
        "under x) is opposite to the longer tail: how many prompts would establish it is not "
        "known."
    )
    assert "About" in concluded([cell("a", "x", 0.3, 0.2, p_bounded=0.01, n=30)])[-1]


def test_what_is_open_takes_more_prompts_than_there_are() -> None:
    """On 170 random sweeps, of symmetric and of asymmetric Δs, no sentence gives a number of
    prompts that is not above the one there is now."""
    given = blocked = 0
    for seed in range(170):
        rng = np.random.default_rng(seed)
        n, conditions = int(rng.choice([3, 6, 12, 30])), int(rng.integers(1, 4))
        shape = (1, n, conditions, 2)
        rises = np.where(rng.random(shape) < 0.1, -4.5, 0.5)
        delta = [rng.normal(0.3, 1, shape), rises + rng.normal(0, 0.2, shape)][seed % 2]
        names = Names(("s",), ("p",) * n, tuple("xyz"[:conditions]), ("a", "b"))
        none = np.zeros(shape[:3], dtype=np.intp)
        found = measure(delta, names, none, none)
        cells = list(found.cells)
        said = " ".join(concluded(cells))
        blocked += "plainly asymmetric" in said
        for told in re.findall(r"About ([\d,]+) new prompts|at least (\d+) prompts", said):
            given += 1
            assert int("".join(told).replace(",", "")) > n
    assert given > 20
    assert blocked > 20


def test_the_placebo_is_named_as_a_reason() -> None:
    """Rewording alone degrades something, or what pressure degrades as well."""
    reworded = cell("a", "placebo", 2, 0.01)
    assert concluded([reworded])[1].startswith("Rewording without pressure lowers scores: ")
    said = concluded([reworded, cell("a", "x", 2, 0.01)])
    assert said[1].startswith("Rewording without pressure lowers scores, too: ")


def test_a_profile_names_what_degrades() -> None:
    """A system that mere rewording degrades has no profile that denies it."""
    told = [
        profiles(cells, ["s"], "placebo")[0].in_words(SweepLabels())
        for cells in ([cell("a", "placebo", 2, 0.01)], [cell("a", "placebo", 2, 0.9)])
    ]
    assert told == [
        "no significant degradation but under mere rewording",
        "no significant degradation",
    ]


def test_what_was_not_measured_is_said() -> None:
    """A system without any Δ; and a sweep without any judgment, with the reasons alone."""
    nothing: Any = Mean(nan, nan, nan, nan, nan, None, nan, nan, 0)
    empty = Cell("s", "a", "x", nothing, 0, 0, 0, 0, 3.0, 1.2)
    assert concluded([empty]) == ["s: nothing could be measured."]
    failed = Judged(1, 1, 1, expected=6, scored=0, missing={"failed": 6})
    assert concluded([empty], failed) == [
        "None of 6 judgments was scored (6 failed): nothing can be concluded."
    ]
