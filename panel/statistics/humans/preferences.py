"""Which source wins: the pairwise comparisons and first places that rankings imply.

Source: the SCRuB paper, sections 6 and 14.1: a ranking of k responses holds k (k − 1) / 2
comparisons.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Resampled,
    as_ratings,
    divide,
    encode_labels,
    items_by_label,
)
from persona_panel.statistics.core.prompts import weights_of_prompts


@dataclass(frozen=True, slots=True)
class Preferences:
    """By source, in order of appearance; NaN where there was nothing to compare.

    `win_rate` is over comparisons with other sources, `n_comparisons` of them;
    `against[a, b]` is the win rate of a over b; `first_place` is the share of the
    `n_rankings` in which the source took part that it came first in.
    """

    sources: tuple[Hashable, ...]
    win_rate: Array
    n_comparisons: IntArray
    against: Array
    first_place: Array
    n_rankings: IntArray


def preferences(ratings: ArrayLike, sources: Labels, prompts: Labels | None = None) -> Preferences:
    """Win rates and first-place shares of sources.

    Every rater compares all items of a prompt that they rated. A tie is half a win to
    both; a tie for first place is shared among those tied. Items of one source are not
    compared with each other, but each may come first. Group sources (all models against
    all people, say) by giving them one label.

    How to read it: a win rate of 0.5 is as good as the others, 1 always preferred; ties count
    half. Of k sources 1 / k of the first places is what chance gives.

    Args:
        ratings: `(items, raters)`, higher is better, NaN where missing. Negate ranks. A
            panel is one rater: its mean as `(items, 1)`.
        sources: who wrote each item.
        prompts: a label an item; all items are one prompt if None.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label an item.

    >>> found = preferences([[3, 3], [1, 2], [1, 1], [2, 2]], "abab", "ppqq")
    >>> found.sources, found.win_rate.tolist(), found.first_place.tolist()
    (('a', 'b'), [0.5, 0.5], [0.5, 0.5])
    """
    names, tallies = _tallies(ratings, sources, prompts)
    wins, comparisons, firsts, rankings = (tally.sum(axis=0) for tally in tallies)
    return Preferences(
        names,
        divide(wins.sum(axis=1), comparisons.sum(axis=1)),
        comparisons.sum(axis=1).astype(np.intp),
        divide(wins, comparisons),
        divide(firsts, rankings),
        rankings.astype(np.intp),
    )


def resampled_preferences(
    ratings: ArrayLike, sources: Labels, prompts: Labels
) -> dict[Hashable, tuple[Resampled, Resampled]]:
    """Each source's win rate and first-place share as functions of resampling weights.

    Prompts are drawn whole. Args and errors as for `preferences`.
    """
    names, (wins, comparisons, firsts, rankings) = _tallies(ratings, sources, prompts)
    codes = encode_labels(prompts, len(sources))[1]

    def ratio(numerator: Array, denominator: Array) -> Resampled:
        def statistic(weights: Array) -> Array:
            drawn = weights_of_prompts(weights, codes)
            return divide(drawn @ numerator, drawn @ denominator)

        return statistic

    return {
        name: (
            ratio(wins[:, place].sum(axis=1), comparisons[:, place].sum(axis=1)),
            ratio(firsts[:, place], rankings[:, place]),
        )
        for place, name in enumerate(names)
    }


def _tallies(
    ratings: ArrayLike, sources: Labels, prompts: Labels | None
) -> tuple[tuple[Hashable, ...], tuple[Array, Array, Array, Array]]:
    """The sources, and by prompt: wins and comparisons of one source against another
    `(prompts, sources, sources)`, first places and rankings of each `(prompts, sources)`."""
    array = as_ratings(ratings)
    names, codes = encode_labels(sources, len(array))
    in_prompts = list(items_by_label(prompts, len(array)))
    shape = (len(in_prompts), len(names))
    wins, comparisons = np.zeros((*shape, len(names))), np.zeros((*shape, len(names)))
    firsts, rankings = np.zeros(shape), np.zeros(shape)
    for prompt, (_, items) in enumerate(in_prompts):
        block, source = array[items], codes[items]
        a, b = np.nonzero(source[:, None] != source[None, :])
        signs = np.sign(block[a] - block[b])
        cells = (source[a], source[b])
        np.add.at(wins[prompt], cells, np.nansum((signs + 1) / 2, axis=1))
        np.add.at(comparisons[prompt], cells, np.sum(~np.isnan(signs), axis=1))
        for scores in block.T:
            rated = np.flatnonzero(~np.isnan(scores))
            present = np.unique(source[rated])
            if len(present) < 2:
                continue
            best = rated[scores[rated] == scores[rated].max()]
            np.add.at(firsts[prompt], source[best], 1 / len(best))
            rankings[prompt, present] += 1
    return names, (wins, comparisons, firsts, rankings)
