"""Kendall's coefficient of concordance W, prompt by prompt, and its permutation test.

Sources: the SCRuB paper, section 14.5 (W = 12 S / (m² (n³ − n)), no tie correction);
Kendall & Babington Smith (1939), "The problem of m rankings"; for ties, Kendall (1962),
*Rank Correlation Methods*, ch. 6: m Σ T is taken off the denominator, T = Σ (t³ − t).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    as_ratings,
    divide,
    encode_labels,
)
from persona_panel.statistics.core.prompts import OverPrompts, over_prompts
from persona_panel.statistics.core.ranks import ranks_within
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.resampling.permutation import permutation_p_value, shuffled_sums

CELLS_AT_ONCE = 2_000_000
"""Shuffled ranks held at a time: 16 MB."""


def kendall_w(
    ratings: ArrayLike,
    prompts: Labels | None = None,
    *,
    correct_ties: bool = False,
    n_permutations: int = 0,
    seed: int = 0,
) -> OverPrompts:
    """Kendall's W in each prompt, and its mean over prompts.

    W compares complete rankings: in each prompt it is over the raters who rated every
    item there that anyone rated. Others are left out of that prompt, not completed;
    `incomplete_concordance` takes them in.

    The permutation test asks whether the mean W is more than random ranking gives: each
    rater's ranks are shuffled inside each prompt, ties kept, and the p-value is the share
    of shuffles whose mean W is at least the one found, corrected for ties as it is.

    How to read it: 1 where all raters rank alike, 0 where their rankings cancel out; it is never
    negative, and cannot tell two groups of raters with opposed rankings from chance. W is
    Friedman's χ² over m (n − 1), and the mean Spearman ρ over pairs of m raters is (m W − 1) / (m
    − 1). Unrelated rankings of m raters have a W of 1 / m on average, so look at the p-value.
    With many ties take `correct_ties`: without it W stays below 1 even where all agree.

    Args:
        ratings: `(items, raters)` scores or ranks, NaN where missing.
        prompts: a label an item; all items are one prompt if None.
        correct_ties: whether ties shrink the largest W that could be reached.
        n_permutations: shuffles of the test; none leaves the p-value NaN.
        seed: of the shuffles.

    Returns:
        W in [0, 1] for each prompt. A prompt needs two items and two complete raters and,
        for the tie-corrected W, a rater who does not tie everything.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label an item.

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
    """`kendall_w` without and with the correction for ties, from the same shuffles."""
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
    found = [
        over_prompts(
            [
                (name, _estimate(*row))
                for name, *row in zip(names, spread * scale, n, m, present, strict=True)
            ]
        )
        for scale in scales
    ]
    if n_permutations and not found[0].mean.reason:
        blocks = [
            (ranked.ranks[np.ix_((codes == code) & anyone, complete[code])], scales[:, code])
            for code in np.flatnonzero(~np.isnan(scales[0]))
        ]
        means = _shuffled_means(blocks, n_permutations, np.random.default_rng(seed))
        found = [
            replace(
                one,
                mean=replace(
                    one.mean, p_value=permutation_p_value(one.mean.value, shuffled, "greater")
                ),
            )
            if not one.mean.reason
            else one
            for one, shuffled in zip(found, means, strict=True)
        ]
    return found[0], found[1]


def _sum_by_prompt(values: Array | Mask, codes: IntArray, n_prompts: int) -> Array:
    """Sums of `(items, …)` over the items of each prompt: `(prompts, …)`."""
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
    """The mean W over prompts of each shuffle, without and with the correction for ties
    `(2, shuffles)`.

    Args:
        blocks: each prompt's complete ranks `(items, raters)` and its 12 / denominator without and
            with the correction `(2,)`, NaN where it has no W.
    """
    total = np.zeros((2, n_permutations))
    for ranks, scales in blocks:
        centre = ranks.sum() / len(ranks)
        at_once = max(1, CELLS_AT_ONCE // ranks.size)
        for start in range(0, n_permutations, at_once):
            size = min(at_once, n_permutations - start)
            spread = ((shuffled_sums(ranks, size, rng) - centre) ** 2).sum(axis=1)
            total[:, start : start + size] += np.nan_to_num(scales)[:, None] * spread
    defined = np.sum([~np.isnan(scales) for _, scales in blocks], axis=0)
    means: Array = total / np.maximum(defined, 1)[:, None]
    return means
