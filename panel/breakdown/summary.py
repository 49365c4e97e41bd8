"""Who sees a run's responses otherwise, in sentences, as the end of a run shows it."""

from __future__ import annotations

from panel.breakdown.groups import axis_differences, model_differences
from panel.breakdown.personas import persona_departures
from panel.conclusions.breakdown import groups, personas_and_responses, personas_and_systems
from panel.runs.run import Run


def who_differs(run: Run) -> list[str]:
    """A sentence each on personas and systems, personas and single responses, axes, and models;
    none on what there is only one of."""
    departures = persona_departures(run)
    axes, models = axis_differences(run), model_differences(run)
    said = []
    if len(departures.personas) > 1:
        if len({item.system for item in run.items}) > 1:
            said.append(personas_and_systems(departures.by_system))
        said.append(personas_and_responses(departures.by_response))
    for what, one in (("Axes", axes), ("Models", models)):
        if one.differences:
            said.append(groups(what, one.differences, one.interactions))
    return said
