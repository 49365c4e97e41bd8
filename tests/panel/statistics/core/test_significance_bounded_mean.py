"""The test of a mean whose values are bounded on one side only."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from persona_panel.statistics.core.significance import bounded_mean_p_values

NAN = np.nan


def by_hand(values: list[float], bound: float) -> float:
    """Twice the probability that a sum of values times exponential variables is below the bound
    times a further one: partial fractions of their characteristic function, for values that are all
    different."""
    factors = [*values, -bound]
    above = sum(
        prod(one / (one - other) for j, other in enumerate(factors) if j != i)
        for i, one in enumerate(factors)
        if one > 0
    )
    return min(1.0, 2 * (1 - above))


def test_the_probability_by_hand() -> None:
    """p is that of randomly weighted means, in the direction of the mean; the bound is on the
    other side."""
    found = bounded_mean_p_values([[1.0, -3.0], [2.0, -1.0], [-0.5, -2.0], [1.5, -4.0]], [2.0, 1.0])
    assert found == pytest.approx(
        [by_hand([1, 2, -0.5, 1.5], 2.0), by_hand([3, 1, 2, 4], 1.0)], rel=1e-9
    )
    assert found[1] < 0.1


def test_equal_values_are_as_likely_as_a_sample_without_the_bound() -> None:
    """Of 30 rises of 0.5 where a fall of 4.5 is possible, p is twice 0.9 to the power of 30."""
    [found] = bounded_mean_p_values(np.full((30, 1), 0.5), [4.5])
    assert found == pytest.approx(2 * 0.9**30, rel=1e-9)


def test_a_value_beyond_the_bound_moves_it() -> None:
    """With a fall of 3 the bound cannot be 1."""
    values = [5.0, 4.0, -3.0]
    [found] = bounded_mean_p_values(np.array(values)[:, None], [1.0])
    [moved] = bounded_mean_p_values(np.array(values)[:, None], [3.0])
    assert found == moved
    assert found == pytest.approx(by_hand([5.0, 4.0, -3.0 + 1e-7], 3.0), abs=1e-6)


def test_gaps_and_values_that_decide_nothing() -> None:
    """An item without a value leaves the others' p as it is; below two values there is none; zeros
    are no sign of anything."""
    columns = [[1.0, 1.0, NAN, 0.0], [2.0, 2.0, NAN, 0.0], [NAN, 0.0, 3.0, 0.0]]
    gap, zero, one, zeros = bounded_mean_p_values(columns, [1.0, 1.0, 1.0, 0.0])
    assert gap == zero < 1
    assert np.isnan(one)
    assert zeros == 1


def test_many_values_do_not_overflow() -> None:
    """Thousands of falls of 1 have a p that is as good as 0, and no warning; small ones have the p
    of a sample that lacks the bound."""
    assert 0 < bounded_mean_p_values(np.full((5_000, 1), -1.0), [1.0])[0] < 1e-10
    [small] = bounded_mean_p_values(np.full((2_000, 1), 1.0), [999.0])
    assert small == pytest.approx(2 * 0.999**2_000, rel=1e-9)


def test_rare_collapses_are_not_taken_for_a_rise() -> None:
    """Of samples of 30 in which one value in ten falls by 4.5 and the others rise by 0.5, on
    average 0, one in 24 has no fall at all; at most 5 % have p < 0.05, those without one not
    among them."""
    rng = np.random.default_rng(0)
    hit = rng.random((30, 4_000)) < 0.1
    p_values = bounded_mean_p_values(np.where(hit, -4.5, 0.5), np.full(4_000, 4.5))
    assert (~hit.any(axis=0)).mean() == pytest.approx(0.9**30, abs=0.01)
    assert (p_values < 0.05).mean() <= 0.05
    assert p_values[~hit.any(axis=0)].min() > 0.05


@pytest.mark.parametrize(
    ("bounds", "told"), [([1.0, 1.0], "for each of 1"), ([-1.0], "0 or above"), ([NAN], "0 or")]
)
def test_wrong_bounds(bounds: list[float], told: str) -> None:
    """One bound a test, and none below 0 or undefined."""
    with pytest.raises(ValueError, match=told):
        bounded_mean_p_values([[1.0], [2.0]], bounds)


def test_a_p_value_is_never_above_1() -> None:
    """Of values that are balanced around 0, too, far from a bound and near it."""
    for bound in (1.0, 100.0):
        assert 0.5 < bounded_mean_p_values([[1.0], [-1.0], [0.0]], [bound])[0] <= 1
