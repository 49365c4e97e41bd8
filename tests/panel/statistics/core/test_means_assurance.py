"""The probability that new data show what is open, against drawing what may be true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics.core.estimate import POWER
from persona_panel.statistics.core.means import PRIOR, assurance, assurance_limit, assured


@pytest.mark.parametrize(
    ("t", "n", "new", "level"),
    [(1.5, 4, 10, 0.05), (1.5, 12, 40, 0.05), (2.0, 12, 200, 0.005), (0.3, 30, 60, 0.05)],
)
def test_it_is_the_share_of_what_may_be_true_that_new_data_show(
    t: float, n: int, new: int, level: float
) -> None:
    """Standard deviations and means are drawn from their posterior, then as many new values, whose
    mean is tested: of 40,000, within three standard errors."""
    rng, error = np.random.default_rng(n), 0.7
    sd = error * math.sqrt(n) * np.sqrt((n - 1) / rng.chisquare(n - 1, 40_000))
    weight = n / (n + PRIOR)
    means = rng.normal(weight * t * error, sd * math.sqrt(weight / n))
    drawn = rng.normal(means, sd / math.sqrt(new))
    spread = sd * np.sqrt(rng.chisquare(new - 1, 40_000) / (new - 1) / new)
    shown = np.mean(drawn / spread > stats.t.ppf(1 - level / 2, new - 1))
    found = float(assurance(t * error, error, n, new, level))
    assert found == pytest.approx(shown, abs=0.0075)


def test_it_is_right_where_differences_are_as_the_prior_has_them() -> None:
    """True means vary by half a standard deviation; of pilots of 12 values whose t is 1.4 to 1.6,
    as many as are said come to be significant with 48 new ones."""
    rng, size = np.random.default_rng(0), 400_000
    means = rng.normal(0, 0.5, size)
    t = rng.normal(means, 12**-0.5) / np.sqrt(rng.chisquare(11, size) / 11 / 12)
    means = means[np.abs(t - 1.5) < 0.1]
    new = rng.normal(means, 48**-0.5) / np.sqrt(rng.chisquare(47, len(means)) / 47 / 48)
    shown = np.mean(new > stats.t.ppf(0.975, 47))
    assert float(assurance(1.5, 1.0, 12, 48, 0.05)) == pytest.approx(shown, abs=0.025)


def test_the_number_needed_is_the_smallest_that_is_likely_enough() -> None:
    """With one less the probability is below 80 %."""
    found = assured(1.0, 2.0, 14, 0.2, 0.05)
    assert found.needed is not None
    error = 2 / math.sqrt(14)
    enough, less = assurance(0.8, error, 14, [found.needed, found.needed - 1], 0.05)
    assert enough >= POWER > less


def test_it_has_a_limit() -> None:
    """That of the probability that the mean lies on this side, by Student's t: of 0.5 standard
    errors 0.66, where no number of values gives 0.8."""
    found = assured(0.5, math.sqrt(12), 12, 0.0, 0.05)
    assert found.needed is None
    assert found.limit == pytest.approx(stats.t.cdf(0.5 * math.sqrt(12 / 16), 11))
    assert float(assurance(0.5, 1.0, 12, 10**8, 0.05)) == pytest.approx(found.limit, abs=0.01)
    assert assurance_limit(0.5, 1.0, 12, 0.375) == 0.5


def test_what_has_no_side_is_settled_by_no_number() -> None:
    """A mean at the bound, one that is not defined, a single value."""
    for mean, sd, n in ((0.5, 1.0, 9), (math.nan, 1.0, 9), (1.0, math.nan, 9), (1.0, 1.0, 1)):
        found = assured(mean, sd, n, 0.5, 0.05)
        assert found.needed is None
        assert math.isnan(found.limit)
    # Without a spread two values are enough.
    assert assured(1.0, 0.0, 9, 0.5, 0.05).needed == 2
