"""What the figures of a run's page are in."""

from __future__ import annotations

from dataclasses import dataclass

from persona_panel.analyses.contested import unit_of_departures
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import unit_of, unit_of_ratings


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
    whole, dimension = unit_of(run.rubric), unit_of_ratings(run.rubric)
    groups = whole.several
    if whole != dimension and run.rubric.numeric:
        groups += f" (on single dimensions, {dimension.several})"
    return PageUnits(whole.several, dimension.several, groups, unit_of_departures(run).several)
