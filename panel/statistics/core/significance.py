"""Tests of shares, means and paired differences, and p-values adjusted for one another.

Sources: S. Holm (1979), "A simple sequentially rejective multiple test procedure"; J. P. Shaffer
(1986), "Modified sequentially rejective multiple test procedures" (all pairs); Y. Benjamini & D.
Yekutieli (2001), "The control of the false discovery rate in multiple testing under dependency"; C.
J. Clopper & E. S. Pearson (1934), "The use of confidence or fiducial limits illustrated in the case
of the binomial"; N. Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis
on the mean of a nonnegative variable", with J. P. Imhof (1961), "Computing the distribution of
quadratic forms in normal variables" (bounded means); R. A. Fisher (1935), *The Design of
Experiments*, section 21 (flipped signs); P. H. Westfall & S. S. Young (1993), *Resampling-Based
Multiple Testing*, algorithm 4.1, and J. P. Romano & M. Wolf (2005), "Exact and approximate stepdown
methods for multiple hypothesis testing" (the largest statistic, step by step).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, reduce
from math import nan
from operator import or_
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import ROUNDING, Array, as_ratings, as_scores
from persona_panel.statistics.core.estimate import Difference, EstimateT

DifferenceT = TypeVar("DifferenceT", bound=Difference)


def holm(p_values: ArrayLike) -> Array:
    """Adjust p-values `(tests,)` by Holm's procedure, in the given order. NaN, where there was no
    test, stays NaN and does not count as one.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    return adjusted_stepwise(
        p_values, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1))
    )


def shaffer(p_values: ArrayLike, n_groups: int) -> Array:
    """Adjust the p-values of comparisons of two of `n_groups` groups by Shaffer's procedure S1.

    It is Holm's procedure, in which a p-value is multiplied by the largest number of comparisons
    that can still be of equal groups: of three groups, once two are known to differ, by 1. It holds
    for any dependence of the tests and for unequal variances. `p_values` `(…, tests)` are as for
    `holm`, of all pairs; a pair without a test has NaN or is not there.

    >>> shaffer([0.01, 0.03, 0.04], 3).round(4).tolist()
    [0.03, 0.03, 0.04]
    """

    raw = _p_values(p_values)
    order = np.argsort(raw, axis=-1, kind="stable")
    possible, n_pairs = _numbers_of_equal_pairs(n_groups), math.comb(n_groups, 2)
    # Bit s of `possible` is set where s pairs can be equal.
    most = [
        (possible & ((1 << max(0, n_pairs - place + 1)) - 1)).bit_length() - 1
        for place in range(raw.shape[-1])
    ]
    left = (~np.isnan(raw)).sum(axis=-1, keepdims=True) - np.arange(raw.shape[-1])
    rising = np.take_along_axis(raw, order, -1) * np.minimum(most, left)
    adjusted = np.empty_like(raw)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(rising, axis=-1), 1), -1)
    return adjusted


@cache
def _numbers_of_equal_pairs(n_groups: int) -> int:
    """Return the numbers of pairs that can be equal as set bits: 0, 1 and 3 of three groups."""
    possible = [1]
    for n in range(1, n_groups + 1):
        sizes = range(1, n + 1)
        possible.append(reduce(or_, (possible[n - i] << math.comb(i, 2) for i in sizes)))
    return possible[n_groups]


def pairs_adjusted(differences: Sequence[DifferenceT]) -> list[DifferenceT]:
    """Return the differences of every two systems with their p-values adjusted by `shaffer`."""
    systems = {name for each in differences for name in (each.a, each.b)}
    adjusted = shaffer([each.p for each in differences], len(systems))
    return [
        replace(each, p_adjusted=float(p)) for each, p in zip(differences, adjusted, strict=True)
    ]


