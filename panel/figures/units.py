"""What the axes of a run's figures say: labels of dimensions, units, scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf

from graphs.aggregate import composite_rule
from panel.runs.run import share_name
from panel.runs.scale_limits import are_preferences, composite_limits, mean_limits
from panel.statistics.core.display import general
from panel.statistics.core.ranking import Limits
from rubrics import Rubric

_SHARE = "share of the judges"
_PREFERRED = "share of the other responses"


def dimension_labels(rubric: Rubric) -> Mapping[str, str]:
    """What dimensions, and shares of categories, are called, by their names in tables."""
    labels = {dimension.id: dimension.label for dimension in rubric.dimensions}
    shares = {
        share_name(name, category): f"{labels[name]}: {category}"
        for name, categories in rubric.categories.items()
        for category in categories
    }
    return labels | shares


def composite_unit(rubric: Rubric) -> str:
    """The unit of a composite, and its scale."""
    rule = composite_rule(rubric)
    if rule is not None and rule.share_of is not None:
        return _SHARE
    if are_preferences(rubric):
        return _PREFERRED
    return _points(composite_limits(rubric))


def units_of(rubric: Rubric, names: Sequence[str]) -> list[str]:
    """Of the means on these dimensions, and of shares of categories."""
    if are_preferences(rubric):
        return [_PREFERRED] * len(names)
    numeric = {dimension.id for dimension in rubric.numeric}
    return [
        _points(limits) if name in numeric else _SHARE
        for name, limits in zip(names, mean_limits(rubric, names), strict=True)
    ]


def least_shown(rubric: Rubric) -> float:
    """The departure up to which colours go at least, so that a tiny one does not look large: a
    twentieth of the scale."""
    low, high = composite_limits(rubric)
    return 0.0 if isinf(low) or isinf(high) else (high - low) / 20


def _points(limits: Limits) -> str:
    low, high = limits
    if isinf(low) or isinf(high):
        return "points"
    return f"points; scale {general(low)} to {general(high)}"
