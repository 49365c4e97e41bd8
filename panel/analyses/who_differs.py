"""Who sees a run's responses otherwise: its personas, axes and models, each in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from persona_panel.analyses.breakdown.groups import (
    axis_differences,
    labels_of_personas,
    model_differences,
)
from persona_panel.analyses.breakdown.personas import persona_departures
from persona_panel.analyses.contested import contested_conclusion, most_contested
from persona_panel.results.conclusions.wording import (
    counted,
    first_of,
    in_brackets,
    interval,
    listed,
    p_adjusted,
    points,
    turned,
)
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import unit_of
from persona_panel.statistics.core.display import signed
from persona_panel.statistics.group_differences import ALL_SYSTEMS, GroupDifference
from persona_panel.statistics.personas import Departure, ResponseDepartures

_SHOWN = 2
"""How many of the established are named."""
_CONTESTED = 10


def differs_document(run: Run) -> dict[str, Any]:
    """Return what summary.json says of who differs: `differs`, and `contested`, how many responses
    are in sentences and the first of them; nothing of a run of categories, and of what there is
    only one of, or where nothing was scored."""
    if not (run.rubric.numeric and run.coverage.scored) or not (said := who_differs(run)):
        return {}
    result = most_contested(run)
    shown = [item for item in result if item.established][:_CONTESTED]
    return {
        "differs": said,
        "contested": {
            "conclusion": contested_conclusion(result),
            "responses": [asdict(item) for item in shown],
        },
    }


def who_differs(run: Run) -> list[str]:
    """Return a sentence each on personas and systems, personas and single responses, axes, and
    models; none on what there is only one of."""
    departures, names = persona_departures(run), labels_of_personas(run)
    unit = unit_of(run.rubric).after_number
    axes, models = axis_differences(run), model_differences(run)
    said = []
    if len(departures.personas) > 1:
        if len({item.system for item in run.items}) > 1:
            cells = [replace(entry, persona=names[entry.persona]) for entry in departures.by_system]
            said.append(personas_and_systems(cells, unit))
        said.append(personas_and_responses(departures.by_response, unit))
    for what, element in (("Axes", axes), ("Models", models)):
        if element.differences:
            said.append(groups(what, element.differences, element.interactions, unit))
    return said


def personas_and_systems(cells: Sequence[Departure], unit: str = " points") -> str:
    """Return which personas see a system otherwise than the panel does, severity taken out."""
    tested = [cell for cell in cells if cell.reason is None]
    if not tested:
        reasons = dict.fromkeys(str(cell.reason) for cell in cells if cell.reason is not None)
        return f"Personas and systems: nothing can be tested ({'; '.join(reasons)})."
    shown = sorted((item for item in tested if item.shown), key=lambda entry: entry.p_adjusted)
    if not shown:
        return (
            "Personas and systems: no persona is shown to rate a system otherwise than the panel "
            f"({counted(len(tested), 'cell')} tested, severity taken out)."
        )
    named = [
        f"{item.persona} rates {item.on} {_points(item.beyond_severity, unit)} than the panel does"
        f"{in_brackets(p_adjusted(item.p_adjusted))}"
        for item in shown
    ]
    return f"Personas and systems, severity taken out: {first_of(named, _SHOWN)}."


def personas_and_responses(departures: ResponseDepartures, unit: str = " points") -> str:
    """Return on how many responses a persona departs from the panel by more than noise."""
    if departures.reason is not None:
        return f"Personas and single responses: nothing can be tested ({departures.reason})."
    n_tested = int((departures.p == departures.p).sum())
    n_shown = int(departures.shown.sum())
    if not n_shown:
        return (
            f"Personas and single responses: none of {n_tested:,} departures from the panel is "
            "beyond noise."
        )
    are = "is" if n_shown == 1 else "are"
    return (
        f"Personas and single responses: {n_shown:,} of {n_tested:,} departures from the panel "
        f"{are} beyond noise, up to "
        f"{points(abs(departures.departures[departures.shown]).max(), unit)}."
    )


def groups(
    what: str,
    differences: Sequence[GroupDifference],
    interactions: Sequence[GroupDifference],
    unit: str = " points",
) -> str:
    """Return how groups of judges differ over all systems, and if they see systems differently.

    Args:
        what: the groups, for the beginning of the sentence: `Axes`, `Models`.
        differences, interactions: without any where there are not two groups.
    """
    first = differences[0].dimension
    whole = [
        difference
        for difference in differences
        if difference.system == ALL_SYSTEMS and difference.dimension == first
    ]
    tested = [item for item in whole if item.reason is None]
    if not tested:
        reasons = dict.fromkeys(item.reason for item in whole if item.reason is not None)
        return f"{what}: nothing can be tested ({'; '.join(map(str, reasons))})."
    shown = sorted(
        (item for item in tested if item.shown), key=lambda entry: -abs(entry.difference)
    )
    if shown:
        said = "; ".join(_pair(item, unit) for item in shown[:_SHOWN])
        if len(shown) > _SHOWN:
            more = len(shown) - _SHOWN
            said += f"; {counted(more, 'more pair')} {'differs' if more == 1 else 'differ'}"
    elif len(tested) == 1:
        element = tested[0]
        facts = in_brackets(
            f"{element.a} − {element.b}: {signed(element.difference)}{unit}",
            interval(element.ci_low, element.ci_high),
            p_adjusted(element.p_adjusted),
        )
        said = f"{element.a} and {element.b} are not shown to differ{facts}"
    else:
        said = f"no two of {counted(len(tested), 'pair')} are shown to differ"
    return f"{what}: {said}{_interaction(interactions, first)}."


def _interaction(rows: Sequence[GroupDifference], dimension: str) -> str:
    own = [row for row in rows if row.dimension == dimension and row.reason is None]
    if not own:
        return ""
    shown = [item for item in own if item.shown]
    if not shown:
        return "; none is shown to see systems differently"
    systems = list(dict.fromkeys(item.system for item in shown))
    return f"; they see systems differently: {listed(systems, 'systems')}"


def _pair(difference: GroupDifference, unit: str) -> str:
    ends = turned(difference.ci_low, difference.ci_high, difference.difference)
    above, below = (
        (difference.a, difference.b) if difference.difference > 0 else (difference.b, difference.a)
    )
    return (
        f"{above} rates {points(difference.difference, unit)} higher than {below}"
        f"{in_brackets(interval(*ends), p_adjusted(difference.p_adjusted))}"
    )


def _points(value: float, unit: str) -> str:
    return f"{points(value, unit)} {'higher' if value > 0 else 'lower'}"
