"""Rankings: Kendall's W; and how often raters rate alike.

Sources: M. G. Kendall & B. Babington Smith (1939), "The problem of m rankings", and M. G. Kendall
(1962), *Rank Correlation Methods*, ch. 6 (W, with ties); J. H. Skillings & G. A. Mack (1981), "On
the use of a Friedman-type statistic in balanced and unbalanced block designs", and J. Durbin
(1951), "Incomplete blocks in ranking experiments" (W of incomplete rankings); the argument-quality
paper, section 4.2 (perfect agreement).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    Labels,
    Mask,
    Reason,
    Statistic,
    as_ratings,
    count_raters,
    divide,
    encode_labels,
    has_ratings,
    items_by_label,
    resampled_mean,
)
from persona_panel.statistics.core.correlation import (
    permutation_p_value,
    ranks_within,
    shuffled_sums,
)
from persona_panel.statistics.core.means import OverPrompts, over_prompts
from persona_panel.statistics.rater_pairs import CELLS_AT_ONCE


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
        correct_ties: whether ties shrink the largest W that could be reached.
        n_permutations: shuffles of the test; none leaves the p-value NaN.

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
    ratings: ArrayLike, prompts: Labels | None = None, *, n_permutations: int = 0, seed: int = 0
) -> tuple[OverPrompts, OverPrompts]:
    """Return `kendall_w` without and with the correction for ties, from the same shuffles."""
    array, rng = as_ratings(ratings), np.random.default_rng(seed)
    within: tuple[list[tuple[object, Statistic]], ...] = [], []
    shuffled = np.zeros((2, n_permutations))
    for name, items in items_by_label(prompts, len(array)):
        block = array[items[has_ratings(array[items])]]
        rated = ~np.isnan(block)
        ranked = ranks_within(block[:, rated.all(axis=0) & rated.any(axis=0)])
        n, m = ranked.ranks.shape
        values = np.full(2, np.nan)
        if min(n, m) >= 2:
            # Rank sums are whole or half numbers, so S and what is left of the denominator are
            # exact.
            unties = m**2 * (n**3 - n)
            scales = divide(12, [unties, unties - m * ranked.ties.sum()])
            values = scales * _spread(ranked.ranks.sum(axis=1)[None])
            every = np.ones(ranked.ranks.shape)
            spreads = _shuffled(ranked.ranks, every, _spread, n_permutations, rng)
            shuffled += np.nan_to_num(scales)[:, None] * spreads
        for own, value in zip(within, values.tolist(), strict=True):
            own.append((name, _estimate(value, n, m, count_raters(block))))
    first, second = map(over_prompts, within)
    if n_permutations:
        first, second = (
            _with_p_value(each, (len(each.values) - each.n_undefined) * each.mean.value, total)
            for each, total in zip((first, second), shuffled, strict=True)
        )
    return first, second


def _with_p_value(result: OverPrompts, observed: float, shuffled: Array) -> OverPrompts:
    if result.mean.reason:
        return result
    p_value = permutation_p_value(observed, shuffled, "greater")
    return replace(result, mean=replace(result.mean, p_value=p_value))


def _estimate(value: float, n_items: int, n_raters: int, present: int) -> Statistic:
    why = Reason.CONSTANT_RATER
    if present < 2:
        why = Reason.FEW_RATERS
    elif n_items < 2:
        why = Reason.FEW_ITEMS
    elif n_raters < 2:
        why = Reason.NO_COMPLETE_RATERS
    return Statistic.of(value, n_items, n_raters, why)


def _shuffled(
    ranks: Array,
    rated: Array,
    statistic: Callable[[Array], Array],
    n_shuffles: int,
    rng: np.random.Generator,
) -> Array:
    """Return a statistic of items' totals `(rows, items)` in shuffles of each rater's ranks among
    the items that this rater rated `(n_shuffles,)`."""
    values = np.empty(n_shuffles)
    at_once = max(1, CELLS_AT_ONCE // ranks.size)
    # Raters beside each other who rated the same items are shuffled in one call.
    other = np.flatnonzero((rated[:, 1:] != rated[:, :-1]).any(axis=0)) + 1
    alike = [
        (np.flatnonzero(rated[:, raters[0]]), raters)
        for raters in np.split(np.arange(rated.shape[1]), other)
    ]
    for start in range(0, n_shuffles, at_once):
        totals = np.zeros((min(at_once, n_shuffles - start), len(ranks)))
        for items, raters in alike:
            totals[:, items] += shuffled_sums(ranks[np.ix_(items, raters)], len(totals), rng)
        values[start : start + len(totals)] = statistic(totals)
    return values


def _spread(totals: Array) -> Array:
    """Return S of each row of items' totals `(rows, items)`."""
    return ((totals - totals.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)


@dataclass(frozen=True, slots=True)
class IncompleteConcordance:
    """W in each prompt and its mean over prompts; `statistic` is Skillings and Mack's T, summed
    over prompts; `statistic_by_chance` and `by_chance` are the means of T and W where raters rank
    at random, with as many ties as they have. All but the first are NaN where `over_prompts.mean`
    is undefined."""

    over_prompts: OverPrompts
    statistic: float
    statistic_by_chance: float
    by_chance: float


def incomplete_concordance(
    ratings: ArrayLike, prompts: Labels | None = None, *, n_permutations: int = 0, seed: int = 0
) -> IncompleteConcordance:
    """Return Kendall's W of rankings of different items, by Skillings and Mack's statistic.

    In each prompt a rater ranks what they rated; ties share their mean rank. An item that one rater
    alone rated, and a rater with one item alone, are left out. W is T over what it would be if all
    raters followed the order of items that fits their rankings best. In the permutation test each
    rater's ranks are shuffled among the items that this rater rated of a prompt. It reads as
    `kendall_w`, to which it is equal where all raters of a prompt rated the same items; rankings at
    random give `by_chance`. Arguments are those of `kendall_w`.

    Returns:
        W in [0, 1] for each prompt. A prompt needs two raters who both rated the same two items, or
            a longer circle of such overlaps.

    >>> nan = float("nan")
    >>> result = incomplete_concordance([[1, 1, nan], [2, nan, 1], [nan, 2, 2]])
    >>> result.over_prompts.mean.value, round(result.statistic, 3)
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
            w = float(np.clip(design.observed / unanimous[-1], 0, 1))
            within.append((name, Statistic(w, *design.ranks.shape)))
        else:
            n_items, n_raters = int(has_ratings(block).sum()), count_raters(block)
            few = Reason.FEW_RATERS if n_raters < 2 else Reason.FEW_ITEMS
            why = few if min(n_items, n_raters) < 2 else Reason.NO_OVERLAP
            within.append((name, Statistic.undefined(why, n_items=n_items, n_raters=n_raters)))
    result = over_prompts(within)
    if not designs:
        return IncompleteConcordance(result, np.nan, np.nan, np.nan)
    by_chance = [design.by_chance() for design in designs]
    observed = sum(design.observed for design in designs)
    if n_permutations:
        rng = np.random.default_rng(seed)
        shuffled = [
            _shuffled(design.ranks, design.rated, design.statistic, n_permutations, rng)
            for design in designs
        ]
        result = _with_p_value(result, observed, np.sum(shuffled, axis=0))
    return IncompleteConcordance(
        result,
        observed,
        float(sum(by_chance)),
        float(np.mean([t / most for t, most in zip(by_chance, unanimous, strict=True)])),
    )


def leaves_out_raters(ratings: ArrayLike, prompts: Labels | None = None) -> bool:
    """Return whether raters of a prompt rated different items, so that `kendall_w` leaves some
    raters out."""
    rated = ~np.isnan(as_ratings(ratings))
    names, codes = encode_labels(prompts, len(rated))
    # Of each prompt, the items that each rater and, in the last column, that anyone rated.
    counts = np.zeros((len(names), rated.shape[1] + 1))
    np.add.at(counts, codes, np.column_stack([rated, rated.any(axis=1)]))
    return bool(((counts > 0) & (counts < counts[:, -1:])).any())


def _overlapping(rated: Mask) -> tuple[Mask, Mask]:
    items, raters = (np.ones(n, dtype=np.bool_) for n in rated.shape)
    while True:
        left = rated & items[:, None] & raters[None, :]
        more_items, more_raters = left.sum(axis=1) >= 2, left.sum(axis=0) >= 2
        if (more_items == items).all() and (more_raters == raters).all():
            return items, raters
        items, raters = items & more_items, raters & more_raters


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
    def observed(self) -> float:
        """Return T."""
        return float(self.statistic(self.ranks.sum(axis=1)[None])[0])

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
        effects = self.effects(self.ranks.sum(axis=1)[None])[0]
        effects = np.round(effects / max(np.abs(effects).max(), 1) / ROUNDING)
        # Of items that fit alike, those that more raters rated come first.
        order = np.lexsort((-self.rated.sum(axis=1), effects))
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        agreed = _weighted_ranks(np.where(self.rated > 0, place[:, None], np.nan))
        return float(self.statistic(agreed.sum(axis=1)[None])[0])


@dataclass(frozen=True, slots=True)
class PerfectAgreement:
    """`share` of the items with enough ratings, `subset` `(items,)` says which agree, and
    `ratings` `(items,)` on what, NaN for the others."""

    share: Statistic
    subset: Mask
    ratings: Array


def perfect_agreement(ratings: ArrayLike, min_raters: int = 2) -> PerfectAgreement:
    """Return the items that all their raters rated the same.

    Source: the argument-quality paper, section 4.2 and table 3.

    How to read it: a share from 0 to 1 without any correction for chance: it falls with the
    number of raters and of values, and rises where one value is common. α and κ correct for that.

    Args:
        min_raters: items with fewer ratings are neither agreed on nor counted.

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
    few = Reason.FEW_RATERS if count_raters(array) < 2 else Reason.NO_SHARED_ITEMS
    share = Statistic.of(float(divide(subset.sum(), n_items)), n_items, n_raters, few)
    agreed = resampled_mean(np.where(eligible, subset, np.nan))
    share = share.with_weights(agreed, None, "share", (0.0, 1.0))
    return PerfectAgreement(share, subset, np.where(subset, lowest, np.nan))
