"""Agreement of every two raters: rank correlations, means over pairs, and plain agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    check_choice,
    defined_mean,
    divide,
    items_by_label,
    mean_of,
    value_of,
    why_few,
)
from persona_panel.statistics.core.correlation import CorrelationKind, resampled_correlation
from persona_panel.statistics.core.means import OverPrompts, over_prompts
from persona_panel.statistics.kappa import (
    KappaWeights,
    Sums,
    ValueTables,
    kappa_matrix,
    mean_over_pairs,
    resampled_cohen_kappa,
    resampled_mean_kappa,
    resampled_mean_of,
    spearman_sums,
    tau_b_sums,
)

CELLS_AT_ONCE = 2_000_000
"""Differences between items that are held at a time: 8 MB an array."""

_Signs = NDArray[np.float32]


def tau_b_matrix(ratings: ArrayLike) -> Array:
    """Return τ_b of every two raters over the items that both rated: `(raters, raters)`.

    NaN where a pair shares no two items or one of them is constant on those.

    >>> tau_b_matrix([[1, 3], [2, 2], [3, 1]]).round(3).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    array = as_ratings(ratings)
    if (tables := ValueTables.of(array)) is not None:
        return _quotient(*tau_b_sums(tables.counts))
    agreement, untied = (np.zeros((array.shape[1], array.shape[1])) for _ in range(2))
    for _, signs, rated in _blocks(array):
        flat, there = signs.reshape(-1, signs.shape[2]), rated.reshape(-1, rated.shape[2])
        agreement += (flat.T @ flat).astype(np.float64)
        untied += (np.abs(flat).T @ there).astype(np.float64)
    return _quotient(agreement, untied)


def spearman_matrix(ratings: ArrayLike) -> Array:
    """Return ρ of every two raters over the items that both rated: `(raters, raters)`."""
    array = as_ratings(ratings)
    if (tables := ValueTables.of(array)) is not None:
        return _quotient(*spearman_sums(tables.counts))
    together, squares = (np.zeros((array.shape[1], array.shape[1])) for _ in range(2))
    for _, signs, rated in _blocks(array):
        # Twice the centred rank that the first gives an item among those that the second rated.
        ranks = (np.swapaxes(signs, 1, 2) @ rated).astype(np.float64)
        together += (ranks * np.swapaxes(ranks, 1, 2)).sum(axis=0)
        squares += (ranks**2).sum(axis=0)
    return _quotient(together, squares)


def same_rankings(ratings: ArrayLike) -> tuple[Array, Array]:
    """Return whether every two raters order the items that both rated alike, ties included, and
    whether they have the same best items: `(raters, raters)` each, 1 or 0, NaN where they share no
    two items."""
    array = as_ratings(ratings)
    n_raters = array.shape[1]
    otherwise, other_best = (np.zeros((n_raters, n_raters)) for _ in range(2))
    there = (~np.isnan(array)).astype(np.float64)
    shared = there.T @ there
    for _, signs, rated in _blocks(array):
        # Of two signs, the first is another than the second: the pairs, less those alike.
        kinds = [(signs == sign) & (rated > 0) for sign in (-1, 0, 1)]
        pairs = rated.reshape(-1, n_raters)
        otherwise += (pairs.T @ pairs).astype(np.float64)
        for kind in kinds:
            flat = kind.reshape(-1, n_raters).astype(np.float32)
            otherwise -= (flat.T @ flat).astype(np.float64)
        below = np.swapaxes(kinds[0].astype(np.float32), 1, 2) @ rated
        own = rated.max(axis=1)
        best = (below == 0) & (own[:, :, None] > 0) & (own[:, None, :] > 0)
        other_best += (best != np.swapaxes(best, 1, 2)).sum(axis=0)
    return tuple(  # type: ignore[return-value]
        np.where(shared >= 2, differing == 0, np.nan) for differing in (otherwise, other_best)
    )


def resampled_mean_tau_b(ratings: ArrayLike, pairs: IntArray) -> Resampled:
    """Return the mean τ_b of these pairs of raters `(pairs, 2)` as a function of resampling
    weights; a pair that a resample leaves undefined does not enter that resample's mean."""
    array = as_ratings(ratings)
    if (tables := ValueTables.of(array)) is not None:
        return resampled_mean_of(tables, lambda counts: _quotient(*tau_b_sums(counts)), pairs)
    return lambda weights: mean_over_pairs(_quotient(*_weighted_sums(array, 1 - weights)), pairs)


