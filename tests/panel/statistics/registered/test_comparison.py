"""Statistics of a comparison with people: rows hold what the functions give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from persona_panel.statistics import (
    CUSTOM_DIMENSIONS,
    Ratings,
    Reason,
    correlate,
    correlation,
    correlation_test,
    custom_loss,
    human_ceiling,
    pairwise_error,
    preferences,
    ranks_within,
    row_means,
    substitution,
)
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
    expected = human_ceiling(people, "tau_c").mean.value
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

    by_rank = by_name(correlate(PANEL, HUMANS, replace(QUICK, target="rank")))
    target = -row_means(ranks_within(-HUMANS.scores[:, :, 0], HUMANS.prompts).ranks)
    expected = correlation(panel, target, "tau_b").value
    assert by_rank["tau_b", "all", "clarity"].value == pytest.approx(expected)


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
