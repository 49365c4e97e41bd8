"""Whether figures meet requirements, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from scipy import stats

from persona_panel.files.errors import InputError
from persona_panel.results.decision import (
    decide,
    decide_all,
    named,
    parsed,
    sentence,
)
from persona_panel.results.required_figures import Figure, FigureKey, exact, result_figures
from persona_panel.results.requirement import parse_requirement
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.jackknife import VariancePart
from persona_panel.statistics.core.means import FEW_OFF_AN_END, assured
from persona_panel.statistics.core.sampled_mean import (
    SampledMean,
    prompts_assured,
    sampled_mean,
)

# Of 12 prompts with a mean of 6.5 and a standard deviation of 1: ± t(11) / sqrt(12) = 0.635.
LOW, HIGH = 6.5 - 0.6353696, 6.5 + 0.6353696
KEY = (FigureKey("a"),)
FIGURE = Figure("composite", KEY, "", 6.5, LOW, HIGH, "over prompts", n_prompts=12, df=11)


def why(expression: str, figure: Figure = FIGURE, *, by_point: bool = False) -> tuple[bool, str]:
    found = decide(parse_requirement(expression), figure, by_point=by_point)
    return found.met, found.why


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("composite[a] >= 5.86", (True, "interval")),
        ("composite[a] >= 5.87", (False, "open")),
        ("composite[a] >= 6.6", (False, "contrary")),
        ("composite[a] >= 7.13", (False, "contrary")),
        ("composite[a] >= 7.14", (False, "beyond")),
        ("composite[a] <= 7.14", (True, "interval")),
        ("composite[a] <= 7.13", (False, "open")),
        ("composite[a] <= 6.4", (False, "contrary")),
        ("composite[a] <= 5.86", (False, "beyond")),
        ("composite[a] > 6.5", (False, "contrary")),
        ("composite[a] >= 6.5", (False, "contrary")),
    ],
)
def test_the_unfavourable_end_decides(expression: str, expected: tuple[bool, str]) -> None:
    """At least: by the low end; at most: by the high end."""
    assert why(expression) == expected


def test_the_end_itself() -> None:
    """An interval that ends on the bound meets >= and not >."""
    at = replace(FIGURE, low=6.0)
    assert why("composite[a] >= 6", at)[0]
    assert not why("composite[a] > 6", at)[0]


def test_the_estimate_decides_where_that_is_wanted() -> None:
    """By the estimate: met at the bound itself, whatever the interval."""
    assert why("composite[a] >= 6.5", by_point=True) == (True, "estimate")
    assert why("composite[a] > 6.5", by_point=True) == (False, "estimate")


def test_counts_are_decided_by_their_value() -> None:
    """Coverage and counts have no interval and want none."""
    coverage = exact("coverage", 0.98, "49 of 50 judgments")
    assert why("coverage >= 0.98", coverage) == (True, "value")
    assert why("coverage > 0.98", coverage) == (False, "value")


def test_what_is_undefined_or_has_no_interval_meets_nothing() -> None:
    """No figure meets neither side, by the estimate neither; no interval meets nothing but by the
    estimate; the reason is in the sentence."""
    nothing = Figure("composite", KEY, reason="no response has a composite")
    for expression in ("composite[a] >= -100", "composite[a] <= 100"):
        for by_point in (True, False):
            assert why(expression, nothing, by_point=by_point) == (False, "undefined")
    said = sentence(decide(parse_requirement("composite[a] >= 6"), nothing))
    assert said == (
        "composite[a] >= 6 is not met: the figure is undefined (no response has a composite)."
    )
    without = replace(FIGURE, low=nan, high=nan, reason="one prompt only")
    assert why("composite[a] >= 6", without) == (False, "no interval")
    assert why("composite[a] >= 6", without, by_point=True) == (True, "estimate")
    said = sentence(decide(parse_requirement("composite[a] >= 6"), without))
    assert "it has no interval, which decides (one prompt only)" in said
    assert "--require-point" in said


def test_an_interval_that_covers_too_seldom_decides_nothing() -> None:
    """Where too few ratings differ from an end of the scale for the interval of α, no bound is met,
    not by an interval wholly on its right side; by the estimate as ever."""
    cell = Estimate(0.62, 0.5, 0.74, n=12, caution=FEW_OFF_AN_END)
    columns = [Column("krippendorff_alpha", "estimate", "α", figure="alpha")]
    rows = [{"dimension": "depth", "krippendorff_alpha": cell}]
    table = Table("agreement", (Key("dimension"),), columns, rows)
    [alpha] = result_figures(Result("agree", (), (table,)))
    for expression in ("alpha[depth] >= 0.4", "alpha[depth] <= 0.9"):
        assert why(expression, alpha) == (False, "uncertain")
        assert why(expression, alpha, by_point=True) == (True, "estimate")
        assert why(expression, replace(alpha, uncertain="")) == (True, "interval")
    said = sentence(decide(parse_requirement("alpha[depth] >= 0.4"), alpha))
    assert f"its interval decides nothing, as {FEW_OFF_AN_END}. More prompts may help." in said
    assert "--require-point" in said


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("composite[a] >= 5",
         "composite[a] >= 5 is met: 6.50 (95 % interval over prompts 5.86 to 7.14, 12 prompts)."),
        ("composite[a] >= 8",
         "composite[a] >= 8 is not met: 6.50 (95 % interval over prompts 5.86 to 7.14, 12 "
         "prompts); the whole interval is below 8."),
        ("composite[a] > 7",
         "composite[a] > 7 is not met: 6.50 (95 % interval over prompts 5.86 to 7.14, 12 "
         "prompts); it is at or below 7 itself: if that is so, no number of prompts meets the "
         "requirement."),
        ("composite[a] < 6.5",
         "composite[a] < 6.5 is not met: 6.50 (95 % interval over prompts 5.86 to 7.14, 12 "
         "prompts); it is at or above 6.5 itself: if that is so, no number of prompts meets the "
         "requirement."),
        ("composite[a] >= 6",
         "composite[a] >= 6 is not met: 6.50 (95 % interval over prompts 5.86 to 7.14, 12 "
         "prompts); the interval reaches below 6. About 210 new prompts would "
         "meet it with a probability of 80 % (now 12). If the figure is exactly as found, about 34 "
         "prompts do so in 80 % of cases."),
        ("composite[a] < 7",
         "composite[a] < 7 is not met: 6.50 (95 % interval over prompts 5.86 to 7.14, 12 "
         "prompts); the interval reaches to 7 or above. About 210 new prompts would "
         "meet it with a probability of 80 % (now 12). If the figure is exactly as found, about 34 "
         "prompts do so in 80 % of cases."),
    ],
)  # fmt: skip
def test_sentences(expression: str, expected: str) -> None:
    """What was required and found, and what would settle it."""
    assert sentence(decide(parse_requirement(expression), FIGURE)) == expected


@pytest.mark.parametrize("is_as_observed", [True, False])
def test_how_likely_new_prompts_meet_a_requirement(is_as_observed: bool) -> None:
    """Drawn from what 12 prompts leave open, with a prior worth four prompts at the bound, so many
    new ones meet it in 80 %, and fewer where mean and deviation are exactly as found."""
    assurance = decide(parse_requirement("composite[a] >= 6"), FIGURE).assured
    assert assurance is not None
    n_new = assurance.as_observed if is_as_observed else assurance.needed
    assert n_new is not None
    rng, n, m = np.random.default_rng(0), 12, 40_000
    away, sd = 0.5, (7.14 - 6.5) / stats.t.ppf(0.975, n - 1) * n**0.5
    weight, mean, spread = n / (n + 4), np.full(m, away), np.full(m, sd)
    if not is_as_observed:
        spread = sd * np.sqrt((n - 1) / rng.chisquare(n - 1, m))
        mean = rng.normal(weight * away, spread * (weight / n) ** 0.5)
    new = rng.normal(mean, spread / n_new**0.5)
    error = spread * np.sqrt(rng.chisquare(n_new - 1, m) / (n_new - 1) / n_new)
    met = np.mean(new / error > stats.t.ppf(0.975, n_new - 1))
    assert met == pytest.approx(0.8, abs=0.02)


def test_a_figure_is_shown_on_its_side_of_the_bound() -> None:
    """5.9996 is not shown as 6.00 where 6 is required, nor 0.97996 as 0.98."""
    figure = replace(FIGURE, value=5.9996, low=5.9, high=6.1)
    assert " 5.9996 (" in sentence(decide(parse_requirement("composite[a] >= 6"), figure))
    coverage = exact("coverage", 0.97996)
    assert sentence(decide(parse_requirement("coverage >= 0.98"), coverage)) == (
        "coverage >= 0.98 is not met: 0.97996."
    )


def test_the_last_bits_of_a_share_do_not_decide() -> None:
    """0.1 + 0.2 meets both sides of 0.3 and is shown as 0.3; 2e-9 more is more, and shown so."""
    third, more = exact("coverage", 0.1 + 0.2), exact("coverage", 0.3 + 2e-9)
    met = {"coverage >= 0.3": True, "coverage <= 0.3": True, "coverage > 0.3": False}
    for expression, expected in (met | {"coverage < 0.3": False}).items():
        decided = decide(parse_requirement(expression), third)
        assert decided.met is expected
        assert sentence(decided).endswith(" met: 0.3000.")
    decided = decide(parse_requirement("coverage <= 0.3"), more)
    assert sentence(decided) == "coverage <= 0.3 is not met: 0.300000002."


def test_judges_may_be_what_is_lacking() -> None:
    """With judges as a sample that leaves open more than the distance to the bound, no number of
    prompts is named but more judges."""
    judges = (VariancePart(0.25, 4.0),)
    sampled = SampledMean(6.5, ((0.58, 6.0),), 12, judges=judges)
    figure = replace(FIGURE, low=5.08, high=7.92, sampled=sampled)
    said = sentence(decide(parse_requirement("composite[a] >= 6"), figure))
    assert said.endswith("with these judges: more judges are needed.")


def test_the_level_chooses_the_interval() -> None:
    """At 90 % the interval reaches t(0.95, 11) = 1.7959 standard errors of 1 / √12: 5.982 to 7.018,
    and the sentence has it; more prompts are counted for that level, fewer than for 95 %."""
    assert stats.t.ppf(0.95, 11) / 12**0.5 == pytest.approx(6.5 - 5.98157, abs=1e-5)
    assert why("composite[a] >= 5.98 level=0.9") == (True, "interval")
    assert why("composite[a] >= 5.99 level=0.9") == (False, "open")
    assert why("composite[a] >= 5.98") == (False, "open")
    assert why("composite[a] <= 7.02 level=0.9") == (True, "interval")
    assert why("composite[a] <= 7.01 level=0.9") == (False, "open")
    found = decide(parse_requirement("composite[a] >= 5.98 level=0.9"), FIGURE)
    assert sentence(found) == (
        "composite[a] >= 5.98 level=0.9 is met: 6.50 (90 % interval over prompts 5.982 to 7.02, 12 "
        "prompts)."
    )
    needed = [
        decide(parse_requirement(f"composite[a] >= 6.1 level={level}"), FIGURE).assured
        for level in (0.9, 0.95)
    ]
    expected = [assured(6.5, 1.0, 12, 6.1, alpha).needed for alpha in (0.1, 0.05)]
    assert [each and each.needed for each in needed] == expected
    assert expected[0] < expected[1]


def test_another_level_takes_the_parts_of_the_figure() -> None:
    """A mean of prompts and judges has the wider of its standard errors at each level; an interval
    that is cut at an end of the scale reaches as far on the other side; and one that is no
    Student's is known at 95 % alone."""
    parts = SampledMean(6.5, ((0.2, 11.0), (0.25, 4.0)), 12)
    figure = Figure("composite", KEY, "", 6.5, *parts.interval(), sampled=parts)
    assert figure.at(0.8).low == pytest.approx(6.5 - 0.25 * stats.t.ppf(0.9, 4))
    assert figure.at(0.95) is figure
    cut = replace(FIGURE, high=7.0, limits=(1.0, 7.0))
    assert cut.at(0.9).low == pytest.approx(6.5 - stats.t.ppf(0.95, 11) / 12**0.5, abs=1e-6)
    assert (cut.at(0.9).high, cut.at(0.99).high, cut.at(0.9).level) == (7.0, 7.0, 0.9)
    below = replace(FIGURE, low=6.0, limits=(6.0, 10.0)).at(0.9)
    assert (below.low, below.high) == (6.0, pytest.approx(7.01843, abs=1e-5))
    skewed = replace(FIGURE, high=8.0)
    assert why("composite[a] >= 3", skewed) == (True, "interval")
    for other in (skewed, replace(FIGURE, df=nan)):
        # At a lower level the wider interval that is known decides.
        assert why("composite[a] >= 3 level=0.9", other) == (True, "interval")
        assert why("composite[a] >= 3 level=0.99", other) == (False, "no interval")
        assert other.at(0.99).reason == "its interval is known at 95 % alone"
    said = sentence(decide(parse_requirement("composite[a] >= 3 level=0.99"), skewed))
    assert "which decides (its interval is known at 95 % alone)" in said


