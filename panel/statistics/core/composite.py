"""Ratings on the composite: the mean over the dimensions that a rubric makes it of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panel.statistics.core.table import COMPOSITE, Ratings


def on_composite(ratings: Ratings, *others: Ratings) -> tuple[Ratings, ...] | None:
    """These ratings, and others of the same dimensions, on the composite alone, which is then
    their one dimension.

    A rater who left one of its dimensions out of an item has no composite of it. There is none of
    one dimension or of ranks, where dimensions are known to be on different scales, where the
    others lack one of them, or where the rubric has another rule.

    >>> import numpy as np
    >>> given = Ratings(np.array([[[1.0, 4.0]]]), ("a",), ("r",), ("clear", "sound"), ("all",))
    >>> [whole] = on_composite(given) or ()
    >>> whole.dimensions, whole.scores.tolist()
    (('composite',), [[[2.5]]])
    """
    sides = (ratings, *others)
    names = ratings.numeric().dimensions if ratings.composite_of is None else ratings.composite_of
    if len(names) < 2 or COMPOSITE in ratings.dimensions:
        return None
    if any(
        side.lower_is_better
        or not set(names) <= set(side.numeric().dimensions)
        or len({side.scales.get(name) for name in names}) > 1
        for side in sides
    ):
        return None
    return tuple(
        replace(_on(side, names).composite(), dimensions=(COMPOSITE,), scales={}) for side in sides
    )


def _on(ratings: Ratings, names: Sequence[str]) -> Ratings:
    """The ratings on these dimensions of numbers."""
    places = [ratings.dimensions.index(name) for name in names]
    return replace(
        ratings, scores=ratings.scores[:, :, places], dimensions=tuple(names), categories={}
    )
