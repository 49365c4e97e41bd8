"""What people's ratings are said to show of the leads that a panel has established."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from persona_panel.analyses.calibrate import (
    calibrate_conclusion,
    established_leads,
    leads_conclusion,
)
from persona_panel.results.conclusions.labels import called_by
from persona_panel.statistics import (
    Calibration,
    CorrectedMean,
    CorrectedPair,
    CorrectedSystem,
    Difference,
    Reason,
)
from persona_panel.statistics.core.ranking import Leaderboard, SystemDifference, sampled_mean

DIFFERENCE = CorrectedMean(
    panel=0.9, human_only=Difference(0.3, -0.6, 1.2), corrected=Difference(0.3, -0.2, 0.8, p=0.2),
    tuning=nan, n_items=60, n_human=15, n_prompts=60, to_halve=50,
)  # fmt: skip


def pair(
    value: float,
    p: float,
    reach: float = 0.1,
    dimension: str = "all",
    names: str = "ab",
    *,
    is_share: bool = False,
) -> CorrectedPair:
    a, b = names
    found = Difference(value, value - reach, value + reach, p_adjusted=p, a=a, b=b)
    return CorrectedPair(dimension, replace(DIFFERENCE, corrected=found), is_share)


def said(*pairs: CorrectedPair, leads: tuple[str, ...] = ("ab",)) -> list[str]:
    return leads_conclusion(
        Calibration(
            (CorrectedSystem("a", "all", DIFFERENCE),),
            pairs,
            leads=tuple((one[0], one[1]) for one in leads),
        )
    )


def test_what_people_show_needs_no_sentence() -> None:
    """p below 0.05 and an interval above 0 show a lead of a over b; seen from b, below 0. So does
    one dimension of two."""
    assert said(pair(0.3, 0.049)) == []
    assert said(pair(-0.3, 0.049, names="ba")) == []
    assert said(pair(0.3, 0.01, dimension="x"), pair(0.1, 0.4, 0.3, "y")) == []


@pytest.mark.parametrize(("p", "reach"), [(0.05, 0.1), (0.01, 0.3)])
def test_neither_p_nor_the_interval_alone_shows_it(p: float, reach: float) -> None:
    """An adjusted p of 0.05, and an interval whose end is 0, show no lead."""
    [sentence] = said(pair(-0.3, p, reach, names="ba"))
    ends = "0.20 to 0.40" if reach == 0.1 else "0.00 to 0.60"
    assert sentence == (
        "The panel's lead of a over b is not shown by people's ratings: corrected difference 0.30 "
        f"(95 % interval {ends}, adjusted p {p:g})."
    )


def test_the_contrary_is_said() -> None:
    """A difference that is shown on the other side is the contrary of the lead, on one dimension of
    two as well, which is named."""
    assert said(pair(-0.3, 0.01)) == [
        "People's ratings show the contrary of the panel's lead of a over b: corrected difference "
        "−0.30 (95 % interval −0.40 to −0.20, adjusted p 0.01)."
    ]
    [sentence] = said(pair(0.3, 0.01, dimension="x"), pair(-0.3, 0.01, dimension="y"))
    assert sentence.startswith(
        "People's ratings show the contrary of the panel's lead of a over b on y: corrected"
    )


def test_an_undefined_difference_says_nothing_of_a_lead() -> None:
    """Without a p-value it cannot be said, with the reason."""
    found = Difference(nan, reason=Reason.FEW_FOR_A_CORRECTION, a="a", b="b")
    assert said(CorrectedPair("all", replace(DIFFERENCE, corrected=found))) == [
        "Whether people's ratings show the panel's lead of a over b cannot be said: "
        f"{Reason.FEW_FOR_A_CORRECTION}."
    ]


def test_the_composite_decides_and_else_every_dimension() -> None:
    """A dimension that shows the lead does not where there is the composite, which does not; of
    dimensions alone none may show it. Shares of labels decide nothing."""
    assert "not shown" in said(pair(0.1, 0.4, 0.3), pair(0.3, 0.01, dimension="x"))[0]
    assert said(pair(0.1, 0.4, 0.3, "x"), pair(0.1, 0.4, 0.3, "y")) == [
        "The panel's lead of a over b is not shown by people's ratings on x and y: corrected "
        "differences, on x: 0.10 (95 % interval −0.20 to 0.40, adjusted p 0.4); on y: 0.10 (95 % "
        "interval −0.20 to 0.40, adjusted p 0.4)."
    ]
    assert said(pair(-0.3, 0.01, dimension="x:good", is_share=True)) == []


def test_a_share_that_is_the_composite_decides() -> None:
    """Where the composite is the share of a label, the difference in that share is the lead's, and
    not that of another label or a dimension."""
    share, other = (
        pair(value, 0.4, 0.3, f"x:{label}", is_share=True)
        for value, label in ((0.1, "good"), (-0.2, "bad"))
    )
    systems = (CorrectedSystem("a", "x:good", DIFFERENCE),)
    pairs = share, other, pair(0.3, 0.01, dimension="y")
    found = Calibration(
        systems, pairs, leads=(("a", "b"),), leads_on="x:good", labels={"x:good": "X: good"}
    )
    assert leads_conclusion(found.labelled(called_by(found.labels))) == [
        "The panel's lead of a over b is not shown by people's ratings on X: good: corrected "
        "difference 0.10 (95 % interval −0.20 to 0.40, adjusted p 0.4)."
    ]


def test_leads_are_named_up_to_four() -> None:
    """Two by name, each with its difference, seen from the better system; of more than four how
    many of all, and from where to where their differences are."""
    two = said(pair(0.1, 0.4, 0.3), pair(-0.2, 0.5, 0.3, names="ca"), leads=("ab", "ac"))
    assert two == [
        "The panel's leads of a over b and a over c are not shown by people's ratings: corrected "
        "differences, a − b: 0.10 (95 % interval −0.20 to 0.40, adjusted p 0.4); a − c: 0.20 (95 % "
        "interval −0.10 to 0.50, adjusted p 0.5)."
    ]
    names = ("ab", "ac", "ad", "ae", "af", "ag")
    pairs = [pair(k / 10, 0.4, 0.9, names=one) for k, one in enumerate(names[1:], start=-1)]
    assert said(pair(0.3, 0.01), *pairs, leads=names) == [
        "5 of the panel's 6 leads are not shown by people's ratings: corrected differences from "
        "−0.10 to 0.30."
    ]
    several = [
        pair(0.1, 0.4, 0.3, dimension, one) for one in ("ab", "ac", "ad") for dimension in "xy"
    ]
    [sentence] = said(*several, leads=("ab", "ac", "ad"))
    assert sentence.endswith(" on x and y: corrected differences from 0.10 to 0.10.")


def test_leads_are_the_established_differences() -> None:
    """Of a leaderboard those with an adjusted p below 0.05, the better system first; `people
    calibrate` says what people do not show of them after its own differences."""
    of = sampled_mean(np.array([1.0, 2.0, 3.0]))

    def differ(a: str, b: str, value: float, p: float) -> SystemDifference:
        return SystemDifference(value, n=3, p=p, p_adjusted=p, sampled=of, a=a, b=b)

    board = Leaderboard((), (differ("a", "b", -1, 0.01), differ("a", "c", 1, 0.05)), "prompts")
    assert established_leads(board) == (("b", "a"),)
    systems = (CorrectedSystem("a", "all", DIFFERENCE),)
    found = Calibration(systems, (pair(0.1, 0.4, 0.3),), leads=established_leads(board))
    assert calibrate_conclusion(found)[:2] == [
        "By the corrected means no system is shown to be ahead of another (1 difference).",
        "The panel's lead of b over a is not shown by people's ratings: corrected difference −0.10 "
        "(95 % interval −0.40 to 0.20, adjusted p 0.4).",
    ]