def holm_adjusted(
    estimates: Sequence[EstimateT],
    primary: ArrayLike | None = None,
    same_as: Sequence[int] | None = None,
) -> list[EstimateT]:
    """Return estimates with their p-values adjusted by Holm over all of them.

    Args:
        primary: for each, whether it is a composite's: those are a family of their own. None: all
            are one family.
        same_as: for each, the place of the one whose test it repeats (its own, where it repeats
            none): a composite of one dimension is that dimension, and no second test.
    """
    places = range(len(estimates)) if same_as is None else same_as
    p_values = np.array([each.p if places[i] == i else nan for i, each in enumerate(estimates)])
    first = np.zeros(len(p_values), bool) if primary is None else np.asarray(primary, bool)
    adjusted = np.empty(len(p_values))
    for family in (first, ~first):
        adjusted[family] = holm(p_values[family])
    return [
        replace(each, p_adjusted=float(adjusted[place]))
        for each, place in zip(estimates, places, strict=True)
    ]


def adjusted_stepwise(p_values: ArrayLike, adjust: Callable[[Array], Array]) -> Array:
    """Adjust p-values by `adjust`, from all in rising order, at most 1; else as for `holm`."""
    raw = _p_values(p_values)
    tested = np.flatnonzero(~np.isnan(raw))
    order = tested[np.argsort(raw[tested], kind="stable")]
    adjusted = np.full(raw.shape, np.nan)
    adjusted[order] = np.minimum(adjust(raw[order]), 1)
    return adjusted


def _p_values(p_values: ArrayLike) -> Array:
    raw = np.asarray(p_values, dtype=np.float64)
    if ((raw < 0) | (raw > 1)).any():
        raise ValueError("a p-value lies between 0 and 1")
    return raw


def benjamini_yekutieli(p_values: ArrayLike) -> Array:
    """Adjust p-values by Benjamini and Yekutieli's procedure; arguments and errors as of `holm`. Of
    the hypotheses whose adjusted p-value is at most q, a share of at most q is expected to be true.

    >>> benjamini_yekutieli([0.01, 0.04, 0.03]).round(4).tolist()
    [0.055, 0.0733, 0.0733]
    """

    return adjusted_stepwise(
        p_values, lambda p: scipy.stats.false_discovery_control(p, method="by")
    )


