"""The choice of items that people should rate, and of judges: the fewest that keep a ranking, and
the best judge beside all.

Sources: J. Neyman (1934), "On the two different aspects of the representative method"
(probabilities in proportion to the spread); W. Madow (1949), "On the theory of systematic
sampling".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    Labels,
    Mask,
    Reason,
    as_ratings,
    as_scores,
    count_raters,
    divide,
    encode_labels,
    group_count,
    has_ratings,
    items_by_label,
    mean_there,
    row_means,
    without_rounding,
)
from persona_panel.statistics.core.correlation import correlations
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.reliability import disagreement_by_item

_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class SelectedItem:
    """An item that people are to rate.

    Attributes:
        item, prompt, system: what it is; the prompt and the system None where there are none.
        inclusion_probability: with which it was drawn, in (0, 1].
        spread: the standard deviation of the judges' scores of it, the root of the mean variance
            over dimensions; NaN of a single judge.
    """

    item: str
    prompt: str | None
    system: str | None
    inclusion_probability: float
    spread: float


def inclusion_probabilities(sizes: ArrayLike, n: int) -> Array:
    """Return probabilities in proportion to `sizes` `(items,)`, above 0, that add up to `n`, none
    above 1."""
    wanted = as_scores(sizes)
    probabilities = np.zeros(len(wanted))
    certain = np.zeros(len(wanted), dtype=bool)
    while True:
        left = wanted[~certain].sum()
        probabilities[~certain] = wanted[~certain] * (n - certain.sum()) / left if left else 0.0
        probabilities[certain] = 1.0
        more = probabilities > 1 + _SAME
        if not more.any():
            return np.minimum(probabilities, 1.0)
        certain |= more


def systematic_sample(probabilities: ArrayLike, start: float) -> Mask:
    """Draw a systematic sample: return which items are drawn, in their order, by their
    `probabilities` `(items,)` in [0, 1], from a `start` that is uniform in [0, 1). Over all starts
    an item is drawn with its probability, and as many are drawn as the probabilities add up to."""
    ends = np.cumsum(as_scores(probabilities))
    # How many of start, start + 1, … lie below each end; sums of parts may lack their last bit.
    below = np.ceil(np.round(ends - start, 9))
    return np.diff(np.r_[0.0, np.maximum(below, 0)]) > 0


def select_items(panel: Ratings, n: int, seed: int = 0) -> tuple[SelectedItem, ...]:
    """Select items for people to rate, by system, in the panel's order of items.

    Every system gets equally many, as far as it has enough items.

    Args:
        panel: its ratings; judges without a persona do not count.
        n: how many items; all that the panel scored where there are no more.

    >>> names = tuple(f"i{n}" for n in range(6))
    >>> scores = np.array([[1.0, 1], [5, 1], [2, 2], [3, 3], [4, 2], [2, 2]])[:, :, None]
    >>> panel = Ratings(scores, names, ("a", "b"), ("all",), ("all", "all"))
    >>> result = select_items(panel, 3, seed=1)
    >>> len(result), round(max(each.inclusion_probability for each in result), 2)
    (3, 0.92)
    """
    if n < 1:
        raise ValueError(f"at least one item is to be drawn, found {n}")
    scores = panel.scores[:, panel.panel_columns]
    # Of categories the share of pairs of judges who differ.
    by_dimension = [
        disagreement_by_item(of, "nominal" if name in panel.categories else "interval")
        for name, of in zip(panel.dimensions, np.moveaxis(scores, 2, 0), strict=True)
    ]
    variances = mean_there(np.stack(by_dimension), 0)
    scored = scored_items(panel)
    if not scored.any():
        raise ValueError("the panel scored nothing")
    generator = np.random.default_rng(seed)
    prompts = panel.prompts or panel.items
    names = sorted(set(prompts))
    places = dict(zip(names, generator.permutation(len(names)).tolist(), strict=True))
    # Shuffle the items of each prompt and system.
    own = generator.random(len(panel.items))
    start = float(generator.random())
    sources = np.array(panel.sources or (ALL,) * len(panel.items))
    strata = [np.flatnonzero(scored & (sources == name)) for name in dict.fromkeys(sources)]
    shares = _shares([len(of) for of in strata], n)
    chances = {}
    for of, share in zip(strata, shares, strict=True):
        if not share:
            continue
        ordered = np.array(sorted(of, key=lambda item: (places[prompts[item]], own[item])))
        of_prompts = [prompts[item] for item in ordered]
        _, own_prompts, counts = np.unique(of_prompts, return_inverse=True, return_counts=True)
        sizes = _sizes(variances[ordered]) / counts[own_prompts]
        probabilities = inclusion_probabilities(sizes, share)
        for item in np.flatnonzero(systematic_sample(probabilities, start)):
            chances[int(ordered[item])] = float(probabilities[item])
    return tuple(
        SelectedItem(
            panel.items[item],
            None if panel.prompts is None else panel.prompts[item],
            None if panel.sources is None else panel.sources[item],
            chances[item],
            float(np.sqrt(variances[item])),
        )
        for item in sorted(chances)
    )


def scored_items(panel: Ratings) -> Mask:
    """Return which items have a rating by a judge who counts `(items,)`: those that can be
    drawn."""
    judges = panel.panel_columns
    return np.asarray((~np.isnan(panel.scores[:, judges])).any(axis=(1, 2)))


def _sizes(variances: Array) -> Array:
    """Return the root of the mean of an item's variance and that of all; 1 if nothing is known."""
    known = variances[~np.isnan(variances)]
    mean = float(known.mean()) if len(known) else 0.0
    if mean <= _SAME:
        return np.ones(len(variances))
    return np.sqrt((np.where(np.isnan(variances), mean, variances) / mean + 1) / 2)


