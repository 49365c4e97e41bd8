"""What aligning a panel with people is said to show."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from persona_panel.analyses.align import align_conclusion, verdict
from persona_panel.statistics import (
    Alignment,
    HeldOutFigure,
    LearntAlignment,
    MethodAlignment,
    Ratings,
    Reason,
)

PANEL = Ratings(np.zeros((1, 1, 1)), ("i",), ("j",), ("all",), ("m",))
ERROR = HeldOutFigure(-0.5, -0.75, -0.25, p=0.001, a="aligned", b="panel", before=1.5, after=1.0)
GAIN = MethodAlignment("isotonic", (ERROR,), order_p=0.001, p=0.001, p_adjusted=0.003)
HIGHER = replace(-ERROR, before=1.0, after=1.5)


def said(
    *methods: MethodAlignment, dimension: str = "all", reason: Reason | None = None
) -> list[str]:
    learnt = LearntAlignment(0.612, 0.1, methods, 3, 60, 20, reason, dimension)
    return align_conclusion(Alignment(PANEL, (learnt,)))


def test_a_gain_has_its_interval_and_adjusted_p() -> None:
    """The change is given without its sign, and so are the ends of its interval."""
    assert said(GAIN, dimension="depth") == [
        "Isotonic recalibration lowers the error on depth on held-out prompts by 0.50 points (95 % "
        "interval 0.25 to 0.75, adjusted p 0.003): RMSE 1.00 instead of 1.50."
    ]
    worse = replace(GAIN, method="weights", figures=(HIGHER,))
    assert said(worse)[0].startswith("Judge weighting raises the error on held-out prompts by 0.50")


@pytest.mark.parametrize(
    ("p", "expected"), [(0.0499, "lower error"), (0.05, "no significant gain")]
)
def test_the_adjusted_p_value_decides(p: float, expected: str) -> None:
    """Whatever the p-value before it was adjusted."""
    assert verdict(replace(GAIN, p_adjusted=p)) == expected


def test_a_lower_error_without_order_is_no_gain() -> None:
    """Where only the error is lower, that is said, with why it is no gain."""
    drawn = replace(GAIN, order_p=0.4, p=0.4, p_adjusted=0.8)
    nothing = replace(
        GAIN,
        method="subset",
        figures=(replace(ERROR, p=0.6),),
        p=0.6,
        p_adjusted=0.8,
    )
    [one] = said(drawn, nothing)
    assert one.startswith(
        "No gain is significant by isotonic recalibration and judge selection: the error of "
        "isotonic recalibration is lower, but the scores are not shown to order texts as people do"
    )
    assert said(nothing) == ["No gain is significant by judge selection."]
    # Shown but for the adjustment, order and all: the order is not what is lacking, below 0.05.
    for p, is_lacking in ((0.0499, False), (0.05, True)):
        [one] = said(replace(GAIN, order_p=p, p=p, p_adjusted=0.15))
        assert ("are not shown to order texts" in one) is is_lacking


def test_dimensions_beside_the_composite_have_a_sentence_for_each_method() -> None:
    """Which of them it lowers the error on, by how much, and on which no gain is significant, in
    their labels where these tell them apart; the composite has its interval."""
    less = replace(GAIN, figures=(replace(ERROR, value=-8.125),))
    more = replace(GAIN, figures=(replace(ERROR, value=-16.25),))
    drawn = replace(GAIN, order_p=0.4, p=0.4, p_adjusted=0.8)
    none = replace(
        GAIN,
        method="subset",
        figures=(replace(ERROR, p=0.6),),
        p=0.6,
        p_adjusted=0.8,
    )
    dimensions = tuple(
        LearntAlignment(0.9, 0.8, methods, 3, 60, 20, None, name)
        for name, methods in {
            "composite": (GAIN,), "a": (less, none), "b": (more, none), "c": (drawn, none),
        }.items()
    )  # fmt: skip
    panel = replace(PANEL, labels={"a": "Clarity", "b": "Depth", "c": "Depth"})
    assert align_conclusion(Alignment(panel, dimensions))[1:] == [
        "By dimension, isotonic recalibration lowers the error on held-out prompts on Clarity and "
        "b (by 8.13 to 16.25 points); it has no significant gain on c (the error is lower, but the "
        "scores are not shown to order texts as people do).",
        "By dimension, judge selection has no significant gain on any dimension.",
    ]


def test_what_was_not_learnt_has_its_reason() -> None:
    """A method that learnt nothing, and a dimension on which people do not agree."""
    alone = MethodAlignment("weights", reason=Reason.ONE_JUDGE)
    assert said(alone) == ["Nothing was learnt by judge weighting: the panel has a single judge."]
    assert said(reason=Reason.PEOPLE_DISAGREE) == [
        "Nothing is learnt from people: the reliability of people's mean is not shown to be above "
        "0.25, so people do not agree enough to learn from (reliability 0.61, lower end of its 95 "
        "% interval 0.10, 20 prompts)."
    ]
    learnt = LearntAlignment(nan, nan, (), 1, 60, 20, Reason.FEW_PEOPLE)
    of = tuple(replace(learnt, dimension=name) for name in ("x", "y"))
    assert align_conclusion(Alignment(PANEL, of)) == [
        "Nothing is learnt from people on x and y: fewer than two people."
    ]
