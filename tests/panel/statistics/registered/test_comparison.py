"""Statistics of a comparison with people: rows hold what the functions give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from persona_panel.statistics import (
    CUSTOM_DIMENSIONS,
    Ratings,
    Reason,
    calibrate,
    correlate,
    correlation,
    correlation_test,
    custom_loss,
    human_ceiling,
    pairwise_error,
    preferences,
    row_means,
    substitution,
)
from persona_panel.statistics.comparison import comparison_statistics
from persona_panel.statistics.core.registry import Registry
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK, by_name


def test_correlate_holds_what_the_functions_give() -> None:
    """Panel and ceiling are those of the functions, for each group of judges and for all."""
    rows = by_name(correlate(PANEL, HUMANS, QUICK))
    judges, people = PANEL.scores[:, :, 0], HUMANS.scores[:, :, 0]
    for group, columns in (("m1", [0, 1]), ("m2", [2]), ("all", [0, 1, 2])):
        panel = row_means(judges[:, columns])
        for kind in ("tau_b", "tau_c", "spearman", "pearson"):
            row = rows[kind, group, "clarity"]
            assert row.value == correlation(panel, row_means(people), kind).value  # type: ignore[arg-type]
            assert row.n_raters == len(columns) + 5
            assert row.ci_low < row.value < row.ci_high
            assert np.isnan(row.p_value)
            within = rows[f"{kind}_within_prompts", group, "clarity"]
            assert (
                within.p_raw
                == correlation_test(
                    panel,
                    row_means(people),
                    kind,  # type: ignore[arg-type]
                    list(HUMANS.prompts or ()),
                    n_permutations=QUICK.n_permutations,
                    seed=QUICK.seed,
                ).p_value
            )
    expected = human_ceiling(people, "tau_c").value
    assert rows["human_ceiling_tau_c", "humans", "clarity"].value == expected
    kappas = substitution(people, row_means(judges), min_shared=10)
    human = rows["human_kappa", "humans", "clarity"]
    assert human.value == kappas.humans.with_zeros.value
    assert human.note.startswith("10 pairs, 0 with a constant rater")
    found = rows["substituted_kappa", "all", "clarity"]
    assert found.value == kappas.panel.with_zeros.value
    loss = pairwise_error(row_means(people), row_means(judges), PANEL.prompts or ())
    row = rows["pairwise_error", "all", "clarity"]
    assert row.value == loss.by_position.mean.value
    assert "0.5 at random" in row.note
    wins = preferences(people, HUMANS.sources or (), HUMANS.prompts)
    row = rows["win_rate", "humans", "b", "clarity"]
    assert row.value == wins.win_rate[1]
    assert row.ci_low < row.value < row.ci_high
    mean = rows["source_mean", "all", "c", "clarity"]
    assert mean.value == pytest.approx(np.mean(row_means(judges)[2::4]))
    assert rows["effective_judges", "m2", "clarity"].reason is Reason.FEW_RATERS


def test_ranks_are_as_welcome_as_scores() -> None:
    """Humans who rank (1 the best) instead of scoring are correlated with the same sign."""
    scores = np.stack(
        [
            np.concatenate(
                [
                    6 - np.argsort(np.argsort(HUMANS.scores[n : n + 4, :, d], axis=0), axis=0)
                    for n in range(0, 24, 4)
                ]
            )
            for d in (0, 1)
        ],
        axis=2,
    ).astype(float)
    ranks = replace(HUMANS, scores=scores, lower_is_better=True)
    rows = by_name(correlate(PANEL, ranks, QUICK))
    panel = row_means(PANEL.scores[:, :, 0])
    expected = correlation(panel, -row_means(scores[:, :, 0]), "tau_b").value
    assert rows["tau_b", "all", "clarity"].value == expected > 0
    assert rows["source_mean", "humans", "a", "clarity"].value > 0
    assert not any(name.endswith("kappa") for name, *_ in rows)


def test_custom_loss_needs_its_dimensions() -> None:
    """The custom loss is there when all seven dimensions are, and lie in [0, 1]."""
    rng = np.random.default_rng(0)

    def critics(n_raters: int, size: float) -> Ratings:
        return Ratings(
            rng.random((8, n_raters, 7)) * size,
            tuple(f"c{n}" for n in range(8)),
            tuple(f"r{n}" for n in range(n_raters)),
            CUSTOM_DIMENSIONS,
            ("judge",) * n_raters,
            prompts=tuple("aabbccdd"),
        )

    humans, panel = critics(1, 1), critics(3, 1)
    rows = by_name(correlate(panel, humans, QUICK))
    person, judges = humans.scores[:, 0], list(np.moveaxis(panel.scores, 1, 0))
    each = [custom_loss(person, judge, "aabbccdd") for judge in judges]
    mean = custom_loss(person, np.mean(judges, axis=0), "aabbccdd")
    for name, expected in {
        "custom_loss": np.mean([loss.pooled for loss in each]),
        "custom_loss_over_prompts": np.mean([loss.by_position.mean.value for loss in each]),
        "custom_loss_of_means": mean.pooled,
        "custom_loss_of_means_over_prompts": mean.by_position.mean.value,
    }.items():
        row = rows[name, "judge", "all"]
        assert row.value == pytest.approx(expected)
        assert (row.n_items, row.n_raters) == (8, 4)
        assert row.ci_low < row.value < row.ci_high or row.reason
    alone = by_name(correlate(*(replace(side, prompts=None) for side in (panel, humans)), QUICK))
    assert ("custom_loss", "judge", "all") in alone
    assert ("custom_loss_over_prompts", "judge", "all") not in alone
    names = {row.statistic for row in correlate(critics(3, 9), humans, QUICK)}
    assert "custom_loss" not in names


def test_squared_errors_are_beside_those_of_a_constant_judge() -> None:
    """By hand from the means of both sides: the constant judge gives people's mean, and errs by
    their variance. The error has 0 as its end, and the difference none."""
    scales = dict.fromkeys(PANEL.dimensions, (1.0, 5.0))
    ours, theirs = (replace(side, scales=scales) for side in (PANEL, HUMANS))
    rows = by_name(
        correlate(ours, theirs, QUICK, only=["squared_error", "squared_error_difference"])
    )
    for group, columns in (("m1", [0, 1]), ("m2", [2]), ("all", [0, 1, 2])):
        panel, people = row_means(PANEL.scores[:, columns, 0]), row_means(HUMANS.scores[:, :, 0])
        there = ~np.isnan(panel + people)
        error, constant = np.mean((panel - people)[there] ** 2), np.var(people[there])
        row = rows["squared_error", group, "clarity"]
        assert row.value == pytest.approx(error)
        assert row.note == f"smaller is better, {constant:.3g} by a constant judge"
        assert 0 <= row.ci_low < row.value < row.ci_high
        assert (row.n_items, row.n_raters) == (there.sum(), len(columns) + 5)
        less = rows["squared_error_difference", group, "clarity"]
        assert less.value == pytest.approx(error - constant)
        assert less.ci_low < less.value < less.ci_high
    assert rows["squared_error_difference", "all", "clarity"].ci_low < 0
    other = replace(ours, scales=dict.fromkeys(PANEL.dimensions, (0.0, 100.0)))
    rows = by_name(correlate(other, theirs, QUICK, only=["squared_error"]))
    assert {row.reason for row in rows.values()} == {Reason.OTHER_SCALE}


def test_what_personas_add_is_the_difference_of_two_correlations() -> None:
    """Of the mean of judges with personas less that of the replicates without, with people's; over
    all items and on average over prompts; with how many there are of either."""
    panel = replace(PANEL, groups=("m",) * 3, controls=frozenset(PANEL.raters[2:]))
    names = ["persona_gain_tau_b", "persona_gain_tau_b_within_prompts"]
    rows = by_name(correlate(panel, HUMANS, QUICK, only=names))
    people = row_means(HUMANS.scores[:, :, 0])
    judges, plain = row_means(PANEL.scores[:, :2, 0]), PANEL.scores[:, 2, 0]
    there = ~np.isnan(judges + plain + people)
    with_, without = (
        correlation(side[there], people[there], "tau_b").value for side in (judges, plain)
    )
    row = rows["persona_gain_tau_b", "m", "clarity"]
    assert row.value == pytest.approx(with_ - without)
    assert (row.n_items, row.n_raters) == (there.sum(), 8)
    assert row.note.startswith(
        "2 judges with a persona, 1 replicate without, so not at equal cost: more judges "
        "agree better by their number alone"
    )
    assert -2 <= row.ci_low < row.value < row.ci_high <= 2
    gains = []
    for first in range(0, 24, 4):
        own = np.flatnonzero(there[first : first + 4]) + first
        two = [correlation(side[own], people[own], "tau_b").value for side in (judges, plain)]
        gains.append(two[0] - two[1])
    within = rows["persona_gain_tau_b_within_prompts", "m", "clarity"]
    assert within.value == pytest.approx(np.nanmean(gains))


def test_shares_of_sources_are_those_of_their_ratings() -> None:
    """Means, win rates and first places of people and of the panel's mean, by source, with what
    each rests on."""
    rows = by_name(correlate(PANEL, HUMANS, QUICK, only=["source_mean", "win_rate", "first_place"]))
    for group, ratings in (("humans", HUMANS.scores[:, :, 0]),
                           ("all", row_means(PANEL.scores[:, :, 0])[:, None])):  # fmt: skip
        tallies = preferences(ratings, HUMANS.sources or (), HUMANS.prompts)
        for place, source in enumerate("abcd"):
            own = row_means(ratings)[place::4]
            row = rows["source_mean", group, source, "clarity"]
            assert row.value == pytest.approx(np.nanmean(own))
            assert (row.by, row.n_items) == ("source", np.sum(~np.isnan(own)))
            assert row.n_raters == ratings.shape[1] and not row.note
            wins = rows["win_rate", group, source, "clarity"]
            assert wins.value == pytest.approx(tallies.win_rate[place])
            assert wins.note == f"{tallies.n_comparisons[place]} comparisons"
            first = rows["first_place", group, source, "clarity"]
            assert first.value == pytest.approx(tallies.first_place[place])
            assert first.note == f"{tallies.n_rankings[place]} rankings"


@pytest.mark.parametrize(
    "scores",
    [
        HUMANS.scores,
        np.minimum(HUMANS.scores + 2, 5),
        np.where(np.arange(24)[:, None, None] == 0, 3.0, 5.0 + 0 * HUMANS.scores),
    ],
    ids=["spread out", "most at the end", "all but one at the end"],
)
def test_the_mean_of_a_source_by_people_is_that_of_calibrate(scores: np.ndarray) -> None:
    """Both commands give people's mean of a system the same value and interval, which ends with the
    scale, where a prompt has several texts of it too, or the same reason for having none."""
    sources = tuple("aabb"[n % 4] for n in range(24))
    scales = {"clarity": (1.0, 5.0), "depth": (1.0, 5.0)}
    people = replace(HUMANS, scores=scores, sources=sources, scales=scales)
    panel = replace(PANEL, sources=sources, scales=scales)
    rows = by_name(correlate(panel, people, QUICK, only=["source_mean"]))
    systems = [each for each in calibrate(panel, people).systems if each.dimension != "composite"]
    assert len(systems) == 4
    for each in systems:
        row, mean = rows["source_mean", "humans", each.system, each.dimension], each.human_only
        assert (row.value, row.ci_reason) == (pytest.approx(mean.value), mean.reason)
        assert (row.ci_low, row.ci_high) == pytest.approx(mean.ends, nan_ok=True)
        assert mean.reason or row.ci_low < row.value < row.ci_high <= 5


@pytest.mark.parametrize(
    ("registry", "ordered", "noted", "of_all"),
    [
        (comparison_statistics,
             "human_ceiling_tau_b tau_b human_ceiling_tau_c tau_c human_ceiling_spearman "
             "spearman human_ceiling_pearson pearson human_ceiling_tau_b_within_prompts "
             "tau_b_within_prompts human_ceiling_tau_c_within_prompts tau_c_within_prompts "
             "human_ceiling_spearman_within_prompts spearman_within_prompts "
             "human_ceiling_pearson_within_prompts pearson_within_prompts "
             "human_difference_tau_b human_difference_pearson "
             "human_difference_tau_b_within_prompts "
             "persona_gain_tau_b "
             "persona_gain_tau_b_within_prompts "
             "pairwise_error weighted_pairwise_error custom_loss custom_loss_over_prompts "
             "custom_loss_of_means custom_loss_of_means_over_prompts squared_error "
             "squared_error_difference effective_judges source_mean win_rate first_place "
             "source_pearson",
             "persona_gain_tau_b pairwise_error weighted_pairwise_error custom_loss "
             "squared_error effective_judges",
             "human_difference_tau_b human_difference_pearson "
             "human_difference_tau_b_within_prompts"),
    ],
)  # fmt: skip
def test_statistics_stand_in_this_order(
    registry: Registry[Any], ordered: str, noted: str, of_all: str
) -> None:
    """In their tables; which have their notes below, and which are of all raters alone."""
    found = [
        each for each in registry if each.function.__module__.endswith("registered.comparison")
    ]
    assert [each.name for each in found] == ordered.split()
    assert [each.name for each in found if each.show_note] == noted.split()
    assert [each.name for each in found if each.table.all_raters_only] == of_all.split()
