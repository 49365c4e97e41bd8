"""The fewest judges who rank as the whole panel does, on items they were not chosen on."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from panel.statistics.agreement.rank_matrices import tau_b_matrix
from panel.statistics.core.arrays import Array, Labels, as_ratings, divide, encode_labels, row_means
from panel.statistics.core.statistic import Reason
from panel.statistics.humans.correlation import correlation


@dataclass(frozen=True, slots=True)
class SmallestSubset:
    """`judges` are columns in the order chosen, chosen on all items; empty when no number
    of judges reaches the threshold. `held_out` `(judges,)` is the τ_b to the full panel
    that 1, 2, … judges reach on held-out items, averaged over folds, NaN where undefined;
    `tau` is that of the subset's size. `cost_saved` is a share of the panel's cost."""

    judges: tuple[int, ...]
    tau: float
    held_out: Array
    cost_saved: float
    reason: Reason | None = None


FEW_ITEMS = 300


def smallest_subset(
    ratings: ArrayLike,
    prompts: Labels | None = None,
    *,
    threshold: float = 0.95,
    costs: ArrayLike | None = None,
    n_folds: int = 5,
    seed: int = 0,
) -> SmallestSubset:
    """The smallest number of judges whose mean keeps the full panel's ranking.

    Prompts are dealt into folds. On all folds but one, judges are chosen one by one, each
    time the one that brings τ_b with the full panel's mean highest (a greedy search: a
    smaller subset that it misses may exist). The τ_b on the fold left out, averaged over
    folds, says how many judges are enough; which ones is then chosen on all items.

    How to read it: the judges beyond `judges` hardly change the panel's ranking, and can be left
    out where only the ranking matters; `held_out` shows what each further judge adds. Other
    subsets may reach about the same τ_b: it does not say that these judges are better than the
    others.

    Args:
        ratings: `(items, judges)`, NaN where missing. An item's mean is over the judges
            who rated it.
        prompts: a label an item; each item is dealt alone if None.
        threshold: the τ_b to keep.
        costs: `(judges,)` what each costs; alike if None.
        n_folds: at least 2, lowered to the number of prompts.
        seed: of the dealing.

    Raises:
        ValueError: a wrong shape, an infinite value, costs that are not one positive
            number a judge, or fewer than 2 folds.

    >>> ratings = np.column_stack([np.arange(12), np.arange(12), np.arange(12) % 2])
    >>> found = smallest_subset(ratings, threshold=0.9)
    >>> len(found.judges), round(found.cost_saved, 3)
    (1, 0.667)
    """
    array = as_ratings(ratings)
    n_items, n_judges = array.shape
    price = np.ones(n_judges) if costs is None else np.asarray(costs, dtype=np.float64)
    if price.shape != (n_judges,) or not (price > 0).all():
        raise ValueError(f"costs are {n_judges} positive numbers, one a judge")
    if n_folds < 2:
        raise ValueError(f"items are held out in at least 2 folds, found {n_folds}")
    codes = encode_labels(range(n_items) if prompts is None else prompts, n_items)[1]
    n_prompts = int(codes.max(initial=-1)) + 1
    rated = np.sum(~np.isnan(array).all(axis=0))
    if rated < 2 or n_prompts < 2:
        reason = Reason.FEW_RATERS if rated < 2 else Reason.FEW_CLUSTERS
        return SmallestSubset((), nan, np.full(n_judges, nan), nan, reason)

    fold = np.random.default_rng(seed).permutation(n_prompts)[codes] % n_folds
    reached = np.full((min(n_folds, n_prompts), n_judges), np.nan)
    for held in range(len(reached)):
        order = _greedy(array[fold != held])
        reached[held] = _reached(array[fold == held], order)
    held_out = divide(np.nansum(reached, axis=0), np.sum(~np.isnan(reached), axis=0))
    enough = np.flatnonzero(held_out >= threshold)
    if not len(enough):
        return SmallestSubset((), nan, held_out, nan, Reason.NOT_REACHED)
    size = int(enough[0]) + 1
    judges = tuple(_greedy(array)[:size])
    saved = 1 - price[list(judges)].sum() / price.sum()
    return SmallestSubset(judges, float(held_out[size - 1]), held_out, float(saved))


def _greedy(array: Array) -> list[int]:
    """All judges in the order in which each best completes those before."""
    full = row_means(array)
    scores, rated = np.nan_to_num(array), (~np.isnan(array)).astype(np.float64)
    total, count = np.zeros(len(array)), np.zeros(len(array))
    left = list(range(array.shape[1]))
    order = []
    while left:
        taus = [
            _tau(divide(total + scores[:, judge], count + rated[:, judge]), full) for judge in left
        ]
        best = left.pop(int(np.argmax(np.nan_to_num(taus, nan=-np.inf))))
        total += scores[:, best]
        count += rated[:, best]
        order.append(best)
    return order


def _reached(array: Array, order: list[int]) -> list[float]:
    """τ_b of the first 1, 2, … judges with all, on these items."""
    full = row_means(array)
    return [_tau(row_means(array[:, order[: n + 1]]), full) for n in range(len(order))]


def _tau(x: Array, y: Array) -> float:
    # It is asked thousands of times: of few items the matrix is ten times as fast.
    if len(x) <= FEW_ITEMS:
        return float(tau_b_matrix(np.stack([x, y], axis=1))[0, 1])
    return correlation(x, y, "tau_b").value
