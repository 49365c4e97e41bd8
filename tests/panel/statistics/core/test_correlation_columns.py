"""Correlations of many columns at once."""

from __future__ import annotations

from itertools import product
from math import nan
from typing import get_args

import numpy as np
import pytest

from persona_panel.statistics import (
    correlation,
)
from persona_panel.statistics.core.correlation import (
    MOST_PAIRS,
    CorrelationKind,
    correlations,
    taus,
)


@pytest.mark.parametrize(("kind", "n"), [*product(get_args(CorrelationKind), (9, 400))])
def test_columns_are_correlated_as_they_are_alone(kind: CorrelationKind, n: int) -> None:
    """Many columns at once give what `correlation` gives of each, with ties, gaps and constants."""
    assert 30 * 9 * 8 / 2 < MOST_PAIRS < 30 * 400 * 399 / 2
    rng = np.random.default_rng(n)
    x, y = rng.integers(1, 5, (2, n, 30)).astype(float)
    x[rng.random(x.shape) < 0.3] = nan
    x[:, 0], y[:, 1] = 3, 0.1
    expected = [correlation(*pair, kind).value for pair in zip(x.T, y.T, strict=True)]
    np.testing.assert_allclose(correlations(x, y, kind), expected, atol=1e-12)
    assert np.isnan(expected[:2]).all()


@pytest.mark.parametrize("kind", ["tau_b", "tau_c"])
def test_many_items_with_few_ratings_are_as_few_items(kind: CorrelationKind) -> None:
    """Of more items than all pairs are compared of, columns with 0, 1 and 2 ratings, and no columns
    at all, have what the same ratings have as few items."""
    y = np.full((1_200, 3), nan)
    assert MOST_PAIRS < 3 * 1_200 * 1_199 / 2
    y[5, 1], y[[5, 9], 2] = 2, [1, 2]
    x = np.where(np.isnan(y), nan, np.arange(len(y))[:, None])
    found = correlations(x, y, kind)
    np.testing.assert_allclose(found, correlations(x[:10], y[:10], kind))
    np.testing.assert_allclose(found, [nan, nan, 1])
    assert taus(x[:, :0], y[:, :0], kind).shape == (0,)
    assert taus(x[:, :1], y[:, :0], kind).shape == (0,)
