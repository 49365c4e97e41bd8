"""Means by source, the panel's beside people's, and how those go together.

Source: the debate-speeches paper, section 5.2 and figure 5.
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
    as_ratings,
    encode_labels,
    paired_scores,
    row_means,
)
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.correlation import correlation


@dataclass(frozen=True, slots=True)
class SourceMeans:
    """By source, in order of appearance. `pearson` is over sources, so its `n_items` is
    their number."""

    sources: tuple[Hashable, ...]
    panel: Array
    humans: Array
    n_items: IntArray
    pearson: Statistic


def source_means(panel: ArrayLike, humans: ArrayLike, sources: Labels) -> SourceMeans:
    """The mean score that panel and people give each source.

    An item counts once, with the mean of its human ratings, and only where both sides
    rated it: the two means are over the same items.

    How to read it: the two means of a source say by how much the panel is harsher or milder than
    the people; `pearson` whether it puts sources in the same places, with as few points as there
    are sources. It takes three: two points are on a line whatever they are.

    Args:
        panel: `(items,)`, NaN where missing.
        humans: `(items, raters)`, NaN where missing.
        sources: who wrote each item.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label an item.

    >>> found = source_means([1, 3, 5, 7], [[2], [4], [4], [6]], "aabb")
    >>> found.sources, found.panel.tolist(), found.humans.tolist()
    (('a', 'b'), [2.0, 6.0], [3.0, 5.0])
    """
    ours, theirs, both = paired_scores(panel, row_means(as_ratings(humans)))
    names, codes = encode_labels(
        [sources[int(item)] for item in np.flatnonzero(both)], int(both.sum())
    )
    counts = np.bincount(codes, minlength=len(names))
    of_panel, of_humans = (
        np.bincount(codes, weights=side[both], minlength=len(names)) / counts
        for side in (ours, theirs)
    )
    if len(names) <= 2:
        few = Reason.TWO_SOURCES if len(names) == 2 else Reason.FEW_SOURCES
        pearson = Statistic.undefined(few, n_items=len(names), n_raters=2)
    else:
        pearson = correlation(of_panel, of_humans, "pearson")
    return SourceMeans(names, of_panel, of_humans, counts, pearson)
