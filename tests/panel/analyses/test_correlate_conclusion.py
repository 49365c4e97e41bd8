"""What is concluded from a comparison with human ratings, rule by rule."""

from __future__ import annotations

from dataclasses import replace
from math import atanh, nan
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from persona_panel.analyses.correlate import correlate_result
from persona_panel.analyses.correlate_conclusion import correlate_conclusion
from persona_panel.results.conclusions.wording import ONE_PERSON
from persona_panel.statistics import AnalysisOptions, correlate
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.means import assured
from persona_panel.statistics.core.table import Ratings, Row


def rated(n_raters: int, name: str, scores: np.ndarray[Any, Any] | None = None) -> Ratings:
    """Of 48 items on 12 prompts."""
    given = np.zeros((48, n_raters, 1)) if scores is None else scores
    return Ratings(
        given,
        tuple(f"item {i}" for i in range(48)),
        tuple(f"{name} {k}" for k in range(n_raters)),
        ("clarity", "depth")[: given.shape[2]],
        (name,) * n_raters,
        prompts=tuple(f"prompt {i % 12}" for i in range(48)),
    )


PANEL, HUMANS = rated(3, "judges"), rated(3, "people")


def row(value: float, low: float, high: float, p: float, dimension: str = "clarity") -> Row:
    """r over all items of 12 prompts."""
    return Row(
        "pearson", "judges", dimension, value=value, ci_low=low, ci_high=high, p_value=p,
        adjusted_over="dimensions", ci_over="prompts", ci_df=11, n_clusters=12,
    )  # fmt: skip


def within(
    value: float, low: float, high: float, p: float, dimension: str = "clarity", n: int = 12
) -> list[Row]:
    """r within n prompts, beside one over all items that has no test."""
    found = replace(
        row(value, low, high, p, dimension), statistic="pearson_within_prompts", ci_df=n - 1,
        n_clusters=n,
    )  # fmt: skip
    return [row(0.78, 0.72, 0.83, nan, dimension), found]


def test_a_correlation_is_established_by_its_p_value() -> None:
    """Below 0.05, as its interval then leaves 0 out: established, with its figures. Adjusted over
    dimensions p may be above where the interval alone leaves 0 out; that is no claim."""
    said = correlate_conclusion([row(0.5, 0.4, 0.6, 0.001)], PANEL, HUMANS)
    assert said == [
        "The panel's mean correlates with people's mean over all items on clarity: r 0.50 "
        "(95 % interval 0.40 to 0.60, adjusted p 0.001)."
    ]
    [first, *_] = correlate_conclusion([row(0.5, 0.4, 0.6, 0.06)], PANEL, HUMANS)
    assert first.startswith(
        "A correlation with people's mean over all items is not significant on clarity"
    )


def test_a_negative_correlation_runs_contrary() -> None:
    """What is significant below 0 is no agreement with people."""
    [said] = correlate_conclusion([row(-0.5, -0.6, -0.4, 0.001)], PANEL, HUMANS)
    assert said.startswith(
        "The panel's mean runs contrary to people's mean over all items on clarity: r −0"
    )


def test_each_dimension_is_said_for_itself() -> None:
    """One established, one not, one undefined."""
    rows = [
        row(0.5, 0.4, 0.6, 0.001),
        row(0.1, -0.1, 0.3, 0.4, "depth"),
        Row("pearson", "judges", "style", reason=Reason.CONSTANT_RATER),
    ]
    said = correlate_conclusion(rows, PANEL, HUMANS)
    assert "correlates with people's mean over all items on clarity: r 0.50" in said[0]
    assert "is not significant on depth: r 0.10" in said[1]
    assert said[2] == "It is undefined on style (constant rater)."


