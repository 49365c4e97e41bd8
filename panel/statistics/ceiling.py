"""How well a human predicts the other humans: the figure a panel is to be held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from panel.statistics.arrays import Array, Labels, Resampled, as_ratings, divide, mean_of, members
from panel.statistics.correlation import Correlation, correlation, resampled_correlation
from panel.statistics.estimate import Estimate, Reason
from panel.statistics.prompts import OverPrompts, over_prompts


@dataclass(frozen=True, slots=True)
class Ceiling:
    """`raters` are the columns with enough items, `values` theirs, and `mean` over those
    that have one: a rater who is constant has none, and `n_undefined` counts them."""

    mean: Estimate
    raters: tuple[int, ...]
    values: tuple[Estimate, ...]
    n_undefined: int


def human_ceiling(ratings: ArrayLike, kind: Correlation, *, min_shared: int = 2) -> Ceiling:
    """Each rater's correlation with the mean of the others, and its mean over raters.

    The mean of the others is over those who rated the item, one at least. A panel is
    compared with all of them, a human with one fewer: with few raters the ceiling is a
    little low.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        kind: see `correlation`.
        min_shared: raters with fewer items that others rated too are left out.

    Raises:
        ValueError: a wrong shape, an infinite value, an unknown kind.
    """
    array = as_ratings(ratings)
    others = mean_of_others(array)
    raters = _with_enough(array, others, min_shared)
    values = tuple(correlation(array[:, rater], others[:, rater], kind) for rater in raters)
    defined = [estimate.value for estimate in values if estimate.reason is None]
    if defined:
        n_items = int(np.sum(~np.isnan(others[:, raters]).all(axis=1)))
        mean = Estimate(float(np.mean(defined)), n_items, len(defined))
    elif np.sum(~np.isnan(array).all(axis=0)) < 2:
        mean = Estimate.undefined(Reason.FEW_RATERS)
    elif values:
        mean = Estimate.undefined(Reason.CONSTANT_RATER)
    else:
        mean = Estimate.undefined(Reason.NO_SHARED_ITEMS)
    return Ceiling(mean, tuple(raters), values, len(values) - len(defined))


def human_ceiling_by_prompt(ratings: ArrayLike, prompts: Labels, kind: Correlation) -> OverPrompts:
    """The ceiling inside each prompt, and its mean over prompts; as `human_ceiling`."""
    array = as_ratings(ratings)
    return over_prompts(
        [
            (name, human_ceiling(array[items], kind).mean)
            for name, items in members(prompts, len(array))
        ]
    )


def resampled_human_ceiling(
    ratings: ArrayLike, kind: Correlation, *, min_shared: int = 2
) -> Resampled:
    """The ceiling as a function of resampling weights; args as for `human_ceiling`."""
    array = as_ratings(ratings)
    others = mean_of_others(array)
    raters = _with_enough(array, others, min_shared)
    return mean_of(
        [resampled_correlation(array[:, rater], others[:, rater], kind) for rater in raters]
    )


def mean_of_others(ratings: Array) -> Array:
    """For each rating, the mean of the item's other ratings: `(items, raters)`, NaN where
    there is no rating or no other."""
    rated = ~np.isnan(ratings)
    sums = np.nansum(ratings, axis=1, keepdims=True) - np.nan_to_num(ratings)
    counts = rated.sum(axis=1, keepdims=True) - rated
    return np.where(rated, divide(sums, counts), np.nan)


def _with_enough(array: Array, others: Array, min_shared: int) -> list[int]:
    counts = np.sum(~np.isnan(others), axis=0)
    return [int(rater) for rater in np.flatnonzero(counts >= max(min_shared, 2))]
