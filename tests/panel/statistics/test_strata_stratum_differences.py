"""Differences of a figure between strata, beside SciPy's t-tests and figures without a prompt."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import (
    AnalysisOptions,
    Ratings,
    Strata,
    agree,
    agreement_differences,
    correlate,
    correlation_differences,
    krippendorff_alpha,
)
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.strata import (
    LESS_OTHERS,
    StratumFigure,
    stratum_differences,
)

RNG = np.random.default_rng(5)
LOW, HIGH, THIRD = RNG.normal(size=7), RNG.normal(1, 2, size=7), RNG.normal(size=7)


def test_strata_without_a_common_prompt_have_welchs_test() -> None:
    """Means over other prompts are compared as by SciPy's t-test without equal variances."""
    figures = [
        ("low", StratumFigure.mean(LOW[:5], "abcde")),
        ("high", StratumFigure.mean(HIGH, "ghijklm")),
    ]
    [found] = stratum_differences(figures)
    expected = stats.ttest_ind(LOW[:5], HIGH, equal_var=False)
    ends = expected.confidence_interval()
    assert (found.p, found.df) == pytest.approx((expected.pvalue, expected.df))
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))


def test_strata_of_the_same_prompts_have_the_paired_test() -> None:
    """What both owe to the prompt cancels; of three strata each is set against the mean of two."""
    sides = [StratumFigure.mean(one, "abcdefg") for one in (LOW, HIGH, THIRD)]
    [found] = stratum_differences([("low", sides[0]), ("high", sides[1])])
    assert found.p == pytest.approx(stats.ttest_rel(LOW, HIGH).pvalue)
    assert found.df == pytest.approx(6)
    first, *others = stratum_differences(list(zip("xyz", sides, strict=True)))
    expected = stats.ttest_1samp(LOW - (HIGH + THIRD) / 2, 0)
    assert first.p == pytest.approx(expected.pvalue)
    assert len(others) == 2


def test_a_stratum_without_an_interval_is_compared_with_none() -> None:
    """A stratum of one prompt has its reason, and the others are compared without it; where one is
    left, there is nothing to compare it with."""
    one = StratumFigure.mean(np.array([3.0, nan]), "ab")
    low, high = (StratumFigure.mean(side, "abcdefg") for side in (LOW, HIGH))
    refused, found = stratum_differences([("one", one), ("low", low), ("high", high)])
    assert refused.reason == Reason.FEW_CLUSTERS
    assert isnan(refused.p)
    assert found.p == pytest.approx(stats.ttest_rel(LOW, HIGH).pvalue)
    assert [row.reason for row in stratum_differences([("one", one), ("low", low)])] == [
        Reason.FEW_CLUSTERS,
        Reason.ONE_STRATUM,
    ]


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """Twelve prompts with four responses, four raters of two models; they agree well on the
    responses to the first six prompts and hardly on those to the others."""
    rng = np.random.default_rng(2)
    quality = rng.normal(size=(48, 1))
    noise = np.repeat([0.3, 2.0], 24)[:, None] * rng.normal(size=(48, 4))
    return Ratings(
        np.round(5 + 2 * quality + 2 * noise)[:, :, None],
        tuple(f"i{n}" for n in range(48)),
        tuple("abcd"),
        ("depth",),
        ("m", "m", "n", "n"),
        prompts=tuple(f"p{n // 4}" for n in range(48)),
        sources=tuple("wxyz"[n % 4] for n in range(48)),
        personas=("u", "v", "u", "v"),
    )


OPTIONS = AnalysisOptions(level="interval", n_permutations=0)
TOPICS = Strata("topic", "items", ["clear"] * 24 + ["dim"] * 24)


def test_agreement_by_stratum_and_its_difference(ratings: Ratings) -> None:
    """Each stratum's α is that of its items alone; the difference is theirs, and its standard error
    what α does without each prompt."""
    rows = agree(ratings, OPTIONS, TOPICS, only=["krippendorff_alpha"])
    alphas = {row.by_value: row.value for row in rows if row.group == "all"}
    scores = ratings.scores[:, :, 0]
    halves = scores[:24], scores[24:]
    expected = [krippendorff_alpha(half, "interval").value for half in halves]
    assert list(alphas.values()) == pytest.approx(expected)
    [found] = [
        row
        for row in agreement_differences(ratings, TOPICS, OPTIONS)
        if row.statistic == "krippendorff_alpha"
    ]
    assert (found.by, found.by_value) == (f"topic{LESS_OTHERS}", "clear")
    assert found.value == pytest.approx(expected[0] - expected[1])
    variance = 0.0
    for half in halves:
        without = [
            krippendorff_alpha(np.delete(half, range(4 * p, 4 * p + 4), axis=0), "interval").value
            for p in range(6)
        ]
        variance += 5 / 6 * float(np.sum((np.array(without) - np.mean(without)) ** 2))
    reach = variance**0.5 * stats.t.ppf(0.975, found.ci_df)
    assert (found.ci_low, found.ci_high) == pytest.approx(
        (found.value - reach, found.value + reach)
    )
    assert found.p_value < 0.01
    assert (found.n_clusters, found.ci_over, found.reason) == (12, "prompts", None)
    assert (found.n_tests, found.adjusted_over, found.p_raw) == (1, None, found.p_value)


