"""The shapes that every statistic shares, and the few operations on them.

Ratings are `(items, raters)` with NaN where there is no rating. A resample, such as the items
without one prompt, is a row of weights: how often each item is in it. Weights keep resampling to
matrix products, where copying rows would redo every statistic from its raw ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]
Mask = NDArray[np.bool_]

Labels = Sequence[Hashable] | NDArray[Any]
"""One label an item: its prompt, its source, its cluster."""

Resampled = Callable[[Array], Array]
"""From weights `(resamples, items)` to the statistic of each resample `(resamples,)`,
NaN where a resample leaves it undefined."""

ROUNDING = 1e-9
"""What is smaller than this, or than this share of the values it was computed from, is the rounding
of sums, and none: means of equal ratings need not be equal floats."""

NEAR_ZERO = 6
"""A mean is near 0 where it is less than the largest value over this power of two. Twelve decimals
of that are 70 times a float's own precision, and sums of some 70 values are rounded by less."""


def as_ratings(ratings: ArrayLike) -> Array:
    """Ratings as float64 `(items, raters)`.

    Raises:
        ValueError: not two-dimensional, or a value is infinite.
    """
    return _finite(ratings, "ratings", ("items", "raters"))


def as_scores(scores: ArrayLike) -> Array:
    """One rater's scores as float64 `(items,)`.

    Raises:
        ValueError: not one-dimensional, or a value is infinite.
    """
    return _finite(scores, "scores", ("items",))


