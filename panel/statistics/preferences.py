"""Which source wins: the pairwise comparisons and first places that rankings imply.

Source: the SCRuB paper, sections 6 and 14.1: a ranking of k responses holds k (k − 1) / 2
comparisons.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from panel.statistics.arrays import Array, Codes, Labels, as_ratings, divide, labelled, members


@dataclass(frozen=True, slots=True)
class Preferences:
    """By source, in order of appearance; NaN where there was nothing to compare.

    `win_rate` is over comparisons with other sources, `n_comparisons` of them;
    `against[a, b]` is the win rate of a over b; `first_place` is the share of the
    `n_rankings` in which the source took part that it came first in.
    """

    sources: tuple[Hashable, ...]
    win_rate: Array
    n_comparisons: Codes
    against: Array
    first_place: Array
    n_rankings: Codes


def preferences(ratings: ArrayLike, sources: Labels, prompts: Labels | None = None) -> Preferences:
    """Win rates and first-place shares of sources.

    Every rater compares all items of a prompt that they rated. A tie is half a win to
    both; a tie for first place is shared among those tied. Items of one source are not
    compared with each other, but each may come first. Group sources (all models against
    all humans, say) by giving them one label.

    Args:
        ratings: `(items, raters)`, higher is better, NaN where missing. Negate ranks. A
            panel is one rater: its mean as `(items, 1)`.
        sources: who wrote each item.
        prompts: a label an item; all items are one prompt if None.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label an item.
    """
    array = as_ratings(ratings)
    names, codes = labelled(sources, len(array))
    wins = np.zeros((len(names), len(names)))
    comparisons = np.zeros((len(names), len(names)))
    firsts, rankings = np.zeros(len(names)), np.zeros(len(names))
    for _, items in members(prompts, len(array)):
        block, source = array[items], codes[items]
        a, b = np.nonzero(source[:, None] != source[None, :])
        signs = np.sign(block[a] - block[b])
        cells = (source[a], source[b])
        np.add.at(wins, cells, np.nansum((signs + 1) / 2, axis=1))
        np.add.at(comparisons, cells, np.sum(~np.isnan(signs), axis=1))
        for scores in block.T:
            rated = np.flatnonzero(~np.isnan(scores))
            present = np.unique(source[rated])
            if len(present) < 2:
                continue
            best = rated[scores[rated] == scores[rated].max()]
            np.add.at(firsts, source[best], 1 / len(best))
            rankings[present] += 1
    return Preferences(
        names,
        divide(wins.sum(axis=1), comparisons.sum(axis=1)),
        comparisons.sum(axis=1).astype(np.intp),
        divide(wins, comparisons),
        divide(firsts, rankings),
        rankings.astype(np.intp),
    )
