"""The smallest effect that flipped signs find, by its formula and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from statsmodels.stats.power import TTestPower

from persona_panel.statistics.core.means import detectable_effect, items_needed, smallest_effect
from persona_panel.statistics.core.significance import sign_flip_p_values


@pytest.mark.parametrize(("n", "level"), [(5, 0.05), (12, 0.002), (100, 0.05), (400, 0.0005)])
def test_a_t_tests_effect_is_that_of_statsmodels(n: int, level: float) -> None:
    """The effect with a power of 80 % is that which statsmodels finds."""
    expected = TTestPower().power(detectable_effect(n, level), n, level, alternative="two-sided")
    assert expected == pytest.approx(0.8, abs=1e-4)
    with pytest.raises(ValueError, match="two values"):
        detectable_effect(1, level)


def test_where_only_equal_signs_count() -> None:
    """With 6 items at 5 % all signs must be the same: Φ(effect)⁶ is 0.8."""
    assert ndtr(smallest_effect(6, 0.05)) ** 6 == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize(("n", "level"), [(8, 0.01), (11, 0.002), (12, 0.002), (20, 0.0005)])
def test_it_is_found_in_80_percent(n: int, level: float) -> None:
    """Of samples with that effect 80 % have a p below the level, by the test itself: exact and
    approximated, at small levels as at large ones."""
    shifted = np.random.default_rng(1).normal(smallest_effect(n, level), 1, (n, 2_000))
    p_values = sign_flip_p_values(shifted, n_permutations=20_000)
    # The standard error is 0.009 here, and as much where the effect was simulated.
    assert (p_values < level).mean() == pytest.approx(0.8, abs=0.035)


def test_many_items_are_a_t_test() -> None:
    """From 50 items on the effect is Student's; just below it differs by less than a hundredth."""
    assert smallest_effect(50, 0.002) == detectable_effect(50, 0.002)
    assert smallest_effect(49, 0.002) == pytest.approx(detectable_effect(49, 0.002), rel=0.03)


@pytest.mark.parametrize(("level", "needed"), [(0.05, 6), (0.05 / 25, 10), (0.25, 4), (0.26, 3)])
def test_the_fewest_items(level: float, needed: int) -> None:
    """One item fewer and all signs the same are no less than the level: nothing can be found."""
    assert items_needed(level) == needed
    assert 2 ** (1 - needed) < level <= 2 ** (2 - needed)
    assert math.isnan(smallest_effect(needed - 1, level))
    assert smallest_effect(needed, level) > 0


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_wrong_levels(level: float) -> None:
    """A level lies between 0 and 1."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        smallest_effect(10, level)
