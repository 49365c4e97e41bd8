"""The scales of a run's figures: between which values they lie, in which unit, and the composite in
a sentence.

The composite of a rubric, judge by judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from persona_panel.graphs.aggregate import composite_rule
from persona_panel.results.conclusions.wording import all_dimensions, listed
from persona_panel.rubrics import CategoryScale, Composite, Rubric
from persona_panel.rubrics.comparison import PREFERRED
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.display import COMPOSITE, general
from persona_panel.statistics.core.sampled_mean import UNLIMITED, Limits
from persona_panel.statistics.core.table import Ratings

SHARE: Limits = (0.0, 1.0)


def are_preferences(rubric: Rubric) -> bool:
    """Return whether ratings are no points of a scale, but the share of the other responses to
    which one is preferred. `rubric`: as the ratings come."""
    return rubric.dimensions == (PREFERRED,)


def in_points(rubric: Rubric, name: str = COMPOSITE) -> bool:
    """Return whether composites, or the means of this name, are points of a scale, and no shares:
    of responses, or of judges. `name`: the composite, a dimension, or the share of a category."""
    if are_preferences(rubric):
        return False
    if name != COMPOSITE:
        return name in rubric.numeric_scales
    rule = composite_rule(rubric)
    return rule is None or (rule.share_of is None and not rubric.rescaled)


def on_one_scale(rubric: Rubric) -> bool:
    """Return whether all dimensions with numbers have the same ends."""
    return len({(scale.min, scale.max) for scale in rubric.numeric_scales.values()}) < 2


def composite_limits(rubric: Rubric) -> Limits:
    """Return the lowest and highest composite; infinite where the rubric has no bounds. `rubric`:
    as the ratings come."""
    rule = composite_rule(rubric)
    if rule is None:
        return UNLIMITED
    if rule.share_of is not None or rubric.rescaled:
        return SHARE
    if rule.product_of is not None:
        corners = [
            prod(ends) for ends in product(*(_ends(rubric, item) for item in rule.product_of))
        ]
        return min(corners), max(corners)
    ends = [_ends(rubric, item) for item in rule.mean_of or ()]
    return sum(low for low, _ in ends) / len(ends), sum(high for _, high in ends) / len(ends)


def mean_limits(rubric: Rubric, names: Sequence[str]) -> list[Limits]:
    """Return the lowest and highest mean of each of these: a dimension, or the share of a
    category."""
    scales = rubric.numeric_scales
    return [_ends(rubric, name) if name in scales else SHARE for name in names]


def lie_in(scores: Array, limits: Limits) -> bool:
    """Return whether there are scores, and all lie between these limits; NaN is no score."""
    there = scores[~np.isnan(scores)]
    return bool(len(there) and there.min() >= limits[0] and there.max() <= limits[1])


def on_limits(people: Ratings, name: str, scores: Array, limits: Limits) -> bool:
    """Return whether people's scores on a dimension of theirs are on the scale between these
    limits: as far as their scale is given it is this one, else all scores lie in it."""
    known = people.scales.get(name)
    return lie_in(scores, limits) if known is None else known == limits


def _ends(rubric: Rubric, name: str) -> Limits:
    scale = rubric.numeric_scales[name]
    return scale.min, scale.max


class FigureUnit(NamedTuple):
    """The name of a unit: of one figure, as on an axis; of several; and after a number in a
    sentence, where shares of judges or responses have none."""

    singular: str
    plural: str
    after_number: str = ""


POINTS = FigureUnit("points", "points", " points")
SHARES_OF_JUDGES = FigureUnit("share of the judges", "shares of the judges")
SHARES_OF_RESPONSES = FigureUnit("share of the other responses", "shares of the other responses")
SHARES_OF_WIDTH = FigureUnit(
    "share of the scale's width", "shares of the scale's width", " of the scale's width"
)


def unit_of(rubric: Rubric, name: str = COMPOSITE) -> FigureUnit:
    """Return the unit of composites, or of the means of this name. `rubric`: as the ratings come;
    `name`: the composite, a dimension, or the share of a category."""
    if are_preferences(rubric):
        return SHARES_OF_RESPONSES
    if name == COMPOSITE and rubric.rescaled:
        return SHARES_OF_WIDTH
    return POINTS if in_points(rubric, name) else SHARES_OF_JUDGES


def unit_of_ratings(rubric: Rubric) -> FigureUnit:
    """Return the unit of ratings on a dimension with numbers."""
    return SHARES_OF_RESPONSES if are_preferences(rubric) else POINTS


def composite_in_words(rubric: Rubric) -> str:
    """Say from which dimensions the composite is formed, how, and between which values it lies.

    Args:
        rubric: of the ratings; of judges that compare, the one with the dimension `preferred`.

    Returns:
        A sentence; an empty text where the rubric has no composite.
    """
    rule = composite_rule(rubric)
    if rule is None:
        return ""
    labels = {dimension.id: dimension.label for dimension in rubric.dimensions}
    if rule.share_of is not None:
        on = labels[rule.share_of.dimension]
        what = f"the share of judgments with {rule.share_of.value} on {on}"
    elif rule.product_of is not None:
        names = [labels[name] for name in rule.product_of]
        what = f"the mean over judges of the product of {listed(names, 'dimensions')}"
    else:
        names = [labels[name] for name in rule.mean_of or ()]
        of = listed(names, "dimensions")
        if len(names) == len(rubric.numeric) > 1:
            of = all_dimensions(len(names))
        what = f"the mean of {of}" if len(names) > 1 else of
        if rubric.rescaled:
            what += ", which are on different scales: each as a share of the width of its own"
    text = f"Composite: {what}, {_scale(rubric)}"
    if rule.reliable_where is not None:
        least = general(rule.reliable_where.at_least)
        text += f", without judgments below {least} on {labels[rule.reliable_where.dimension]}"
    return f"{text}."


def _scale(rubric: Rubric) -> str:
    """Say from where to where the composite goes."""
    low, high = (general(end) for end in composite_limits(rubric))
    rule = composite_rule(rubric)
    ends = {
        (dimension.scale.low, dimension.scale.high)
        for dimension in rubric.dimensions
        if rule is not None
        and dimension.id in (rule.mean_of or ())
        and not isinstance(dimension.scale, CategoryScale)
    }
    if len(ends) == 1 and not rubric.rescaled:
        [(least, most)] = ends
        return f"from {low} ({least}) to {high} ({most})"
    return f"from {low} to {high}"


def composite_terms(
    ratings: Array,
    rubric: Rubric,
    dimensions: Sequence[str],
    categories: Mapping[str, Sequence[str]],
) -> Array | None:
    """Return the terms of each judge whose mean is a rubric's composite `(responses, judges,
    terms)`, NaN where a judge has none; None where the rubric has no composite. Args as for
    `persona_panel.runs.collected.judge_sample`."""
    rule = composite_rule(rubric)
    if rule is None:
        return None
    place = {name: d for d, name in enumerate(dimensions)}
    terms = _terms(ratings, rule, place, categories)
    if rescaled := rubric.rescaled:
        lows, widths = np.array(list(rescaled.values())).T
        terms = (terms - lows) / widths
    if (required := rule.reliable_where) is not None:
        unreliable = ratings[:, :, place[required.dimension]] < required.at_least
        terms = np.where(unreliable[:, :, None], np.nan, terms)
    return terms


def _terms(
    ratings: Array,
    rule: Composite,
    place: Mapping[str, int],
    categories: Mapping[str, Sequence[str]],
) -> Array:
    if rule.share_of is not None:
        chosen = ratings[:, :, [place[rule.share_of.dimension]]]
        wanted = list(categories[rule.share_of.dimension]).index(rule.share_of.value)
        return np.where(np.isnan(chosen), np.nan, chosen == wanted)
    if rule.product_of is not None:
        factors = ratings[:, :, [place[name] for name in rule.product_of]]
        product: Array = np.prod(factors, axis=2, keepdims=True)
        return product
    return ratings[:, :, [place[name] for name in rule.mean_of or ()]]


def share_name(dimension: str, category: str) -> str:
    """Return what the share of a category is called in tables; no dimension's id has a colon."""
    return f"{dimension}:{category}"


def dimension_labels(rubric: Rubric) -> Mapping[str, str]:
    """Return the labels of dimensions, and of shares of categories, by their names in tables."""
    labels = {dimension.id: dimension.label for dimension in rubric.dimensions}
    shares = {
        share_name(name, category): f"{labels[name]}: {category}"
        for name, categories in rubric.categories.items()
        for category in categories
    }
    return labels | shares
