"""The mean of few values: Student's interval and tests, and how many values would do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from persona_panel.statistics.core.means import MeanOfFew, assured

VALUES = st.lists(st.integers(-9, 9), min_size=3, max_size=12).filter(lambda v: len(set(v)) > 1)


@given(VALUES, st.integers(-3, 3))
def test_figures_are_those_of_scipy(values: list[int], null: int) -> None:
    """Intervals and p-values agree with another package's, for any bound."""
    few, other = MeanOfFew.of(values), ttest_1samp(values, null)
    if abs(few.mean - null) > 1e-9:
        assert few.p_value(null) == pytest.approx(other.pvalue)
    assert few.interval(0.05) == pytest.approx(tuple(other.confidence_interval(0.95)))


@given(VALUES)
def test_a_bound_is_outside_the_interval_exactly_where_its_p_value_is_small(
    values: list[int],
) -> None:
    """So that an interval that ends below a bound and a test that shows it are one claim."""
    few = MeanOfFew.of(values)
    low, high = few.interval(0.05)
    for bound in (low - 0.01, low + 0.01, high - 0.01, high + 0.01):
        assert (few.p_value(bound) < 0.05) == (not low < bound < high)


def test_values_that_are_equal_have_the_spread_of_their_rounding() -> None:
    """Without one they are taken to be known; missing ones are left out, and one is too few."""
    exact = MeanOfFew.of([0.5, 0.5, math.nan, 0.5])
    assert (exact.n, exact.interval(0.05), exact.p_value(0.0)) == (3, (0.5, 0.5), 0.0)
    assert MeanOfFew.of([1, 1, 1, 1], least_sd=0.4).error == pytest.approx(0.2)
    assert MeanOfFew.of([0, 4], least_sd=0.4).sd == pytest.approx(math.sqrt(8))
    with pytest.raises(ValueError, match="two values, found 1"):
        MeanOfFew.of([1.0, math.nan])


@pytest.mark.parametrize(("mean", "sd"), [(0.5, 0.0), (float("nan"), 1.0), (1.0, float("nan"))])
def test_without_a_spread_or_a_mean_no_number_is_needed(mean: float, sd: float) -> None:
    """Values that all are the bound, and figures that are not defined, have none."""
    assert assured(mean, sd, 9, 0.5, 0.05).needed is None
