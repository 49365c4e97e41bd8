"""Rows of results: how p-values of several dimensions are adjusted together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from panel.statistics import Row
from panel.statistics.core.results import adjust_over_dimensions


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
