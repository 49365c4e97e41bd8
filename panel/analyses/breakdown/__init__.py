"""Differences between a run's personas, axes and models about its responses.

Each function takes a `Run`, as a panel or `load_run` gives it, and returns frozen records; where
nothing can be said, with the `Reason`. Judges without a persona beside others with one take part
in none of it. The statistics themselves are in `persona_panel.statistics`.
"""

from persona_panel.analyses.breakdown.groups import (
    GroupComparison,
    PersonaDepartures,
    axis_differences,
    model_differences,
    persona_departures,
)
from persona_panel.analyses.breakdown.strata import SystemsBy, systems_by
from persona_panel.statistics.personas import Departure, GroupDifference, ResponseDepartures
from persona_panel.statistics.sources import AuthorShare

__all__ = [
    "AuthorShare",
    "Departure",
    "GroupComparison",
    "GroupDifference",
    "PersonaDepartures",
    "ResponseDepartures",
    "SystemsBy",
    "axis_differences",
    "model_differences",
    "persona_departures",
    "systems_by",
]
