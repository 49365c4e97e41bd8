"""The mean of few values: Student's interval and tests, and how many values would do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from persona_panel.statistics.core.means import assured, critical_t, two_sided_p

VALUES = st.lists(st.integers(-9, 9), min_size=3, max_size=12).filter(lambda v: len(set(v)) > 1)


@given(VALUES, st.integers(-3, 3))
def test_figures_are_those_of_scipy(values: list[int], null: int) -> None:
    """Intervals and p-values by Student's t agree with SciPy's, for any bound, and a bound is
    outside the interval exactly where its p-value is small."""
    of, n, other = np.array(values, float), len(values), ttest_1samp(values, null)
    error = of.std(ddof=1) / math.sqrt(n)
    assert two_sided_p((of.mean() - null) / error, n - 1) == pytest.approx(other.pvalue)
    low, high = other.confidence_interval(0.95)
    reach = critical_t(n - 1) * error
    assert (of.mean() - reach, of.mean() + reach) == pytest.approx((low, high))
    for bound in (low - 0.01, low + 0.01, high - 0.01, high + 0.01):
        p = two_sided_p((of.mean() - bound) / error, n - 1)
        assert (p < 0.05) == (not low < bound < high)


@pytest.mark.parametrize(("mean", "sd"), [(0.5, 0.0), (float("nan"), 1.0), (1.0, float("nan"))])
def test_without_a_spread_or_a_mean_no_number_is_needed(mean: float, sd: float) -> None:
    """Values that all are the bound, and figures that are not defined, have none."""
    assert assured(mean, sd, 9, 0.5, 0.05).needed is None
