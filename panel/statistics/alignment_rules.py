"""Rules by which judges' scores become one score, learnt from people's ratings.

Sources: M. Ayer et al. (1955), "An empirical distribution function for sampling with incomplete
information" (isotonic regression); L. Breiman (1996), "Stacked regressions", and J. M. Bates &
C. W. J. Granger (1969), "The combination of forecasts" (weights); A. E. Hoerl & R. W. Kennard
(1970), "Ridge regression" (the penalty); debate-speeches.txt, Appendix E (strong and weak judges).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Statistic,
    as_ratings,
    as_scores,
    check_choice,
    divide,
    encode_labels,
    row_means,
    without_rounding,
)
from persona_panel.statistics.core.correlation import correlation

AlignmentMethod = Literal["isotonic", "weights", "subset"]
PENALTIES = (0.01, 0.1, 1.0, 10.0)
"""Tried penalties of unequal weights, in units of the judges' mean squared error."""


@dataclass(frozen=True, slots=True, eq=False)
class AlignmentRule:
    """A rule by which judges' scores of an item become one score.

    Attributes:
        weights: `(judges,)`, 0 or more, with the sum 1; of an item that some judges did not rate,
            those of the others are divided by their sum.
        scores, values: of a monotone rule `(knots,)`, both rising: what `scores` of the panel
            become, linear between them and constant beyond. Empty where the weighted mean stays as
            it is.
    """

    weights: Array
    scores: Array = field(default_factory=lambda: np.empty(0))
    values: Array = field(default_factory=lambda: np.empty(0))

    def apply(self, ratings: ArrayLike) -> Array:
        """Return the scores of items `(items,)` from judges' ratings `(items, judges)`; NaN where
        no judge with a weight rated.

        >>> rule = AlignmentRule(np.array([0.75, 0.25]))
        >>> rule.apply([[1, 5], [np.nan, 5]]).tolist()
        [2.0, 5.0]
        """
        array = as_ratings(ratings)
        sums = np.nan_to_num(array) @ self.weights
        mean = without_rounding(divide(sums, ~np.isnan(array) @ self.weights), array)
        if not len(self.scores):
            return mean
        return np.where(np.isnan(mean), mean, np.interp(mean, self.scores, self.values))


@dataclass(frozen=True, slots=True, eq=False)
class RatedItems:
    """Items that people rated, dealt into folds: judges' `ratings` `(items, judges)`, NaN where
    missing, people's mean, how much an item counts, and the fold of each, 0 to `n_folds` - 1,
    `(items,)`."""

    ratings: Array
    people: Array
    weights: Array
    folds: IntArray
    n_folds: int


def complete_items(ratings: Array) -> Mask:
    """Return a mask of the items that every judge rated `(items,)`."""
    return np.asarray(~np.isnan(ratings).any(axis=1))


def learnt_rule(
    method: AlignmentMethod, items: RatedItems, folds: Sequence[int]
) -> AlignmentRule | None:
    """Return the rule of a method that is learnt from some of the folds of these items; None where
    they have nothing to learn from.

    Raises:
        ValueError: there is no such method.
    """
    check_choice("method", method, AlignmentMethod)
    return _isotonic(items, folds) if method == "isotonic" else _by_errors(method, items, folds)


def compares_judges(method: AlignmentMethod) -> bool:
    """Return whether a method weighs judges: it needs two of them, and complete items."""
    return method != "isotonic"


def _isotonic(items: RatedItems, folds: Sequence[int]) -> AlignmentRule | None:
    n_judges = items.ratings.shape[1]
    equal = AlignmentRule(np.full(n_judges, 1 / n_judges))
    mean = equal.apply(items.ratings)
    of = np.isin(items.folds, folds) & ~np.isnan(mean)
    if not of.any():
        return None
    scores, place = np.unique(mean[of], return_inverse=True)
    weights = np.bincount(place, items.weights[of])
    values = np.bincount(place, items.weights[of] * items.people[of]) / weights
    # Loaded here: a run's summary and page, which need none of it, would load it, too.
    from scipy.optimize import isotonic_regression

    fitted = isotonic_regression(values, weights=weights).x
    return AlignmentRule(equal.weights, scores, fitted)


def _by_errors(
    method: AlignmentMethod, items: RatedItems, folds: Sequence[int]
) -> AlignmentRule | None:
    """Return the candidate weights (by penalty, or number of judges) best on held-out folds."""
    complete = complete_items(items.ratings)
    products, sizes = {}, {}
    for fold in folds:
        of = (items.folds == fold) & complete
        errors, weights = items.ratings[of] - items.people[of, None], items.weights[of]
        products[fold], sizes[fold] = (errors * weights[:, None]).T @ errors, weights.sum()
    there = [fold for fold in folds if sizes[fold] > 0]
    if not there:
        return None

    def candidates(within: Sequence[int]) -> list[Array]:
        mean = sum(products[fold] for fold in within) / sum(sizes[fold] for fold in within)
        return weights_by_errors(mean, PENALTIES) if method == "weights" else _greedy(mean)

    weights_of_all = candidates(there)
    total: Array = np.zeros(len(weights_of_all))
    for held in there if len(there) > 1 else ():
        learnt = candidates([fold for fold in there if fold != held])
        total += [weights @ products[held] @ weights for weights in learnt]
    return AlignmentRule(weights_of_all[int(np.argmin(total))])


def weights_by_errors(errors: Array, penalties: Sequence[float]) -> list[Array]:
    """Return, for each penalty, the weights `(judges,)`, 0 or more with the sum 1, that minimize
    w'Ew plus the penalty times the squared distance from equal weights. `errors` `(judges, judges)`
    are mean products of judges' errors, penalties are above 0, in units of the judges' mean squared
    error."""
    from scipy.optimize import nnls

    n = len(errors)
    size = float(np.trace(errors)) / n
    if not size > 0:
        return [np.full(n, 1 / n) for _ in penalties]
    values, vectors = np.linalg.eigh(errors / size)
    by_penalty = []
    for penalty in penalties:
        # Rounding may leave a value below 0.
        roots = np.sqrt(np.maximum(values, 0) + penalty)
        # At the least w'Aw with the sum 1, Aw is a constant for the judges with a weight and above
        # it for others: the same as at the least v'Av - 2 sum(v), whose v is w times a constant.
        least, _ = nnls(roots[:, None] * vectors.T, (vectors / roots).sum(axis=0))
        by_penalty.append(least / least.sum())
    return by_penalty


def _greedy(errors: Array) -> list[Array]:
    n = len(errors)
    left, weights, chosen = np.arange(n), np.zeros(n), list[Array]()
    # What each judge shares with those who were chosen.
    shared, own = np.zeros(n), np.diag(errors)
    for size in range(1, n + 1):
        best = left[np.argmin(2 * shared[left] + own[left])]
        left = left[left != best]
        shared = shared + errors[best]
        weights[best] = 1
        chosen.append(weights / size)
    return chosen


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

    Raises:
        ValueError: fewer than two judges, prompts or folds, or shapes that do not fit.

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
