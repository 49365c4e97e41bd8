"""Section 3: which personas, axes and models see responses otherwise, and how far judges agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan

import numpy as np
from markupsafe import Markup

from persona_panel.analyses.breakdown import (
    Departure,
    GroupDifference,
    GroupDifferences,
    PersonaDepartures,
    axis_differences,
    model_differences,
    persona_departures,
)
from persona_panel.reports.page.agreement import agreement
from persona_panel.reports.page.heat import tint
from persona_panel.reports.page.names import dimension_names
from persona_panel.results.axis import Axis
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_limits
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.display import signed

_COLUMNS = 20
"""The most responses in a heatmap; of more, these are the most contested."""
_LARGEST = 5
_ROWS, _MOST_ROWS = 8, 200
_ALL = "all"


@dataclass(frozen=True, slots=True)
class DepartureCell:
    """A cell of a heatmap: its text, its tint, and whether it is established."""

    text: str
    css: str
    shown: bool
    told: str


@dataclass(frozen=True, slots=True)
class PersonaLine:
    """One persona's line in the tables; `axis` is the place of its axis among those of the page."""

    label: str
    axis: int
    severity: Departure
    by_system: Sequence[DepartureCell]
    by_dimension: Sequence[DepartureCell]
    by_response: Sequence[DepartureCell]


@dataclass(frozen=True, slots=True)
class ResponseColumn:
    """A response's column; `title` is its prompt's beginning, `first` whether it is its system's
    first."""

    row: int
    system: str
    prompt_id: str
    title: str
    first: bool


@dataclass(frozen=True, slots=True)
class PersonaTables:
    """Personas beside the panel.

    Attributes:
        responses: columns of the heatmap of responses; `n_left_out` are not among them.
        groups: each system with how many of these columns are its.
        n_beyond, n_cells: how many cells of all responses are beyond what noise exceeds in 5 %.
        n_shown: how many of them are established, corrected over all.
        largest: persona, system, prompt, place of the response, departure.
        reason: why noise is not known.
    """

    lines: Sequence[PersonaLine]
    severity_axis: Axis
    systems: Sequence[str]
    dimensions: Sequence[str]
    responses: Sequence[ResponseColumn]
    groups: Sequence[tuple[str, int]]
    n_left_out: int
    n_beyond: int
    n_cells: int
    n_shown: int
    largest: Sequence[tuple[str, str, str, int, float]]
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class GroupTable:
    """One group of judges against another.

    Attributes:
        rows: over all systems, of the composite alone where there are many; `others` are the
            other dimensions', and those on each of several systems.
        interactions: those that are established, of `n_interactions` that were tested.
    """

    kind: str
    rows: Sequence[GroupDifference]
    others: Sequence[GroupDifference]
    n_more: int
    interactions: Sequence[GroupDifference]
    n_interactions: int
    axis: Axis
    random: str


@dataclass(frozen=True, slots=True)
class DifferencesSection:
    """What section 3 shows; None where there are too few of a kind to differ."""

    personas: PersonaTables | None
    axes: GroupTable | None
    models: GroupTable | None
    agreement: Markup | None
    labels: Mapping[str, str]


def differences_section(
    run: Run,
    personas: Mapping[str, tuple[str, str]],
    ranked: Sequence[str],
    contested: Sequence[int],
    titles: Mapping[str, str],
) -> DifferencesSection:
    """Who sees it otherwise.

    Args:
        personas: label and axis of each, by its id.
        ranked: the systems, in the order in which they are shown.
        contested: places of responses, the most contested first.
        titles: the beginnings of prompts, by their ids.
    """
    return DifferencesSection(
        _personas(run, personas, ranked, contested, titles),
        _groups(axis_differences(run)),
        _groups(model_differences(run)),
        agreement(run),
        dimension_names(run.rubric),
    )


def _personas(
    run: Run,
    personas: Mapping[str, tuple[str, str]],
    ranked: Sequence[str],
    contested: Sequence[int],
    titles: Mapping[str, str],
) -> PersonaTables | None:
    if not run.rubric.numeric or not run.items:
        return None
    found = persona_departures(run)
    if len(found.personas) < 2:
        return None
    axes = list(dict.fromkeys(axis for _, axis in personas.values()))
    there = {one.on for one in found.by_system}
    systems = [name for name in ranked if name in there]
    dimensions = list(dict.fromkeys(one.on for one in found.by_dimension))
    labels = {one.id: one.label for one in run.rubric.dimensions}
    by_system, by_dimension = (
        _table(those, _least(run)) for those in (found.by_system, found.by_dimension)
    )
    columns = _columns(run, systems, contested, titles)
    responses = _response_cells(found, columns, _least(run))
    seen = found.by_response
    return PersonaTables(
        [
            PersonaLine(
                personas[persona][0],
                axes.index(personas[persona][1]),
                found.severities[place],
                [by_system[persona, name] for name in systems],
                [by_dimension[persona, name] for name in dimensions],
                responses[place],
            )
            for place, persona in enumerate(found.personas)
        ],
        Axis.about_zero(
            end for one in found.severities for end in (one.departure, one.ci_low, one.ci_high)
        ),
        systems,
        [labels[name] for name in dimensions],
        columns,
        [(name, sum(one.system == name for one in columns)) for name in systems],
        len(run.items) - len(columns),
        int(seen.beyond_chance.sum()),
        int((~np.isnan(seen.departures)).sum()),
        int(seen.shown.sum()),
        _largest(run, found, personas, titles),
        seen.reason,
    )


