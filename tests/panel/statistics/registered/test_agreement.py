"""Statistics of agreement: rows hold what the functions give, by group and dimension."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np
import pytest

from persona_panel.statistics import (
    AnalysisOptions,
    Ratings,
    Reason,
    agree,
    correlate,
    effective_judges,
    icc,
    incomplete_concordance,
    jackknife,
    kendall_w,
    krippendorff_alpha,
    pairwise,
    panel_quality,
    smallest_subset,
)
from persona_panel.statistics.agreement import agreement_statistics
from persona_panel.statistics.core.registry import Registry
from persona_panel.statistics.registered.agreement import panel_quality_statistics
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK, by_name


def test_agree_holds_what_the_functions_give() -> None:
    """Each row is its function's value on the group's ratings of one dimension."""
    rows = by_name(agree(HUMANS, QUICK))
    scores = HUMANS.scores[:, :, 1]
    prompts = list(HUMANS.prompts or ())
    alpha = rows["krippendorff_alpha", "human", "depth"]
    assert alpha.value == krippendorff_alpha(scores).value
    assert (alpha.n_items, alpha.n_raters, alpha.note) == (24, 5, "ordinal")
    resampled = krippendorff_alpha(scores).resampled
    interval = jackknife(
        resampled, 24, prompts, kind="alpha", limits=krippendorff_alpha(scores).limits
    )
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
    interval = jackknife(
        krippendorff_alpha(stacked).resampled,
        48,
        [*(HUMANS.prompts or ())] * 2,
        kind="alpha",
        limits=krippendorff_alpha(stacked).limits,
    )
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


def test_what_judges_all_but_one_reach_is_said_where_no_subset_is_enough() -> None:
    """The bound of the largest subset, of six noisy judges of 20 prompts."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(80, 1)) + rng.normal(size=(80, 6))
    prompts = tuple(f"p{n // 4}" for n in range(80))
    ratings = Ratings(
        scores[:, :, None], tuple(f"i{n}" for n in range(80)), tuple("abcdef"), ("depth",),
        ("all",) * 6, prompts=prompts,
    )  # fmt: skip
    [row] = panel_quality(ratings, QUICK, only=["smallest_subset"])
    found = smallest_subset(scores, prompts, seed=QUICK.seed)
    assert row.reason is found.reason is Reason.NOT_REACHED
    assert row.note == f"τ_b of all judges but one: at least {found.low[4]:.3f}"


def test_two_raters_are_a_pair_from_two_shared_items_on() -> None:
    """Unless more are asked for; a pair of which one is constant is left out, which is said."""
    nan = float("nan")
    scores = np.array([[1.0, 1, 1], [2, 3, 1], [nan, 2, 1]])[..., None]
    ratings = Ratings(scores, tuple("ijk"), tuple("abc"), ("d",), ("m",) * 3)
    [row] = agree(ratings, AnalysisOptions(), only=["mean_tau_b"])
    assert row.value == pytest.approx(1)
    assert row.note == "3 pairs of raters, 2 with a constant rater left out"
    [row] = agree(ratings, AnalysisOptions(min_shared=3), only=["mean_tau_b"])
    assert isnan(row.value) and row.note.startswith("1 pairs")


def test_incomplete_rankings_have_their_test_in_a_note() -> None:
    """Skillings and Mack's T with what it is at random, and of how many prompts the mean is."""
    rows = by_name(agree(HUMANS, QUICK, only=["kendall_w_incomplete"]))
    row = rows["kendall_w_incomplete", "human", "clarity"]
    found = incomplete_concordance(
        HUMANS.scores[:, :, 0], HUMANS.prompts, n_permutations=39, seed=QUICK.seed
    )
    assert row.value == found.over_prompts.mean.value
    assert 0 <= row.ci_low < row.value < row.ci_high <= 1
    assert row.note == (
        f"Skillings-Mack T {found.statistic:.1f}; at random T {found.statistic_by_chance:.1f} and "
        f"W {found.by_chance:.3f}; mean of 6 prompts"
    )


def test_agreement_within_prompts_is_the_mean_of_prompts() -> None:
    """Each prompt's mean over pairs of raters; with the items that two rated."""
    rows = by_name(agree(HUMANS, QUICK, only=["mean_tau_b_within_prompts", "mean_tau_b"]))
    scores = HUMANS.scores[:, :, 0]
    by_prompt = [
        pairwise(scores[first : first + 4], "tau_b").mean.value for first in range(0, 24, 4)
    ]
    row = rows["mean_tau_b_within_prompts", "human", "clarity"]
    assert row.value == pytest.approx(np.nanmean(by_prompt))
    assert row.n_raters == 5 and row.ci_low < row.value < row.ci_high
    pairs = rows["mean_tau_b", "human", "clarity"]
    assert pairs.note == "10 pairs of raters" and pairs.n_raters == 5
    alone = agree(replace(HUMANS, prompts=None), QUICK, only=["mean_tau_b_within_prompts"])
    assert alone == []


@pytest.mark.parametrize(
    ("registry", "ordered", "noted", "of_all"),
    [
        (agreement_statistics,
             "kendall_w kendall_w_incomplete mean_tau_b icc2 persona_disagreement "
             "replicate_disagreement disagreement_added "
             "effective_judges alpha_of_two_groups kendall_w_ties mean_tau_b_within_prompts "
             "mean_spearman cohen_kappa_none cohen_kappa_linear "
             "cohen_kappa_quadratic fleiss_kappa icc1 perfect_agreement",
             "kendall_w_incomplete disagreement_added",
             "alpha_of_two_groups kendall_w_ties mean_tau_b_within_prompts mean_spearman "
             "cohen_kappa_none cohen_kappa_linear "
             "cohen_kappa_quadratic fleiss_kappa icc1 perfect_agreement"),
        (panel_quality_statistics,
             "reliability variance_share alpha_without smallest_subset",
             "",
             "reliability variance_share alpha_without smallest_subset"),
    ],
)  # fmt: skip
def test_statistics_stand_in_this_order(
    registry: Registry[Any], ordered: str, noted: str, of_all: str
) -> None:
    """In their tables; which have their notes below, and which are of all raters alone."""
    module = "persona_panel.statistics.registered.agreement"
    found = [each for each in registry if each.function.__module__ == module]
    assert [each.name for each in found] == ordered.split()
    assert [each.name for each in found if each.show_note] == noted.split()
    assert [each.name for each in found if each.table.all_raters_only] == of_all.split()


def test_alpha_of_every_two_groups() -> None:
    """Of three groups each pair has the α of its raters alone; of two groups there is no such
    row."""
    scores = np.random.default_rng(2).integers(1, 6, size=(30, 6, 1)).astype(float)
    groups = ("a", "a", "b", "b", "c", "c")
    ratings = Ratings(scores, tuple(map(str, range(30))), tuple("uvwxyz"), ("d",), groups)
    rows = agree(ratings, only=["alpha_of_two_groups"])
    found = {(row.by, row.by_value): row for row in rows}
    assert set(found) == {("a", "b"), ("a", "c"), ("b", "c")}
    expected = krippendorff_alpha(scores[:, [0, 1, 4, 5], 0])
    row = found["a", "c"]
    assert row.value == expected.value
    assert row.ci_low < row.value < row.ci_high
    two = Ratings(scores[:, :4], ratings.items, tuple("uvwx"), ("d",), groups[:4])
    assert agree(two, only=["alpha_of_two_groups"]) == []
    name = "krippendorff_alpha"
    of_all = [row for row in agree(ratings, only=[name]) if row.group == "all"]
    assert agree(ratings, only=[name], group="all") == of_all != []
