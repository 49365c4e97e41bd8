"""The fewest judges who rank as the whole panel does, on prompts they were not chosen on.

The prompts are dealt into folds. Judges are chosen on all folds but one, and compared with the
full panel on that one. The mean over folds of so many judges' τ_b has a lower confidence bound
(Student's t over folds, on Fisher's scale). Numbers of judges are tested from the largest down, and
the first whose bound is below the threshold ends it: so the chance that any number is wrongly found
to be enough is that of one test.

Sources: S. Geisser (1975), "The predictive sample reuse method with applications", for the folds;
W. Maurer, L. A. Hothorn and W. Lehmacher (1995), "Multiple comparisons in drug clinical trials and
preclinical assays", for tests in a fixed order; R. A. Fisher (1921) for the scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    Labels,
    as_ratings,
    divide,
    encode_labels,
    row_means,
    without_rounding,
)
from persona_panel.statistics.core.options import check_confidence
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.humans.correlations import taus

LEAST_PROMPTS, LEAST_ITEMS = 20, 60
"""With fewer the τ_b on a fold takes so few values that no bound holds."""
THRESHOLD = 0.95
"""The τ_b with the full panel that counts as the same ranking."""
N_FOLDS = 5


@dataclass(frozen=True, slots=True)
class SmallestSubset:
    """`judges` are columns in the order chosen, chosen on all items; empty when no number
    of judges is shown to reach the threshold. `held_out` and `low` `(judges,)` are the mean over
    folds of the τ_b that 1, 2, … judges reach with the full panel on other prompts, and its lower
    confidence bound; NaN where undefined. `tau_low` is the bound of the number that was found.
    As the number was chosen by it, it is no 95 % bound any more: it was above the true τ_b in 16 %
    of simulated panels with a subset. Only that the threshold is reached is shown. `cost_saved` is
    a share of the panel's cost."""

    judges: tuple[int, ...]
    tau_low: float
    held_out: Array
    low: Array
    cost_saved: float
    reason: Reason | None = None


def smallest_subset(
    ratings: ArrayLike,
    prompts: Labels | None = None,
    *,
    threshold: float = THRESHOLD,
    costs: ArrayLike | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> SmallestSubset:
    """The smallest number of judges whose mean is shown to keep the full panel's ranking.

    Judges are chosen one by one, each time the one that brings τ_b with the full panel's mean
    highest (a greedy search: a smaller subset that it misses may exist). How many are enough is
    decided on prompts that did not choose them; which ones is then chosen on all.

    How to read it: the judges beyond `judges` hardly change the panel's ranking, and can be left
    out where only the ranking matters. That they reach `threshold` can be relied on, and no higher
    τ_b; `held_out` shows what each further judge adds. Where no number is found, fewer judges may
    still do: more prompts would tell. Other subsets may reach about the same τ_b: it does not say
    that these judges are
    better than the others.

    Args:
        ratings: `(items, judges)`, NaN where missing. An item's mean is over the judges
            who rated it.
        prompts: a label an item; each item is dealt alone if None. It takes 20 prompts and
            60 items.
        threshold: the τ_b to keep.
        costs: `(judges,)` what each costs; alike if None.
        confidence: of the lower bound, one-sided.
        seed: of the dealing.

    Raises:
        ValueError: a wrong shape, an infinite value, a confidence outside (0, 1), or costs that
            are not one positive number a judge.

    >>> rng = np.random.default_rng(0)
    >>> one = rng.normal(size=60)
    >>> ratings = np.column_stack([one, one + 0.01 * rng.normal(size=60), np.arange(60) % 2])
    >>> found = smallest_subset(ratings, threshold=0.5)
    >>> len(found.judges), round(found.cost_saved, 3)
    (1, 0.667)
    """
    array = as_ratings(ratings)
    n_items, n_judges = array.shape
    check_confidence(confidence)
    price = np.ones(n_judges) if costs is None else np.asarray(costs, dtype=np.float64)
    if price.shape != (n_judges,) or not (price > 0).all():
        raise ValueError(f"costs are {n_judges} positive numbers, one a judge")
    rated = ~np.isnan(array)
    codes = encode_labels(range(n_items) if prompts is None else prompts, n_items)[1]
    array, codes = array[rated.any(axis=1)], codes[rated.any(axis=1)]
    codes = np.unique(codes, return_inverse=True)[1]
    n_prompts = int(codes.max(initial=-1)) + 1
    held_out, low = np.full(n_judges, nan), np.full(n_judges, nan)
    if rated.any(axis=0).sum() < 2:
        return SmallestSubset((), nan, held_out, low, nan, Reason.FEW_RATERS)
    if n_prompts < LEAST_PROMPTS or len(array) < LEAST_ITEMS:
        return SmallestSubset((), nan, held_out, low, nan, Reason.FEW_TO_CHOOSE)

    fold = np.random.default_rng(seed).permutation(n_prompts)[codes] % N_FOLDS
    reached = np.array(
        [_reached(array[fold == held], _greedy(array[fold != held])) for held in range(N_FOLDS)]
    )
    held_out = reached.mean(axis=0)
    low = np.array([_lower_bound(of_folds, confidence) for of_folds in reached.T])
    size = n_judges
    while size > 1 and low[size - 2] >= threshold:
        size -= 1
    if size == n_judges:
        return SmallestSubset((), nan, held_out, low, nan, Reason.NOT_REACHED)
    judges = tuple(_greedy(array)[:size])
    saved = 1 - price[list(judges)].sum() / price.sum()
    return SmallestSubset(judges, float(low[size - 1]), held_out, low, float(saved))


def _lower_bound(of_folds: Array, confidence: float) -> float:
    """Of the mean of the folds' τ_b, one-sided: 1 where no fold orders any two items otherwise.
    Folds that are all alike below 1, or one of which has no τ_b, leave it open."""
    n_folds, mean = len(of_folds), float(of_folds.mean())
    error = float(of_folds.std(ddof=1)) / sqrt(n_folds)
    if mean >= 1 - ROUNDING:
        return 1.0
    if not error > ROUNDING:
        return nan
    reach = error * float(scipy.special.stdtrit(n_folds - 1, confidence))
    return float(np.tanh(np.arctanh(mean) - reach / (1 - mean**2)))


def _greedy(array: Array) -> list[int]:
    """All judges in the order in which each best completes those before."""
    full = row_means(array)
    scores, rated = np.nan_to_num(array), (~np.isnan(array)).astype(np.float64)
    total, count = np.zeros(len(array)), np.zeros(len(array))
    left = list(range(array.shape[1]))
    order = []
    while left:
        means = divide(total[:, None] + scores[:, left], count[:, None] + rated[:, left])
        found = _taus(without_rounding(means, scores), full)
        best = left.pop(int(np.argmax(np.nan_to_num(found, nan=-np.inf))))
        total += scores[:, best]
        count += rated[:, best]
        order.append(best)
    return order


def _reached(array: Array, order: list[int]) -> Array:
    """τ_b of the first 1, 2, … judges with all, on these items."""
    means = [row_means(array[:, order[: n + 1]]) for n in range(len(order))]
    return _taus(np.column_stack(means), row_means(array))


def _taus(means: Array, full: Array) -> Array:
    """τ_b of each column `(items, columns)` with the mean of all judges."""
    missing = np.isnan(means)
    beside = np.where(missing, nan, full[:, None]) if missing.any() else full[:, None]
    return taus(beside, means, "tau_b")
