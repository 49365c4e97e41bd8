"""Rows of all statistics: what the functions give, by group and dimension, with intervals."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from persona_panel.statistics import (
    CUSTOM_DIMENSIONS,
    Ratings,
    Reason,
    Row,
    agree,
    correlate,
    correlation,
    correlation_test,
    custom_loss,
    effective_judges,
    human_ceiling,
    icc,
    jackknife,
    kendall_w,
    krippendorff_alpha,
    pairwise,
    pairwise_error,
    panel_quality,
    preferences,
    ranks_within,
    row_means,
    substitution,
)
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK, made_up


def by_name(rows: list[Row]) -> dict[tuple[str, ...], Row]:
    """Rows by statistic, group, what they are broken down by if they are, and dimension."""
    found = {
        (row.statistic, row.group, *([row.by_value] if row.by_value else []), row.dimension): row
        for row in rows
    }
    assert len(found) == len(rows), "a statistic of a group and dimension has one row"
    assert not [row for row in rows if row.reason is Reason.ERROR]
    return found


def test_agree_holds_what_the_functions_give() -> None:
    """Each row is its function's value on the group's ratings of one dimension."""
    rows = by_name(agree(HUMANS, QUICK))
    scores = HUMANS.scores[:, :, 1]
    prompts = list(HUMANS.prompts or ())
    alpha = rows["krippendorff_alpha", "human", "depth"]
    assert alpha.value == krippendorff_alpha(scores).value
    assert (alpha.n_items, alpha.n_raters, alpha.note) == (24, 5, "ordinal")
    interval = jackknife(krippendorff_alpha(scores).resampled, 24, prompts, limits=(-inf, 1))
    assert (alpha.ci_low, alpha.ci_high) == (interval.low, interval.high)
    expected = {
        "kendall_w": kendall_w(scores, prompts).mean,
        "kendall_w_ties": kendall_w(scores, prompts, correct_ties=True).mean,
        "mean_tau_b": pairwise(scores, "tau_b").mean,
        "mean_spearman": pairwise(scores, "spearman").mean,
        "cohen_kappa_linear": pairwise(scores, "cohen_kappa_linear").mean,
        "icc2k": icc(scores, "icc2k"),
        "effective_judges": effective_judges(scores),
    }
    for name, estimate in expected.items():
        assert rows[name, "human", "depth"].value == estimate.value


def test_agree_has_every_statistic() -> None:
    """The names that the specification fixes are there, each with an interval or why not."""
    names = (
        "krippendorff_alpha kendall_w kendall_w_ties mean_tau_b mean_spearman fleiss_kappa "
        "cohen_kappa_none cohen_kappa_linear cohen_kappa_quadratic icc1 icc2 icc2k"
    )
    rows = by_name(agree(HUMANS, QUICK))
    for name in names.split():
        row = rows[name, "human", "clarity"]
        assert not isnan(row.value)
        assert row.ci_low < row.value < row.ci_high or row.ci_reason


def test_agree_by_group_source_and_prompt() -> None:
    """Dimensions are put together, or items taken apart; the group says which."""
    both = by_name(agree(HUMANS, QUICK, "group"))
    stacked = np.vstack([HUMANS.scores[:, :, 0], HUMANS.scores[:, :, 1]])
    assert {key[1:] for key in both} == {("human", "all")}
    alpha = both["krippendorff_alpha", "human", "all"]
    assert alpha.value == krippendorff_alpha(stacked).value
    # An item's two ratings are drawn together: as many clusters as prompts.
    interval = jackknife(krippendorff_alpha(stacked).resampled, 48, [*HUMANS.prompts] * 2)  # type: ignore[misc]
    assert alpha.ci_low == interval.low

    sources = by_name(agree(HUMANS, QUICK, "source"))
    of_b = HUMANS.scores[1::4, :, 0]
    assert sources["icc1", "human", "b", "clarity"].value == icc(of_b, "icc1").value
    prompts = by_name(agree(HUMANS, QUICK, "prompt"))
    third = HUMANS.scores[8:12, :, 0]
    assert prompts["kendall_w", "human", "p2", "clarity"].value == kendall_w(third).mean.value
    with pytest.raises(ValueError, match="name no source"):
        agree(replace(HUMANS, sources=None), QUICK, "source")
    with pytest.raises(ValueError, match="found 'rater'"):
        agree(HUMANS, QUICK, "rater")  # type: ignore[arg-type]


def test_several_groups_are_also_taken_together() -> None:
    """Groups have rows of their own and one for all; a group of one says that it is one."""
    rows = by_name(agree(PANEL, QUICK))
    first = rows["krippendorff_alpha", "m1", "clarity"]
    assert first.value == krippendorff_alpha(PANEL.scores[:, :2, 0]).value
    together = rows["krippendorff_alpha", "all", "clarity"]
    assert together.value == krippendorff_alpha(PANEL.scores[:, :, 0]).value
    alone = rows["krippendorff_alpha", "m2", "clarity"]
    assert isnan(alone.value)
    assert (alone.note, alone.reason) == ("ordinal", Reason.FEW_RATERS)


def test_p_values_are_corrected_over_the_dimensions() -> None:
    """Holm's correction is over the dimensions of one statistic; the composite's p-value is its
    own; the raw value is kept."""
    rows = by_name(agree(HUMANS, QUICK))
    raw = [
        kendall_w(HUMANS.scores[:, :, d], HUMANS.prompts, n_permutations=39).mean.p_value
        for d in (0, 1)
    ]
    composite, *corrected = (
        rows["kendall_w", "human", name].p_value for name in ("composite", *HUMANS.dimensions)
    )
    assert composite == rows["kendall_w", "human", "composite"].p_raw
    assert corrected == pytest.approx(multipletests(raw, method="holm")[1])
    clarity = rows["kendall_w", "human", "clarity"]
    assert (clarity.p_raw, clarity.n_tests, clarity.adjusted_over) == (raw[0], 2, "dimensions")


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


def test_correlate_matches_by_name() -> None:
    """Order and extra items of either side do not matter; nothing in common is refused."""
    order = np.random.default_rng(1).permutation(24)
    shuffled = replace(
        PANEL,
        scores=np.vstack([PANEL.scores[order], np.full((1, 3, 2), 3.0)])[:, :, ::-1],
        items=(*(PANEL.items[n] for n in order), "extra"),
        dimensions=("depth", "clarity"),
        prompts=None,
        sources=None,
    )
    # As text, because NaN is not equal to itself.
    assert str(correlate(shuffled, HUMANS, QUICK)) == str(correlate(PANEL, HUMANS, QUICK))
    with pytest.raises(ValueError, match="share no item"):
        correlate(replace(PANEL, items=tuple(map(str, range(24)))), HUMANS, QUICK)
    with pytest.raises(ValueError, match="share no dimension"):
        correlate(replace(PANEL, dimensions=("a", "b")), HUMANS, QUICK)


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


def test_without_prompts_nothing_is_within_them() -> None:
    """Items are resampled where there are no prompts, and no statistic speaks of prompts."""
    plain = replace(HUMANS, prompts=None, sources=None)
    rows = by_name([*agree(plain, QUICK), *correlate(replace(PANEL, prompts=None), plain, QUICK)])
    assert not any("within_prompts" in name or "pairwise" in name for name, *_ in rows)
    interval = jackknife(krippendorff_alpha(HUMANS.scores[:, :, 0]).resampled, 24)
    assert rows["krippendorff_alpha", "human", "clarity"].ci_low == interval.low
    assert isnan(rows["kendall_w", "human", "clarity"].ci_low)


def test_same_seed_same_rows() -> None:
    """Two runs with the same seed give the same rows; the seed decides what is drawn, the p-value
    of a permutation test, and no interval."""
    assert str(agree(HUMANS, QUICK)) == str(agree(HUMANS, QUICK))
    noise = np.random.default_rng(0).integers(1, 6, HUMANS.scores.shape).astype(float)
    rows = [
        by_name(agree(replace(HUMANS, scores=noise), replace(QUICK, seed=seed))) for seed in (0, 1)
    ]
    first, second = (found["kendall_w", "human", "depth"] for found in rows)
    assert (first.value, first.ci_low) == (second.value, second.ci_low)
    assert first.p_raw != second.p_raw


def test_judges_as_a_sample_are_left_out_too() -> None:
    """Over prompts and judges, a row's interval is that of leaving out each prompt and each
    judge, wider than over prompts where judges differ; with four judges there is none, and that is
    why."""
    options = replace(QUICK, random="prompts-and-judges")
    noisy = HUMANS.scores.copy()
    noisy[:, 0] = noisy[::-1, 0]
    humans = replace(HUMANS, scores=noisy)
    scores = noisy[:, :, 1]
    without = [krippendorff_alpha(np.delete(scores, judge, axis=1)).resampled for judge in range(5)]
    prompts = list(HUMANS.prompts or ())
    expected = jackknife(
        krippendorff_alpha(scores).resampled, 24, prompts, judges=[without], limits=(-inf, 1)
    )
    rows = [by_name(agree(humans, one)) for one in (options, QUICK)]
    wide, narrow = (found["krippendorff_alpha", "human", "depth"] for found in rows)
    assert (wide.ci_low, wide.ci_high) == (expected.low, expected.high)
    assert wide.ci_high - wide.ci_low > narrow.ci_high - narrow.ci_low
    four = replace(
        HUMANS, scores=HUMANS.scores[:, :4], raters=HUMANS.raters[:4], groups=HUMANS.groups[:4]
    )
    assert by_name(agree(four, options))["icc2", "human", "depth"].ci_reason is Reason.FEW_JUDGES


def test_judges_of_a_run_are_sampled_by_persona_and_by_model() -> None:
    """Of personas crossed with models each persona and each model is left out, not each judge."""
    judges = [(persona, model) for model in "mn" for persona in "abc"]
    crossed = made_up(
        4, 6, personas=tuple(p for p, _ in judges), groups=tuple(m for _, m in judges)
    )
    rows = by_name(agree(crossed, replace(QUICK, random="prompts-and-judges")))
    scores = crossed.scores[:, :, 0]
    without = [
        [
            krippendorff_alpha(scores[:, [judge[part] != level for judge in judges]]).resampled
            for level in levels
        ]
        for part, levels in enumerate(("abc", "mn"))
    ]
    expected = jackknife(
        krippendorff_alpha(scores).resampled,
        24,
        list(crossed.prompts or ()),
        judges=without,
        limits=(-inf, 1),
    )
    found = rows["krippendorff_alpha", "all", "clarity"]
    assert (found.ci_low, found.ci_high) == (expected.low, expected.high)
    # A model's own judges are three personas, too few to be a sample.
    assert rows["krippendorff_alpha", "m", "clarity"].ci_reason is Reason.FEW_JUDGES


def test_the_share_that_is_done_is_said() -> None:
    """Both analyses call with rising shares, one for each statistic of a block, and end at 1."""
    for analysis in (agree, panel_quality):
        shares: list[float] = []
        analysis(HUMANS, replace(QUICK, intervals=False), on_step=shares.append)
        assert len(shares) > 5
        assert shares == sorted(shares)
        assert shares[-1] == 1


def test_without_intervals_there_are_values_alone() -> None:
    """`intervals=False` changes no value and computes no interval."""
    plain = by_name(agree(HUMANS, replace(QUICK, intervals=False)))
    for key, row in by_name(agree(HUMANS, QUICK)).items():
        assert repr(plain[key].value) == repr(row.value)
        assert isnan(plain[key].ci_low)
        assert plain[key].ci_reason is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": HUMANS.items[:-1]}, "the shape"),
        ({"items": (*HUMANS.items[:-1], "i0")}, "'i0' is twice among the items"),
        ({"groups": ("human",)}, "1 groups for 5"),
        ({"prompts": ("p",)}, "1 prompts for 24"),
        ({"scores": HUMANS.scores * np.inf}, "infinite"),
    ],
)
def test_ratings_that_do_not_fit_are_refused(change: dict[str, object], message: str) -> None:
    """Names and numbers that do not fit together are named."""
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        replace(HUMANS, **change)  # type: ignore[arg-type]


def test_categories_are_compared_and_never_averaged() -> None:
    """Of a dimension of categories there are the statistics that take them as such, α at the
    nominal level whatever was asked; it is left out where dimensions are put together, and
    scores are not compared with it."""
    humans = replace(HUMANS, categories={"depth": tuple("abcdef")})
    rows = agree(humans, QUICK)
    of = {row.statistic: row for row in rows if row.dimension == "depth"}
    assert of.keys() >= {
        "krippendorff_alpha",
        "cohen_kappa_none",
        "fleiss_kappa",
        "perfect_agreement",
        "agreement_on_label",
        "kappa_of_two",
    }
    assert not of.keys() & {"kendall_w", "icc1", "mean_tau_b", "cohen_kappa_linear"}
    depth = HUMANS.scores[:, :, 1]
    assert of["krippendorff_alpha"].value == krippendorff_alpha(depth, "nominal").value
    assert of["krippendorff_alpha"].note == "nominal"
    (together,) = {row.n_items for row in agree(humans, QUICK, "group")}
    assert together == 24
    with pytest.raises(ValueError, match="different categories of 'depth'"):
        correlate(PANEL, humans, QUICK)


def test_names_that_the_results_use_are_refused() -> None:
    """A group whose rows could not be told from those of all raters, or of the humans, is named;
    a single group may be called `all`."""
    with pytest.raises(ValueError, match="called 'all'"):
        agree(replace(PANEL, groups=("all", "all", "m2")), QUICK)
    with pytest.raises(ValueError, match="called 'humans'"):
        correlate(replace(PANEL, groups=("humans", "humans", "m2")), HUMANS, QUICK)
    assert {row.group for row in agree(replace(PANEL, groups=("all",) * 3), QUICK)} == {"all"}
