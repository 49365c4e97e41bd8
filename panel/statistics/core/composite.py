"""Ratings on the composite: the mean over the dimensions that a rubric makes it of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from persona_panel.statistics.core.names import COMPOSITE
from persona_panel.statistics.core.table import Ratings

_MOST_WIDTHS = 8.0
"""How many times as wide as another the range of a dimension's ratings may be, if both are on one
scale that is not known: 0 to 100 beside 1 to 5 is wider."""


def on_composite(ratings: Ratings, *others: Ratings) -> tuple[Ratings, ...] | None:
    """These ratings, and others of the same dimensions, on the composite alone, which is then
    their one dimension.

    A rater who left one of its dimensions out of an item has no composite of it. Of dimensions that
    are known to be on different scales it is the mean of shares of their widths; see
    `Ratings.composite`. There is none of one dimension or of ranks, where only some scales are
    known or, where none is, ratings on one dimension spread over more than eight times the range of
    those on another; where no rater of a side rated all of them together, the others lack one of
    them, or the rubric has another rule.

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
        or len({name in side.scales for name in names}) > 1
        for side in sides
    ):
        return None
    several = any(len({side.scales.get(name) for name in names}) > 1 for side in sides)
    if several and not all(name in side.scales for side in sides for name in names):
        return None
    if ranges_differ(sides, names):
        return None
    whole = tuple(_on(side, names).composite().called(COMPOSITE) for side in sides)
    return None if any(np.isnan(side.scores).all() for side in whole) else whole


def ranges_differ(sides: Sequence[Ratings], names: Sequence[str]) -> bool:
    """Return whether ratings on scales that are not known plainly lie on different ones."""
    widths = []
    for name in names:
        own = [side.scores[:, :, side.dimensions.index(name)] for side in sides]
        if any(name in side.scales for side in sides) or any(np.isnan(one).all() for one in own):
            return False
        widths.append(max(map(np.nanmax, own)) - min(map(np.nanmin, own)))
    # Where all ratings are the same, the scale may be any.
    there = [width for width in widths if width > 0]
    return bool(there and max(there) > _MOST_WIDTHS * min(there))


def _on(ratings: Ratings, names: Sequence[str]) -> Ratings:
    """The ratings on these dimensions of numbers."""
    places = [ratings.dimensions.index(name) for name in names]
    return replace(
        ratings, scores=ratings.scores[:, :, places], dimensions=tuple(names), categories={}
    )
