"""The exact interval of a share."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest

from persona_panel.statistics.core.significance import binomial_interval


@pytest.mark.parametrize(("k", "n"), [(0, 30), (3, 30), (30, 30), (1, 1), (17, 40)])
def test_it_is_scipys(k: int, n: int) -> None:
    """The ends are those of scipy's exact interval."""
    expected = binomtest(k, n).proportion_ci(0.9, method="exact")
    assert binomial_interval(k, n, 0.9) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_trials() -> None:
    """Of nothing there is no share; of one trial no two successes."""
    assert all(map(math.isnan, binomial_interval(0, 0)))
    with pytest.raises(ValueError, match="2 successes in 1 trials"):
        binomial_interval(2, 1)
