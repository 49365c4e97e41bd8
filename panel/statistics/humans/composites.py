"""A panel's and people's composites: each rater's mean over the dimensions of the rubric's rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panel.statistics.core.table import COMPOSITE, Ratings


def composite_dimensions(panel: Ratings, humans: Ratings) -> tuple[str, ...]:
    """The dimensions whose mean is the panel's composite, where people rated each of them; none
    where there is no such composite: fewer than two dimensions, another rule of the rubric,
    dimensions known to be on different scales, or a dimension that is called `composite`."""
    names = panel.numeric().dimensions if panel.composite_of is None else panel.composite_of
    if len(names) < 2 or COMPOSITE in names or not set(names) <= set(humans.numeric().dimensions):
        return ()
    if any(len({side.scales.get(name) for name in names}) > 1 for side in (panel, humans)):
        return ()
    return names


def composites(panel: Ratings, humans: Ratings) -> tuple[Ratings, Ratings] | None:
    """Both sides on the composite alone, the dimension `composite`, NaN where a rater left one of
    its dimensions out; None where there is none (see `composite_dimensions`)."""
    names = composite_dimensions(panel, humans)
    if not names:
        return None
    ours, theirs = (
        replace(_on(side, names).composite(), dimensions=(COMPOSITE,), scales={})
        for side in (panel, humans)
    )
    return ours, theirs


def _on(ratings: Ratings, names: Sequence[str]) -> Ratings:
    """The ratings on these dimensions of numbers."""
    places = [ratings.dimensions.index(name) for name in names]
    return replace(
        ratings, scores=ratings.scores[:, :, places], dimensions=tuple(names), categories={}
    )
