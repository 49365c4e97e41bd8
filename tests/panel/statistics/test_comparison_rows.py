"""Rows of `correlate`: panel and human compared with the same people, and true reasons."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from persona_panel.statistics import Ratings, Reason, Row, correlate, human_difference
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK

LABELS = ("x", "y")


def only(rows: list[Row], statistic: str, group: str = "all", dimension: str = "clarity") -> Row:
    (row,) = [
        row
        for row in rows
        if (row.statistic, row.group, row.dimension) == (statistic, group, dimension)
    ]
    return row


def labelled(codes: list[list[float]], prefix: str) -> Ratings:
    """Labels by raters of one group `(items, raters)`."""
    scores = np.array(codes, dtype=float)
    return Ratings(
        scores[:, :, None],
        tuple(f"i{item}" for item in range(len(scores))),
        tuple(f"{prefix}{rater}" for rater in range(scores.shape[1])),
        ("use",),
        (prefix,) * scores.shape[1],
        categories={"use": LABELS},
    )


def test_panel_less_human_has_three_rows() -> None:
    """Panel, one judge and averaging each have the function's value and an interval; a panel of
    one judge has its own row alone, and so has τ_b over all items."""
    rows = correlate(PANEL, HUMANS, QUICK)
    expected = human_difference(PANEL.scores[:, :, 0], HUMANS.scores[:, :, 0], "spearman")
    found = [
        row
        for row in rows
        if (row.statistic, row.group, row.dimension)
        == ("human_difference_spearman", "all", "clarity")
    ]
    names = ["panel − human", "judge − human", "panel − judge"]
    assert [row.by_value for row in found] == names
    assert [row.value for row in found] == [one.value for one in expected]
    assert all(row.ci_low < row.value < row.ci_high for row in found)
    assert only(rows, "human_difference_spearman", "m2").by_value == "panel − human"
    assert only(rows, "human_difference_tau_b").by_value == "panel − human"
    within = "human_difference_tau_b_within_prompts"
    assert [row.by_value for row in rows if (row.statistic, row.group) == (within, "all")] == [
        *names,
        *names,
        *names,
    ]


def test_a_difference_has_no_interval_where_the_figure_has_none() -> None:
    """Over three prompts neither a correlation has an interval, nor what it is less another; over
    five both have."""
    panel = replace(PANEL, groups=("m",) * 3, controls=frozenset(PANEL.raters[2:]))
    differences = ("human_difference_", "persona_gain_", "alpha_added")
    for n_prompts, there in ((3, False), (5, True)):
        items = range(4 * n_prompts)
        rows = correlate(panel.of_items(items), HUMANS.of_items(items), QUICK)
        assert isnan(only(rows, "tau_b_within_prompts", "m").ci_low) is not there
        found = [row for row in rows if row.statistic.startswith(differences) and not row.reason]
        assert len({row.statistic for row in found}) == 13
        for row in found:
            assert isnan(row.ci_low) is not there, row
            assert (row.ci_reason is Reason.FEW_FOR_A_CORRELATION) is not there


def test_ranks_of_people_meet_ranks_of_judges() -> None:
    """Where ranks are the target, judges are compared with people by their ranks, too: the order
    inside prompts is all that counts on either side."""
    options = replace(QUICK, target="rank")
    shifted = replace(PANEL, scores=PANEL.scores + 10 * np.repeat(np.arange(6), 4)[:, None, None])
    name = "human_difference_pearson"
    rows = [
        [row.value for row in correlate(panel, HUMANS, options) if row.statistic == name]
        for panel in (PANEL, shifted)
    ]
    assert rows[0] == pytest.approx(rows[1])


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


def test_labels_without_a_majority_are_shared_items() -> None:
    """Where raters of a side are tied on every item, that is the reason, not that no item was
    shared; where none was rated by both, that is."""
    judges = [[0, 0], [1, 1], [0, 1], [1, 0]]
    tied = [[0, 1], [1, 0], [0, 1], [1, 0]]
    apart = [[nan, nan], [nan, nan], [nan, nan], [nan, nan], [0, 0]]
    names = ("label_kappa", "label_agreement", "judge_label_kappa", "agreement_on_label")
    for people, reason in (
        (tied, Reason.NO_MAJORITY),
        (apart, Reason.NO_SHARED_ITEMS),
    ):
        rows = correlate(labelled(judges, "j"), labelled(people, "p"), QUICK)
        for name in names:
            found = {row.reason for row in rows if row.statistic == name}
            assert found == {reason}, name
    assert only(rows, "label_kappa_pairs", "j", "use").reason is Reason.NO_SHARED_ITEMS
    three = [[0, 1, nan], [0, nan, 1], [nan, 0, 1]]
    rows = correlate(labelled(judges, "j"), labelled([[0, 1, 0], *three[1:]], "p"), QUICK)
    assert only(rows, "human_label_agreement", "humans", "use").reason is None


def test_one_person_has_nobody_to_agree_with() -> None:
    """Of labels by one person, or by one of two on shared items, κ with the others has that
    reason."""
    judges = labelled([[0, 0], [1, 1], [0, 1]], "j")
    for people in ([[0], [1], [1]], [[0, nan], [1, nan], [1, nan], [0, 1]]):
        rows = correlate(judges, labelled(people, "p"), QUICK)
        for name in ("human_label_kappa", "human_label_agreement"):
            assert only(rows, name, "humans", "use").reason is Reason.FEW_PEOPLE


def test_a_source_without_ratings_and_one_without_others_have_their_own_reasons() -> None:
    """People rated one source's items alone: it has a mean and nobody to win against, and the
    other has no ratings."""
    items, sources = ("i0", "i1", "i2"), ("h", "h", "m")
    panel = Ratings(np.ones((3, 1, 1)), items, ("j",), ("d",), ("model",), sources=sources)
    people = np.array([[1.0], [2.0], [nan]])[:, :, None]
    humans = Ratings(people, items, ("p",), ("d",), ("human",), sources=sources)
    rows = correlate(panel, humans, QUICK, only=["source_mean", "win_rate"])
    of_people = {(row.statistic, row.by_value): row for row in rows if row.group == "humans"}
    assert of_people["source_mean", "h"].value == 1.5
    assert of_people["source_mean", "m"].reason is Reason.NO_RATINGS
    assert of_people["win_rate", "h"].reason is Reason.FEW_SOURCES
    assert of_people["win_rate", "m"].reason is Reason.NO_RATINGS


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
    assert {row.statistic for row in rows} >= {"label_kappa", "label_agreement"}
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
