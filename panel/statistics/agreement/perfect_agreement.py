"""Plain agreement: the same ranking, the same first place, the same rating by all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.agreement.rank_matrices import same_rankings
from persona_panel.statistics.core.arrays import Array, Labels, Mask, as_ratings, items_by_label
from persona_panel.statistics.core.prompts import OverPrompts, over_prompts
from persona_panel.statistics.core.statistic import Reason, Statistic


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """Shares of rater pairs in [0, 1], for each prompt and over prompts."""

    full: OverPrompts
    top: OverPrompts


@dataclass(frozen=True, slots=True)
class PerfectAgreement:
    """`share` of the items with enough ratings, `subset` `(items,)` says which agree, and
    `ratings` `(items,)` on what, NaN for the others."""

    share: Statistic
    subset: Mask
    ratings: Array


def ranking_agreement(ratings: ArrayLike, prompts: Labels | None = None) -> RankingAgreement:
    """Return how often two raters rank the items of a prompt alike, and put the same one first.

    Two rankings agree in full when they order every two items alike, ties included. They
    agree on the top when the best item is the same, or the same items tie for it. Of each
    pair of raters only the items that both rated are compared, where those are two or more.

    How to read it: 1 where every two raters agree, 0 where none do; chance is not taken off. Of n
    items in a random order two rankings agree in full once in n!, and on the top once in n.

    Args:
        ratings: `(items, raters)`, higher is better, NaN where missing. Negate ranks.
        prompts: a label an item; all items are one prompt if None.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label an item.

    >>> found = ranking_agreement([[3, 3], [1, 2], [2, 1]])
    >>> found.full.mean.value, found.top.mean.value
    (0.0, 1.0)
    """
    array = as_ratings(ratings)
    full: list[tuple[object, Statistic]] = []
    top: list[tuple[object, Statistic]] = []
    for name, items in items_by_label(prompts, len(array)):
        block = array[items]
        first, second = np.triu_indices(block.shape[1], k=1)
        for kept, agreed in zip((full, top), same_rankings(block), strict=True):
            pairs = agreed[first, second]
            kept.append((name, _share(pairs[~np.isnan(pairs)], block)))
    return RankingAgreement(over_prompts(full), over_prompts(top))


def perfect_agreement(ratings: ArrayLike, min_raters: int = 2) -> PerfectAgreement:
    """The items that all their raters rated the same.

    Source: the argument-quality paper, section 4.2 and table 3.

    How to read it: a share from 0 to 1 without any correction for chance: it falls with the
    number of raters and of values, and rises where one value is common. α and κ correct for that.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        min_raters: items with fewer ratings are neither agreed on nor counted.

    Raises:
        ValueError: a wrong shape, an infinite value, or `min_raters` below 2: one rater
            always agrees.

    >>> perfect_agreement([[1, 1], [2, 2], [2, 3]]).ratings.tolist()
    [1.0, 2.0, nan]
    >>> round(perfect_agreement([[1, 1], [2, 2], [2, 3]]).share.value, 3)
    0.667
    """
    if min_raters < 2:
        raise ValueError(f"agreement needs at least 2 raters, found {min_raters}")
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    eligible = rated.sum(axis=1) >= min_raters
    lowest = np.where(rated, array, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(rated, array, -np.inf).max(axis=1, initial=-np.inf)
    subset = eligible & (lowest == highest)
    n_items, n_raters = int(eligible.sum()), int(rated[eligible].any(axis=0).sum())
    if n_items:
        share = Statistic(float(subset.sum() / n_items), n_items, n_raters)
    elif rated.any(axis=0).sum() < 2:
        share = Statistic.undefined(Reason.FEW_RATERS)
    else:
        share = Statistic.undefined(Reason.NO_SHARED_ITEMS)
    return PerfectAgreement(share, subset, np.where(subset, lowest, np.nan))


def _share(agreed: Array, block: Array) -> Statistic:
    rated = ~np.isnan(block)
    n_items, n_raters = int((rated.sum(axis=1) >= 2).sum()), int(rated.any(axis=0).sum())
    if len(agreed):
        return Statistic(float(np.mean(agreed)), n_items, n_raters)
    if n_raters < 2:
        reason = Reason.FEW_RATERS
    elif rated.any(axis=1).sum() < 2:
        reason = Reason.FEW_ITEMS
    else:
        reason = Reason.NO_PAIRS if n_items else Reason.NO_SHARED_ITEMS
    return Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)
