"""The smallest effect that a test detects, and intervals for several claims."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics.core.means import (
    critical_t,
    detectable_effect,
    fewest,
    spread_of_interval,
    two_sided_p,
    widened,
)


@pytest.mark.parametrize(("n", "level"), [(2, 0.05), (5, 0.05), (30, 0.005), (10_000, 0.05)])
def test_a_detectable_effect_is_detected_with_80_percent(n: int, level: float) -> None:
    """By SciPy's noncentral t, in its own direction."""
    effect = detectable_effect(n, level)
    critical = stats.t.ppf(1 - level / 2, n - 1)
    assert stats.nct.sf(critical, n - 1, effect * math.sqrt(n)) == pytest.approx(0.8, abs=1e-6)


def test_one_value_detects_nothing() -> None:
    """It has no spread, and so no effect to detect in its units."""
    assert math.isnan(detectable_effect(1, 0.05))


def test_an_interval_is_widened_on_both_sides() -> None:
    """Each of five at 99 %, also with other degrees of freedom; a single one stays."""
    ratio = stats.t.ppf(0.995, 9) / stats.t.ppf(0.975, 9)
    assert widened(1, 0, 3, 9, 5) == pytest.approx((1 - ratio, 1 + 2 * ratio))
    assert widened(1, 0, 3, 9, 1) == pytest.approx((0, 3))
    assert widened(1, 0, 3, 9, 0) == pytest.approx((0, 3))
    ratio = stats.t.ppf(0.995, 4) / stats.t.ppf(0.975, 9)
    assert widened(1, 0, 3, 9, 5, widened_df=4) == pytest.approx((1 - ratio, 1 + 2 * ratio))
    ratio = stats.t.ppf(0.975, 9) / stats.t.ppf(0.95, 9)
    assert widened(1, 0, 3, 9, 2, 0.9) == pytest.approx((1 - ratio, 1 + 2 * ratio))


def test_a_spread_is_that_of_its_interval() -> None:
    """Of 1, 2, 4 and 7; nothing of a single value."""
    values = np.array([1.0, 2, 4, 7])
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert spread_of_interval(low, high, 4, 3) == pytest.approx(values.std(ddof=1))
    assert math.isnan(spread_of_interval(low, high, 1, 3))
    assert critical_t(3) == pytest.approx(stats.t.ppf(0.975, 3))
    assert two_sided_p(-2, 3) == pytest.approx(2 * stats.t.sf(2, 3))


@pytest.mark.parametrize("least", [2, 3, 17, 9_999, 10_000])
def test_the_fewest_are_the_first_that_are_likely_enough(least: int) -> None:
    """At exactly 80 %; none above 10,000."""
    assert fewest(lambda n: 0.8 if n >= least else 0.79) == least
    assert fewest(lambda n: 0.8 if n > 10_000 else 0.79) is None