def test_strata_and_dimensions_are_tested_together(ratings: Ratings) -> None:
    """Of two dimensions and the composite, by Holm; a stratum without an interval is none of the
    tests, and has its reason."""
    both = replace(ratings, scores=ratings.scores.repeat(2, axis=2), dimensions=("depth", "style"))
    three = Strata("topic", "items", ["a"] * 20 + ["b"] * 20 + ["c"] * 8)
    tested, alone = (
        row
        for row in agreement_differences(both, three, OPTIONS)
        if (row.statistic, row.dimension) == ("krippendorff_alpha", "style")
    )
    assert (tested.n_tests, tested.adjusted_over) == (3, "strata and dimensions")
    assert tested.p_value == pytest.approx(3 * tested.p_raw) and tested.n_clusters == 10
    assert isnan(alone.p_value) and alone.reason is Reason.FEW_FOR_A_NUMBER
    assert (alone.n_tests, alone.adjusted_over, alone.ci_over) == (0, None, None)
    assert (alone.by_value, alone.n_clusters) == ("c", None)


def test_strata_of_raters_are_one_group_each(ratings: Ratings) -> None:
    """Personas and models have the α of their raters alone; whether they differ is one test, as of
    two the second's difference is the first's with the other sign."""
    for by, of in (("persona", {"u": [0, 2], "v": [1, 3]}), ("model", {"m": [0, 1], "n": [2, 3]})):
        strata = Strata.named(ratings, by)
        rows = agree(ratings, OPTIONS, strata, only=["krippendorff_alpha"])
        assert {row.by_value: row.value for row in rows} == pytest.approx(
            {
                name: krippendorff_alpha(ratings.scores[:, raters, 0], "interval").value
                for name, raters in of.items()
            }
        )
        assert {row.group for row in rows} == {"all"}
        found = agreement_differences(ratings, strata, OPTIONS)
        assert len([row for row in found if row.statistic == "krippendorff_alpha"]) == 1


def test_small_strata_are_refused_with_the_reason(ratings: Ratings) -> None:
    """Of three prompts α has no interval, so that its strata are not compared."""
    few = Strata("topic", "items", ["x"] * 12 + ["y"] * 36)
    rows = agreement_differences(ratings, few, OPTIONS)
    reasons = {row.by_value: row.reason for row in rows if row.statistic == "krippendorff_alpha"}
    assert reasons == {"x": Reason.FEW_FOR_A_NUMBER, "y": Reason.ONE_STRATUM}


def test_correlation_with_people_by_stratum(ratings: Ratings) -> None:
    """People who go with the panel on the first topic alone: both correlations, and their
    difference, which is significant."""
    rng = np.random.default_rng(3)
    people = rng.normal(size=(48, 3))
    people[:24] += 3 * ratings.scores[:24].mean(axis=1)
    humans = Ratings(
        people[:, :, None], ratings.items, tuple("rst"), ("depth",), ("human",) * 3, ratings.prompts
    )
    rows = correlate(ratings, humans, OPTIONS, only=["tau_b"], by=TOPICS)
    taus = {
        row.by_value: row.value for row in rows if row.group == "all" and row.dimension == "depth"
    }
    for name, half in (("clear", slice(0, 24)), ("dim", slice(24, 48))):
        sides = ratings.scores[half, :, 0].mean(axis=1), people[half].mean(axis=1)
        assert taus[name] == pytest.approx(stats.kendalltau(*sides).statistic)
    found = correlation_differences(ratings, humans, TOPICS, OPTIONS)
    [tau] = [row for row in found if (row.statistic, row.dimension) == ("tau_b", "depth")]
    assert tau.value == pytest.approx(taus["clear"] - taus["dim"])
    assert tau.p_value < 0.05
    of_personas = correlate(
        ratings, humans, OPTIONS, only=["tau_b"], by=Strata.named(ratings, "persona")
    )
    assert {(row.group, row.by_value) for row in of_personas} == {("all", "u"), ("all", "v")}


def in_two_dimensions(ratings: Ratings) -> Ratings:
    """The same ratings twice, so that their mean is each of them."""
    return replace(ratings, scores=ratings.scores.repeat(2, axis=2), dimensions=("depth", "width"))


def test_strata_differ_on_the_composite_too(ratings: Ratings) -> None:
    """Of two dimensions that are rated alike the composite differs as they do, in agreement and in
    correlation with people, and all three are corrected together; dimensions are compared with each
    other alone."""
    both = in_two_dimensions(ratings)
    humans = replace(both, scores=both.scores[:, ::-1] + np.sin(np.arange(192)).reshape(48, 4, 1))
    for rows, of_dimensions, statistic in (
        (
            agreement_differences(both, TOPICS, OPTIONS),
            agreement_differences(both, "dimension", OPTIONS),
            "krippendorff_alpha",
        ),
        (
            correlation_differences(both, humans, TOPICS, OPTIONS),
            correlation_differences(both, humans, "dimension", OPTIONS),
            "tau_b",
        ),
    ):
        found = {row.dimension: row for row in rows if row.statistic == statistic}
        assert list(found) == ["composite", "depth", "width"]
        assert found["composite"].value == pytest.approx(found["depth"].value)
        assert abs(found["depth"].value) > 0.05
        assert {row.n_tests for row in found.values()} == {3}
        compared = {row.by_value for row in of_dimensions if row.statistic == statistic}
        assert compared == {"depth"}


def test_differences_are_the_panels_not_those_of_its_controls(ratings: Ratings) -> None:
    """Where some judges of the one model have no persona, strata are compared on the others."""
    some = replace(ratings, groups=("m",) * 4, controls=frozenset("ab"))
    rows = agreement_differences(some, TOPICS, OPTIONS)
    [found] = [row for row in rows if row.statistic == "krippendorff_alpha"]
    halves = ratings.scores[:24, 2:, 0], ratings.scores[24:, 2:, 0]
    alphas = [krippendorff_alpha(half, "interval").value for half in halves]
    assert (found.group, found.value) == ("m", pytest.approx(alphas[0] - alphas[1]))
