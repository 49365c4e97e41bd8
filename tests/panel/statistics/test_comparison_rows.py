"""Rows of `correlate`: scales, composites, true reasons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from persona_panel.statistics import Reason, correlate
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK, labelled, only


@pytest.mark.parametrize(
    ("scale", "humans_scale", "factor", "other"),
    [
        (None, None, 1.0, False),
        ((1.0, 10.0), None, 1.0, False),
        ((0.0, 1.0), None, 0.17, True),
        (None, (1.0, 3.0), 1.0, True),
        ((1.0, 5.0), (1.0, 10.0), 1.0, True),
        (None, None, 0.17, True),
    ],
)
def test_scores_on_other_scales_are_not_pooled(
    scale: tuple[float, float] | None,
    humans_scale: tuple[float, float] | None,
    factor: float,
    other: bool,
) -> None:
    """α and κ of judges and people together are undefined, with that reason, where the scores of
    one side lie outside the other's scale, or only one side's are shares; correlations stay."""
    ours = replace(
        PANEL, scores=PANEL.scores * factor, scales={} if scale is None else {"clarity": scale}
    )
    theirs = replace(HUMANS, scales={} if humans_scale is None else {"clarity": humans_scale})
    rows = correlate(ours, theirs, QUICK)
    assert (only(rows, "substituted_kappa").reason is Reason.OTHER_SCALE) is other
    added = [row for row in rows if (row.statistic, row.dimension) == ("alpha_added", "clarity")]
    assert added
    assert all((row.reason is Reason.OTHER_SCALE) is other for row in added)
    assert only(rows, "human_kappa", "humans").reason is None
    assert only(rows, "spearman").reason is None


def test_a_composite_has_the_scale_that_its_dimensions_share() -> None:
    """It is of shares of them, from 0 to 1, where they have several, and has none where one is not
    known."""
    both = {"clarity": (1.0, 5.0), "depth": (1.0, 5.0)}
    assert replace(PANEL, scales=both).composite().scales == {"all": (1.0, 5.0)}
    several = replace(PANEL, scales=both | {"depth": (0.0, 1.0)}).composite()
    assert several.scales == {"all": (0.0, 1.0)}
    shares = (PANEL.scores - [1.0, 0.0]) / [4.0, 1.0]
    np.testing.assert_allclose(several.scores, shares.mean(axis=2, keepdims=True))
    assert not replace(PANEL, scales={"depth": (0.0, 1.0)}).composite().scales


def test_too_few_shared_items_name_the_number() -> None:
    """κ with the panel in one person's place says how many items two people have to share."""
    rows = correlate(PANEL, HUMANS, replace(QUICK, min_shared=50))
    for statistic, group in (("human_kappa", "humans"), ("substituted_kappa", "all")):
        row = only(rows, statistic, group)
        assert row.reason is Reason.FEW_SHARED
        assert "50" in row.reason


def test_labels_have_no_direction() -> None:
    """Their rows are the same where both sides rank: codes of categories have no sign."""
    judges, people = (
        labelled([[0, 0], [1, 1], [0, 1], [1, 1]], "j"),
        labelled([[0], [1], [1], [0]], "p"),
    )
    rows, ranked = (
        correlate(*(replace(side, lower_is_better=lower) for side in (judges, people)), QUICK)
        for lower in (False, True)
    )
    assert {row.statistic for row in rows} >= {"label_kappa", "confusion"}
    assert repr(rows) == repr(ranked)


def test_all_dimensions_together_are_on_one_scale_or_on_none() -> None:
    """α of people over both dimensions is there where all are known to be on one scale, or none is
    known; not where two are known to differ."""
    for scales, there in (
        ({}, True),
        ({"clarity": (1.0, 5.0), "depth": (1.0, 5.0)}, True),
        ({"clarity": (1.0, 5.0), "depth": (0.0, 5.0)}, False),
        ({"clarity": (1.0, 5.0)}, False),
    ):
        rows = correlate(replace(PANEL, scales=scales), HUMANS, QUICK, only=["alpha_added"])
        assert any(row.dimension == "all" for row in rows) == there, scales