def _shares(sizes: list[int], n: int) -> list[int]:
    """Return how many of each stratum are drawn: in turn, one of each that has more."""
    turns = sorted((turn, place) for place, size in enumerate(sizes) for turn in range(size))
    return np.bincount([place for _, place in turns[:n]], minlength=len(sizes)).tolist()


LEAST_PROMPTS, LEAST_ITEMS = 20, 60
"""With fewer the τ_b on a fold takes so few values that no bound holds."""
THRESHOLD = 0.95
"""The τ_b with the full panel that counts as the same ranking."""
N_FOLDS = 5


@dataclass(frozen=True, slots=True)
class SmallestSubset:
    """`judges` are columns in the order chosen, on all items; empty when no number of judges is
    shown to reach the threshold. `held_out` and `low` `(judges,)` are the mean over folds of the
    τ_b that 1, 2, … judges reach with the full panel on other prompts, and its lower confidence
    bound; NaN where undefined. The bound of the number that was chosen by it is no 95 % bound any
    more. `cost_saved` is a share of the panel's cost."""

    judges: tuple[int, ...]
    held_out: Array
    low: Array
    cost_saved: float = nan
    reason: Reason | None = None


def smallest_subset(
    ratings: ArrayLike,
    prompts: Labels | None = None,
    *,
    threshold: float = THRESHOLD,
    seed: int = 0,
) -> SmallestSubset:
    """Return the smallest number of judges whose mean is shown to keep the full panel's ranking.

    Judges are chosen greedily: each time the one that brings τ_b with the full panel's mean
    highest. How many are enough is decided on prompts that did not choose them.

    How to read it: the judges beyond `judges` hardly change the panel's ranking. Other subsets may
    reach about the same τ_b.

    Args:
        ratings: `(items, judges)`, NaN where missing. An item's mean is over the judges
            who rated it.
        prompts: a label an item; each item is dealt alone if None. At least 20 prompts and 60 items
            are needed.
        threshold: the τ_b to keep.

    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=60)
    >>> ratings = np.column_stack([scores, scores + 0.01 * rng.normal(size=60), np.arange(60) % 2])
    >>> result = smallest_subset(ratings, threshold=0.5)
    >>> len(result.judges), round(result.cost_saved, 3)
    (1, 0.667)
    """
    array = as_ratings(ratings)
    n_items, n_judges = array.shape
    codes = encode_labels(range(n_items) if prompts is None else prompts, n_items)[1]
    rated = has_ratings(array)
    array, codes = array[rated], np.unique(codes[rated], return_inverse=True)[1]
    n_prompts = group_count(codes)
    unknown = np.full(n_judges, nan)
    few = Reason.FEW_RATERS if count_raters(array) < 2 else Reason.FEW_TO_CHOOSE
    if few is Reason.FEW_RATERS or n_prompts < LEAST_PROMPTS or len(array) < LEAST_ITEMS:
        return SmallestSubset((), unknown, unknown, reason=few)

    fold = np.random.default_rng(seed).permutation(n_prompts)[codes] % N_FOLDS
    reached = np.array(
        [_reached(array[fold == held], _greedy(array[fold != held])) for held in range(N_FOLDS)]
    )
    held_out = reached.mean(axis=0)
    low = np.array([_lower_bound(of_folds) for of_folds in reached.T])
    short = np.flatnonzero(~(low[:-1] >= threshold))
    size = int(short[-1]) + 2 if len(short) else 1
    if size == n_judges:
        return SmallestSubset((), held_out, low, reason=Reason.NOT_REACHED)
    judges = tuple(_greedy(array)[:size])
    return SmallestSubset(judges, held_out, low, 1 - size / n_judges)


