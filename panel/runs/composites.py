"""The composite of a rubric, judge by judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from persona_panel.graphs.aggregate import composite_rule
from persona_panel.rubrics import Composite, Rubric
from persona_panel.statistics.core.arrays import Array


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
