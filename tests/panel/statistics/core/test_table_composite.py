"""When ratings have a composite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from persona_panel.statistics import AnalysisOptions, Ratings, Reason, agree, correlate
from persona_panel.statistics.core.table import on_composite, ranges_differ
from tests.helpers.rating_tables import HUMANS


def of(*scores: list[float]) -> Ratings:
    """Items by two raters on two dimensions: rows have both raters' first, then both second."""
    table = np.array(scores).reshape(len(scores), 2, 2).transpose(0, 2, 1)
    items = tuple(f"i{place}" for place in range(len(scores)))
    return Ratings(table, items, ("r", "s"), ("clear", "sound"), ("g", "g"))


def test_it_is_the_mean_of_what_a_rater_gave_to_all() -> None:
    """A rater who left one dimension out has none of that item."""
    [whole] = on_composite(of([1, 2, 3, 5], [4, 4, np.nan, 2])) or ()
    np.testing.assert_array_equal(whole.scores[:, :, 0], [[2.0, 3.5], [np.nan, 3.0]])


@pytest.mark.parametrize(
    "ratings",
    [
        of([1, 2, 10, 90], [4, 4, 50, 20]),
        of([1, np.nan, np.nan, 2], [3, np.nan, np.nan, 5]),
    ],
    ids=["ranges of 3 and 80", "each rated one dimension"],
)
def test_there_is_none_of_other_scales_or_of_nobody(ratings: Ratings) -> None:
    """Neither where dimensions plainly have other scales, nor where no rater rated both."""
    assert on_composite(ratings) is None


def test_one_that_says_little_has_no_scale() -> None:
    """A dimension on which all are rated alike is on any scale."""
    assert on_composite(of([3, 3, 1, 5], [3, 3, 2, 4])) is not None


def test_there_is_none_of_ranks() -> None:
    """A mean of places is no rating."""
    ranks = replace(of([1, 2, 2, 1], [2, 1, 1, 2]), lower_is_better=True)
    assert on_composite(ranks) is None


THREE = of([1, 2, 1, 4], [2, 6, 4, 8], [3, 5, 7, 5])
"""Means of the first rater: 1, 3, 5; of the second: 3, 7, 5."""
QUICK = AnalysisOptions(intervals=False, n_permutations=0)


def test_agree_has_the_composite_before_the_dimensions() -> None:
    """Kendall's W of the ranks 1, 2, 3 and 1, 3, 2: their sums 2, 5, 5 lie 2, 1 and 1 from 4, so
    that W is 12 · 6 / (4 · 24). A statistic that is not of the composite has no such row, and
    there is none at the nominal level or of all dimensions together."""
    rows = agree(THREE, QUICK, only=["kendall_w", "mean_tau_b"])
    ws = {row.dimension: row.value for row in rows if row.statistic == "kendall_w"}
    assert list(ws) == ["composite", "clear", "sound"]
    assert ws["composite"] == pytest.approx(0.75)
    assert [row.dimension for row in rows if row.statistic == "mean_tau_b"] == ["clear", "sound"]
    nominal = agree(THREE, replace(QUICK, level="nominal"), only=["krippendorff_alpha"])
    assert [row.dimension for row in nominal] == ["clear", "sound"]
    together = agree(THREE, QUICK, "group", only=["kendall_w"])
    assert [row.dimension for row in together] == ["all"]


def test_the_composite_is_tested_by_itself_and_two_dimensions_together() -> None:
    """Each row says with how many others its p-value is adjusted."""
    rows = agree(THREE, replace(QUICK, n_permutations=9), only=["kendall_w"])
    assert [(row.n_tests, row.adjusted_over) for row in rows] == [
        (1, None),
        (2, "dimensions"),
        (2, "dimensions"),
    ]


def test_a_composite_on_another_scale_is_not_compared_in_points() -> None:
    """Where the panel gives shares and people 1 to 8, no distance between them has a meaning."""
    shares = replace(THREE, scores=THREE.scores / 8)
    rows = correlate(
        shares, THREE, replace(QUICK, epsilon=0.1), only=["alt_test_winning_rate", "tau_b"]
    )
    found = {row.statistic: row for row in rows if (row.dimension, row.group) == ("composite", "g")}
    assert found["alt_test_winning_rate"].reason is Reason.OTHER_SCALE
    # Means of 2, 5 and 5 on both sides.
    assert found["tau_b"].value == pytest.approx(1)


def test_which_scales_go_together() -> None:
    """Those of all dimensions or of none are known; none is plainly wider than eight times another;
    the higher is the better; no rank, no single dimension."""
    [whole] = on_composite(HUMANS) or ()
    assert whole.dimensions == ("composite",)
    np.testing.assert_allclose(whole.scores[:, :, 0], HUMANS.scores.mean(axis=2))
    one, same, two = ((1.0, 5.0),), ((1.0, 5.0),) * 2, ((1.0, 5.0), (0.0, 100.0))
    for scales, there in ((one, False), (same, True), (two, True)):
        known = dict(zip(HUMANS.dimensions, scales, strict=False))
        assert (on_composite(replace(HUMANS, scales=known)) is not None) is there
    # Ratings from 1 to 5 are 4 apart.
    for times, there in ((8.0, True), (8.1, False)):
        scores = HUMANS.scores * [1.0, times]
        assert (on_composite(replace(HUMANS, scores=scores)) is not None) is there
    wide = replace(HUMANS, scores=HUMANS.scores * [1.0, 9.0])
    assert ranges_differ([wide], HUMANS.dimensions)
    assert not ranges_differ([replace(wide, scales={"depth": (9.0, 45.0)})], HUMANS.dimensions)
    nobody = replace(wide, scores=wide.scores * [1.0, np.nan])
    assert not ranges_differ([nobody], HUMANS.dimensions)
    assert not ranges_differ([replace(wide, scores=wide.scores * 0 + 3)], HUMANS.dimensions)
    assert on_composite(replace(HUMANS, lower_is_better=True)) is None
    assert on_composite(replace(HUMANS, scores=HUMANS.scores[:, :, :1], dimensions=("a",))) is None
    apart = HUMANS.scores.copy()
    apart[:, ::2, 0] = apart[:, 1::2, 1] = np.nan
    assert on_composite(replace(HUMANS, scores=apart)) is None
    assert on_composite(HUMANS, replace(HUMANS, dimensions=("a", "b"))) is None
    assert len(on_composite(HUMANS, HUMANS) or ()) == 2
