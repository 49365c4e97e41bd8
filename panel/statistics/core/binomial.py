"""A share of independent trials with its exact interval, and the sign test.

Sources: Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the
case of the binomial"; Dixon and Mood (1946), "The statistical sign test".
"""

from __future__ import annotations

import math

import scipy


def binomial_interval(
    successes: float, trials: float, confidence: float = 0.95
) -> tuple[float, float]:
    """The interval of a share; it holds the true one in at least `confidence` of the cases.

    NaN without trials. Numbers need not be whole: a clustered share is worth some number of trials.

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
    low = float(scipy.special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(scipy.special.betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return low, high


def sign_test_p_value(above: int, below: int) -> float:
    """Two-sided p-value of the sign test: whether more values lie above 0 than below it, or fewer.

    It takes nothing of how the values are distributed but that they are independent; values of 0
    are left out. 1 where no value is above or below.

    Raises:
        ValueError: a negative number.

    Eleven of twelve or more are 13 of 4,096 patterns of signs, either way:

    >>> round(sign_test_p_value(11, 1), 6), round(2 * 13 / 4096, 6)
    (0.006348, 0.006348)
    """
    if min(above, below) < 0:
        raise ValueError(f"found {above} values above 0 and {below} below")
    return min(1.0, 2 * float(scipy.special.bdtr(min(above, below), above + below, 0.5)))