def binomial_interval(
    successes: float, trials: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a share, NaN without trials. Numbers need not
    be whole: a clustered share is worth some number of trials.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"found {successes} successes in {trials} trials")
    if trials == 0:
        return math.nan, math.nan
    tail, failures = (1 - confidence) / 2, trials - successes
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(special.betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return low, high


_STEP, _REACH = 0.1, 35.0
"""The step and the range, of the logarithm, of the integration; steps are finer where the sum of
many angles changes faster."""
_NEGLIGIBLE = 30.0
_LEAST = 1e-11


def bounded_mean_p_values(values: ArrayLike, bounds: ArrayLike) -> Array:
    """Return two-sided p-values of the mean of each column against 0, for values of any
    distribution that is bounded on the side away from its mean.

    Args:
        values: `(items, tests)`, NaN where an item has none.
        bounds: `(tests,)`: how far a value may lie from 0 on the side opposite to the mean of its
            column; at least as far as the farthest value there.

    Returns:
        `(tests,)` in (0, 1], NaN where fewer than two items have a value; 1 with a bound of 0.
    """
    columns, limits = as_ratings(values), as_scores(bounds)
    if limits.shape != (columns.shape[1],):
        raise ValueError(f"a bound is needed for each of {columns.shape[1]}, found {len(limits)}")
    if not (limits >= 0).all():
        raise ValueError("a bound is 0 or above")
    there = ~np.isnan(columns)
    # A value that is not there has no weight.
    filled = np.where(there, columns, 0.0)
    toward = filled * np.where(filled.sum(axis=0) < 0, -1.0, 1.0)
    limits = np.maximum(limits, (-toward).max(axis=0, initial=0.0))
    # Either direction could have been claimed.
    p_values = np.minimum(1.0, 2 * _share_below(np.vstack([toward, -limits])))
    p_values = np.where(limits > 0, p_values, 1.0)
    return np.where(there.sum(axis=0) >= 2, p_values, np.nan)


def _share_below(factors: Array) -> Array:
    largest = np.abs(factors).max(axis=0)
    scaled = np.divide(factors, largest, out=np.zeros_like(factors), where=largest > 0)
    total = np.zeros(factors.shape[1])
    step = min(_STEP, 0.5 / len(factors) ** 0.5)
    for log in np.arange(-_REACH, _REACH, step):
        at = scaled * np.exp(log)
        size = np.log1p(at**2).sum(axis=0) / 2
        total += np.sin(np.arctan(at).sum(axis=0)) * np.exp(-size)
        if size.min(initial=_NEGLIGIBLE + 1) > _NEGLIGIBLE:
            break
    return np.maximum(_LEAST, 0.5 - total * step / np.pi)


ENUMERATED = 14
"""Up to this many items every pattern of signs is tried (16,384 of them), and p is exact."""
_BLOCK = 4096


def sign_flip_p_values(
    differences: ArrayLike, *, n_permutations: int = 9999, seed: int = 0
) -> tuple[Array, Array]:
    """Return two-sided p-values of the mean of each column of differences against 0, and the same
    adjusted for one another.

    Signs are flipped item by item, in all columns at once, so that what tests have in common is
    kept. The adjusted p-value is the share of patterns in which the largest |sum| / √(sum of
    squares) of the columns that are not yet rejected is at least as large as the column's own
    (Westfall and Young's step-down maxT, a closed procedure). The familywise error rate is at most
    the level where the differences of an item, of all columns without an effect together, are as
    likely as the same with the opposite sign. From six items on a p-value can be below 0.05,
    however many columns there are.

    Args:
        differences: `(items, tests)`, NaN where an item has none.
        n_permutations: how many patterns of signs are drawn where there are too many to try them
            all; the smallest p-value possible is 1 / (n_permutations + 1).

    Returns:
        Two arrays `(tests,)` in (0, 1], NaN where fewer than two items have a difference.

    >>> raw, adjusted = sign_flip_p_values(np.ones((6, 20)))
    >>> raw[0], adjusted[0]
    (np.float64(0.03125), np.float64(0.03125))
    """
    values = as_ratings(differences)
    if n_permutations < 1:
        raise ValueError(f"at least one permutation is needed, found {n_permutations}")
    tested = np.flatnonzero((~np.isnan(values)).sum(axis=0) >= 2)
    # An item without a difference adds 0 to a sum.
    filled = np.nan_to_num(values[:, tested])
    size = np.sqrt(np.square(filled).sum(axis=0))
    filled = np.divide(filled, size, out=np.zeros_like(filled), where=size > 0)
    # The smallest first, so that running maxima are those of the columns not yet rejected.
    order = np.argsort(np.abs(filled.sum(axis=0)), kind="stable")
    filled = filled[:, order]
    least = np.abs(filled.sum(axis=0)) - ROUNDING
    # Among all patterns are the data themselves; to drawn ones they are added.
    exact = len(values) <= ENUMERATED
    added = 0 if exact else 1
    alone, together, total = np.full(len(order), added), np.full(len(order), added), added
    n_patterns = 2 ** len(values) if exact else n_permutations
    for signs in _patterns(len(values), n_patterns, None if exact else seed):
        flipped = np.abs(signs @ filled)
        alone += (flipped >= least).sum(axis=0)
        together += (np.maximum.accumulate(flipped, axis=1) >= least).sum(axis=0)
        total += len(signs)
    raw, adjusted = np.full((2, values.shape[1]), np.nan)
    raw[tested[order]] = alone / total
    adjusted[tested[order]] = np.maximum.accumulate((together / total)[::-1])[::-1]
    return raw, adjusted


def _patterns(n: int, n_patterns: int, seed: int | None) -> Iterator[Array]:
    """Yield patterns of n signs `(some, n)`: the first of all or, with a seed, drawn ones."""
    rng = np.random.default_rng(seed)
    for start in range(0, n_patterns, _BLOCK):
        numbers = np.arange(start, min(start + _BLOCK, n_patterns))
        if seed is None:
            yield np.where((numbers[:, None] >> np.arange(n)) & 1, -1.0, 1.0)
        else:
            yield rng.choice(np.array([-1.0, 1.0]), size=(len(numbers), n))
