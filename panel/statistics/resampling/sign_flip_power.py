"""How large a mean difference a test by flipped signs would find.

The power is that of normal differences, simulated. For few items p-values are exact; for more they
are approximated by a saddlepoint, which is exact again where all signs are the same; for many the
test comes close to Student's t-test, whose power is known.

Source of the saddlepoint: Robinson (1982), "Saddlepoint approximations for permutation tests and
confidence intervals", with the tail of Lugannani and Rice (1980).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy

from persona_panel.statistics.core.arrays import Array, Mask
from persona_panel.statistics.core.student_t import detectable_effect
from persona_panel.statistics.core.tested import POWER
from persona_panel.statistics.resampling.sign_flip import sign_flip_p_values

_EXACT = 11
_STUDENT_FROM = 50
_DRAWS = 2_000
_STEPS = 8
_HALVINGS = 40


@lru_cache
def smallest_effect(n: int, level: float) -> float:
    """The mean of n differences, in their standard deviations, that a two-sided test at `level`
    finds with a probability of `POWER`; NaN where no mean of any size can be found.

    For a test among m that are adjusted by Holm, `level` is the wanted one over m: what then
    stands out alone among them is found.

    Raises:
        ValueError: a level outside (0, 1).

    >>> round(smallest_effect(100, 0.05), 2), smallest_effect(5, 0.05)
    (0.28, nan)
    """
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, found {level}")
    if n < items_needed(level):
        return math.nan
    by_t = detectable_effect(n, level)
    if n >= _STUDENT_FROM:
        return by_t
    noise = np.random.default_rng(0).normal(size=(_DRAWS, n))
    low, high = 0.9 * by_t, 1.1 * by_t
    while _flip_power(noise + high, level) < POWER:
        low, high = high, 1.5 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _flip_power(noise + middle, level) < POWER else (low, middle)
    return high


def items_needed(level: float) -> int:
    """The fewest items at which a two-sided p-value can be below `level`.

    All signs the same, one way or the other, are 2 of 2ⁿ patterns.

    >>> items_needed(0.05), items_needed(0.05 / 25)
    (6, 10)
    """
    return 2 + math.floor(math.log2(1 / level))


def _flip_power(differences: Array, level: float) -> float:
    """The share of samples `(samples, n)` with a mean above 0 and a p-value below `level`."""
    above = differences[differences.sum(axis=1) > 0]
    if differences.shape[1] <= _EXACT:
        p_values = sign_flip_p_values(above.T)
    else:
        p_values = 2 * _upper_tails(above)
    return float((p_values < level).sum()) / len(differences)


def _upper_tails(differences: Array) -> Array:
    """The share of patterns of signs whose sum is that of each sample `(samples, n)` or more; the
    sums are above 0."""
    n, sums, sizes = differences.shape[1], differences.sum(axis=1), np.abs(differences)
    tails = np.full(len(differences), 2.0**-n)
    mixed = (differences < 0).any(axis=1)
    sums, sizes = sums[mixed, None], sizes[mixed]
    # The saddlepoint t has Σ|x| tanh(t|x|) = Σx, which rises in t. |x| is scaled by its largest.
    scale = sizes.max(axis=1, keepdims=True)
    sums, sizes = sums / scale, sizes / scale

    def below(t: Array) -> Mask:
        reached: Array = (sizes * np.tanh(t * sizes)).sum(axis=1, keepdims=True)
        short: Mask = reached < sums
        return short

    low, high = np.zeros_like(sums), np.ones_like(sums)
    while (short := below(high)).any():
        high = np.where(short, 2 * high, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = below(middle)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    t, at = high[:, 0], high * sizes
    log_moment = (np.logaddexp(at, -at) - math.log(2)).sum(axis=1)
    curvature = np.square(sizes * (1 - np.tanh(at)) ** 0.5 * (1 + np.tanh(at)) ** 0.5).sum(axis=1)
    w = np.sqrt(np.maximum(2 * (t * sums[:, 0] - log_moment), 1e-12))
    u = np.maximum(t * np.sqrt(curvature), 1e-6)
    density = np.exp(-(w**2) / 2) / math.sqrt(2 * math.pi)
    # Half of the pattern itself, which a continuous tail leaves out.
    tails[mixed] = scipy.special.ndtr(-w) + density * (1 / u - 1 / w) + 0.5 * 2.0**-n
    return tails
