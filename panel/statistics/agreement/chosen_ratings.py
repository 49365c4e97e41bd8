"""As many ratings of each item, chosen so that they agree as far as they can.

Source: argument-quality.txt, section 3.2, which keeps three of the novices' ratings of an argument
so that Krippendorff's α is highest, and does not say how they are found. Here each item in turn
takes those of its ratings that raise α most, until no item alone can raise it.

α of ratings that were chosen so says more of the choice than of the raters: of ratings that agree
by chance alone it is far above 0. `by_chance` gives that level.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.agreement.reliability import krippendorff_alpha
from persona_panel.statistics.core.arrays import Array, IntArray, as_ratings
from persona_panel.statistics.core.statistic import Statistic

_SWEEPS = 50
_SAME = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRatings:
    """The ratings that were kept.

    Attributes:
        ratings: `(items, n)`, NaN where an item has fewer; whose they are is lost.
        alpha: Krippendorff's α of them, ordinal.
        n_chosen_from: how many items had more ratings than were kept.
    """

    ratings: Array
    alpha: Statistic
    n_chosen_from: int


def most_agreeing(ratings: ArrayLike, n: int = 3) -> ChosenRatings:
    """Of each item `n` ratings, chosen so that ordinal α of all items is as high as it gets by
    changing one item at a time; items with `n` or fewer keep theirs.

    How to read it: compare it with α of all ratings and with `by_chance`; it is no estimate of how
    far such raters agree.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        n: 2 or more.

    Raises:
        ValueError: a wrong shape, an infinite value, or fewer than 2.

    >>> found = most_agreeing([[1, 1, 3], [2, 3, 3], [1, 2, 2]], n=2)
    >>> found.alpha.value, found.ratings.tolist()
    (1.0, [[1.0, 1.0], [3.0, 3.0], [2.0, 2.0]])
    """
    array = as_ratings(ratings)
    if n < 2:
        raise ValueError(f"two ratings of an item at least are needed, found {n}")
    given = [np.sort(row[~np.isnan(row)]) for row in array]
    values = np.unique(array[~np.isnan(array)])
    choices = [
        _choices(np.searchsorted(values, own), min(n, len(own)), len(values)) for own in given
    ]
    # First those that differ least by their places, then one item after the other.
    chosen = [0] * len(choices)
    total = _sum((own[0] for own in choices), len(values))
    for _ in range(_SWEEPS):
        before = _alpha_of_coincidences(total)
        for item, own in enumerate(choices):
            if len(own) > 1:
                rest = total - own[chosen[item]]
                chosen[item] = int(np.argmax([_alpha_of_coincidences(rest + one) for one in own]))
                total = rest + own[chosen[item]]
        if _alpha_of_coincidences(total) <= before + _SAME:
            break
    kept = np.full((len(array), n), np.nan)
    for item, own_values in enumerate(given):
        places = np.searchsorted(values, own_values)
        subset = _subsets(places, min(n, len(places)))[chosen[item]]
        kept[item, : len(subset)] = values[list(subset)]
    return ChosenRatings(kept, krippendorff_alpha(kept), int(sum(len(own) > n for own in given)))


def by_chance(ratings: ArrayLike, n: int = 3, seed: int = 0) -> float:
    """α of ratings that `most_agreeing` chooses where there is nothing to agree about: the same
    ratings, dealt out to the items at random, each of which has as many as before. NaN where
    undefined; arguments and errors as of `most_agreeing`.

    >>> ratings = np.random.default_rng(0).integers(1, 6, (40, 6)).astype(float)
    >>> round(krippendorff_alpha(ratings).value, 2), round(by_chance(ratings), 2)
    (-0.07, 0.91)
    """
    array = as_ratings(ratings)
    there = ~np.isnan(array)
    dealt = np.full(array.shape, np.nan)
    dealt[there] = np.random.default_rng(seed).permutation(array[there])
    return most_agreeing(dealt, n).alpha.value


def _subsets(places: IntArray, n: int) -> list[tuple[int, ...]]:
    """The different sets of `n` values, those that lie nearest together first."""
    found = {tuple(sorted(map(int, one))) for one in combinations(places, n)}
    return sorted(found, key=lambda one: ((one[-1] - one[0]) if one else 0, one))


def _choices(places: IntArray, n: int, n_values: int) -> list[Array]:
    """Return what each set of `n` ratings adds to the table of coincidences `(values, values)`."""
    return [_coincidences(one, n_values) for one in _subsets(places, n)]


def _coincidences(places: Iterable[int], n_values: int) -> Array:
    counts = np.bincount(list(places), minlength=n_values).astype(np.float64)
    size = counts.sum()
    if size < 2:
        return np.zeros((n_values, n_values))
    found: Array = (np.outer(counts, counts) - np.diag(counts)) / (size - 1)
    return found


def _sum(tables: Iterable[Array], n_values: int) -> Array:
    return sum(tables, np.zeros((n_values, n_values)))


def _alpha_of_coincidences(coincidences: Array) -> float:
    """Ordinal α; below any where it is undefined."""
    marginals = coincidences.sum(axis=1)
    ranks = np.cumsum(marginals) - marginals / 2
    distances = (ranks[:, None] - ranks[None, :]) ** 2
    expected = marginals @ distances @ marginals / (marginals.sum() - 1)
    if not expected > 0:
        return -np.inf
    return float(1 - (coincidences * distances).sum() / expected)
