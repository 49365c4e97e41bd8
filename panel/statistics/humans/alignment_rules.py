"""Rules that turn judges' scores of an item into what people would give on average, learnt from
items that people rated.

Three kinds: `isotonic`, a rising function of the mean of all judges; `weights`, a weighted mean of
judges; `subset`, the mean of some of them. With E the matrix of judges' mean products of errors
(score less people's mean), the squared error of a weighted mean is w'Ew, as weights sum to one.

Sources: M. Ayer et al. (1955), "An empirical distribution function for sampling with incomplete
information", for isotonic regression; L. Breiman (1996), "Stacked regressions", for weights that
are not negative, and J. M. Bates & C. W. J. Granger (1969), "The combination of forecasts", for
those that sum to one; A. E. Hoerl & R. W. Kennard (1970), "Ridge regression", for the penalty, here
of how far weights are from equal ones; C. L. Lawson & R. J. Hanson (1974), *Solving Least Squares
Problems*, chapter 23, for the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from panel.statistics.core.arrays import Array, IntArray, as_ratings, divide

AlignmentMethod = Literal["isotonic", "weights", "subset"]

PENALTIES = (0.01, 0.1, 1.0, 10.0)
"""Tried penalties of unequal weights, in units of the judges' mean squared error."""


@dataclass(frozen=True, slots=True, eq=False)
class AlignmentRule:
    """How judges' scores of an item become one score.

    Attributes:
        weights: `(judges,)`, 0 or more, with the sum 1. Of an item that some judges did not rate,
            those of the others are divided by their sum.
        scores, values: of a monotone rule `(knots,)`, both rising: what `scores` of the panel
            become, between them on a straight line, and beyond them the same as at the ends. Empty
            where the weighted mean stays as it is.
    """

    weights: Array
    scores: Array
    values: Array

    def apply(self, ratings: ArrayLike) -> Array:
        """The scores of items `(items,)` from judges' ratings `(items, judges)`; NaN where no judge
        with a weight rated.

        >>> rule = AlignmentRule(np.array([0.75, 0.25]), np.array([]), np.array([]))
        >>> rule.apply([[1, 5], [np.nan, 5]]).tolist()
        [2.0, 5.0]
        """
        array = as_ratings(ratings)
        mean = divide(np.nan_to_num(array) @ self.weights, ~np.isnan(array) @ self.weights)
        if not len(self.scores):
            return mean
        moved: Array = np.where(np.isnan(mean), mean, np.interp(mean, self.scores, self.values))
        return moved


@dataclass(frozen=True, slots=True, eq=False)
class RatedItems:
    """Items that people rated, dealt into folds.

    Attributes:
        ratings: `(items, judges)`, NaN where missing.
        people: `(items,)`, people's mean.
        weights: `(items,)`, how much an item counts.
        folds: `(items,)`, the fold of each, 0 to `n_folds` - 1.
    """

    ratings: Array
    people: Array
    weights: Array
    folds: IntArray
    n_folds: int


Learner = Callable[[Sequence[int]], AlignmentRule | None]
"""From folds to the rule that is learnt from them; None where too few judges share an item."""


def learner(method: AlignmentMethod, items: RatedItems) -> Learner:
    """What learns a rule of a method from some of the folds of these items."""
    if method == "isotonic":
        return lambda folds: _isotonic(items, folds)
    errors = items.ratings - items.people[:, None]
    there = ~np.isnan(errors)
    errors = np.nan_to_num(errors)
    products, counts = [], []
    for fold in range(items.n_folds):
        of = items.folds == fold
        weighted = errors[of] * items.weights[of, None]
        products.append(weighted.T @ errors[of])
        counts.append((there[of] * items.weights[of, None]).T @ there[of].astype(np.float64))
    moments = _Moments(np.array(products), np.array(counts))
    learn = _simplex if method == "weights" else _subset
    return lambda folds: learn(moments, folds)