def _finite(values: ArrayLike, what: str, axes: tuple[str, ...]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != len(axes):
        shape = str(axes).replace("'", "")
        raise ValueError(f"{what} have the shape {shape}, found {array.shape}")
    if np.isinf(array).any():
        place = zip(axes, np.argwhere(np.isinf(array))[0], strict=True)
        where = ", ".join(f"{axis.removesuffix('s')} {index}" for axis, index in place)
        raise ValueError(f"{what} are finite, but not that of {where}")
    return array


def paired_scores(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array, Mask]:
    """Two raters' scores as float64 `(items,)`, and the items that both scored.

    Raises:
        ValueError: the shapes differ, or a value is infinite.
    """
    first, second = as_scores(x), as_scores(y)
    if first.shape != second.shape:
        raise ValueError(f"{len(first)} scores cannot be paired with {len(second)}")
    return first, second, ~(np.isnan(first) | np.isnan(second))


def encode_labels(labels: Labels | None, n_items: int) -> tuple[tuple[Hashable, ...], IntArray]:
    """The distinct labels in order of appearance, and each item's place among them.

    No labels means one label for all.

    Raises:
        ValueError: there is not one label an item.
    """
    if labels is None:
        return (None,), np.zeros(n_items, dtype=np.intp)
    if len(labels) != n_items:
        raise ValueError(f"{len(labels)} labels for {n_items} items")
    places: dict[Hashable, int] = {}
    codes = [places.setdefault(label, len(places)) for label in labels]
    return tuple(places), np.asarray(codes, dtype=np.intp)


def items_by_label(labels: Labels | None, n_items: int) -> Iterator[tuple[Hashable, IntArray]]:
    """Each label with the indices of its items."""
    names, codes = encode_labels(labels, n_items)
    for code, name in enumerate(names):
        yield name, np.flatnonzero(codes == code)


def row_means(ratings: Array) -> Array:
    """Each item's mean over the raters who rated it, without the rounding of sums, so that equal
    means are ties in whatever order their raters stand; NaN where nobody did.

    >>> row_means(np.array([[1.0, 3.0], [np.nan, 2.0]])).tolist()
    [2.0, 2.0]
    """
    counts = np.sum(~np.isnan(ratings), axis=1)
    means = divide(np.nansum(ratings, axis=1), counts.astype(np.float64))
    return without_rounding(means, ratings)


def rows_of(scores: Array, items: Sequence[str], wanted: Sequence[str]) -> Array:
    """The rows of `scores` `(items, …)` of the wanted items, in their order; NaN of those that
    there are no scores of.

    >>> rows_of(np.array([[1.0], [2.0]]), ["a", "b"], ["b", "c"]).tolist()
    [[2.0], [nan]]
    """
    place = {name: row for row, name in enumerate(items)}
    there = [row for row, name in enumerate(wanted) if name in place]
    found = np.full((len(wanted), *scores.shape[1:]), np.nan)
    found[there] = scores[[place[wanted[row]] for row in there]]
    return found


def without_rounding(means: Array, of: Array) -> Array:
    """Each mean to 12 decimals of the power of two above it, closer ones than that as one mean:
    those that are equal are equal floats then, however their sums were rounded.

    Of values with signs a mean near 0 has the rounding of values far from it: none has more
    decimals than one of a 64th of the largest value. So one value that is a billion times the
    others makes ties of some.

    Args:
        means: of any shape.
        of: the values that they are means of, of any shape, NaN where missing.

    >>> ratings = np.array([[0.1, 0.2], [0.3, 0.0]])
    >>> without_rounding(ratings.sum(axis=1) / 2, ratings).tolist()
    [0.15, 0.15]
    >>> signed = np.array([[0.1, 0.2, -0.3], [-0.3, 0.2, 0.1]])
    >>> signed.sum(axis=1).tolist(), row_means(signed).tolist()
    ([5.551115123125783e-17, 2.7755575615628914e-17], [0.0, 0.0])
    """
    # Powers of two lose nothing, no magnitude overflows, and no mean but those near 0 depends on
    # another.
    least = np.frexp(np.max(np.abs(np.nan_to_num(of)), initial=0))[1] - NEAR_ZERO
    # First as one: a mean in the middle between two numbers of 12 decimals could become either.
    one = _one_of_each(means, np.ldexp(1e-12, np.maximum(np.frexp(means)[1], least)))
    fraction, own = np.frexp(one)
    exponent = np.maximum(own, least)
    rounded: Array = np.ldexp(np.round(np.ldexp(fraction, own - exponent), 12), exponent)
    return rounded


def _one_of_each(values: Array, widths: Array) -> Array:
    """The values, of any shape, each that is less than its width above the next lower one replaced
    by the lowest of those; NaN stays."""
    order = np.argsort(values, axis=None)
    rising = values.ravel()[order]
    is_first = np.ones(rising.size, dtype=np.bool_)
    # Not "above": of NaN, which come last, each is one by itself.
    is_first[1:] = ~(np.diff(rising) < widths.ravel()[order][1:])
    found = np.empty(rising.size)
    found[order] = rising[is_first][np.cumsum(is_first) - 1]
    return found.reshape(values.shape)


def has_ratings(ratings: Array, least: int = 1) -> Mask:
    """Return whether so many raters at least rated an item `(items,)`.

    >>> has_ratings(np.array([[1.0, 3.0], [np.nan, 2.0]]), 2).tolist()
    [True, False]
    """
    rated: Mask = np.sum(~np.isnan(ratings), axis=1) >= least
    return rated


def has_two_ratings(ratings: Array) -> Mask:
    """Return whether an item has what agreement is computed from `(items,)`."""
    return has_ratings(ratings, 2)


def divide(numerator: ArrayLike, denominator: ArrayLike) -> Array:
    """The quotient, NaN where the denominator is zero or anything is NaN."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    )
    quotient: Array = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)
    return quotient


def scaled_to_unit(x: Array) -> Array:
    """`x` over a power of two that brings its largest magnitude below one.

    The division is exact, and the squares of what is left neither overflow nor vanish.
    """
    _, exponent = np.frexp(np.max(np.abs(x), initial=0))
    result: Array = np.ldexp(x, -exponent)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class DistinctValues:
    """The distinct values of scores, made ready to be counted in many resamples.

    `values` are in ascending order `(values,)`, `codes` is each item's place among them.
    """

    values: Array
    codes: IntArray
    order: IntArray
    starts: IntArray

    @classmethod
    def of(cls, scores: Array) -> DistinctValues:
        """Return those of scores without gaps, one at least."""
        values, codes = np.unique(scores, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        return cls(values, codes, order, np.searchsorted(codes[order], np.arange(len(values))))

    def count(self, weights: Array) -> Array:
        """Return how often each value occurs in each resample `(resamples, values)`."""
        counts: Array = np.add.reduceat(weights[:, self.order], self.starts, axis=1)
        return counts


def has_several_values(counts: Array) -> Mask:
    """Return whether a resample has more than one value, from their counts."""
    result: Mask = (counts > 0).sum(axis=1) > 1
    return result


def count_by_item(ratings: Array, values: Array) -> Array:
    """Return how often each of `values` (ascending, all that occur) is among an item's ratings:
    `(items, values)`."""
    items, raters = np.nonzero(~np.isnan(ratings))
    cells = items * len(values) + np.searchsorted(values, ratings[items, raters])
    flat = np.bincount(cells, minlength=len(ratings) * len(values))
    return flat.reshape(len(ratings), len(values)).astype(np.float64)


def defined_mean(values: Array) -> float:
    """The mean of those that are not NaN, NaN where all are."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else np.nan


def mean_of(functions: Sequence[Resampled]) -> Resampled:
    """The mean of several statistics in each resample, over those defined in it."""

    def mean(weights: Array) -> Array:
        total, count = np.zeros(len(weights)), np.zeros(len(weights))
        for function in functions:
            values = function(weights)
            defined = ~np.isnan(values)
            total[defined] += values[defined]
            count += defined
        return divide(total, count)

    return mean


def difference_of(first: Resampled, second: Resampled) -> Resampled:
    """The first statistic less the second in each resample, NaN where one of them is."""
    return lambda weights: first(weights) - second(weights)


def unit_weights(n_items: int) -> Array:
    """The weights of the data themselves: one resample that holds every item once."""
    return np.ones((1, n_items))
