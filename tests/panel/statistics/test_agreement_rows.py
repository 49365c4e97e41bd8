"""Rows of `agree` that its answers need: α and the reliability of the mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from persona_panel.statistics import (
    Ratings,
    Reason,
    Strata,
    agree,
    agreement_differences,
    icc,
    krippendorff_alpha,
)
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK, by_name


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_of_the_level_that_is_asked_for(level: str) -> None:
    """For each group and dimension, of all dimensions together by group, of each stratum; and the
    note says the level."""
    options = replace(QUICK, level=level)  # type: ignore[arg-type]
    only = ["krippendorff_alpha"]
    rows = by_name(agree(PANEL, options, only=only))
    scores = PANEL.scores
    for group, columns in (("m1", [0, 1]), ("all", [0, 1, 2])):
        for place, dimension in enumerate(PANEL.dimensions):
            row = rows["krippendorff_alpha", group, dimension]
            alpha = krippendorff_alpha(scores[:, columns, place], level)  # type: ignore[arg-type]
            assert (row.value, row.note) == (pytest.approx(alpha.value), level)
            assert (row.n_items, row.n_raters) == (alpha.n_items, len(columns))
    composite = [key for key in rows if key[-1] == "composite"]
    assert bool(composite) == (level != "nominal")
    [whole] = agree(HUMANS, options, "group", only=only)
    stacked = np.vstack([HUMANS.scores[:, :, 0], HUMANS.scores[:, :, 1]])
    assert whole.value == pytest.approx(krippendorff_alpha(stacked, level).value)  # type: ignore[arg-type]
    of_source = by_name(agree(HUMANS, options, "source", only=only))
    expected = krippendorff_alpha(HUMANS.scores[2::4, :, 1], level).value  # type: ignore[arg-type]
    assert of_source["krippendorff_alpha", "human", "c", "depth"].value == pytest.approx(expected)
    one_group = agree(PANEL, options, only=only, group="m1")
    assert {row.group for row in one_group} == {"m1"}


@pytest.mark.parametrize(("n_off", "cautions"), [(0, 0), (23, 1), (24, 0), (169, 1), (168, 0)])
def test_alpha_has_a_caution_where_few_ratings_are_off_an_end(n_off: int, cautions: int) -> None:
    """Of 192 ratings in 12 prompts 24 are as many as one and a half prompts have; at either end,
    and of numbers alone. Items without ratings, in prompts of their own, do not count."""
    scores = np.where(np.arange(192) < n_off, 1.0, 5.0).reshape(48, 4, 1)
    scores = np.concatenate([scores, np.full((4, 4, 1), np.nan)])
    ratings = Ratings(
        scores, tuple(f"i{n}" for n in range(52)), tuple("abcd"), ("d",), ("m",) * 4,
        prompts=tuple(f"p{n // 4}" for n in range(52)),
    )  # fmt: skip
    [row] = agree(ratings, QUICK, only=["krippendorff_alpha"])
    caution = "too few ratings differ from the highest, or from the lowest, that were given"
    assert (row.caution, row.note) == (
        (caution, f"ordinal; {caution}") if cautions else ("", "ordinal")
    )
    assert row.estimate().caution == row.caution
    labels = replace(ratings, categories={"d": tuple("abcdef")})
    [row] = agree(labels, QUICK, only=["krippendorff_alpha"])
    assert not row.caution


def test_the_reliability_of_the_mean_is_never_below_0() -> None:
    """Of raters who do not agree it is undefined, as not above 0; its interval ends at 1."""
    rows = by_name(agree(HUMANS, QUICK, only=["icc2k"]))
    row = rows["icc2k", "human", "clarity"]
    assert row.value == pytest.approx(icc(HUMANS.scores[:, :, 0], "icc2k").value)
    assert 0 <= row.ci_low < row.value < row.ci_high <= 1
    apart = HUMANS.scores.copy()
    apart[:, :, 0] = np.tile([1.0, 5.0, 1.0, 5.0, 3.0], (24, 1)) + np.eye(24)[:, :5]
    contrary = replace(HUMANS, scores=apart)
    assert icc(apart[:, :, 0], "icc2k").value <= 0 or icc(apart[:, :, 0], "icc2k").reason
    row = by_name(agree(contrary, QUICK, only=["icc2k"]))["icc2k", "human", "clarity"]
    assert np.isnan(row.value) and row.reason is Reason.NOT_RELIABLE


def test_a_mean_over_prompts_has_an_interval_inside_its_limits() -> None:
    """W of rankings lies between 0 and 1, a mean correlation between −1 and 1."""
    rows = by_name(agree(HUMANS, QUICK, only=["kendall_w", "mean_tau_b_within_prompts"]))
    for name, least in (("kendall_w", 0), ("mean_tau_b_within_prompts", -1)):
        row = rows[name, "human", "clarity"]
        assert least <= row.ci_low < row.value < row.ci_high <= 1
        assert (row.n_clusters, row.note) == (6, "mean of 6 prompts")


def test_strata_are_compared_on_each_dimension_and_the_composite() -> None:
    """Not on all dimensions put together; for all raters."""
    halves = Strata("half", "items", ["a"] * 4 + ["b"] * 4)
    rows = agreement_differences(HUMANS.of_items(range(8)), halves, QUICK)
    found = [row for row in rows if row.statistic == "krippendorff_alpha"]
    assert [row.dimension for row in found[::2]] == ["composite", "clarity", "depth"]
    assert {row.group for row in found} == {"human"}
