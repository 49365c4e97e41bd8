"""Adjusted p-values: Shaffer's against his tables and all ways in which groups can be equal, others
against statsmodels'."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from math import comb, nan

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from persona_panel.statistics import Difference, Estimate
from persona_panel.statistics.core.significance import (
    benjamini_yekutieli,
    holm,
    holm_adjusted,
    pairs_adjusted,
    shaffer,
)

TABLE = {
    2: [1],
    3: [3, 1, 1],
    4: [6, 3, 3, 3, 2, 1],
    5: [10, 6, 6, 6, 6, 4, 4, 3, 2, 1],
    6: [15, 10, 10, 10, 10, 10, 7, 7, 7, 6, 4, 4, 3, 2, 1],
}
"""By the number of groups, by what the smallest p-value, the second, … is multiplied (Shaffer
1986)."""


@pytest.mark.parametrize("n_groups", TABLE)
def test_the_factors_are_those_of_the_published_table(n_groups: int) -> None:
    """p-values that rise so fast that each is adjusted by its own factor, in mixed order."""
    factors = TABLE[n_groups]
    p = 1e-30 * 100.0 ** np.arange(len(factors))
    order = np.random.default_rng(n_groups).permutation(len(p))
    assert shaffer(p[order], n_groups) / p[order] == pytest.approx(np.array(factors)[order])


@pytest.mark.parametrize("n_groups", [3, 5, 6, 7])
def test_a_factor_is_the_largest_number_of_pairs_that_can_be_equal(n_groups: int) -> None:
    """Groups with labels are equal where labels are: over all labels, the numbers of equal pairs;
    the factor is the largest that is not more than the pairs that are left."""
    possible = {
        sum(comb(n, 2) for n in Counter(labels).values())
        for labels in product(range(n_groups), repeat=n_groups)
    }
    n_pairs = comb(n_groups, 2)
    p = 1e-60 * 100.0 ** np.arange(n_pairs)
    expected = [max(n for n in possible if n <= n_pairs - done) for done in range(n_pairs)]
    assert shaffer(p, n_groups) / p == pytest.approx(expected)


def test_an_adjusted_p_is_at_least_that_of_a_smaller_one_and_at_most_1() -> None:
    """0.02 · 3 = 0.06 holds for 0.03, too, which by itself stays; 0.9 · 3 is 1."""
    assert shaffer([0.03, 0.02, 0.9], 3).tolist() == pytest.approx([0.06, 0.06, 0.9])
    assert shaffer([0.9, 0.95, 0.99], 3).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="between 0 and 1"):
        shaffer([1.5], 2)


def test_a_pair_without_a_test_keeps_none_and_makes_others_no_stricter() -> None:
    """Of four groups three pairs are tested: at first three of them can be equal, then two."""
    found = shaffer([0.01, nan, 0.02, nan, 0.03, nan], 4)
    assert found.tolist() == pytest.approx([0.03, nan, 0.04, nan, 0.04, nan], nan_ok=True)
    assert found[[0, 2, 4]] == pytest.approx(holm([0.01, 0.02, 0.03]))


def test_rows_of_p_values_are_adjusted_each_by_itself() -> None:
    """Of two rows, one with a pair untested, each has what it has alone."""
    rows = [[0.04, 0.01, 0.03], [0.02, nan, 0.001]]
    assert shaffer(rows, 3) == pytest.approx(
        np.array([shaffer(row, 3) for row in rows]), nan_ok=True
    )


def test_differences_are_adjusted_for_the_number_of_their_systems() -> None:
    """Three systems: 0.01 · 3, and 0.04 as it is."""
    pairs = [
        Difference(1, p=p, a=a, b=b)
        for p, (a, b) in zip((0.04, 0.01, 0.2), ("AB", "AC", "BC"), strict=True)
    ]
    found = pairs_adjusted(pairs)
    assert [(one.a, one.b) for one in found] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert [one.p_adjusted for one in found] == pytest.approx([0.04, 0.03, 0.2])
    assert pairs_adjusted([]) == []


@pytest.mark.parametrize(("adjusted", "method"), [(holm, "holm"), (benjamini_yekutieli, "fdr_by")])
def test_others_are_those_of_statsmodels(adjusted: Callable[..., np.ndarray], method: str) -> None:
    """In the order in which p-values were given; without a test there is none, and none counts."""
    p = np.random.default_rng(0).random(9) ** 3
    p[[2, 5]] = nan
    there = ~np.isnan(p)
    found = adjusted(p)
    assert found[there] == pytest.approx(multipletests(p[there], method=method)[1])
    assert np.isnan(found[~there]).all()
    assert adjusted([]).tolist() == [] and adjusted([0.0, 1.0]).tolist() == [0.0, 1.0]
    for wrong in (-0.01, 1.01):
        with pytest.raises(ValueError, match="between 0 and 1"):
            adjusted([0.5, wrong])


def test_families_are_adjusted_apart_and_a_repeated_test_counts_once() -> None:
    """Of two composites, of which the second is the only dimension again, and two dimensions."""
    estimates = [Estimate(1.0, p=p) for p in (0.03, 0.02, 0.02, 0.04)]
    assert [one.p_adjusted for one in holm_adjusted(estimates)] == pytest.approx(
        [0.08] * 2 + [0.08] * 2
    )
    apart = holm_adjusted(estimates, primary=[True, True, False, False])
    assert [one.p_adjusted for one in apart] == pytest.approx([0.04, 0.04, 0.04, 0.04])
    again = holm_adjusted(estimates, same_as=[0, 2, 2, 3])
    assert [one.p_adjusted for one in again] == pytest.approx([0.06, 0.06, 0.06, 0.06])
    assert [one.p for one in again] == [0.03, 0.02, 0.02, 0.04]
