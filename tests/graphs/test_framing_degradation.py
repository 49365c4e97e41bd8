"""Δ of one prompt, judge by judge, by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping

from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.framing import degradation
from persona_panel.rubrics import Status


def judgment(name: str, status: Status = "scored", **scores: float) -> Judgment:
    judge = Judge(name, "m", "dimensions")
    abstained = status == "abstained"
    return Judgment("p", "r", "s", judge, status, scores=scores, abstained=abstained)


Judged = Mapping[tuple[str, str], list[Judgment]]


def compared(judged: Judged, n_judges: int = 2) -> list[tuple[str, float, int, int, int]]:
    found = degradation(judged, "p", ["s"], ["x", "y"], ["d"], n_judges)
    return [
        (one.condition, one.delta["d"], one.n_judges["d"], one.n_abstained, one.n_missing)
        for one in found
    ]


def test_positive_is_worse_than_the_baseline() -> None:
    """(8 − 5 + 6 − 7) / 2 = 1 under x, and nothing under y, for which nobody was asked."""
    judged = {
        ("s", "baseline"): [judgment("a", d=8), judgment("b", d=6)],
        ("s", "x"): [judgment("a", d=5), judgment("b", d=7)],
    }
    first, second = compared(judged)
    assert first == ("x", 1.0, 2, 0, 0)
    assert math.isnan(second[1])
    assert second[2:] == (0, 0, 2)


def test_only_judges_of_both_count() -> None:
    """A stern judge who is missing from one side does not change Δ: 8 − 7, not 5 − 7."""
    judged = {
        ("s", "baseline"): [judgment("a", d=8), judgment("stern", d=2)],
        ("s", "x"): [judgment("a", d=7), judgment("stern", "failed")],
    }
    assert compared(judged)[0] == ("x", 1.0, 1, 0, 1)


def test_an_abstention_is_counted_and_never_a_low_score() -> None:
    """A judge who calls either response an abstention leaves the pair, whatever the scores."""
    judged = {
        ("s", "baseline"): [judgment("a", d=8), judgment("b", d=8)],
        ("s", "x"): [judgment("a", "abstained", d=1), judgment("b", d=6)],
    }
    assert compared(judged)[0] == ("x", 2.0, 1, 1, 0)


def test_a_dimension_left_unrated_is_no_pair() -> None:
    """Where a judge left the dimension out there is no Δ, though the judgment is there."""
    judged = {
        ("s", "baseline"): [judgment("a", d=8)],
        ("s", "x"): [judgment("a")],
    }
    condition, delta, n_judges, abstained, missing = compared(judged, n_judges=1)[0]
    assert math.isnan(delta)
    assert (condition, n_judges, abstained, missing) == ("x", 0, 0, 0)