def _isotonic(items: RatedItems, folds: Sequence[int]) -> AlignmentRule | None:
    n_judges = items.ratings.shape[1]
    equal = AlignmentRule(np.full(n_judges, 1 / n_judges), np.array([]), np.array([]))
    mean = equal.apply(items.ratings)
    of = np.isin(items.folds, folds) & ~np.isnan(mean)
    if not of.any():
        return None
    scores, place = np.unique(mean[of], return_inverse=True)
    weights = np.bincount(place, items.weights[of])
    values = np.bincount(place, items.weights[of] * items.people[of]) / weights
    fitted = scipy.optimize.isotonic_regression(values, weights=weights).x
    return AlignmentRule(equal.weights, scores, fitted)


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """By fold the weighted sums of products of judges' errors `(folds, judges, judges)`, and of the
    weights of the items that both rated."""

    products: Array
    counts: Array

    def of(self, folds: Sequence[int]) -> Array:
        """The mean products; NaN where two judges share no item."""
        return divide(self.products[list(folds)].sum(axis=0), self.counts[list(folds)].sum(axis=0))


def _simplex(moments: _Moments, folds: Sequence[int]) -> AlignmentRule | None:
    """Weights with the penalty that is best on folds that they were not learnt from."""

    def candidates(within: Sequence[int]) -> list[Array]:
        matrix = moments.of(within)
        return [weights_by_errors(matrix, penalty) for penalty in PENALTIES]

    return _chosen(moments, folds, candidates)


def _subset(moments: _Moments, folds: Sequence[int]) -> AlignmentRule | None:
    """The mean of so many judges as are best on folds that they were not chosen by."""
    return _chosen(moments, folds, lambda within: _greedy(moments.of(within)))


def _chosen(
    moments: _Moments, folds: Sequence[int], candidates: Callable[[Sequence[int]], list[Array]]
) -> AlignmentRule | None:
    """Of several candidates, the one whose kind has the least error on each fold when learnt from
    the others; learnt from all."""
    if np.isnan(moments.of(folds)).any():
        return None
    total: Array = np.zeros(len(candidates(folds)))
    for held in folds:
        others = [fold for fold in folds if fold != held]
        # Where two judges share no item of so few, the fold does not help to choose.
        if np.isnan(moments.of(others)).any() or np.isnan(moments.of([held])).any():
            continue
        size = np.trace(moments.counts[held])
        matrix = moments.of([held]) * size
        total += [weights @ matrix @ weights for weights in candidates(others)]
    best = candidates(folds)[int(np.argmin(total))]
    return AlignmentRule(best, np.array([]), np.array([]))


def weights_by_errors(errors: Array, penalty: float) -> Array:
    """The weights `(judges,)`, 0 or more with the sum 1, that make w'Ew least, and a penalty of how
    far they are from equal ones.

    Args:
        errors: `(judges, judges)`, mean products of judges' errors.
        penalty: above 0, in units of the judges' mean squared error; the larger, the more equal
            the weights.

    Judges who err independently are weighted by the inverse of their squared errors:

    >>> weights_by_errors(np.diag([1.0, 4.0]), 1e-9).round(3).tolist()
    [0.8, 0.2]
    >>> weights_by_errors(np.diag([1.0, 4.0]), 1e9).round(3).tolist()
    [0.5, 0.5]
    """
    n = len(errors)
    size = float(np.trace(errors)) / n
    if not size > 0:
        return np.full(n, 1 / n)
    # Products over other items for each two judges need not be those of any errors: what is below
    # 0 in them is none.
    values, vectors = np.linalg.eigh((errors + errors.T) / (2 * size))
    roots = np.sqrt(np.maximum(values, 0) + penalty)
    # At the least w'Aw with the sum 1, Aw is a constant for the judges with a weight and above it
    # for others: the same as at the least v'Av - 2 sum(v), whose v is w times a constant.
    half = roots[:, None] * vectors.T
    least, _ = scipy.optimize.nnls(half, (vectors / roots).sum(axis=0))
    return np.asarray(least / least.sum(), dtype=np.float64)


def _greedy(errors: Array) -> list[Array]:
    """Equal weights of the first 1, 2, … judges, each the one that makes the error least."""
    left, chosen, found = list(range(len(errors))), list[int](), list[Array]()
    while left:
        total = errors[np.ix_(chosen, chosen)].sum()
        added = [total + 2 * errors[one, chosen].sum() + errors[one, one] for one in left]
        chosen.append(left.pop(int(np.argmin(added))))
        weights = np.zeros(len(errors))
        weights[chosen] = 1 / len(chosen)
        found.append(weights)
    return found
