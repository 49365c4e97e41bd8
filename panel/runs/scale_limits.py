"""Between which values the means of a run lie: its rubric's scales."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from persona_panel.graphs.aggregate import composite_rule
from persona_panel.rubrics import Rubric
from persona_panel.rubrics.comparison import PREFERRED
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.core.ranking import UNLIMITED, Limits
from persona_panel.statistics.core.table import Ratings

SHARE: Limits = (0.0, 1.0)


def are_preferences(rubric: Rubric) -> bool:
    """Whether ratings are no points of a scale, but the share of the other responses to which one
    is preferred.

    Args:
        rubric: as the ratings come.
    """
    return rubric.dimensions == (PREFERRED,)


def in_points(rubric: Rubric, name: str = COMPOSITE) -> bool:
    """Whether composites, or the means of this name, are points of a scale, and no shares: of
    responses, or of judges.

    Args:
        name: the composite, a dimension, or the share of a category.
    """
    if are_preferences(rubric):
        return False
    if name != COMPOSITE:
        return name in rubric.numeric_scales
    rule = composite_rule(rubric)
    return rule is None or (rule.share_of is None and not rubric.rescaled)


def on_one_scale(rubric: Rubric) -> bool:
    """Whether all dimensions with numbers have the same ends."""
    return len({(scale.min, scale.max) for scale in rubric.numeric_scales.values()}) < 2


def composite_limits(rubric: Rubric) -> Limits:
    """Between which a composite lies; without bounds where the rubric has none.

    Args:
        rubric: as the ratings come.
    """
    rule = composite_rule(rubric)
    if rule is None:
        return UNLIMITED
    if rule.share_of is not None or rubric.rescaled:
        return SHARE
    if rule.product_of is not None:
        corners = [prod(ends) for ends in product(*(_ends(rubric, one) for one in rule.product_of))]
        return min(corners), max(corners)
    ends = [_ends(rubric, one) for one in rule.mean_of or ()]
    return sum(low for low, _ in ends) / len(ends), sum(high for _, high in ends) / len(ends)


def mean_limits(rubric: Rubric, names: Sequence[str]) -> list[Limits]:
    """Between which the mean of each of these lies: a dimension, or the share of a category."""
    scales = rubric.numeric_scales
    return [_ends(rubric, name) if name in scales else SHARE for name in names]


def lie_in(scores: Array, limits: Limits) -> bool:
    """Whether there are scores, and all lie between these limits; NaN is no score."""
    there = scores[~np.isnan(scores)]
    return bool(len(there) and there.min() >= limits[0] and there.max() <= limits[1])


def on_limits(people: Ratings, name: str, scores: Array, limits: Limits) -> bool:
    """Whether people's scores on a dimension of theirs are on the scale between these limits: as
    far as their scale is given it is this one, else all scores lie in it."""
    known = people.scales.get(name)
    return lie_in(scores, limits) if known is None else known == limits


def _ends(rubric: Rubric, name: str) -> Limits:
    scale = rubric.numeric_scales[name]
    return scale.min, scale.max
