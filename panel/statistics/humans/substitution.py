"""Can the panel stand in for a person? Leave-one-out substitution in pairs of raters.

Source: the debate-speeches paper, section 4, and its authors' published script: pairs of
people who share enough items; their mean weighted κ; the same with each person of a pair
replaced by the judge, in turn. A pair with a constant rater counts as 0 there. Both
figures are given here: with those zeros, and without those pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.agreement.kappa import KappaWeights, resampled_cohen_kappa
from persona_panel.statistics.core.arrays import (
    Array,
    Resampled,
    as_ratings,
    as_scores,
    divide,
    mean_of,
    unit_weights,
)
from persona_panel.statistics.core.statistic import Reason, Statistic

ScorePair = tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class MeanKappa:
    """The mean κ of pairs. `with_zeros` counts the `n_constant` pairs with a constant rater
    as 0, `without` leaves them out. `n_missing` of the pairs have no item that both rated
    (the panel lacks them all) and are in neither."""

    with_zeros: Statistic
    without: Statistic
    n_pairs: int
    n_constant: int
    n_missing: int


@dataclass(frozen=True, slots=True)
class Substitution:
    """`panel` has two pairs for each pair of humans: either of them may be replaced."""

    humans: MeanKappa
    panel: MeanKappa


def substitution(
    ratings: ArrayLike,
    panel: ArrayLike,
    *,
    min_shared: int = 50,
    weights: KappaWeights = "quadratic",
    categories: Sequence[float] | None = None,
) -> Substitution:
    """Mean κ between people, and with one person of each pair replaced by the panel.

    How to read it: where the panel's mean κ is not below people's, the panel may take a
    person's place without loss of agreement; κ itself reads as `cohen_kappa`.

    Args:
        ratings: people's `(items, raters)`, NaN where missing.
        panel: the panel's `(items,)`, NaN where missing. Its mean may be used as it is
            (distances are between values), or rounded to the scale by the caller.
        min_shared: pairs of people who share fewer items are left out.
        weights, categories: see `cohen_kappa`.

    Raises:
        ValueError: shapes that do not match, an infinite value, a rating that is not among
            the categories, unknown weights, `min_shared` below 1.

    >>> humans = [[1, 1], [2, 2], [3, 3], [1, 2]]
    >>> found = substitution(humans, [1, 2, 3, 1], min_shared=4)
    >>> round(found.humans.without.value, 3), round(found.panel.without.value, 3)
    (0.8, 0.9)
    """
    humans, replaced = _pairs(ratings, panel, min_shared)
    raters = int(np.sum(~np.isnan(as_ratings(ratings)).all(axis=0)))
    return Substitution(
        _mean(humans, weights, categories, raters), _mean(replaced, weights, categories, raters)
    )


def resampled_substitution(
    ratings: ArrayLike,
    panel: ArrayLike,
    *,
    min_shared: int = 50,
    weights: KappaWeights = "quadratic",
    categories: Sequence[float] | None = None,
    zeros: bool = True,
) -> tuple[Resampled, Resampled]:
    """People's and the panel's mean κ as functions of resampling weights.

    Args and errors as for `substitution`; `zeros` says whether pairs with a constant
    rater, in that resample, count as 0 or are left out.
    """
    humans, replaced = _pairs(ratings, panel, min_shared)
    return (
        _resampled_mean(humans, weights, categories, zeros),
        _resampled_mean(replaced, weights, categories, zeros),
    )


def _pairs(
    ratings: ArrayLike, panel: ArrayLike, min_shared: int
) -> tuple[list[ScorePair], list[ScorePair]]:
    """The pairs of people, and those with one of them replaced, NaN outside the items that
    the two people share."""
    if min_shared < 1:
        raise ValueError(f"a pair needs at least 1 shared item, found {min_shared}")
    array = as_ratings(ratings)
    judge = as_scores(panel)
    if len(judge) != len(array):
        raise ValueError(f"{len(judge)} scores of the panel for {len(array)} items")
    humans, replaced = [], []
    for a, b in combinations(array.T, 2):
        both = ~np.isnan(a + b)
        if both.sum() < min_shared:
            continue
        a, b, stand_in = (np.where(both, scores, np.nan) for scores in (a, b, judge))
        humans.append((a, b))
        replaced += [(stand_in, b), (a, stand_in)]
    return humans, replaced


def _mean(
    pairs: list[ScorePair], weights: KappaWeights, categories: Sequence[float] | None, n_raters: int
) -> MeanKappa:
    rated = np.array([~np.isnan(x + y) for x, y in pairs])
    n_items = int(rated.any(axis=0).sum()) if pairs else 0
    n_missing = int((~rated.any(axis=1)).sum()) if pairs else 0
    kappas = np.array(
        [
            resampled_cohen_kappa(x, y, weights, categories)(unit_weights(len(x)))[0]
            for x, y in pairs
        ]
    )
    n_constant = int(np.isnan(kappas).sum()) - n_missing

    def estimate(count: int, otherwise: Reason) -> Statistic:
        if count:
            return Statistic(float(np.nansum(kappas) / count), n_items, n_raters)
        reason = Reason.FEW_PEOPLE if n_raters < 2 else otherwise
        return Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)

    n_present = len(pairs) - n_missing
    none = Reason.NO_SHARED_ITEMS if pairs else Reason.FEW_SHARED
    return MeanKappa(
        with_zeros=estimate(n_present, none),
        without=estimate(n_present - n_constant, Reason.CONSTANT_RATER if n_present else none),
        n_pairs=len(pairs),
        n_constant=n_constant,
        n_missing=n_missing,
    )


def _resampled_mean(
    pairs: list[ScorePair], weights: KappaWeights, categories: Sequence[float] | None, zeros: bool
) -> Resampled:
    kappas = [resampled_cohen_kappa(x, y, weights, categories) for x, y in pairs]
    if not zeros:
        return mean_of(kappas)
    rated = [~np.isnan(x + y) for x, y in pairs]

    def mean(drawn: Array) -> Array:
        total, count = np.zeros(len(drawn)), np.zeros(len(drawn))
        for kappa, both in zip(kappas, rated, strict=True):
            total += np.nan_to_num(kappa(drawn))
            # A pair of whom no item was drawn is absent, not constant.
            count += drawn[:, both].any(axis=1)
        return divide(total, count)

    return mean
