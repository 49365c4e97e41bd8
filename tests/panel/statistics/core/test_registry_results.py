"""Rows of results: how p-values of several dimensions are adjusted together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from persona_panel.statistics import Row
from persona_panel.statistics.core.registry import adjust_over_dimensions


def row(statistic: str, dimension: str, p: float) -> Row:
    return replace(Row(statistic, "all", dimension), p_value=p, p_raw=p, n_tests=1)


def test_p_values_of_a_statistic_are_adjusted_over_its_dimensions() -> None:
    """By Holm, 0.04 and 0.01 of two dimensions become 0.04 and 2 × 0.01; the p-value of a
    statistic on one dimension stays, wherever it stands."""
    alone, first, second = row("a", "x", 0.03), row("b", "x", 0.04), row("b", "y", 0.01)
    adjusted = adjust_over_dimensions([alone, first, second])
    assert adjusted[0] == alone
    assert [one.p_value for one in adjusted[1:]] == pytest.approx([0.04, 0.02])
    assert [one.p_raw for one in adjusted[1:]] == [0.04, 0.01]
    assert {(one.n_tests, one.adjusted_over) for one in adjusted[1:]} == {(2, "dimensions")}


@pytest.mark.parametrize("p", [0.04, 0.5])
def test_the_composite_is_a_family_of_its_own(p: float) -> None:
    """The composite's p stays as it is, at 5 %, and so do Holm's of the dimensions, whatever the
    other family has. Done twice it is the same."""
    dimensions = [row("b", "x", 0.04), row("b", "y", 0.01), row("other", "x", 0.3)]
    found = adjust_over_dimensions(dimensions, [row("b", "composite", p)])
    assert found[0] == row("b", "composite", p)
    assert [one.p_value for one in found[1:3]] == pytest.approx([0.04, 0.02])
    assert {(one.n_tests, one.adjusted_over) for one in found[1:3]} == {(2, "dimensions")}
    assert found[3] == dimensions[2]
    assert adjust_over_dimensions(found[1:], found[:1]) == found


def test_over_strata_the_composites_are_one_family_and_the_dimensions_another() -> None:
    """Two strata: composites 0.02 and 0.03 become 0.04; four p-values of dimensions, Holm's."""
    composites = [replace(row("b", "composite", p), by="x", by_value=str(p)) for p in (0.02, 0.03)]
    dimensions = [
        replace(row("b", name, p), by="x", by_value=str(p))
        for name, p in (("x", 0.01), ("x", 0.02), ("y", 0.04), ("y", 0.2))
    ]
    found = adjust_over_dimensions(dimensions, composites, over_strata=True)
    assert [one.p_value for one in found] == pytest.approx([0.04, 0.04, 0.04, 0.06, 0.08, 0.2])
    assert [(one.n_tests, one.adjusted_over) for one in found] == [
        *[(2, "strata")] * 2,
        *[(4, "strata and dimensions")] * 4,
    ]
    assert adjust_over_dimensions(found[2:], found[:2], over_strata=True) == found
    within = adjust_over_dimensions(dimensions, composites)
    assert [one.p_value for one in within] == [one.p_value for one in [*composites, *dimensions]]
