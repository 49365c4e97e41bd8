"""Each persona of a run beside the panel: in all, by system, by dimension, by response."""

from __future__ import annotations

from dataclasses import dataclass, replace

from persona_panel.analyses.breakdown.cells import RunCells
from persona_panel.analyses.once import once_per_run
from persona_panel.runs.run import Run
from persona_panel.statistics.personas import (
    Departure,
    ResponseDepartures,
    departures_by_dimension,
    departures_by_system,
    response_departures,
    severities,
)


@dataclass(frozen=True, slots=True, eq=False)
class PersonaDepartures:
    """The departures of each persona of a run, in the panel's order, from the panel, on the same
    texts and through the same models: `severities` on the whole, then with severity taken out by
    systems, by dimensions with numbers, and by responses, in the run's order, `(responses,
    personas)`."""

    personas: tuple[str, ...]
    severities: tuple[Departure, ...]
    by_system: tuple[Departure, ...]
    by_dimension: tuple[Departure, ...]
    by_response: ResponseDepartures


@once_per_run
def persona_departures(run: Run) -> PersonaDepartures:
    """Estimate how far each persona is above or below the panel, and what of that chance explains.

    On the rubric's composite; by dimension, and by response where the rubric has no composite, on
    the mean of the dimensions with numbers. Each table is corrected by itself (Holm, 5 %).
    """
    cells = RunCells.of(run)
    whole = cells.composite or cells.dimensions
    return PersonaDepartures(
        whole.personas,
        tuple(severities(whole, cells.prompts)),
        tuple(departures_by_system(whole, cells.systems, cells.prompts)),
        tuple(
            departures_by_dimension(
                cells.dimensions, cells.names, cells.prompts, one_scale=cells.one_scale
            )
        ),
        response_departures(replace(whole, values=whole.whole[..., None])),
    )
