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
    """Return a sentence each on personas and systems, personas and single responses, axes, and
    models; none on what there is only one of."""
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


def personas_and_systems(cells: Sequence[Departure], unit: str = " points") -> str:
    """Return which personas see a system otherwise than the panel does, severity taken out."""
    tested = [one for one in cells if one.reason is None]
    if not tested:
        reasons = dict.fromkeys(str(one.reason) for one in cells if one.reason is not None)
        return f"Personas and systems: nothing can be tested ({'; '.join(reasons)})."
    shown = sorted((one for one in tested if one.shown), key=lambda one: one.p_adjusted)
    if not shown:
        return (
            "Personas and systems: no persona is shown to rate a system otherwise than the panel "
            f"({counted(len(tested), 'cell')} tested, severity taken out)."
        )
    named = [
        f"{one.persona} rates {one.on} {_points(one.beyond_severity, unit)} than the panel does"
        f"{in_brackets(p_adjusted(one.p_adjusted))}"
        for one in shown
    ]
    return f"Personas and systems, severity taken out: {first_of(named, _SHOWN)}."


def personas_and_responses(found: ResponseDepartures, unit: str = " points") -> str:
    """Return on how many responses a persona departs from the panel by more than noise."""
    if found.reason is not None:
        return f"Personas and single responses: nothing can be tested ({found.reason})."
    n_tested = int((found.p == found.p).sum())
    n_shown = int(found.shown.sum())
    if not n_shown:
        return (
            f"Personas and single responses: none of {n_tested:,} departures from the panel is "
            "beyond noise."
        )
    are = "is" if n_shown == 1 else "are"
    return (
        f"Personas and single responses: {n_shown:,} of {n_tested:,} departures from the panel "
        f"{are} beyond noise, up to {points(abs(found.departures[found.shown]).max(), unit)}."
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
    whole = [one for one in differences if one.system == ALL_SYSTEMS and one.dimension == first]
    tested = [one for one in whole if one.reason is None]
    if not tested:
        reasons = dict.fromkeys(one.reason for one in whole if one.reason is not None)
        return f"{what}: nothing can be tested ({'; '.join(map(str, reasons))})."
    shown = sorted((one for one in tested if one.shown), key=lambda one: -abs(one.difference))
    if shown:
        said = "; ".join(_pair(one, unit) for one in shown[:_SHOWN])
        if len(shown) > _SHOWN:
            more = len(shown) - _SHOWN
            said += f"; {counted(more, 'more pair')} {'differs' if more == 1 else 'differ'}"
    elif len(tested) == 1:
        one = tested[0]
        facts = in_brackets(
            f"{one.a} − {one.b}: {signed(one.difference)}{unit}",
            interval(one.ci_low, one.ci_high),
            p_adjusted(one.p_adjusted),
        )
        said = f"{one.a} and {one.b} are not shown to differ{facts}"
    else:
        said = f"no two of {counted(len(tested), 'pair')} are shown to differ"
    return f"{what}: {said}{_interaction(interactions, first)}."


def _interaction(rows: Sequence[GroupDifference], dimension: str) -> str:
    own = [one for one in rows if one.dimension == dimension and one.reason is None]
    if not own:
        return ""
    shown = [one for one in own if one.shown]
    if not shown:
        return "; none is shown to see systems differently"
    systems = list(dict.fromkeys(one.system for one in shown))
    return f"; they see systems differently: {listed(systems, 'systems')}"


def _pair(one: GroupDifference, unit: str) -> str:
    ends = turned(one.ci_low, one.ci_high, one.difference)
    above, below = (one.a, one.b) if one.difference > 0 else (one.b, one.a)
    return (
        f"{above} rates {points(one.difference, unit)} higher than {below}"
        f"{in_brackets(interval(*ends), p_adjusted(one.p_adjusted))}"
    )


def _points(value: float, unit: str) -> str:
    return f"{points(value, unit)} {'higher' if value > 0 else 'lower'}"
