"""The correlation inside groups, against a regression on the groups."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.statistics import Reason, correlation_within


def test_by_hand() -> None:
    """Opposite levels of the groups do not count: inside each, y falls as x rises."""
    x, y = [1, 2, 3, 11, 12], [6, 5, 4, 20, 19]
    # Inside: x − means: −1, 0, 1, −.5, .5; y: 1, 0, −1, .5, −.5. r = −2.5 / 2.5
    found = correlation_within(x, y, ["a", "a", "a", "b", "b"])
    assert found.value == pytest.approx(-1.0)
    assert found.n_items == 5
    # Taken together they rise: 1, 2, 3, 11, 12 with 6, 5, 4, 20, 19.
    assert correlation_within(x, y, ["a"] * 5).value > 0.9


def test_it_is_the_partial_correlation() -> None:
    """statsmodels' regression of y on x and the groups gives the same r."""
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 4, 60)
    x = rng.normal(groups * 3.0, 1.0)
    y = 0.4 * x - 5.0 * groups + rng.normal(size=60)
    design = np.column_stack([x, *(groups == g for g in range(4))]).astype(float)
    fit = sm.OLS(y, design).fit()
    # A coefficient's t gives the partial correlation: r = t / √(t² + df).
    expected = fit.tvalues[0] / np.sqrt(fit.tvalues[0] ** 2 + fit.df_resid)
    assert correlation_within(x, y, groups).value == pytest.approx(expected)


def test_a_resample_is_the_statistic_of_its_items() -> None:
    """Weights give what the drawn items give, gaps and lone items aside."""
    rng = np.random.default_rng(2)
    x, y, groups = rng.normal(size=20), rng.normal(size=20), rng.integers(0, 3, 20)
    x[3], y[7] = np.nan, np.nan
    weights = rng.multinomial(20, np.full(20, 1 / 20), size=8).astype(float)
    drawn = correlation_within(x, y, groups).resampled(weights)
    for row, value in zip(weights, drawn, strict=True):
        items = np.repeat(np.arange(20), row.astype(int))
        assert value == pytest.approx(correlation_within(x[items], y[items], groups[items]).value)


@pytest.mark.parametrize(
    ("x", "y", "groups", "reason"),
    [
        ([1, 2], [np.nan, np.nan], "aa", Reason.NO_SHARED_ITEMS),
        ([1, 2], [1, 2], "ab", Reason.FEW_ITEMS),
        ([1, 2, 5, 5], [3, 3, 4, 4], "aabb", Reason.NO_VARIANCE),
        ([0.1, 0.1, 0.3, 0.3], [3, 2, 4, 1], "aabb", Reason.NO_VARIANCE),
    ],
)
def test_undefined(x: list[float], y: list[float], groups: str, reason: Reason) -> None:
    """Where nothing varies inside a group there is no correlation, and it is said why."""
    found = correlation_within(x, y, list(groups))
    assert np.isnan(found.value)
    assert found.reason == reason
    assert found.n_items == (len(x) if reason is Reason.NO_VARIANCE else 0)


@given(
    st.lists(
        st.tuples(st.integers(-50, 50), st.integers(-50, 50), st.integers(0, 3)),
        min_size=2,
        max_size=30,
    ),
    st.floats(0.1, 100),
    st.lists(st.integers(-1000, 1000), min_size=4, max_size=4),
)
def test_invariance(data: list[tuple[int, int, int]], factor: float, shifts: list[int]) -> None:
    """Each group's level and the unit of measurement change nothing; r lies in [−1, 1]."""
    x, y, groups = (np.array(side, dtype=float) for side in zip(*data, strict=True))
    plain = correlation_within(x, y, groups)
    moved = correlation_within(
        factor * x + np.array(shifts, dtype=float)[groups.astype(int)], y, groups
    )
    assert plain.reason == moved.reason
    if plain.reason is None:
        assert -1 <= plain.value <= 1
        assert moved.value == pytest.approx(plain.value, abs=1e-6)
