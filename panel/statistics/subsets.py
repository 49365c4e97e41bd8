"""The judges that a panel needs: the smallest subset, the best judge beside all, and the better
half beside the worse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from math import nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    Labels,
    Reason,
    Statistic,
    as_ratings,
    as_scores,
    check_confidence,
    count_raters,
    divide,
    encode_labels,
    has_ratings,
    items_by_label,
    row_means,
    without_rounding,
)
from persona_panel.statistics.core.correlation import correlation, taus
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.ranking import sampled_mean

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
    confidence: float = 0.95,
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
        confidence: of the lower bound, one-sided.
        seed: of the dealing.

    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=60)
    >>> ratings = np.column_stack([scores, scores + 0.01 * rng.normal(size=60), np.arange(60) % 2])
    >>> result = smallest_subset(ratings, threshold=0.5)
    >>> len(result.judges), round(result.cost_saved, 3)
    (1, 0.667)
    """
    array = as_ratings(ratings)
    n_items, n_judges = array.shape
    check_confidence(confidence)
    codes = encode_labels(range(n_items) if prompts is None else prompts, n_items)[1]
    rated = has_ratings(array)
    array, codes = array[rated], np.unique(codes[rated], return_inverse=True)[1]
    n_prompts = int(codes.max(initial=-1)) + 1
    unknown = np.full(n_judges, nan)
    if count_raters(array) < 2:
        return SmallestSubset((), unknown, unknown, reason=Reason.FEW_RATERS)
    if n_prompts < LEAST_PROMPTS or len(array) < LEAST_ITEMS:
        return SmallestSubset((), unknown, unknown, reason=Reason.FEW_TO_CHOOSE)

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
        return SmallestSubset((), held_out, low, reason=Reason.NOT_REACHED)
    judges = tuple(_greedy(array)[:size])
    return SmallestSubset(judges, held_out, low, 1 - size / n_judges)


def _lower_bound(of_folds: Array, confidence: float) -> float:
    """Return the one-sided lower bound of the mean of the folds' τ_b."""
    n_folds, mean = len(of_folds), float(of_folds.mean())
    error = float(of_folds.std(ddof=1)) / sqrt(n_folds)
    if mean >= 1 - ROUNDING:
        return 1.0
    if not error > ROUNDING:
        return nan
    reach = error * float(special.stdtrit(n_folds - 1, confidence))
    return float(np.tanh(np.arctanh(mean) - reach / (1 - mean**2)))


def _greedy(array: Array) -> list[int]:
    full = row_means(array)
    scores, rated = np.nan_to_num(array), (~np.isnan(array)).astype(np.float64)
    left, order = list(range(array.shape[1])), list[int]()
    while left:
        total = scores[:, order].sum(axis=1, keepdims=True) + scores[:, left]
        means = divide(total, rated[:, order].sum(axis=1, keepdims=True) + rated[:, left])
        taus = _taus(without_rounding(means, scores), full)
        order.append(left.pop(int(np.argmax(np.nan_to_num(taus, nan=-np.inf)))))
    return order


def _reached(array: Array, order: list[int]) -> Array:
    """Return τ_b of the first 1, 2, … judges with all, on these items."""
    means = [row_means(array[:, order[: n + 1]]) for n in range(len(order))]
    return _taus(np.column_stack(means), row_means(array))


def _taus(means: Array, full: Array) -> Array:
    """Return τ_b of each column `(items, columns)` with the mean of all judges."""
    missing = np.isnan(means)
    beside = np.where(missing, nan, full[:, None]) if missing.any() else full[:, None]
    return taus(beside, means, "tau_b")


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
        clusters: a label an item, its prompt; each item is its own if None.
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
    reason = None if same_scale else Reason.OTHER_SCALE
    if reason is None and array.shape[1] < 2:
        reason = Reason.FEW_RATERS
    if reason is None and len(prompts) < _LEAST_PROMPTS:
        reason = Reason.FEW_TO_CHOOSE_THE_BEST
    if reason is not None:
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


Half = Literal["strong", "weak"]


@dataclass(frozen=True, slots=True)
class ChosenEnsemble:
    """One half of the judges: the `strong` ones, those nearest to people on other items, or the
    `weak`.

    Attributes:
        tau_c: of their mean scores with the people's, each item scored by the judges who were
            chosen without it.
        members: the mean τ_c of a single judge of the half, measured likewise for each place in the
            half; NaN where one is undefined.
    """

    half: Half
    tau_c: Statistic
    members: float


def ensembles_on_other_items(
    judges: ArrayLike, target: ArrayLike, prompts: Labels, *, folds: int = 5, seed: int = 0
) -> list[ChosenEnsemble]:
    """Choose the better half of the judges and the other half by τ_c on other prompts.

    How to read it: where `tau_c` is above `members`, putting the half's judges together pays. Of an
    odd number of judges the middle one is in neither half.

    Args:
        judges: `(items, judges)` scores, NaN where missing.
        target: `(items,)`, the people's mean.
        prompts: a label an item; a prompt is in one fold.
        folds, seed: into how many parts prompts are dealt, at most their number, and the seed of
            that.

    >>> people = np.arange(8.0)
    >>> judges = np.stack([people, people, -people, -people], axis=1)
    >>> result = ensembles_on_other_items(judges, people, "aabbccdd")
    >>> [(each.half, each.tau_c.value) for each in result]
    [('strong', 1.0), ('weak', -1.0)]
    """
    scores, people = as_ratings(judges), as_scores(target)
    names, codes = encode_labels(prompts, len(scores))
    folds = min(folds, len(names))
    if scores.shape[1] < 2 or folds < 2 or len(people) != len(scores):
        raise ValueError(
            f"two judges, two prompts and a score of people an item are needed, found "
            f"{scores.shape[1]}, {len(names)} and {len(people)} for {len(scores)}"
        )
    n = scores.shape[1] // 2
    fold_of = np.random.default_rng(seed).permutation(np.arange(len(names)) % folds)[codes]
    # By their places among the judges, the best first.
    ranked = np.full(scores.shape, np.nan)
    for fold in range(folds):
        own = fold_of == fold
        taus = [correlation(judge, people[~own], "tau_c") for judge in scores[~own].T]
        order = np.argsort([-tau.value if tau.reason is None else np.inf for tau in taus])
        ranked[own] = scores[own][:, order]
    halves: dict[Half, Array] = {"strong": ranked[:, :n], "weak": ranked[:, -n:]}
    return [
        ChosenEnsemble(
            half,
            correlation(row_means(part), people, "tau_c"),
            float(np.mean([correlation(column, people, "tau_c").value for column in part.T])),
        )
        for half, part in halves.items()
    ]
