"""Rows of results: how p-values of several dimensions are adjusted together."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from persona_panel.statistics import Row
from persona_panel.statistics.core.registry import adjust_over_dimensions
from persona_panel.statistics.core.significance import holm_of_two


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


def test_the_composite_and_its_dimensions_share_the_level() -> None:
    """The composite's 0.02 counts twice; dimensions keep Holm's p-values once that is below 5 %,
    and twice them, or the composite's if lower, where it is not. Done twice it is the same."""
    dimensions = [row("b", "x", 0.04), row("b", "y", 0.01), row("other", "x", 0.3)]
    for p, expected in ((0.02, [0.04, 0.04, 0.04]), (0.5, [0.5, 0.08, 0.04])):
        found = adjust_over_dimensions(dimensions, [row("b", "composite", p)])
        assert [one.p_value for one in found[:3]] == pytest.approx(expected)
        assert {(one.n_tests, one.adjusted_over) for one in found[:3]} == {
            (3, "composite and dimensions")
        }
        assert found[3] == dimensions[2]
        assert adjust_over_dimensions(found[1:], found[:1]) == found


@pytest.mark.parametrize("sizes", [(1, 3), (2, 2), (0, 3), (2, 0)])
def test_two_families_are_a_closed_test(sizes: tuple[int, int]) -> None:
    """An adjusted p-value is the largest of all sets of tests with its own, where each set's is
    Bonferroni's, half of the level for each family of which it has tests."""
    rng = np.random.default_rng(sum(sizes))
    for _ in range(20):
        p = rng.uniform(0, 1, sum(sizes)) ** 3
        first, second = range(sizes[0]), range(sizes[0], sum(sizes))

        def of_set(those: tuple[int, ...], p: Any = p, first: Any = first) -> float:
            families = [
                [n for n in those if (n in first) == is_first] for is_first in (True, False)
            ]
            there = [one for one in families if one]
            return float(min(1.0, *(len(there) * len(one) * p[one].min() for one in there)))

        sets = [c for n in range(1, len(p) + 1) for c in combinations(range(len(p)), n)]
        expected = [max(of_set(one) for one in sets if n in one) for n in range(len(p))]
        found = holm_of_two(p[list(first)], p[list(second)])
        assert np.concatenate(found) == pytest.approx(expected)
