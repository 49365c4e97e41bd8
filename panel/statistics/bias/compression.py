"""How much of a scale raters use: the entropy of their scores, and the share of the commonest.

Source: C. E. Shannon (1948), "A mathematical theory of communication", section 6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, Resampled, as_ratings, count_by_item, divide
from persona_panel.statistics.core.statistic import Reason, Statistic


def score_entropy(ratings: ArrayLike) -> Statistic:
    """The entropy of all ratings' values, in bits: 0 where all are the same, log2 of their
    number where each of k values is as common as any other.

    How to read it: the fewer bits, the fewer of the scale's values are used; two to the power of
    it is the number of values that would have that entropy if each were as common as any other.

    Args:
        ratings: `(items, raters)`, NaN where missing. Values are told apart exactly, so what
            is not whole is to be rounded first.

    Raises:
        ValueError: a wrong shape or an infinite value.

    >>> score_entropy([[1, 1], [2, 2]]).value
    1.0
    """
    return _estimate(ratings, _entropy)


def resampled_score_entropy(ratings: ArrayLike) -> Resampled:
    """The entropy as a function of resampling weights; args as for `score_entropy`."""
    return _resampled(ratings, _entropy)


def mode_share(ratings: ArrayLike) -> Statistic:
    """The share of all ratings that are the commonest value; args as for `score_entropy`.

    How to read it: near 1, raters hardly tell items apart; where k values are equally common it
    is 1 / k, the least that it can be.

    >>> mode_share([[1, 1], [1, 2]]).value
    0.75
    """
    return _estimate(ratings, _largest)


def resampled_mode_share(ratings: ArrayLike) -> Resampled:
    """The share as a function of resampling weights; args as for `score_entropy`."""
    return _resampled(ratings, _largest)


def _entropy(shares: Array) -> Array:
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    # Nought without a sign.
    entropy: Array = -np.sum(shares * logs, axis=1) + 0.0
    return entropy


def _largest(shares: Array) -> Array:
    largest: Array = np.max(shares, axis=1)
    return largest


def _estimate(ratings: ArrayLike, function: Callable[[Array], Array]) -> Statistic:
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    counts = int(rated.any(axis=1).sum()), int(rated.any(axis=0).sum())
    if not rated.any():
        return Statistic.undefined(Reason.NO_RATINGS)
    value = _resampled(array, function)(np.ones((1, len(array))))[0]
    return Statistic(float(value), *counts)


def _resampled(ratings: ArrayLike, function: Callable[[Array], Array]) -> Resampled:
    array = as_ratings(ratings)
    values = np.unique(array[~np.isnan(array)])
    if not len(values):
        return lambda weights: np.full(len(weights), np.nan)
    by_item = count_by_item(array, values)

    def statistic(weights: Array) -> Array:
        counts = weights @ by_item
        totals = counts.sum(axis=1, keepdims=True)
        found = function(np.nan_to_num(divide(counts, totals)))
        return np.where(totals[:, 0] > 0, found, np.nan)

    return statistic