def resampled_mean_spearman(ratings: ArrayLike, pairs: IntArray) -> Resampled | None:
    """Return the same of Spearman's ρ; None where ratings have too many values for it to be faster
    than one pair after the other."""
    tables = ValueTables.of(as_ratings(ratings))
    if tables is None:
        return None
    return resampled_mean_of(tables, lambda counts: _quotient(*spearman_sums(counts)), pairs)


def _quotient(together: Array, own: Array) -> Array:
    """Return two raters' shared sums over the root of the product of their own."""
    return divide(together, np.sqrt(own) * np.sqrt(np.swapaxes(own, -1, -2)))


def _weighted_sums(array: Array, missing: Array) -> Sums:
    """Return the sums over pairs of items, less what is `missing` `(resamples, items)`."""
    n_raters = array.shape[1]
    square = n_raters * n_raters
    total = np.zeros((2, 1, square))
    less = np.zeros((2, len(missing), square))
    for rows, signs, rated in _blocks(array):
        sides = np.swapaxes(signs, 1, 2) @ signs, np.swapaxes(np.abs(signs), 1, 2) @ rated
        for place, by_item in enumerate(sides):
            of_items = by_item.reshape(len(signs), square).astype(np.float64)
            total[place] += of_items.sum(axis=0)
            less[place] += missing[:, rows] @ of_items
    sums = total - 2 * less
    for row, of_row in enumerate(missing):
        items = np.flatnonzero(of_row)
        share = of_row[items]
        for rows, signs, rated in _blocks(array[items]):
            both = (share[rows, None] * share[None, :]).reshape(-1, 1)
            flat, there = signs.reshape(-1, n_raters), rated.reshape(-1, n_raters)
            sums[0, row] += ((flat * both).T @ flat).ravel()
            sums[1, row] += ((np.abs(flat) * both).T @ there).ravel()
    shape = (len(missing), n_raters, n_raters)
    # A sum of whole numbers, which rounding of fractional weights alone can bring below 0.
    return sums[0].reshape(shape), np.maximum(sums[1], 0).reshape(shape)