def test_near_the_end_of_a_scale_the_spread_at_the_bound_counts() -> None:
    """Twelve prompts near the top of a scale from 1 to 5: more prompts are needed than a spread
    that stays as it is would take, as it is larger where the mean is the bound."""
    scores = np.array([5, 4.9, 5, 4.8, 4.7, 4.9, 5, 4.8, 4.9, 5, 4.4, 5.0])
    found = sampled_mean(scores, limits=(1, 5))
    low, high = found.interval()
    figure = Figure(
        "composite", KEY, "", found.mean, low, high, "over prompts", (1, 5),
        n_prompts=12, sampled=found,
    )  # fmt: skip
    decision = decide(parse_requirement("composite[a] >= 4.75"), figure)
    assert (decision.met, decision.why, decision.end) == (False, "open", low)
    assert decide(parse_requirement(f"composite[a] >= {low - 1e-6}"), figure).met
    endless = replace(figure, limits=(-np.inf, np.inf))
    without = decide(parse_requirement("composite[a] >= 4.75"), endless)
    assert decision.assured is not None
    assert without.assured is not None
    assert decision.assured.limit < without.assured.limit


def test_near_the_end_of_a_scale_the_spread_of_judges_grows_too() -> None:
    """From the share 0.9 of the scale to 0.825 variances grow by 0.825 · 0.175 / (0.9 · 0.1): those
    of prompts, of judges, and of these the part that differs from prompt to prompt."""
    more = 0.825 * 0.175 / 0.09
    sampled = SampledMean(4.6, ((0.1, 11.0),), 12, judges=(VariancePart(0.004, 40.0, 0.002),))
    figure = Figure(
        "composite", KEY, "", 4.6, 4.2, 4.9, "over prompts", (1, 5), n_prompts=12, sampled=sampled
    )
    found = decide(parse_requirement("composite[a] >= 4.3"), figure).assured
    judges = (VariancePart(0.004 * more, 40.0, 0.002 * more),)
    expected = SampledMean(4.6 - 4.3, ((0.1 * more**0.5, 11.0),), 12, judges=judges)
    wanted = prompts_assured(expected, 0.05)
    assert found is not None and (found.n, found.needed) == (12, wanted.needed)
    assert found.limit == pytest.approx(wanted.limit) and wanted.needed is not None


