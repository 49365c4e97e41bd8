"""Differences between a run's personas, axes and models; and how far its judges agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

from numpy import argwhere, isnan

from persona_panel.analyses.contested import (
    by_disagreement,
    contested_conclusion,
    most_contested,
    ranked_responses,
    unit_of_departures,
)
from persona_panel.analyses.judge_groups import (
    GroupComparison,
    PersonaDepartures,
    axes_of,
    axis_differences,
    labels_of_personas,
    model_differences,
    persona_departures,
)
from persona_panel.results.conclusions.wording import (
    SAMPLES,
    counted,
    first_of,
    grouped,
    in_brackets,
    listed,
    points,
)
from persona_panel.results.result import Result
from persona_panel.results.table import CellKind, Column, Key, Table, row_of
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import (
    composite_limits,
    composite_terms,
    unit_of,
    unit_of_ratings,
)
from persona_panel.statistics.core.arrays import (
    DEFAULT_OPTIONS,
    Array,
    MeasurementLevel,
)
from persona_panel.statistics.core.display import signed
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.registry import interval_of
from persona_panel.statistics.personas import (
    ALL_SYSTEMS,
    Departure,
    GroupDifference,
    ResponseDepartures,
)
from persona_panel.statistics.reliability import krippendorff_alpha

_SHOWN = 2
"""The largest number of significant personas and groups that are named."""
_CONTESTED = 10
_RESPONSES = 20
"""The most responses in a heat map; of more, these are the most contested."""
_LARGEST = 5
_EXAMPLES = 3
_ROWS = 8
_ABOVE = "How far above (+) or below (−) the panel on the same responses, in {}"
_TINTED = (
    "Tinted: the 95 % interval over prompts leaves out 0. Underlined: significant after Holm's "
    "correction over the table."
)


def differs_document(run: Run) -> dict[str, Any]:
    """Return what summary.json says of who differs: `differs`, and `contested`, how many responses
    are in sentences and the first of them; nothing of a run of categories, and of what there is
    only one of, or where nothing was scored."""
    if not (run.rubric.numeric and run.coverage.scored) or not (sentences := who_differs(run)):
        return {}
    shown = [item for item in most_contested(run, _CONTESTED) if item.established]
    return {
        "differs": sentences,
        "contested": {
            "conclusion": contested_conclusion(ranked_responses(run)),
            "responses": [asdict(item) for item in shown],
        },
    }


def who_differs_result(run: Run, systems: Sequence[str], titles: Mapping[str, str]) -> Result:
    """Return who differs as a result.

    Args:
        systems: in the order in which they are shown.
        titles: the beginnings of prompts, by their ids.
    """
    tables: list[Table] = []
    if run.rubric.numeric and run.items:
        measured = persona_departures(run)
        if len(measured.personas) > 1:
            tables += _persona_tables(run, measured, systems, titles)
        for differences in (axis_differences(run), model_differences(run)):
            tables += _group_tables(run, differences)
    if len(run.ranking_columns()[0]) > 1:
        tables.append(_agreement(run))
    sentences = who_differs(run) if run.rubric.numeric and run.coverage.scored else []
    nobody = [] if tables else ["One judge alone has nobody to differ from."]
    return Result("differences", [*sentences, *nobody], tables)


def _persona_tables(
    run: Run, measured: PersonaDepartures, systems: Sequence[str], titles: Mapping[str, str]
) -> Iterator[Table]:
    """Yield personas beside the panel: in all, by system, by dimension and by response."""
    axes, names, least = axes_of(run), labels_of_personas(run), _deepest(run)
    several = len(set(axes.values())) > 1
    keys = (*([Key("axis", "axis")] if several else []), Key("persona", "persona", labels=names))
    people = [{"axis": axes.get(name, ""), "persona": name} for name in measured.personas]
    labels = {entry.id: entry.label for entry in run.rubric.dimensions}
    units = unit_of(run.rubric).plural, unit_of_ratings(run.rubric).plural
    there = dict.fromkeys(entry.on for entry in measured.by_system)
    by_system = {name: name for name in systems if name in there}
    by_dimension = {entry.on: labels[entry.on] for entry in measured.by_dimension}
    for name, title, cells, on, unit in (
        ("personas_by_system", "Persona and system", measured.by_system, by_system, units[0]),
        (
            "personas_by_dimension", "Persona and dimension", measured.by_dimension, by_dimension,
            units[1],
        ),
    ):  # fmt: skip
        of = {(entry.persona, entry.on): entry for entry in cells}
        rows = [
            row | {f"c{n}": of[row["persona"], each] for n, each in enumerate(on)} for row in people
        ]
        columns = tuple(Column(f"c{n}", "estimate", head) for n, head in enumerate(on.values()))
        if len(on) > 1:
            yield Table(
                name, keys, columns, rows, title, heat=least, programs=False,
                remarks=[f"{_ABOVE.format(unit)}, the persona's own severity taken out. {_TINTED}"],
            )  # fmt: skip
    severity = Column("departure", "estimate", "severity", signed=True, p="column")
    rows = [
        row | {"departure": entry} for row, entry in zip(people, measured.severities, strict=True)
    ]
    remarks = [f"{_ABOVE.format(units[0])}; p is adjusted by Holm's method over the table."]
    yield Table("severity", keys, (severity,), rows, "Severity", remarks=remarks)
    yield _by_response(run, measured, names, systems, titles)


def _deepest(run: Run) -> float:
    """Return the departure from which on the tint is deepest: a ninth of the scale."""
    low, high = composite_limits(run.rubric)
    return (high - low) / 9 if isfinite(high - low) else 0.0


def _by_response(
    run: Run,
    measured: PersonaDepartures,
    names: Mapping[str, str],
    systems: Sequence[str],
    titles: Mapping[str, str],
) -> Table:
    """The departures on the most contested responses, by system and in the order of the run."""
    seen = measured.by_response
    chosen = sorted(by_disagreement(run)[:_RESPONSES])
    rows = [
        {
            **item._asdict(),
            "response": titles.get(item.prompt_id, item.prompt_id),
            **{
                f"c{place}": float(value)
                if seen.reason is not None
                else Estimate(
                    value, p=seen.p[row, place], p_adjusted=seen.p_adjusted[row, place], exact=True
                )
                for place, value in enumerate(seen.departures[row].tolist())
            },
        }
        for system in systems
        for row in chosen
        for item in [run.items[row]]
        if item.system == system
    ]
    kind: CellKind = "estimate" if seen.reason is None else "number"
    columns = tuple(
        Column(f"c{n}", kind, names[entry]) for n, entry in enumerate(measured.personas)
    )
    sentences = [
        f"{_ABOVE.format(unit_of_departures(run).plural)}, the persona's own severity taken out."
    ]
    if (left_out := len(run.items) - len(rows)) > 0:
        sentences[0] += f" The most contested responses; {left_out:,} others are not shown."
    if seen.reason is not None:
        sentences.append(f"What of this is noise is not known: {seen.reason}.")
    else:
        n, beyond = int((~isnan(seen.departures)).sum()), int(seen.beyond_chance.sum())
        n_shown = int(seen.shown.sum())
        sentences.append(
            f"A dot is within what noise exceeds in 5 % of cells. Of {n:,} cells of all responses "
            f"{beyond:,} are beyond it, where noise alone would put about {round(n * 0.05):,}; "
            f"{counted(n_shown, 'cell')} {'is' if n_shown == 1 else 'are'} significant one by one "
            "(underlined)."
        )
    places = sorted(
        map(tuple, argwhere(seen.shown).tolist()), key=lambda at: -abs(seen.departures[at])
    )
    largest = [
        f"{names[measured.personas[persona]]} on {item.system}: "
        f"{titles.get(item.prompt_id, item.prompt_id)}, {signed(seen.departures[row, persona])}"
        for row, persona in places[:_LARGEST]
        for item in [run.items[row]]
    ]
    sentences += [f"The largest that are significant: {'; '.join(largest)}."] if largest else []
    keys = Key("system", "system"), Key("response", "response")
    return Table(
        "personas_by_response", keys, columns, rows, "Persona and response: what means hide",
        heat=_deepest(run), programs=False, remarks=sentences,
    )  # fmt: skip


def _group_tables(run: Run, measured: GroupComparison) -> Iterator[Table]:
    """Yield how groups of judges differ over all systems, then on dimensions and systems."""
    if not measured.differences:
        return
    rows = [entry for entry in measured.differences if entry.system == ALL_SYSTEMS]
    if len(rows) > _ROWS:
        rows = [entry for entry in rows if entry.dimension == rows[0].dimension]
    others = [entry for entry in measured.differences if entry not in rows]
    labels = {entry.id: entry.label for entry in run.rubric.dimensions}
    remarks = [
        f"On the same responses, in {group_units(run)}; intervals and p are "
        f"{SAMPLES[measured.random]}, p adjusted by Holm's method over the whole table, single "
        "systems included."
    ]
    shown = sorted(
        (entry for entry in measured.interactions if entry.shown), key=lambda o: -abs(o.value)
    )
    if shown:
        examples = "; ".join(
            f"{entry.a} − {entry.b} on {entry.system}, "
            f"{labels.get(entry.dimension, entry.dimension)}, "
            f"{signed(entry.value)} beyond the difference on the other systems ({entry.p_text()})"
            for entry in shown[:_EXAMPLES]
        )
        of = counted(len(measured.interactions), "interaction")
        remarks.append(
            f"They see systems differently: of {of} with systems {len(shown)} "
            f"{'is' if len(shown) == 1 else 'are'} significant, such as {examples}."
        )
    elif measured.interactions:
        remarks.append(
            "That they see systems differently is not shown in any of "
            f"{counted(len(measured.interactions), 'interaction')}. Differences that cancel over "
            "prompts do not show here: see the heat map of responses."
        )
    keys = (
        *(Key("a", "difference"), Key("b")),
        *(Key("system", "system"), Key("dimension", "on", labels=labels)),
    )
    columns = (
        Column("difference", "estimate", "difference", p="column"),
        Column("verdict", "text", "verdict"),
    )
    titles = {"axis": "Axis against axis", "model": "Model against model, persona by persona"}
    whole, further = (
        [row_of(entry, keys, difference=entry, verdict=_verdict(entry)) for entry in those]
        for those in (rows, others)
    )
    yield Table(
        measured.kind, keys, columns, whole, titles[measured.kind], sides=("a", "b"),
        remarks=remarks,
    )  # fmt: skip
    yield Table(
        f"{measured.kind}_by", keys, columns, further, "By dimension and on each system", "full",
        sides=("a", "b"),
    )  # fmt: skip


def group_units(run: Run) -> str:
    """Return what the differences between groups of judges are in, on the composite and on
    dimensions."""
    whole, single = unit_of(run.rubric), unit_of_ratings(run.rubric)
    if whole == single or not run.rubric.numeric:
        return whole.plural
    return f"{whole.plural} (on single dimensions, {single.plural})"


def _verdict(entry: GroupDifference) -> str:
    if entry.reason is not None:
        return "not tested"
    return f"higher: {entry.from_above.a}" if entry.shown else "not significant"


def _agreement(run: Run) -> Table:
    """Return Krippendorff's α of the composite and each dimension, with each model's."""
    columns = run.ranking_columns()[0]
    of_model = grouped(columns, lambda column: run.judges[column].model)
    if len(of_model) < 2 or any(len(those) < 2 for those in of_model.values()):
        of_model = {}
    prompts = [item.prompt_id for item in run.items]
    rows: list[dict[str, Any]] = []
    for label, level, ratings in _rated(run):
        whole = krippendorff_alpha(ratings[:, columns], level)
        interval = interval_of(whole, prompts, DEFAULT_OPTIONS)
        alpha = Estimate(whole.value, over="prompts", reason=whole.reason)
        if interval is not None:
            why = whole.reason or interval.reason
            alpha = replace(alpha, low=interval.low, high=interval.high, reason=why)
        by_model = {
            model: krippendorff_alpha(ratings[:, those], level).value
            for model, those in of_model.items()
        }
        rows.append({"dimension": label, "level": level, "alpha": alpha} | by_model)
    return Table(
        "alpha",
        (Key("dimension", "dimension"),),
        (
            Column("alpha", "estimate", "α"),
            *(Column(model, "number", model) for model in of_model),
            Column("level", "text", "level of measurement"),
        ),
        rows,
        "Agreement: Krippendorff's α",
        remarks=[
            "1 is perfect agreement, 0 what ratings drawn at random give. The intervals are over "
            "prompts.",
            *(["Below the name of a model: of its judges alone."] if of_model else []),
        ],
    )


def _rated(run: Run) -> Iterator[tuple[str, MeasurementLevel, Array]]:
    """Yield what is rated, at which level, and the ratings `(responses, judges)`."""
    terms = composite_terms(run.ratings, run.rubric, run.dimensions, run.categories)
    if terms is not None and terms.shape[2] > 1:
        yield "Composite", "ordinal", terms.mean(axis=2)
    for place, dimension in enumerate(run.rubric.dimensions):
        level: MeasurementLevel = "nominal" if dimension.id in run.categories else "ordinal"
        yield dimension.label, level, run.ratings[:, :, place]


def who_differs(run: Run) -> list[str]:
    """Return a sentence each on personas and systems, personas and single responses, axes, and
    models; none on what there is only one of."""
    departures, names = persona_departures(run), labels_of_personas(run)
    unit = unit_of(run.rubric).after_number
    axes, models = axis_differences(run), model_differences(run)
    sentences = []
    if len(departures.personas) > 1:
        if len({item.system for item in run.items}) > 1:
            cells = [replace(entry, persona=names[entry.persona]) for entry in departures.by_system]
            sentences.append(personas_and_systems(cells, unit))
        sentences.append(personas_and_responses(departures.by_response, unit))
    for what, element in (("Axes", axes), ("Models", models)):
        if element.differences:
            sentences.append(groups(what, element.differences, element.interactions, unit))
    return sentences


def personas_and_systems(cells: Sequence[Departure], unit: str = " points") -> str:
    """Return which personas see a system differently from the panel, severity taken out."""
    tested = [cell for cell in cells if cell.reason is None]
    if not tested:
        return f"Personas and systems: {_untested(cells)}."
    shown = sorted((item for item in tested if item.shown), key=lambda entry: entry.p_adjusted)
    if not shown:
        return (
            "Personas and systems: no persona is shown to rate a system differently from the panel "
            f"({counted(len(tested), 'cell')} tested, severity taken out)."
        )
    named = [
        f"{item.persona} rates {item.on} {points(item.value, unit)} "
        f"{'higher' if item.value > 0 else 'lower'} than the panel does"
        f"{in_brackets(item.p_text())}"
        for item in shown
    ]
    return f"Personas and systems, severity taken out: {first_of(named, _SHOWN)}."


def _untested(cells: Sequence[Estimate]) -> str:
    reasons = dict.fromkeys(str(cell.reason) for cell in cells if cell.reason is not None)
    return f"nothing can be tested ({'; '.join(reasons)})"


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
    whole = [of for of in differences if (of.system, of.dimension) == (ALL_SYSTEMS, first)]
    tested = [item for item in whole if item.reason is None]
    if not tested:
        return f"{what}: {_untested(whole)}."
    shown = sorted((item for item in tested if item.shown), key=lambda entry: -abs(entry.value))
    if shown:
        text = "; ".join(_pair(item, unit) for item in shown[:_SHOWN])
        if len(shown) > _SHOWN:
            more = len(shown) - _SHOWN
            text += f"; {counted(more, 'more pair')} {'differs' if more == 1 else 'differ'}"
    elif len(tested) == 1:
        element = tested[0]
        facts = in_brackets(
            f"{element.a} − {element.b}: {signed(element.value)}{unit}",
            element.interval(),
            element.p_text(),
        )
        text = f"{element.a} and {element.b} are not shown to differ{facts}"
    else:
        text = f"no two of {counted(len(tested), 'pair')} are shown to differ"
    return f"{what}: {text}{_interaction(interactions, first)}."


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
    above = difference.from_above
    return (
        f"{above.a} rates {points(above.value, unit)} higher than {above.b}"
        f"{in_brackets(above.interval(), above.p_text())}"
    )