def _least(run: Run) -> float:
    """The departure from which on a cell has the deepest tint, where none is larger: a ninth of the
    scale, one point of 1 to 10."""
    low, high = composite_limits(run.rubric)
    return (high - low) / 9 if isfinite(high - low) else 0.0


def _table(cells: Sequence[Departure], least: float) -> dict[tuple[str, str], DepartureCell]:
    """The cells of a table by persona and column; `least` as of `_least`."""
    most = max(
        (abs(one.beyond_severity) for one in cells if not isnan(one.beyond_severity)), default=0
    )
    return {
        (one.persona, one.on): DepartureCell(
            signed(one.beyond_severity),
            tint(one.beyond_severity, max(most, least))
            if one.shown or one.ci_low > 0 or one.ci_high < 0
            else "",
            one.shown,
            "" if one.reason is None else str(one.reason),
        )
        for one in cells
    }


def _columns(
    run: Run, systems: Sequence[str], contested: Sequence[int], titles: Mapping[str, str]
) -> list[ResponseColumn]:
    """The most contested responses, by system and in the order of the run."""
    kept = sorted(contested[:_COLUMNS])
    found: list[ResponseColumn] = []
    for system in systems:
        own = [row for row in kept if run.items[row].system == system]
        found += [
            ResponseColumn(row, system, name, titles.get(name, name), n == 0)
            for n, row in enumerate(own)
            for name in [run.items[row].prompt_id]
        ]
    return found


def _response_cells(
    found: PersonaDepartures, columns: Sequence[ResponseColumn], least: float
) -> list[list[DepartureCell]]:
    """By persona a cell for each column: empty within what noise exceeds in 5 %."""
    seen = found.by_response
    beyond, shown = seen.beyond_chance, seen.shown
    most = float(np.nanmax(np.abs(seen.departures), initial=least))
    lines = []
    for place in range(len(found.personas)):
        line = []
        for column in columns:
            value = float(seen.departures[column.row, place])
            if isnan(value):
                line.append(DepartureCell("–", "", False, "not rated"))
            elif seen.reason is None and not beyond[column.row, place]:
                line.append(DepartureCell("·", "", False, signed(value)))
            else:
                css = tint(value, most)
                established = bool(shown[column.row, place])
                line.append(DepartureCell(signed(value), css, established, ""))
        lines.append(line)
    return lines


def _largest(
    run: Run,
    found: PersonaDepartures,
    personas: Mapping[str, tuple[str, str]],
    titles: Mapping[str, str],
) -> list[tuple[str, str, str, int, float]]:
    """The largest departures that are established."""
    seen = found.by_response
    places = np.argwhere(seen.shown)
    order = sorted(places.tolist(), key=lambda at: -abs(seen.departures[at[0], at[1]]))
    return [
        (
            personas[found.personas[persona]][0],
            run.items[row].system,
            titles.get(run.items[row].prompt_id, run.items[row].prompt_id),
            row,
            float(seen.departures[row, persona]),
        )
        for row, persona in order[:_LARGEST]
    ]


def _groups(found: GroupDifferences) -> GroupTable | None:
    if not found.differences:
        return None
    rows = [one for one in found.differences if one.system == _ALL]
    if len(rows) > _ROWS:
        rows = [one for one in rows if one.dimension == rows[0].dimension]
    others = [one for one in found.differences if one not in rows]
    shown = [one for one in found.interactions if one.shown]
    return GroupTable(
        found.kind,
        rows[:_MOST_ROWS],
        others[:_MOST_ROWS],
        max(0, len(rows) - _MOST_ROWS) + max(0, len(others) - _MOST_ROWS),
        sorted(shown, key=lambda one: -abs(one.difference)),
        len(found.interactions),
        Axis.about_zero(end for one in rows for end in (one.difference, one.ci_low, one.ci_high)),
        found.random,
    )
