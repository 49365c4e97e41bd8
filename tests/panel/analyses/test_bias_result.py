"""What is concluded of biases, rule by rule."""

from __future__ import annotations

from math import nan
from typing import Any

from persona_panel.analyses.bias_result import bias_conclusion
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.table import Row


def row(statistic: str, value: float, low: float, high: float, **more: Any) -> Row:
    """Of 12 prompts: an interval at 11 degrees of freedom, which two claims widen by
    t(0.9875)/t(0.975), 1.18, and three by 1.28."""
    given = {"group": "all", "dimension": "all", "ci_df": 11, "n_clusters": 12} | more
    return Row(statistic, value=value, ci_low=low, ci_high=high, **given)


def test_a_bias_is_established_by_a_widened_interval() -> None:
    """A bias for length from 0.05 up by itself: established alone; with two other biases its
    interval is widened to 0, and it is not."""
    length = row("length_correlation", 0.3, 0.05, 0.52)
    assert bias_conclusion([length])[0] == (
        "Significant: longer responses score higher (correlation with length +0.30, 95 % interval "
        "0.05 to 0.52)."
    )
    others = [row("self_preference", 0.1, -0.2, 0.4), row("position_bias", 0.0, -0.2, 0.2)]
    said = bias_conclusion([length, *others])
    assert said[0].startswith("Not significant, and not ruled out: correlation with length 0.30")
    assert "own-family bonus 0.10 (95 % interval −0.20 to 0.40)" in said[0]


def test_the_direction_of_a_bias_is_said() -> None:
    """Below 0: shorter responses, other families, and the second place."""
    for statistic, says in (
        ("length_correlation", "longer responses score lower"),
        ("self_preference", "judges prefer responses of other model families"),
        ("position_bias", "the response shown second wins more"),
    ):
        assert says in bias_conclusion([row(statistic, -0.5, -0.6, -0.4)])[0]


def test_shares_are_no_points() -> None:
    """An own-family bonus is in points of the scale; where judges compared responses, it is a
    share of these and has no unit."""
    bonus = row("self_preference", 0.5, 0.4, 0.6)
    rated, compared = (
        row("leniency", nan, nan, nan, group="ann", reason=reason)
        for reason in (Reason.NO_SHARED_ITEMS, Reason.COMPARED)
    )
    assert "(own-family bonus +0.50 points, 95 %" in bias_conclusion([bonus, rated])[0]
    assert "(own-family bonus +0.50, 95 %" in bias_conclusion([bonus, compared])[0]


def test_what_is_not_measured_is_said() -> None:
    """No comparison in both orders, no length: neither established nor ruled out."""
    rows = [
        Row("position_bias", "all", "all", reason=Reason.NO_BOTH_ORDERS),
        Row("length_correlation", "all", "all", reason=Reason.NO_LENGTHS),
    ]
    assert bias_conclusion(rows)[-1] == "Not measured: position bias and correlation with length."


def test_judges_who_differ_from_the_panel_are_named() -> None:
    """One lenient, one within chance, of all dimensions together where there are several."""
    rows = [
        row("length_correlation", 0.0, -0.3, 0.3),
        row("leniency", 0.5, 0.3, 0.7, group="ann"),
        row("leniency", -0.1, -0.3, 0.1, group="bob"),
        row("leniency", -0.9, -1.0, -0.8, group="bob", dimension="clarity"),
    ]
    assert bias_conclusion(rows)[-1] == "Of 2 judges, ann is more lenient than the panel."
    assert bias_conclusion([rows[0], rows[2]])[-1] == (
        "None of 1 judge is shown to be more lenient or more severe than the panel."
    )


def test_a_judge_of_few_prompts_has_their_degrees_of_freedom() -> None:
    """Of two judges an interval from 0.1 to 0.9 is widened by t(0.9875)/t(0.975): at 11 degrees of
    freedom by 1.18, to 0.03, and at 2, of a judge who rated three prompts, by 1.44, beyond 0."""
    other = row("leniency", 0.0, -0.3, 0.3, group="bob")
    for df, says in ((11, "Of 2 judges, ann is more lenient"), (2, "None of 2 judges is shown")):
        rows = [row("leniency", 0.5, 0.1, 0.9, group="ann", ci_df=df, n_clusters=df + 1), other]
        assert bias_conclusion(rows)[-1].startswith(says)


def test_one_judge_has_no_leniency() -> None:
    """Nobody to compare with."""
    alone = Row("leniency", "ann", "all", reason=Reason.FEW_RATERS)
    assert bias_conclusion([alone]) == [
        "Leniency cannot be measured: no two judges rated the same response."
    ]
