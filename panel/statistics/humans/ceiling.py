"""How well a person predicts the other people: the figure a panel is to be held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Resampled,
    as_ratings,
    divide,
    items_by_label,
    mean_of,
    without_rounding,
)
from persona_panel.statistics.core.prompts import OverPrompts, over_prompts
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.correlation import (
    CorrelationKind,
    correlation,
    resampled_correlation,
)

NOT_COMPARABLE = (
    "The mean of the others is of one person fewer than what judges are compared with, and the "
    "less reliable for it: whether a panel agrees with people more than a person does is said by "
    "the difference of panel and person, both with the same others, not by these two "
    "correlations."
)
"""What is to be said where a panel's correlation stands next to that of people with the others."""


@dataclass(frozen=True, slots=True)
class HumanCeiling:
    """`raters` are the columns with enough items, `values` theirs, and `mean` over those
    that have one: a rater who is constant has none, and `n_undefined` counts them."""

    mean: Statistic
    raters: tuple[int, ...]
    values: tuple[Statistic, ...]
    n_undefined: int


def human_ceiling(
    ratings: ArrayLike, kind: CorrelationKind, *, min_shared: int = 2
) -> HumanCeiling:
    """Each rater's correlation with the mean of the others, and its mean over raters.

    The mean of the others is over those who rated the item, one at least. A panel that is
    compared with the mean of all people is ahead of this figure by the one person more: with two
    people by 0.07 to 0.09 where its only judge rates as they do. `human_difference` compares alike.

    How to read it: as `correlation`, of one person chosen at random with the mean of the others. It
    is no upper bound: a mean over many judges may be above it.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        kind: see `correlation`.
        min_shared: raters with fewer items that others rated too are left out.

    Raises:
        ValueError: a wrong shape, an infinite value, an unknown kind.

    >>> found = human_ceiling([[1, 1, 2], [2, 3, 3], [3, 2, 4], [4, 4, 4]], "tau_b")
    >>> round(found.mean.value, 3)
    0.793
    """
    array = as_ratings(ratings)
    others = mean_of_others(array)
    raters = _with_enough(array, others, min_shared)
    values = tuple(correlation(array[:, rater], others[:, rater], kind) for rater in raters)
    defined = [estimate.value for estimate in values if estimate.reason is None]
    if defined:
        n_items = int(np.sum(~np.isnan(others[:, raters]).all(axis=1)))
        mean = Statistic(float(np.mean(defined)), n_items, len(defined))
    elif np.sum(~np.isnan(array).all(axis=0)) < 2:
        mean = Statistic.undefined(Reason.FEW_PEOPLE)
    elif values:
        mean = Statistic.undefined(Reason.CONSTANT_RATER)
    elif np.sum(~np.isnan(array).all(axis=1)) < 2:
        mean = Statistic.undefined(Reason.FEW_ITEMS)
    else:
        mean = Statistic.undefined(Reason.NO_SHARED_ITEMS)
    return HumanCeiling(mean, tuple(raters), values, len(values) - len(defined))


def human_ceiling_by_prompt(
    ratings: ArrayLike, prompts: Labels, kind: CorrelationKind
) -> OverPrompts:
    """The ceiling inside each prompt, and its mean over prompts; as `human_ceiling`.

    >>> ratings = [[1, 1], [2, 2], [5, 6], [6, 5]]
    >>> human_ceiling_by_prompt(ratings, "aabb", "tau_b").mean.value
    0.0
    """
    array = as_ratings(ratings)
    return over_prompts(
        [
            (name, human_ceiling(array[items], kind).mean)
            for name, items in items_by_label(prompts, len(array))
        ]
    )


def resampled_human_ceiling(
    ratings: ArrayLike, kind: CorrelationKind, *, min_shared: int = 2
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
    return np.where(rated, without_rounding(divide(sums, counts), ratings), np.nan)


def _with_enough(array: Array, others: Array, min_shared: int) -> list[int]:
    counts = np.sum(~np.isnan(others), axis=0)
    return [int(rater) for rater in np.flatnonzero(counts >= max(min_shared, 2))]
