"""Correlations of many columns at once."""

from __future__ import annotations

from itertools import product
from math import nan
from typing import get_args

import numpy as np
import pytest

from persona_panel.statistics import correlation
from persona_panel.statistics.core.correlation import (
    MOST_CELLS,
    MOST_PAIRS,
    CorrelationKind,
    correlation_within,
    correlations,
    correlations_by_prompt,
    resampled_correlations,
)


@pytest.mark.parametrize(("kind", "n"), [*product(get_args(CorrelationKind), (9, 400))])
def test_columns_are_correlated_as_they_are_alone(kind: CorrelationKind, n: int) -> None:
    """Many columns at once give what `correlation` gives of each, with ties, gaps and constants."""
    assert 9**2 < MOST_PAIRS < 400**2 < MOST_CELLS < 30 * 400**2
    rng = np.random.default_rng(n)
    x, y = rng.integers(1, 5, (2, n, 30)).astype(float)
    x[rng.random(x.shape) < 0.3] = nan
    x[:, 0], y[:, 1] = 3, 0.1
    expected = [correlation(*pair, kind).value for pair in zip(x.T, y.T, strict=True)]
    np.testing.assert_allclose(correlations(x, y, kind), expected, atol=1e-12)
    assert np.isnan(expected[:2]).all()


@pytest.mark.parametrize(("kind", "n"), [*product(get_args(CorrelationKind), (9, 800))])
def test_a_resample_is_of_copies_of_the_items(kind: CorrelationKind, n: int) -> None:
    """Each resample gives what `correlation` gives of the items that it draws, as often as it draws
    them; a single column on either side is that of all columns of the other."""
    rng = np.random.default_rng(n)
    draws = rng.integers(0, 3, (4, n)).astype(float)
    x, y = rng.integers(1, 5, (2, n, 7)).astype(float)
    x[rng.random(x.shape) < 0.3] = nan
    y[:, 1] = 0.1
    copies = [np.repeat(np.arange(n), of.astype(int)) for of in draws]
    for first, second in ((x, y), (x[:, :1], y), (x, y[:, :1])):
        columns = [*zip(*(side.T for side in np.broadcast_arrays(first, second)), strict=True)]
        expected = [[correlation(a[of], b[of], kind).value for a, b in columns] for of in copies]
        found = resampled_correlations(first, second, kind, draws)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_single_resample_counts_its_copies() -> None:
    """Of pairs (1, 1), (2, 3), (3, 2) the last two tie none and are discordant; with two copies of
    the first, they are one pair of five: τ_b = (4 − 1) / √(5 · 5)."""
    x, y = np.array([[1.0], [2], [3]]), np.array([[1.0], [3], [2]])
    [[found]] = resampled_correlations(x, y, "tau_b", np.array([[2.0, 1, 1]]))
    assert found == pytest.approx(0.6)


def test_what_is_drawn_can_be_constant() -> None:
    """A resample of alike values has no correlation, whatever the rounding of their mean beside the
    value that is not drawn; and no size of values is too large or too small for r."""
    x, y = np.array([7, *[0.1] * 9]), np.arange(10.0)
    draws = np.array([[0.0, *[1] * 9], [1] * 10])
    for kind in get_args(CorrelationKind):
        found = resampled_correlations(x[:, None], y[:, None], kind, draws)[:, 0]
        assert np.isnan(found[0]) and found[1] == pytest.approx(correlation(x, y, kind).value)
    sizes = np.array([1e-200, 1, 1e200])
    found = correlations(x[:, None] * sizes, y[:, None], "pearson")
    np.testing.assert_allclose(found, correlation(x, y, "pearson").value)


def test_r_within_groups_is_of_copies_of_the_items() -> None:
    """Each resample gives what `correlation_within` gives of the items drawn, where groups come in
    any order, and gaps leave some of one item or none."""
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 12, 40)
    draws = rng.integers(0, 3, (5, 40)).astype(float)
    x, y = rng.normal(size=(2, 40, 6)) + 100 * groups[:, None]
    x[rng.random(x.shape) < 0.4] = nan
    y[:, 1] = groups / 3
    expected = [
        [correlation_within(a[of], b[of], groups[of]).value for a, b in zip(x.T, y.T, strict=True)]
        for of in (np.repeat(np.arange(40), times.astype(int)) for times in draws)
    ]
    found = resampled_correlations(x, y, "pearson", draws, groups.tolist())
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.isnan(found[:, 1]).all() and not np.isnan(found[:, 2:]).any()


@pytest.mark.parametrize("kind", get_args(CorrelationKind))
def test_prompts_are_correlated_as_they_are_alone(kind: CorrelationKind) -> None:
    """Columns inside prompts of one, two and more items, in any order, have what `correlation`
    gives of each prompt's items."""
    rng = np.random.default_rng(8)
    prompts = rng.permutation([*"abbcccccddddeeee"])
    x, y = rng.integers(1, 6, (2, 16, 5)).astype(float)
    y[rng.random(y.shape) < 0.1] = nan
    expected = [
        [correlation(x[prompts == name, column], y[prompts == name, column], kind).value
         for column in range(5)]
        for name in dict.fromkeys(prompts)
    ]  # fmt: skip
    found = correlations_by_prompt(x, y, prompts.tolist(), kind)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["tau_b", "tau_c"])
def test_many_items_with_few_ratings_are_as_few_items(kind: CorrelationKind) -> None:
    """Of more items than all pairs are compared of, columns with 0, 1 and 2 ratings, and no columns
    at all, have what the same ratings have as few items."""
    y = np.full((1_200, 3), nan)
    assert MOST_PAIRS < 1_200**2
    y[5, 1], y[[5, 9], 2] = 2, [1, 2]
    x = np.where(np.isnan(y), nan, np.arange(len(y))[:, None])
    found = correlations(x, y, kind)
    np.testing.assert_allclose(found, correlations(x[:10], y[:10], kind))
    np.testing.assert_allclose(found, [nan, nan, 1])
    assert correlations(x[:, :0], y[:, :0], kind).shape == (0,)
    assert correlations(x[:, :1], y[:, :0], kind).shape == (0,)
