"""What the figures of a run's page are in."""

from __future__ import annotations

from dataclasses import dataclass

from panel.breakdown.contested import unit_of_departures
from panel.runs.run import Run
from panel.runs.scale_limits import are_preferences, in_points


@dataclass(frozen=True, slots=True)
class PageUnits:
    """Units, in the plural.

    Attributes:
        composite: of composites.
        dimension: of ratings on a dimension with numbers.
        groups: of the differences between groups of judges, on the composite and on dimensions.
        response: of the departures on single responses.
    """

    composite: str
    dimension: str
    groups: str
    response: str


def page_units(run: Run) -> PageUnits:
    """The units of a run's page."""
    dimension = "shares of the other responses" if are_preferences(run.rubric) else "points"
    composite = groups = dimension
    if dimension == "points" and not in_points(run.rubric):
        composite = groups = "shares of the judges"
        if run.rubric.numeric:
            groups += f" (on single dimensions, {dimension})"
    return PageUnits(composite, dimension, groups, unit_of_departures(run))