def _lower_bound(of_folds: Array) -> float:
    """Return the one-sided lower bound, of 95 %, of the mean of the folds' τ_b."""
    n_folds, mean = len(of_folds), float(of_folds.mean())
    error = float(of_folds.std(ddof=1)) / sqrt(n_folds)
    if mean >= 1 - ROUNDING:
        return 1.0
    if not error > ROUNDING:
        return nan
    reach = error * float(special.stdtrit(n_folds - 1, 0.95))
    return float(np.tanh(np.arctanh(mean) - reach / (1 - mean**2)))


def _greedy(array: Array) -> list[int]:
    full = row_means(array)
    scores, rated = np.nan_to_num(array), (~np.isnan(array)).astype(np.float64)
    left, order = list(range(array.shape[1])), list[int]()
    while left:
        total = scores[:, order].sum(axis=1, keepdims=True) + scores[:, left]
        means = divide(total, rated[:, order].sum(axis=1, keepdims=True) + rated[:, left])
        taus = correlations(full[:, None], without_rounding(means, scores), "tau_b")
        order.append(left.pop(int(np.argmax(np.nan_to_num(taus, nan=-np.inf)))))
    return order


def _reached(array: Array, order: list[int]) -> Array:
    """Return τ_b of the first 1, 2, … judges with all, on these items."""
    means = [row_means(array[:, order[: n + 1]]) for n in range(len(order))]
    return correlations(row_means(array)[:, None], np.column_stack(means), "tau_b")


_LEAST_PROMPTS = 10
"""Five to choose on, and five to look at: of fewer a spread says little."""


@dataclass(frozen=True, slots=True)
class EnsembleDistance:
    """The distances from people of the mean of all judges and of the best judge, chosen on other
    prompts.

    Attributes:
        ensemble, best: the root of the mean squared distance from people's mean, in points, on the
            prompts that the judge was not chosen on.
        difference: mean squared distance of the best judge less that of the ensemble there, in
            squared points: above 0 the ensemble is closer to people. Student's t over prompts.
        chosen: the column of the judge; None where none could be chosen.
        n_items: how many the distances are of.
    """

    ensemble: float
    best: float
    difference: Estimate
    chosen: int | None
    n_items: int


def ensemble_distance(
    ratings: ArrayLike,
    people: ArrayLike,
    clusters: Labels | None = None,
    *,
    same_scale: bool = True,
) -> EnsembleDistance:
    """Compare how far the mean of all judges and the judge who is best elsewhere are from people:
    the best is chosen on every other prompt, by the mean squared distance from people's mean, and
    compared on the rest.

    Args:
        ratings: `(items, judges)`; items that a judge left out are left out.
        people: `(items,)`, people's mean rating, NaN where there is none.
        same_scale: whether people's ratings are on the judges' scale; else there is no distance.

    Returns:
        Undefined on different scales, and with fewer than two judges or ten prompts.

    >>> people = np.arange(10.0)
    >>> result = ensemble_distance(people[:, None] + [[-1.0, 1.5]], people)
    >>> result.ensemble, result.best
    (0.25, 1.0)
    """
    array, target = as_ratings(ratings), as_scores(people)
    if len(target) != len(array):
        raise ValueError(f"{len(target)} people's ratings for {len(array)} items")
    there = ~np.isnan(array).any(axis=1) & ~np.isnan(target)
    kept = list(compress(range(len(array)) if clusters is None else clusters, there))
    scores, target = array[there], target[there]
    prompts = [items for _, items in items_by_label(kept, len(kept))]
    over = "items" if clusters is None else "prompts"
    reasons = {
        Reason.OTHER_SCALE: not same_scale,
        Reason.FEW_RATERS: array.shape[1] < 2,
        Reason.FEW_TO_CHOOSE_THE_BEST: len(prompts) < _LEAST_PROMPTS,
    }
    if reason := next((why for why, holds in reasons.items() if holds), None):
        undefined = Estimate(nan, over=over, n=len(prompts), reason=reason)
        return EnsembleDistance(nan, nan, undefined, None, len(kept))
    of_judges = (scores - target[:, None]) ** 2
    of_all = (row_means(scores) - target) ** 2
    best = int(np.argmin(sum(of_judges[items].mean(axis=0) for items in prompts[::2])))
    others = prompts[1::2]
    of_best = np.array([of_judges[items, best].mean() for items in others])
    of_ensemble = np.array([of_all[items].mean() for items in others])
    return EnsembleDistance(
        sqrt(float(of_ensemble.mean())),
        sqrt(float(of_best.mean())),
        # Nothing is foreseen from these prompts: others are needed to choose the judge.
        replace(sampled_mean(of_best - of_ensemble).as_a(Estimate, over=over), sampled=None),
        best,
        sum(map(len, others)),
    )
