"""A share of independent trials, with its exact interval.

Source: Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the
case of the binomial".
"""

from __future__ import annotations

import math

from scipy import special


def binomial_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a share; it holds the true one in at least `confidence` of the cases.

    NaN without trials.

    Raises:
        ValueError: a negative number, or more successes than trials.

    None of 30: up to a tenth may still be expected.

    >>> low, high = binomial_interval(0, 30)
    >>> low, round(high, 3)
    (0.0, 0.116)
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"found {successes} successes in {trials} trials")
    if trials == 0:
        return math.nan, math.nan
    tail, failures = (1 - confidence) / 2, trials - successes
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(special.betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return low, high