def test_within_prompts_is_what_is_concluded_from() -> None:
    """Where prompts have two items their differences count for nothing: r over all items, with
    its interval above 0, is not said, and the sign is that of the correlation that is tested."""
    [open_, _] = correlate_conclusion(within(0.05, -0.1, 0.2, 0.61), PANEL, rated(1, "people"))[:2]
    assert open_ == (
        "A correlation with people's mean within prompts is not significant on clarity: r "
        "0.05 (95 % interval −0.10 to 0.20, adjusted p 0.61)."
    )
    [contrary, *_] = correlate_conclusion(within(-0.4, -0.5, -0.3, 0.001), PANEL, HUMANS)
    assert contrary.startswith(
        "The panel's mean runs contrary to people's mean within prompts on clarity: r −0."
    )


def test_over_all_items_without_a_test_the_widened_interval_decides() -> None:
    """Prompts of one item: the interval from 0.05 shows a correlation on one dimension; of two,
    widened on Fisher's scale at 11 degrees of freedom to tanh(atanh 0.4 − 1.18 · 0.374) < 0, it
    shows none."""
    undefined = Row("pearson_within_prompts", "judges", "clarity", reason=Reason.ONE_ITEM_A_PROMPT)
    rows = [row(0.4, 0.05, 0.66, nan), undefined]
    [said, *_] = correlate_conclusion(rows, PANEL, HUMANS)
    assert said == (
        "The panel's mean correlates with people's mean over all items on clarity: r 0.40 "
        "(95 % interval 0.05 to 0.66)."
    )
    other = row(0.0, -0.3, 0.3, nan, "depth")
    [said, *_] = correlate_conclusion([*rows, other], PANEL, HUMANS)
    assert said.startswith(
        "A correlation with people's mean over all items is not significant on any dimension"
    )


def test_the_hardest_dimension_says_how_many_prompts() -> None:
    """Of two open correlations the one that needs more prompts is named, and the prompts that it
    rests on are those that there are now."""
    rows = [*within(0.2, 0.0, 0.38, 0.08), *within(0.1, -0.1, 0.29, 0.4, "depth", n=6)]
    said = correlate_conclusion(rows, PANEL, HUMANS)
    assert said[-1] == (
        "More than 10,000 new prompts would show the correlation on depth not to be 0 with a "
        "probability of 80 % (now 6)."
    )