def test_more_prompts_are_always_more_than_there_are() -> None:
    """Of 300 random figures that are open, none is said to be settled by no more prompts than there
    are."""
    rng = np.random.default_rng(0)
    given = 0
    for _ in range(300):
        n = int(rng.integers(3, 40))
        found = sampled_mean(rng.normal(0.3, 1, n))
        low, high = found.interval()
        figure = Figure("composite", KEY, "", found.mean, low, high, n_prompts=n, df=n - 1.0)
        decision = decide(parse_requirement("composite[a] >= 0"), figure)
        same = decide(parse_requirement("composite[a] >= 0"), replace(figure, sampled=found))
        assert (decision.met, decision.why) == (same.met, same.why)
        if decision.assured is not None and (needed := decision.assured.needed) is not None:
            given += 1
            assert needed > n
    assert given > 30


WORD = Figure("verdict", KEY, word="better", words=("better", "open"), detail="p 0.01")


@pytest.mark.parametrize(
    ("expression", "met", "text"),
    [
        ("verdict[a] == better", True, "is met: better (p 0.01)."),
        ("verdict[a] != better", False, "is not met: better (p 0.01)."),
        ("verdict[a] == open", False, "is not met: better (p 0.01)."),
        ("verdict[a] != open", True, "is met: better (p 0.01)."),
    ],
)
def test_a_word_is_the_one_or_not(expression: str, met: bool, text: str) -> None:
    """With what else is to be said of it, and no more."""
    decision = decide(parse_requirement(expression), WORD)
    assert (decision.met, decision.why) == (met, "value")
    assert sentence(decision) == f"{expression} {text}"
    assert sentence(replace(decision, figure=replace(WORD, detail=""))).endswith(": better.")


