"""Who sees a run's responses otherwise, in sentences, as the end of a run shows it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from persona_panel.analyses.breakdown.groups import (
    axis_differences,
    labels_of_personas,
    model_differences,
)
from persona_panel.analyses.breakdown.personas import persona_departures
from persona_panel.analyses.contested import contested_conclusion, most_contested
from persona_panel.results.conclusions.breakdown import (
    groups,
    personas_and_responses,
    personas_and_systems,
)
from persona_panel.runs.run import Run
from persona_panel.runs.units import unit_of

_CONTESTED = 10


def differs_document(run: Run) -> dict[str, Any]:
    """What summary.json says of who differs: `differs`, and `contested`, how many responses are in
    sentences and the first of them; nothing of a run of categories, and of what there is only one
    of, or where nothing was scored."""
    if not (run.rubric.numeric and run.coverage.scored) or not (said := who_differs(run)):
        return {}
    found = most_contested(run)
    shown = [one for one in found if one.established][:_CONTESTED]
    return {
        "differs": said,
        "contested": {
            "conclusion": contested_conclusion(found),
            "responses": [asdict(one) for one in shown],
        },
    }


def who_differs(run: Run) -> list[str]:
    """A sentence each on personas and systems, personas and single responses, axes, and models;
    none on what there is only one of."""
    departures, names = persona_departures(run), labels_of_personas(run)
    unit = unit_of(run.rubric).after_number
    axes, models = axis_differences(run), model_differences(run)
    said = []
    if len(departures.personas) > 1:
        if len({item.system for item in run.items}) > 1:
            cells = [replace(one, persona=names[one.persona]) for one in departures.by_system]
            said.append(personas_and_systems(cells, unit))
        said.append(personas_and_responses(departures.by_response, unit))
    for what, one in (("Axes", axes), ("Models", models)):
        if one.differences:
            said.append(groups(what, one.differences, one.interactions, unit))
    return said
