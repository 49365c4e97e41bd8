"""Rows of a comparison: differences from a person, by sources, by ranks."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np

from persona_panel.statistics import Ratings, Reason, correlate, human_difference
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK, only


def test_panel_less_human_has_three_rows() -> None:
    """Panel, one judge and averaging each have the function's value and an interval; a panel of
    one judge has its own row alone, and so has τ_b over all items."""
    rows = correlate(PANEL, HUMANS, QUICK)
    expected = human_difference(PANEL.scores[:, :, 0], HUMANS.scores[:, :, 0], "pearson")
    found = [
        row
        for row in rows
        if (row.statistic, row.group, row.dimension)
        == ("human_difference_pearson", "all", "clarity")
    ]
    names = ["panel − human", "judge − human", "panel − judge"]
    assert [row.by_value for row in found] == names
    assert [row.value for row in found] == [one.value for one in expected]
    assert all(row.ci_low < row.value < row.ci_high for row in found)
    assert only(rows, "human_difference_pearson", "m2").by_value == "panel − human"
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
        assert len({row.statistic for row in found}) == 6
        for row in found:
            assert isnan(row.ci_low) is not there, row
            assert (row.ci_reason is Reason.FEW_FOR_A_CORRELATION) is not there


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
