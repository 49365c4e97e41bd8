"""Rankings: Kendall's W, and the agreement of every two raters.

Sources: M. G. Kendall & B. Babington Smith (1939), "The problem of m rankings", and M. G. Kendall
(1962), *Rank Correlation Methods*, ch. 6 (W, with ties); J. H. Skillings & G. A. Mack (1981), "On
the use of a Friedman-type statistic in balanced and unbalanced block designs", and J. Durbin
(1951), "Incomplete blocks in ranking experiments" (W of incomplete rankings); the argument-quality
paper, section 4.2 (perfect agreement).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Literal, cast, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    EstimateKind,
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
    encode_labels,
    has_two_ratings,
    items_by_label,
    lazily,
    mean_of,
    ranks_within,
    why_few,
)
from persona_panel.statistics.core.correlation import (
    CorrelationKind,
    correlation,
    permutation_p_value,
    shuffled_sums,
)
from persona_panel.statistics.core.means import OverPrompts, over_prompts
from persona_panel.statistics.kappa import (
    KappaWeights,
    Sums,
    ValueTables,
    cohen_kappa,
    kappa_matrix,
    mean_over_pairs,
    resampled_mean_kappa,
    resampled_mean_of,
    spearman_sums,
    tau_b_sums,
)

CELLS_AT_ONCE = 2_000_000
"""Shuffled ranks, or differences between items, that are held at a time: 16 MB."""


def kendall_w(
    ratings: ArrayLike,
    prompts: Labels | None = None,
    *,
    correct_ties: bool = False,
    n_permutations: int = 0,
    seed: int = 0,
) -> OverPrompts:
    """Return Kendall's W in each prompt, and its mean over prompts.

    W compares complete rankings: in each prompt it is over the raters who rated every
    item there that anyone rated. Others are left out of that prompt, not completed;
    `incomplete_concordance` takes them in.

    The permutation test shuffles each rater's ranks inside each prompt, ties kept; the p-value is
    the share of shuffles whose mean W is at least the one that was observed.

    How to read it: 1 where all raters rank alike, 0 where their rankings cancel out. Unrelated
    rankings of m raters have a W of 1 / m on average.

    Args:
        ratings: `(items, raters)` scores or ranks, NaN where missing.
        prompts: a label an item; all items are one prompt if None.
        correct_ties: whether ties shrink the largest W that could be reached.
        n_permutations: shuffles of the test; none leaves the p-value NaN.
        seed: of the shuffles.

    Returns:
        W in [0, 1] for each prompt. A prompt needs two items and two complete raters and,
        for the tie-corrected W, a rater who does not tie everything.

    >>> ranks = [[1, 1, 2], [2, 2, 1], [3, 3, 3]]
    >>> round(kendall_w(ranks).mean.value, 3)
    0.778
    >>> kendall_w([[1, 3], [2, 2], [3, 1]]).mean.value
    0.0
    """
    return concordances(ratings, prompts, n_permutations=n_permutations, seed=seed)[correct_ties]


def concordances(
    ratings: ArrayLike,
    prompts: Labels | None = None,
    *,
    n_permutations: int = 0,
    seed: int = 0,
) -> tuple[OverPrompts, OverPrompts]:
    """Return `kendall_w` without and with the correction for ties, from the same shuffles."""
    array = as_ratings(ratings)
    names, codes = encode_labels(prompts, len(array))
    rated = ~np.isnan(array)
    anyone: Mask = np.any(rated, axis=1)
    rated_by_prompt = _sum_by_prompt(rated, codes, len(names))
    items_by_prompt = _sum_by_prompt(anyone, codes, len(names))
    complete = (rated_by_prompt == items_by_prompt[:, None]) & (items_by_prompt > 0)[:, None]
    ranked = ranks_within(np.where(complete[codes], array, np.nan), prompts)

    n, m = items_by_prompt, complete.sum(axis=1).astype(np.float64)
    unties = m**2 * (n**3 - n)
    # Rank sums are whole or half numbers, so S and what is left of the denominator are exact.
    scales = np.array(
        [
            np.where((n >= 2) & (m >= 2), divide(12, most), np.nan)
            for most in (unties, unties - m * ranked.ties.sum(axis=1))
        ]
    )
    deviations = np.nansum(ranked.ranks, axis=1) - (m * (n + 1) / 2)[codes]
    spread = _sum_by_prompt(np.where(anyone, deviations, 0) ** 2, codes, len(names))

    present = (rated_by_prompt > 0).sum(axis=1)
    results = [
        over_prompts(
            [
                (name, _estimate(*row))
                for name, *row in zip(names, spread * scale, n, m, present, strict=True)
            ]
        )
        for scale in scales
    ]
    if n_permutations and not results[0].mean.reason:
        blocks = [
            (ranked.ranks[np.ix_((codes == code) & anyone, complete[code])], scales[:, code])
            for code in np.flatnonzero(~np.isnan(scales[0]))
        ]
        means = _shuffled_means(blocks, n_permutations, np.random.default_rng(seed))
        results = [
            replace(
                result,
                mean=replace(
                    result.mean, p_value=permutation_p_value(result.mean.value, shuffled, "greater")
                ),
            )
            if not result.mean.reason
            else result
            for result, shuffled in zip(results, means, strict=True)
        ]
    return results[0], results[1]


def _sum_by_prompt(values: Array | Mask, codes: IntArray, n_prompts: int) -> Array:
    """Sum `(items, …)` over the items of each prompt: `(prompts, …)`."""
    total = np.zeros((n_prompts, *values.shape[1:]))
    np.add.at(total, codes, values)
    return total


def _estimate(value: float, n_items: float, n_raters: float, present: int) -> Statistic:
    if not np.isnan(value):
        return Statistic(float(value), int(n_items), int(n_raters))
    if present < 2:
        reason = Reason.FEW_RATERS
    elif n_items < 2:
        reason = Reason.FEW_ITEMS
    elif n_raters < 2:
        reason = Reason.NO_COMPLETE_RATERS
    else:
        reason = Reason.CONSTANT_RATER
    return Statistic.undefined(reason, n_items=int(n_items), n_raters=int(n_raters))


def _shuffled_means(
    blocks: list[tuple[Array, Array]], n_permutations: int, rng: np.random.Generator
) -> Array:
    """Return the mean W over prompts of each shuffle, without and with ties `(2, shuffles)`."""
    total = np.zeros((2, n_permutations))
    for ranks, scales in blocks:
        centre = ranks.sum() / len(ranks)
        at_once = max(1, CELLS_AT_ONCE // ranks.size)
        for start in range(0, n_permutations, at_once):
            size = min(at_once, n_permutations - start)
            spread = ((shuffled_sums(ranks, size, rng) - centre) ** 2).sum(axis=1)
            total[:, start : start + size] += np.nan_to_num(scales)[:, None] * spread
    defined = np.sum([~np.isnan(scales) for _, scales in blocks], axis=0)
    return total / np.maximum(defined, 1)[:, None]


@dataclass(frozen=True, slots=True)
class IncompleteConcordance:
    """W in each prompt and its mean over prompts; `statistic` is Skillings and Mack's T, summed
    over prompts, with its `degrees_of_freedom`; `statistic_by_chance` and `by_chance` are the means
    of T and W where raters rank at random, with as many ties as they have. All but the first are
    NaN where `over_prompts.mean` is undefined."""

    over_prompts: OverPrompts
    statistic: float
    degrees_of_freedom: float
    statistic_by_chance: float
    by_chance: float


def incomplete_concordance(
    ratings: ArrayLike,
    prompts: Labels | None = None,
    *,
    n_permutations: int = 0,
    seed: int = 0,
) -> IncompleteConcordance:
    """Return Kendall's W of rankings of different items, by Skillings and Mack's statistic.

    In each prompt a rater ranks what they rated; ties share their mean rank. An item that one
    rater alone rated, and a rater with one item alone, are left out. W is T over what it would be
    if all raters followed the order of items that fits their rankings best. In the permutation
    test each rater's ranks are shuffled among the items that this rater rated of a prompt.

    How to read it: as `kendall_w`, to which it is equal where all raters of a prompt rated the
    same items. Rankings at random give `by_chance`.

    Args:
        ratings: `(items, raters)` scores or ranks, NaN where missing.
        prompts: a label an item; all items are one prompt if None.
        n_permutations: shuffles of the test; none leaves the p-value NaN.
        seed: of the shuffles.

    Returns:
        W in [0, 1] for each prompt. A prompt needs two raters who both rated the same two items,
        or a longer circle of such overlaps.

    >>> nan = float("nan")
    >>> found = incomplete_concordance([[1, 1, nan], [2, nan, 1], [nan, 2, 2]])
    >>> found.over_prompts.mean.value, round(found.statistic, 3)
    (1.0, 2.667)
    """
    array = as_ratings(ratings)
    within: list[tuple[object, Statistic]] = []
    designs: list[_Design] = []
    unanimous: list[float] = []
    for name, items in items_by_label(prompts, len(array)):
        block = array[items]
        kept_items, kept_raters = _overlapping(~np.isnan(block))
        if kept_items.any():
            design = _Design.of(block[np.ix_(kept_items, kept_raters)])
            designs.append(design)
            unanimous.append(design.unanimous())
            within.append((name, Statistic(design.w(unanimous[-1]), *design.ranks.shape)))
        else:
            within.append((name, _undefined(block)))
    result = over_prompts(within)
    if not designs:
        return IncompleteConcordance(result, np.nan, np.nan, np.nan, np.nan)
    by_chance = [design.by_chance() for design in designs]
    observed = sum(float(design.statistic(design.totals)[0]) for design in designs)
    if n_permutations:
        rng = np.random.default_rng(seed)
        shuffled = np.sum([design.shuffled(n_permutations, rng) for design in designs], axis=0)
        p_value = permutation_p_value(observed, shuffled, "greater")
        result = replace(result, mean=replace(result.mean, p_value=p_value))
    return IncompleteConcordance(
        result,
        observed,
        float(sum(design.degrees_of_freedom for design in designs)),
        float(sum(by_chance)),
        float(np.mean([t / most for t, most in zip(by_chance, unanimous, strict=True)])),
    )


def leaves_out_raters(ratings: ArrayLike, prompts: Labels | None = None) -> bool:
    """Return whether raters of a prompt rated different items, so that `kendall_w` leaves some
    raters out."""
    rated = ~np.isnan(as_ratings(ratings))
    names, codes = encode_labels(prompts, len(rated))
    n_raters = rated.shape[1]
    cells = (codes[:, None] * n_raters + np.arange(n_raters))[rated]
    counts = np.bincount(cells, minlength=len(names) * n_raters).reshape(len(names), n_raters)
    items = np.bincount(codes[rated.any(axis=1)], minlength=len(names))
    return bool(((counts > 0) & (counts < items[:, None])).any())


def _overlapping(rated: Mask) -> tuple[Mask, Mask]:
    items, raters = (np.ones(n, dtype=np.bool_) for n in rated.shape)
    while True:
        left = rated & items[:, None] & raters[None, :]
        more_items, more_raters = left.sum(axis=1) >= 2, left.sum(axis=0) >= 2
        if (more_items == items).all() and (more_raters == raters).all():
            return items, raters
        items, raters = items & more_items, raters & more_raters


def _undefined(block: Array) -> Statistic:
    rated = ~np.isnan(block)
    n_items, n_raters = int(rated.any(axis=1).sum()), int(rated.any(axis=0).sum())
    if n_raters < 2:
        reason = Reason.FEW_RATERS
    elif n_items < 2:
        reason = Reason.FEW_ITEMS
    else:
        reason = Reason.NO_OVERLAP
    return Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)


def _weighted_ranks(block: Array) -> Array:
    counts = np.sum(~np.isnan(block), axis=0)
    centred = np.nan_to_num(ranks_within(block).ranks - (counts + 1) / 2)
    return centred * np.sqrt(12 / (counts + 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Design:
    """One prompt's rankings."""

    ranks: Array
    rated: Array
    weights: Array
    inner: Array

    @classmethod
    def of(cls, block: Array) -> _Design:
        rated = (~np.isnan(block)).astype(np.float64)
        weights = 1 / (rated @ rated.sum(axis=0))
        inner = scipy.linalg.pinvh(np.eye(rated.shape[1]) - (rated.T * weights) @ rated)
        return cls(_weighted_ranks(block), rated, weights, inner)

    @property
    def degrees_of_freedom(self) -> int:
        if self.rated.all(axis=0).any():
            # A rater of all items connects them, as in most designs.
            return len(self.rated) - 1
        parts, _ = scipy.sparse.csgraph.connected_components(self.rated.T @ self.rated)
        return len(self.rated) - int(parts)

    @property
    def totals(self) -> Array:
        """Return the sum of each item's ranks `(1, items)`."""
        return self.ranks.sum(axis=1)[None]

    def statistic(self, totals: Array) -> Array:
        """Return T of each row of totals `(rows, items)`: `(rows,)`."""
        return (totals * self.effects(totals)).sum(axis=1)

    def effects(self, totals: Array) -> Array:
        """Return the items' effects on ranks that best fit each row of totals `(rows, items)`."""
        weighted = totals * self.weights
        return weighted + (weighted @ self.rated @ self.inner) @ self.rated.T * self.weights

    def by_chance(self) -> float:
        sizes = self.rated.sum(axis=0)
        covariances = (self.ranks**2).sum(axis=0) / (sizes * (sizes - 1))
        fitted = self.effects(self.rated.T)  # of each rater's items (raters, items)
        own = self.weights + ((self.rated @ self.inner) * self.rated).sum(axis=1) * self.weights**2
        spread = sizes * (self.rated.T @ own) - (fitted * self.rated.T).sum(axis=1)
        return float(covariances @ spread)

    def unanimous(self) -> float:
        """Return T where every rater follows the order that fits best, without ties; at least T."""
        effects = self.effects(self.totals)[0]
        effects = np.round(effects / max(np.abs(effects).max(), 1) / ROUNDING)
        # Of items that fit alike, those that more raters rated come first.
        order = np.lexsort((-self.rated.sum(axis=1), effects))
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        agreed = _weighted_ranks(np.where(self.rated > 0, place[:, None], np.nan))
        return float(self.statistic(agreed.sum(axis=1)[None])[0])

    def w(self, unanimous: float) -> float:
        return float(np.clip(self.statistic(self.totals)[0] / unanimous, 0, 1))

    def shuffled(self, n_permutations: int, rng: np.random.Generator) -> Array:
        """Return T of shuffles of each rater's ranks `(n_permutations,)`."""
        values = np.empty(n_permutations)
        at_once = max(1, CELLS_AT_ONCE // self.ranks.size)
        # Raters beside each other who rated the same items are shuffled in one call.
        other = np.flatnonzero((self.rated[:, 1:] != self.rated[:, :-1]).any(axis=0)) + 1
        alike = [
            (np.flatnonzero(self.rated[:, raters[0]]), raters)
            for raters in np.split(np.arange(self.rated.shape[1]), other)
        ]
        for start in range(0, n_permutations, at_once):
            totals = np.zeros((min(at_once, n_permutations - start), len(self.ranks)))
            for items, raters in alike:
                ranks = self.ranks[np.ix_(items, raters)]
                totals[:, items] += shuffled_sums(ranks, len(totals), rng)
            values[start : start + len(totals)] = self.statistic(totals)
        return values


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
        min_shared: pairs who share fewer items are left out.

    Returns:
        The pairs as columns `(pairs, 2)` and their values `(pairs,)`.

    Raises:
        ValueError: a wrong shape, an infinite value, or an unknown statistic.

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
        values = np.array([_of_pair(array[:, a], array[:, b], statistic).value for a, b in pairs])
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
    kind: EstimateKind = "correlation"
    if statistic in _KAPPAS:
        kind = "kappa" if statistic == "cohen_kappa_none" else "number"
    limits = (-inf, 1.0 if statistic in _KAPPAS else inf)
    resampled = lazily(lambda: _resampled(array, pairs, statistic))
    mean = mean.with_weights(resampled, has_two_ratings(array), kind, limits)
    return Pairwise(mean, pairs, values, int((~defined).sum()))


def _resampled(array: Array, pairs: IntArray, statistic: PairStatistic) -> Resampled:
    """Return the mean over pairs; one that a resample leaves undefined does not enter its mean."""
    together = None
    if statistic == "tau_b":
        together = resampled_mean_tau_b(array, pairs)
    elif statistic == "spearman":
        together = resampled_mean_spearman(array, pairs)
    elif statistic in _KAPPAS:
        together = resampled_mean_kappa(array, pairs, _KAPPAS[statistic])
    of_pairs = (_of_pair(array[:, a], array[:, b], statistic) for a, b in pairs)
    return together or mean_of([pair.resampled for pair in of_pairs])


def _matrix(array: Array, statistic: PairStatistic) -> Array | None:
    """Return the values of all pairs at once; of κ only where ratings have few values."""
    if statistic == "tau_b":
        return tau_b_matrix(array)
    if statistic == "spearman":
        return spearman_matrix(array)
    return kappa_matrix(array, _KAPPAS[statistic]) if statistic in _KAPPAS else None


def _of_pair(x: Array, y: Array, statistic: PairStatistic) -> Statistic:
    if statistic in _KAPPAS:
        return cohen_kappa(x, y, _KAPPAS[statistic])
    return correlation(x, y, cast(CorrelationKind, statistic))


def _pairs(array: Array, statistic: str, min_shared: int) -> IntArray:
    """Return the pairs of raters who share enough items `(pairs, 2)`."""
    check_choice("statistic", statistic, PairStatistic)
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
