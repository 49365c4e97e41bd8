"""What the axes of a run's figures say: labels of dimensions, units, scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf

from persona_panel.rubrics import Rubric
from persona_panel.runs.run import share_name
from persona_panel.runs.scale_limits import (
    POINTS,
    FigureUnit,
    composite_limits,
    mean_limits,
    unit_of,
)
from persona_panel.statistics.core.display import general
from persona_panel.statistics.core.ranking import Limits


def dimension_labels(rubric: Rubric) -> Mapping[str, str]:
    """Return the labels of dimensions, and of shares of categories, by their names in tables."""
    labels = {dimension.id: dimension.label for dimension in rubric.dimensions}
    shares = {
        share_name(name, category): f"{labels[name]}: {category}"
        for name, categories in rubric.categories.items()
        for category in categories
    }
    return labels | shares


def composite_unit(rubric: Rubric) -> str:
    """Return the unit of a composite, and its scale."""
    return _with_scale(unit_of(rubric), composite_limits(rubric))


def units_of(rubric: Rubric, names: Sequence[str]) -> list[str]:
    """Return the units of the means on these dimensions, and of shares of categories."""
    limits = mean_limits(rubric, names)
    return [
        _with_scale(unit_of(rubric, name), own) for name, own in zip(names, limits, strict=True)
    ]


def least_shown(rubric: Rubric) -> float:
    """Return the departure up to which colours go at least, so that a tiny one does not look large:
    a twentieth of the scale."""
    low, high = composite_limits(rubric)
    return 0.0 if isinf(low) or isinf(high) else (high - low) / 20


def _with_scale(unit: FigureUnit, limits: Limits) -> str:
    low, high = limits
    if unit != POINTS or isinf(low) or isinf(high):
        return unit.one
    return f"{unit.one}; scale {general(low)} to {general(high)}"
