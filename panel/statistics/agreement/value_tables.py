"""Which values every two raters gave to the same items, as tables of counts.

Ratings have few values (1 to 10), and then τ_b, Spearman's ρ and Cohen's κ of two raters follow
from how often each pair of values occurs, as in A. Agresti (2010), *Analysis of Ordinal Categorical
Data*, ch. 7 and 8: the work grows with the number of items, and not with that of pairs of items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from persona_panel.statistics.core.arrays import Array, IntArray, Mask, Resampled, divide

MOST_VALUES = 32
"""Of more values tables would be larger than what they save."""
LEAST_ITEMS = 16
"""Of fewer items, as one prompt has, all pairs of items are few."""

Sums = tuple[Array, Array]
"""What two raters share, and what the first has of its own: `(raters, raters)` each."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueTables:
    """How often two raters gave a pair of values to an item.

    Attributes:
        given: whether a rater gave a value to an item, 1 or 0 `(items, raters × values)`.
        counts: over all items `(raters, values, raters, values)`.
        values: the values, from the lowest on.
    """

    given: Array
    counts: Array
    values: Array

    @classmethod
    def of(cls, ratings: Array) -> Self | None:
        """Of ratings `(items, raters)`; None where there are so many values that to compare all
        pairs of items is as fast."""
        n_items, n_raters = ratings.shape
        if n_items < LEAST_ITEMS:
            return None
        values = np.unique(ratings[~np.isnan(ratings)])
        if len(values) > MOST_VALUES or len(values) ** 2 > n_items or not len(values):
            return None
        given: Mask = ratings[:, :, None] == values
        flat = given.reshape(n_items, -1).astype(np.float64)
        shape = n_raters, len(values), n_raters, len(values)
        return cls(flat, (flat.T @ flat).reshape(shape), values)

    def without(self, missing: Array) -> Array:
        """The counts `(raters, values, raters, values)` less this share of each item `(items,)`."""
        items = np.flatnonzero(missing)
        given = self.given[items]
        less = given.T @ (given * missing[items, None])
        counts: Array = self.counts - less.reshape(self.counts.shape)
        return counts


def resampled_mean_of(
    tables: ValueTables, matrix: Callable[[Array], Array], pairs: IntArray
) -> Resampled:
    """The mean over pairs of raters `(pairs, 2)` of what `matrix` makes `(raters, raters)` of
    counts, as a function of resampling weights."""

    def statistic(weights: Array) -> Array:
        found = [matrix(tables.without(missing)) for missing in 1 - weights]
        return mean_over_pairs(np.array(found), pairs)

    return statistic


def mean_over_pairs(matrices: Array, pairs: IntArray) -> Array:
    """The mean over pairs of raters `(pairs, 2)` of what each matrix `(resamples, raters, raters)`
    has; a pair without a value does not enter."""
    values = matrices[:, pairs[:, 0], pairs[:, 1]]
    defined = ~np.isnan(values)
    return divide(np.where(defined, values, 0).sum(axis=1), defined.sum(axis=1))


def counts_of_the_first(counts: Array) -> Array:
    """Return how often the first of two raters gave each value to what the second rated `(raters,
    values, raters)`; as the tables are symmetric, from a sum that is ten times as fast as that over
    their last axis."""
    found: Array = counts.sum(axis=1).transpose(1, 2, 0)
    return found


def tau_b_sums(counts: Array) -> Sums:
    """The agreements of two raters over ordered pairs of items, and the pairs that the first tells
    apart among those that the second rated, from counts `(raters, values, raters, values)`."""
    n_raters, n_values = counts.shape[:2]
    signs = _signs(n_values)
    # Of each pair of values the concordant less the discordant items.
    beside = (signs @ counts.reshape(n_raters, n_values, -1)).reshape(-1, n_values) @ signs.T
    agreement = (counts * beside.reshape(counts.shape)).sum(axis=(1, 3))
    first = counts_of_the_first(counts)
    untied = first.sum(axis=1) ** 2 - (first**2).sum(axis=1)
    return agreement, np.maximum(untied, 0)


def spearman_sums(counts: Array) -> Sums:
    """Products of two raters' centred ranks, times four, and squares of the first's, among the
    items that both rated; counts as for `tau_b_sums`."""
    first = counts_of_the_first(counts)
    # Twice the centred rank of each value of the first, `(raters, values, raters)`.
    ranks = (_signs(counts.shape[1]) @ first.reshape(*first.shape[:2], -1)).reshape(first.shape)
    others = (counts * ranks.transpose(2, 0, 1)[:, None]).sum(axis=3)
    return (ranks * others).sum(axis=1), (first * ranks**2).sum(axis=1)


def _signs(n_values: int) -> Array:
    """1 where the first of two values is the larger, −1 where it is the smaller."""
    places = np.arange(n_values)
    signs: Array = np.sign(places[:, None] - places).astype(np.float64)
    return signs
