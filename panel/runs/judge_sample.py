"""A run's judges as a sample: how much each moves the composites, and what they are sampled by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from persona_panel.graphs import Judge
from persona_panel.graphs.aggregate import composite_rule
from persona_panel.rubrics import Composite, Rubric
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.ranking import JudgeSample, influence_of
from persona_panel.statistics.core.table import with_several_levels


def judge_sample(
    ratings: Array,
    judges: Sequence[Judge],
    rubric: Rubric,
    dimensions: Sequence[str],
    categories: Mapping[str, Sequence[str]],
) -> JudgeSample | None:
    """The sample that a run's judges are; None where its rubric has no composite.

    Personas and models are crossed: each is a factor where there are several of it.

    Args:
        ratings: `(responses, judges, dimensions)`; a category is its place among `categories`.
    """
    terms = composite_terms(ratings, rubric, dimensions, categories)
    if terms is None:
        return None
    return JudgeSample(influence_of(terms), with_several_levels(judge_facets(judges)))


def judge_facets(judges: Iterable[Judge]) -> dict[str, list[str]]:
    """What judges consist of, a label a judge; as `Ratings.judge_facets`."""
    known = list(judges)
    return {
        "persona": [judge.persona for judge in known],
        "model": [judge.model for judge in known],
    }


def composite_terms(
    ratings: Array,
    rubric: Rubric,
    dimensions: Sequence[str],
    categories: Mapping[str, Sequence[str]],
) -> Array | None:
    """What of each judge a rubric's composite is the mean of `(responses, judges, terms)`, NaN
    where a judge has none; None where the rubric has no composite. Args as for `judge_sample`."""
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