def test_quality_that_differs_between_prompts_only() -> None:
    """Both sides see the prompts alike and the items of a prompt at random: r over all items is
    high with its interval above 0, and yet no correlation is significant; of items that both
    sides order in opposite ways within prompts, it is contrary."""
    rng = np.random.default_rng(0)
    level = 5 * rng.normal(0, 1, 12)[np.arange(48) % 12][:, None, None]
    order = (np.arange(48) // 12)[:, None, None]

    def side(n: int, name: str, sign: int) -> Ratings:
        return rated(n, name, level + sign * order + rng.normal(0, 0.5, (48, n, 1)))

    options = AnalysisOptions(n_permutations=500)
    judges, people = side(3, "judges", 0), side(3, "people", 0)
    rows = correlate(judges, people, options)
    pooled = next(one for one in rows if (one.statistic, one.group) == ("pearson", "judges"))
    assert pooled.ci_low > 0
    [said, *_] = correlate_conclusion(rows, judges, people)
    assert "people's mean within prompts is not significant on clarity" in said
    judges, people = side(3, "judges", 1), side(3, "people", -1)
    [said, *_] = correlate_conclusion(correlate(judges, people, options), judges, people)
    assert said.startswith("The panel's mean runs contrary to people's mean within prompts")


def test_what_would_settle_it_is_on_fishers_scale() -> None:
    """r 0.2, interval 0 to 0.38: on Fisher's scale half of it is atanh 0.2, so that the spread
    over 12 prompts is atanh(0.2)·√12/t, an effect of t/√12."""
    said = correlate_conclusion([row(0.2, 0.0, 0.38, 0.08)], PANEL, HUMANS)
    needed = assured(t.ppf(0.975, 11) / 12**0.5, 1.0, 12, 0.0, 0.05).needed
    assert needed is not None
    assert 80 < needed <= 82
    assert atanh(0.2) == pytest.approx(0.2027, abs=1e-4)
    assert said[-1] == (
        "About 82 new prompts would show the correlation on clarity not to be 0 with a probability "
        "of 80 % (now 12)."
    )


def test_one_human_says_nothing_of_people() -> None:
    """With one person nobody's agreement with others is known."""
    said = correlate_conclusion([row(0.5, 0.4, 0.6, 0.001)], PANEL, rated(1, "people"))
    assert said[-1] == (
        "There is one human rater: what is said of people is of this person, and how far people "
        "agree with each other is not known."
    )
    # Whoever rated other items alone, or another dimension, is no second person.
    two = rated(2, "people", np.zeros((48, 2, 2)))
    two.scores[:, 1, 0] = np.nan
    of_clarity = [row(0.5, 0.4, 0.6, 0.001)]
    assert ONE_PERSON in correlate_conclusion(of_clarity, PANEL, two)
    two.scores[0, 1, 0] = 3
    assert ONE_PERSON not in correlate_conclusion(of_clarity, PANEL, two)
    elsewhere = replace(two, items=("item elsewhere", *two.items[1:]))
    assert ONE_PERSON in correlate_conclusion(of_clarity, PANEL, elsewhere)
    of_labels = [replace(row(0.5, 0.4, 0.6, nan), statistic="label_kappa")]
    assert correlate_conclusion(of_labels, PANEL, rated(1, "people"))[-1] == ONE_PERSON


def test_the_panel_is_compared_with_one_human() -> None:
    """Judges who see more than people do are ahead of one of them; judges like people are not. Both
    are said within prompts, as the correlation is."""
    rng = np.random.default_rng(0)
    quality = rng.normal(0, 1, (48, 1, 1))
    people = rated(8, "people", quality + rng.normal(0, 1.5, (48, 8, 1)))
    better = rated(3, "judges", quality + rng.normal(0, 0.2, (48, 3, 1)))
    alike = rated(1, "judges", quality + rng.normal(0, 1.5, (48, 1, 1)))
    said = []
    for judges in (better, alike):
        rows = correlate(judges, people, AnalysisOptions(n_permutations=500))
        said.append(correlate_conclusion(rows, judges, people)[1])
    assert said[0].startswith(
        "The panel's mean correlates more with the other people than one person does on clarity: "
        "difference within prompts of mean τ_b 0."
    )
    assert "is not shown on clarity: difference within prompts of mean τ_b" in said[1]


def test_the_composite_is_compared_with_one_human_by_itself() -> None:
    """Its difference, behind its correlation, then those of the dimensions: the former by its own
    95 % interval, the latter widened for two. Half of an interval from 0.2 is t(0.975, 22) = 2.074
    standard errors; over all items a widened one has half of the degrees of freedom: by t(0.9875,
    11) = 2.593, 0.15 becomes 0.188 and 0.165 0.206 (with 22 it would be 0.191)."""

    def differ(dimension: str, low: float) -> Row:
        return Row(
            "human_difference_tau_b", "judges", dimension, by="compared",
            by_value="panel − human", value=0.2, ci_low=low, ci_high=0.4 - low, ci_df=22,
            ci_over="prompts", n_clusters=23,
        )  # fmt: skip

    names = ("composite", "clarity", "depth")
    rows = [row(0.5, 0.4, 0.6, 0.001, name) for name in names]
    panel = rated(3, "judges", np.zeros((48, 3, 2)))

    def said_of(*lows: float) -> list[str]:
        given = [differ(*each) for each in zip(names, lows, strict=True)]
        return correlate_conclusion(rows + given, panel, rated(3, "people"))[1:4:2]

    more = "The panel's mean correlates more with the other people than one person does on "
    whole, parts = said_of(0.05, 0.01, 0.01)
    assert whole == (
        f"{more}the composite: difference over all items of τ_b 0.20 (95 % interval 0.05 to 0.35)."
    )
    assert parts.startswith("That the panel's mean correlates more or less with the other people")
    assert "is not shown on any dimension" in parts
    assert said_of(0.01, 0.01, 0.01)[0].startswith(f"{more}the composite")
    assert "is not shown on any dimension" in said_of(0.01, 0.035, 0.035)[1]
    whole, parts = said_of(-0.01, 0.05, 0.05)
    assert "is not shown on the composite" in whole and parts.startswith(f"{more}all dimensions")


def test_one_human_is_compared_on_the_basis_of_the_correlation() -> None:
    """Of two dimensions within prompts the one whose difference within them has no interval is
    compared over all items, and that is said; where the correlation is over all items so is the
    difference, whatever there is within prompts."""

    def differ(value: float, dimension: str, basis: str = "") -> Row:
        reach = nan if value > 0.9 else 0.1
        return Row(
            f"human_difference_tau_b{basis}", "judges", dimension, by="comparison",
            by_value="panel − human", value=value, ci_low=value - reach, ci_high=value + reach,
            ci_over="prompts", ci_df=11, n_clusters=12,
        )  # fmt: skip

    inside = "_within_prompts"
    differences = [differ(0.31, "clarity"), differ(0.32, "clarity", inside)]
    differences += [differ(0.33, "depth"), differ(0.95, "depth", inside)]
    correlations = [*within(0.5, 0.4, 0.6, 0.001), *within(0.5, 0.4, 0.6, 0.001, "depth")]
    assert correlate_conclusion([*correlations, *differences], PANEL, HUMANS)[1] == (
        "The panel's mean correlates more with the other people than one person does on all "
        "dimensions: difference within prompts of mean τ_b 0.32 (95 % interval 0.22 to 0.42); "
        "difference over all items of τ_b 0.33 (95 % interval 0.23 to 0.43)."
    )
    over_all = [row(0.5, 0.4, 0.6, 0.001), *differences[:2]]
    assert "over all items of τ_b 0.31" in correlate_conclusion(over_all, PANEL, HUMANS)[1]


@pytest.mark.parametrize(("value", "claimed"), [(0.24, False), (0.27, False), (0.4, True)])
def test_a_difference_that_is_no_claim_has_its_reason(value: float, claimed: bool) -> None:
    """With 3 claims and 8 degrees of freedom an interval at 95 % of half-width 0.2 (standard error
    0.2 / 2.306 = 0.0867) is 0.26 to either side at 98.33 % (t = 3.02), and 0.35 with half of the
    degrees (t = 4.05): 0.24 and 0.27 are no claims, and that is said."""
    names = ("clarity", "depth", "rigour")
    differences = [
        Row(
            "human_difference_tau_b", "judges", name, by="comparison", by_value="panel − human",
            value=value, ci_low=value - 0.2, ci_high=value + 0.2, ci_over="items", ci_df=8,
            n_clusters=9,
        )
        for name in names
    ]  # fmt: skip
    rows = [row(0.5, 0.4, 0.6, 0.001, name) for name in names]
    said = " ".join(correlate_conclusion([*rows, *differences], PANEL, HUMANS))
    assert ("correlates more with the other people" in said) == claimed
    reason = "each interval is at 95 %; at 98.33 %, which a claim takes here, each contains 0"
    assert (reason in said) != claimed


def test_judges_without_a_persona_are_counted_beside_the_panel() -> None:
    """Of three judges one is without a persona, and no part of the panel that is correlated."""
    panel = replace(PANEL, controls=frozenset(["judges 2"]))
    [counts, *_] = correlate_result([], panel, HUMANS).remarks
    assert counts == (
        "48 items of 48 of the panel's and 48 of people's; 2 judges with a persona and 1 without; "
        "people: 3."
    )


def test_labels_agree_where_kappa_is_above_0() -> None:
    """Established on one dimension, open on another."""
    rows = [
        Row("label_kappa", "judges", name, value=0.4, ci_low=low, ci_high=0.8 - low, ci_df=11)
        for name, low in (("kind", 0.2), ("tone", -0.1))
    ]
    [said] = correlate_conclusion(rows, PANEL, HUMANS)
    assert said.startswith(
        "The panel's labels agree with people's beyond chance on kind (Cohen κ 0.40 (95 %"
    )
    assert "agreement of labels beyond chance is not significant on tone" in said