def _blocks(array: Array) -> Iterator[tuple[slice, _Signs, _Signs]]:
    """Yield some items against all: which, their differences' signs, and 1 where both are rated."""
    rows = max(1, CELLS_AT_ONCE // max(1, array.size))
    for start in range(0, len(array), rows):
        some = slice(start, start + rows)
        differences = array[some, None, :] - array[None, :, :]
        rated = ~np.isnan(differences)
        signs = np.sign(differences, where=rated, out=np.zeros_like(differences))
        yield some, signs.astype(np.float32), rated.astype(np.float32)


PairStatistic = Literal[
    "tau_b",
    "spearman",
    "pearson",
    "cohen_kappa_none",
    "cohen_kappa_linear",
    "cohen_kappa_quadratic",
]

_KAPPAS: Mapping[str, KappaWeights] = {
    f"cohen_kappa_{weights}": weights for weights in get_args(KappaWeights)
}


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Every pair counts alike, whatever the number of items shared. A pair with a constant
    rater has no value (NaN) and does not enter `mean`; `n_undefined` counts those."""

    mean: Statistic
    pairs: IntArray
    values: Array
    n_undefined: int


def pairwise(ratings: ArrayLike, statistic: PairStatistic, *, min_shared: int = 2) -> Pairwise:
    """Return a statistic of each pair of raters, and the mean over pairs.

    How to read it: 1 where every two raters agree in full, 0 no agreement beyond chance; −1 is
    possible for two raters only, as of three or more not all pairs can be opposed.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        statistic: a correlation, or Cohen's κ by its weights.
        min_shared: pairs who share fewer items are left out; at least 2.

    Returns:
        The pairs as columns `(pairs, 2)` and their values `(pairs,)`.

    Raises:
        ValueError: a wrong shape, an infinite value, an unknown statistic, or
            `min_shared` below 2.

    >>> found = pairwise([[1, 1, 3], [2, 2, 2], [3, 3, 1]], "tau_b")
    >>> found.values.round(3).tolist()
    [1.0, -1.0, -1.0]
    >>> round(found.mean.value, 3)
    -0.333
    """
    array = as_ratings(ratings)
    pairs = _pairs(array, statistic, min_shared)
    matrix = _matrix(array, statistic)
    if matrix is not None:
        values = matrix[pairs[:, 0], pairs[:, 1]]
    else:
        functions = [_of_pair(array[:, a], array[:, b], statistic) for a, b in pairs]
        values = np.array([value_of(function, len(array)) for function in functions])
    defined = ~np.isnan(values)
    raters = np.unique(pairs[defined])
    rated = ~np.isnan(array)
    n_items = int((rated[:, raters].sum(axis=1) >= 2).sum())
    if defined.any():
        mean = Statistic(float(values[defined].mean()), n_items, len(raters))
    else:
        mean = Statistic.undefined(
            why_few(rated, Reason.CONSTANT_RATER if len(pairs) else Reason.NO_PAIRS)
        )
    return Pairwise(mean, pairs, values, int((~defined).sum()))


def pairwise_by_prompt(
    ratings: ArrayLike, prompts: Labels, statistic: PairStatistic
) -> OverPrompts:
    """Return the mean over pairs inside each prompt, and its mean over prompts.

    Args and errors as for `pairwise`, and one prompt label an item.

    >>> ratings = [[1, 1], [2, 2], [5, 6], [6, 5]]
    >>> pairwise_by_prompt(ratings, "aabb", "tau_b").mean.value
    0.0
    """
    array = as_ratings(ratings)
    return over_prompts(
        [
            (name, pairwise(array[items], statistic).mean)
            for name, items in items_by_label(prompts, len(array))
        ]
    )


def resampled_pairwise(
    ratings: ArrayLike, statistic: PairStatistic, *, min_shared: int = 2
) -> Resampled:
    """Return the mean over pairs as a function of resampling weights; as for `pairwise`.

    Which pairs share enough items is settled by the data; a pair that a resample leaves
    undefined does not enter that resample's mean.
    """
    array = as_ratings(ratings)
    pairs = _pairs(array, statistic, min_shared)
    together = None
    if statistic == "tau_b":
        together = resampled_mean_tau_b(array, pairs)
    elif statistic == "spearman":
        together = resampled_mean_spearman(array, pairs)
    elif statistic in _KAPPAS:
        together = resampled_mean_kappa(array, pairs, _KAPPAS[statistic])
    return together or mean_of([_of_pair(array[:, a], array[:, b], statistic) for a, b in pairs])


def _matrix(array: Array, statistic: PairStatistic) -> Array | None:
    """Return the values of all pairs at once; of κ only where ratings have few values."""
    if statistic == "tau_b":
        return tau_b_matrix(array)
    if statistic == "spearman":
        return spearman_matrix(array)
    return kappa_matrix(array, _KAPPAS[statistic]) if statistic in _KAPPAS else None


def _of_pair(x: Array, y: Array, statistic: PairStatistic) -> Resampled:
    if statistic in _KAPPAS:
        return resampled_cohen_kappa(x, y, _KAPPAS[statistic])
    return resampled_correlation(x, y, cast(CorrelationKind, statistic))


def _pairs(array: Array, statistic: str, min_shared: int) -> IntArray:
    """Return the pairs of raters who share at least `min_shared` items `(pairs, 2)`."""
    check_choice("statistic", statistic, PairStatistic)
    if min_shared < 2:
        raise ValueError(f"a pair needs at least 2 shared items, found {min_shared}")
    rated = (~np.isnan(array)).astype(np.float64)
    return np.argwhere(np.triu(rated.T @ rated >= min_shared, 1))


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
            kept.append((name, _share(agreed[first, second], block)))
    return RankingAgreement(over_prompts(full), over_prompts(top))


def perfect_agreement(ratings: ArrayLike, min_raters: int = 2) -> PerfectAgreement:
    """Return the items that all their raters rated the same.

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
    return Statistic.of(defined_mean(agreed), n_items, n_raters, why_few(rated, Reason.NO_PAIRS))
