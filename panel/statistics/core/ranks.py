"""Ranks inside prompts, for all prompts and raters at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, Labels, as_ratings, encode_labels


@dataclass(frozen=True, slots=True)
class Ranks:
    """`ranks` is `(items, raters)`: 1 is the lowest rating of that rater in that prompt,
    ties share their mean rank, gaps stay gaps. `ties` is `(prompts, raters)`: Σ(t³ − t)
    over that rater's groups of t tied items, which tie corrections need."""

    ranks: Array
    ties: Array


def ranks_within(ratings: ArrayLike, prompts: Labels | None = None) -> Ranks:
    """Each rater's ranking of the items of each prompt that they rated.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        prompts: a label an item; all items are one prompt if None.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label an item.

    >>> ranks_within([[7.0], [9.0], [7.0]]).ranks.ravel().tolist()
    [1.5, 3.0, 1.5]
    """
    array = as_ratings(ratings)
    names, codes = encode_labels(prompts, len(array))
    n_raters = array.shape[1]
    items, raters = np.nonzero(~np.isnan(array))
    values = array[items, raters]
    rankings = codes[items] * n_raters + raters
    order = np.lexsort((values, rankings))
    items, raters, values, rankings = items[order], raters[order], values[order], rankings[order]

    # A run is a group of tied ratings of one rater in one prompt.
    place = np.arange(len(values))
    opens_ranking = np.diff(rankings, prepend=-1) != 0
    opens_run = opens_ranking | (np.diff(values, prepend=np.nan) != 0)
    run = np.cumsum(opens_run) - 1
    lengths = np.bincount(run)
    ranking_start = np.maximum.accumulate(np.where(opens_ranking, place, 0))
    run_start = place[opens_run][run]

    ranks = np.full(array.shape, np.nan)
    ranks[items, raters] = run_start - ranking_start + (lengths[run] + 1) / 2
    sizes = lengths.astype(np.float64)
    ties = np.zeros(len(names) * n_raters)
    np.add.at(ties, rankings[opens_run], sizes**3 - sizes)
    return Ranks(ranks, ties.reshape(len(names), n_raters))