def test_all_requirements_are_decided_in_their_order() -> None:
    """What is wrong in any of them is said of all at once, before anything is decided."""
    figures = [FIGURE, exact("coverage", 0.98)]
    requirements, _ = parsed(["coverage >= 0.9", "composite[a] >= 6.4"])
    assert [str(one) for one in requirements] == ["coverage >= 0.9", "composite[a] >= 6.4"]
    assert named(requirements, figures) == figures[::-1]
    gate = decide_all(requirements, figures)
    assert not gate.met and [one.why for one in gate.unmet] == ["open"]
    assert str(gate).split("\n") == gate.sentences() and len(gate.sentences()) == 2
    by_point = decide_all(requirements, figures, by_point=True)
    assert by_point.met and not by_point.unmet
    assert by_point.sentences()[1].startswith("composite[a] >= 6.4 is met by the estimate: 6.50 (")
    read, unread = parsed(["composite >", "coverage >= 1", "nothing > 1", "?"])
    with pytest.raises(InputError) as caught:
        named(read, figures, unread)
    wrong = ["composite >", "?", "nothing > 1"]
    assert [fault.file for fault in caught.value.faults] == [f"the requirement {w}" for w in wrong]


@pytest.mark.parametrize(
    ("figure", "expression", "text"),
    [
        (replace(FIGURE, of_items=True), "composite[a] >= 5", "5.86 to 7.14, 12 items)."),
        (replace(FIGURE, detail="of two"), "composite[a] >= 5", "5.86 to 7.14, of two)."),
        (replace(FIGURE, over=""), "composite[a] >= 5", "6.50 (95 % interval 5.86 to 7.14, 12"),
        (replace(FIGURE, n_prompts=None), "composite[a] >= 5", "over prompts 5.86 to 7.14)."),
        (replace(FIGURE, df=nan), "composite[a] >= 6",
         "the interval reaches below 6. How many prompts would settle it is not known."),
        (FIGURE, "composite[a] >= 6.5",
         "it is 6.5 itself: how many prompts would settle it is not known."),
        (FIGURE, "composite[a] > 6", "the interval reaches to 6 or below. About "),
        (FIGURE, "composite[a] <= 7", "the interval reaches above 7. About "),
        (FIGURE, "composite[a] > 8", "the whole interval is at or below 8."),
        (FIGURE, "composite[a] < 5", "the whole interval is at or above 5."),
        (FIGURE, "composite[a] <= 5", "the whole interval is above 5."),
        (replace(FIGURE, value=2.0, low=1.0, high=3.0, is_whole=True), "composite[a] <= 3",
         "is met: 2 (95 % interval over prompts 1 to 3, 12 prompts)."),
        (exact("n", 1234567.0), "n >= 1", "is met: 1,234,567."),
        (exact("n", -3.0), "n >= 1", "is not met: −3."),
        (exact("n", 0.25), "n >= 1", "is not met: 0.2500."),
        (exact("n", None), "n >= 1", "the figure is undefined (it is not known)."),
    ],
)  # fmt: skip
def test_what_a_figure_rests_on_is_said(figure: Figure, expression: str, text: str) -> None:
    """Items or prompts, what else is known of it, over what the interval is; whole numbers are
    written as such."""
    assert text in sentence(decide(parse_requirement(expression), figure))
