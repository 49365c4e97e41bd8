"""Paired differences tested by flipping their signs.

Where a treatment does nothing, what was measured with it and without it could as well
have been measured the other way round, so every difference could have had the other sign.

That is its null hypothesis: differences that are symmetric about 0. Of the mean it is a test as
far as they are; where rare large differences of one sign make up for many small ones of the other,
the mean may be 0 and the test rejects far more often than its level (`benchmarks/null_sweeps.py`).

Source: R. A. Fisher (1935), *The Design of Experiments*, section 21; for the p-value from
drawn flips Phipson & Smyth (2010), as in `persona_panel.statistics.resampling.permutation`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import ROUNDING, Array, as_ratings

ENUMERATED = 14
"""Up to this many items every pattern of signs is tried (16,384 of them), and p is exact."""
_BLOCK = 4096


def sign_flip_p_values(
    differences: ArrayLike, *, n_permutations: int = 9999, seed: int = 0
) -> Array:
    """Two-sided p-values of the mean of each column of differences against 0.

    Args:
        differences: `(items, tests)`, NaN where an item has none.
        n_permutations: how many patterns of signs are drawn where there are too many to
            try them all. The smallest p-value possible is 1 / (n_permutations + 1).
        seed: of the drawing. All tests are under the same patterns.

    Returns:
        `(tests,)` in (0, 1], NaN where fewer than two items have a difference.

    Raises:
        ValueError: not two-dimensional, an infinite difference, or no permutations.

    >>> sign_flip_p_values([[1.0], [2.0], [3.0]])
    array([0.25])
    """
    values = as_ratings(differences)
    if n_permutations < 1:
        raise ValueError(f"at least one permutation is needed, found {n_permutations}")
    there = ~np.isnan(values)
    # A sum orders the patterns as a mean does, and an item without a difference adds 0 to it.
    filled = np.where(there, values, 0.0)
    observed = np.abs(filled.sum(axis=0))
    least = observed - ROUNDING * np.maximum(1.0, observed)
    exact = len(values) <= ENUMERATED
    patterns = _all(len(values)) if exact else _drawn(len(values), n_permutations, seed)
    extreme, total = np.zeros(values.shape[1]), 0
    for signs in patterns:
        extreme += (np.abs(signs @ filled) >= least).sum(axis=0)
        total += len(signs)
    # Among all patterns are the data themselves; to drawn ones they are added.
    p_values = extreme / total if exact else (1 + extreme) / (1 + total)
    return np.where(there.sum(axis=0) >= 2, p_values, np.nan)


def _all(n: int) -> Iterator[Array]:
    for start in range(0, 2**n, _BLOCK):
        numbers = np.arange(start, min(start + _BLOCK, 2**n))
        yield np.where((numbers[:, None] >> np.arange(n)) & 1, -1.0, 1.0)


def _drawn(n: int, n_permutations: int, seed: int) -> Iterator[Array]:
    rng = np.random.default_rng(seed)
    for start in range(0, n_permutations, _BLOCK):
        size = min(_BLOCK, n_permutations - start)
        yield rng.choice(np.array([-1.0, 1.0]), size=(size, n))
