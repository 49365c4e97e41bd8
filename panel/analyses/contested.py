"""List the responses on which personas disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import click

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis, once_per_run
from persona_panel.results.conclusions.wording import counted, first_upper
from persona_panel.results.definitions import SPREAD
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, for_programs, row_of
from persona_panel.statistics.core.display import number, signed
from persona_panel.statistics.core.estimate import Estimate

if TYPE_CHECKING:
    from persona_panel.analyses.inputs import RunSource
    from persona_panel.runs.run import Run
    from persona_panel.runs.scale_limits import FigureUnit
    from persona_panel.statistics.core.arrays import Array
    from persona_panel.statistics.personas import (
        ContestedResponse,
        PersonaCells,
        ResponseDepartures,
    )

_NAMED = 3
"""The largest number of personas named on each side."""
_APART = 0.005
"""Below it a departure is shown as 0.00."""


@dataclass(frozen=True, slots=True)
class Contested:
    """A response, and how far personas disagree about it; see `persona_panel.statistics.personas`.

    Attributes:
        title: the beginning of the prompt; the prompt's id where no text is known.
        spread: the standard deviation between personas beyond noise, in points, or in what
            `unit_of_departures` says; NaN with `reason`.
        by_dimension: the same by dimension id.
        share: of the variance between judges, their severity taken out, what lies between personas.
        p_adjusted: that they differ by noise alone, by Holm over all responses.
        established: whether they differ by more than noise.
        departures: each persona's mean above (+) or below (−) the panel's, severity taken out, on
            the mean of the dimensions.
        named: the personas whose departure alone is more than noise, corrected over all.
        why: sentences: on which dimension, who stands on which side, how far, and how axes stand to
            each other; empty with `reason`.
    """

    prompt_id: str
    id: str
    system: str
    title: str
    spread: float
    by_dimension: Mapping[str, float]
    share: float
    p: float
    p_adjusted: float
    established: bool
    departures: Mapping[str, float]
    named: tuple[str, ...]
    why: tuple[str, ...]
    reason: str | None


@analysis(
    "Contested responses",
    parameters.run(),
    parameters.Option(
        "--top",
        metavar="K",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        help="How many responses to list.",
    ),
    group="Panel",
    example="runs/first --top 5",
    requirements=("contested_responses <= 3",),
)
def contested(run: RunSource, *, top: int | None = 10) -> Result:
    """List the responses of RUN on which its personas disagree most, with reasons.

    RUN is a run's folder. The measure is the standard deviation between personas, in points (or in
    shares of the scale's width, where dimensions have different scales), once the severity of
    judges and the noise are taken out: by how much models of one persona differ, or, of one model,
    its replicates. Responses on which personas differ by more than noise explains (adjusted p below
    0.05) come first, the widest spread before the others. With one persona, one model and one
    replicate, or without a dimension with numbers, nothing can be said.

    Args:
        run: a run's folder, or a run.
        top: how many responses to list; None: all.

    Raises:
        InputError: there is no run in that folder.
    """
    from persona_panel.analyses.inputs import opened_run

    opened = opened_run(run)
    return contested_result(opened, top, source="" if opened is run else str(run))


def contested_result(
    run: Run,
    top: int | None = 10,
    *,
    source: str = "",
    titles: Mapping[str, str] | None = None,
) -> Result:
    """Return the result of a run, called `source`: the `top` responses (None: all); `titles` are
    the beginnings of prompts by their ids, those of the run by default."""
    called = run.titles if titles is None else titles
    result = ranked_responses(run)
    listed = [
        replace(each, title=called.get(each.prompt_id, each.prompt_id))
        for each in most_contested(run, top)
    ]
    unit = unit_of_departures(run)
    keys = Key("system", "system"), Key("prompt_id", "prompt"), Key("id", "response")
    spread = Column("spread", "estimate", "spread", p="column", figure="spread")
    columns = (
        Column("title", "text"),
        spread,
        Column("share", "number"),
        Column("established", "flag"),
        *for_programs("texts", "named", "why"),
    )
    rows = [
        row_of(
            each,
            (*keys, *columns),
            response=headline(each),
            spread=Estimate(
                each.spread, p=each.p, p_adjusted=each.p_adjusted, unit=unit.plural,
                reason=each.reason and str(each.reason),
            ),
        )
        for each in listed
    ]  # fmt: skip
    tested = sum(each.reason is None for each in result)
    n_contested = sum(each.shown for each in result) if tested else None
    counts = Table(
        "counts",
        (),
        (
            *for_programs("whole", "responses", "tested"),
            Column("contested", "whole", figure="contested_responses"),
        ),
        [{"responses": len(result), "tested": tested, "contested": n_contested}],
    )
    more = len(result) - len(listed)
    rest = f"{counted(more, 'more response')}: --top {len(result)} lists all."
    return Result(
        "contested",
        contested_conclusion(result),
        (
            _for_people(run, listed, rows, spread) if tested else _widest(run, top, called),
            Table("responses", keys, columns, rows),
            *_details(keys, listed),
            counts,
        ),
        [rest] if more and any(each.reason is None for each in listed) else [],
        source=source,
        coverage=run.coverage,
    )


def _details(keys: Sequence[Key], listed: Sequence[Contested]) -> Iterator[Table]:
    """Yield the spread of responses by dimension, and personas' departures, for programs."""
    yield Table(
        "dimensions",
        (*keys, Key("dimension", "dimension")),
        (Column("spread", "number"),),
        [
            row_of(each, keys, dimension=name, spread=value)
            for each in listed
            for name, value in each.by_dimension.items()
        ],
    )
    yield Table(
        "departures",
        (*keys, Key("persona", "persona")),
        (Column("departure", "number", signed=True), Column("established", "flag")),
        [
            row_of(each, keys, persona=name, departure=value, established=name in each.named)
            for each in listed
            for name, value in each.departures.items()
        ],
    )


def _for_people(
    run: Run, listed: Sequence[Contested], rows: Sequence[Mapping[str, Any]], spread: Column
) -> Table:
    """Return the responses that could be tested, each with why it is contested; `rows` are of the
    table for programs."""
    shown = [(each, row) for each, row in zip(listed, rows, strict=True) if each.reason is None]
    verdicts = {(entry.prompt_id, entry.id): entry for entry in run.verdicts}
    title = _title([each for each, _ in shown])
    return Table(
        "contested",
        (Key("response", "response"),),
        (
            spread,
            Column(
                "share",
                "number",
                "share of variance\nbetween judges",
                definition="variance between personas by that between judges, severity taken out "
                f"({SPREAD})",
            ),
            Column("composite", "number", "composite", full=True),
            Column("n_judges", "whole", "judges", of="n_asked", full=True),
        ),
        [
            {**row}
            | {name: getattr(verdicts.get((each.prompt_id, each.id)), name, None)
               for name in ("composite", "n_judges", "n_asked")}
            for each, row in shown
        ],
        f"{title} (spread in {unit_of_departures(run).plural})",
        remarks=[f"{row['response']}: {' '.join(row['why'])}" for _, row in shown],
        programs=False,
    )  # fmt: skip


def _title(listed: Sequence[Contested]) -> str:
    """Return the title: contested responses, or the widest spreads and how many are contested."""
    n = sum(each.established for each in listed)
    if n == len(listed):
        return "Most contested responses"
    those = f"{n:,} contested" if n else "none shown to be contested"
    return f"Responses with the widest spread between personas, {those}"


def _widest(run: Run, top: int | None, titles: Mapping[str, str]) -> Table:
    """The responses with the widest spread of ratings, where noise is not known."""
    spread = spreads(run)
    rows = [
        {**item._asdict(), "spread": float(spread[row])}
        | {"response": _headline(*item, titles.get(item.prompt_id, item.prompt_id))}
        for row in by_disagreement(run)[:top]
        if spread[row] > 0
        for item in [run.items[row]]
    ]
    return Table(
        "contested", (Key("response", "response"),), (Column("spread", "number", "spread"),), rows,
        "Responses with the widest spread of ratings: standard deviation over judges, mean over "
        "dimensions; what of it is noise is not known",
        programs=False,
    )  # fmt: skip


@once_per_run
def by_disagreement(run: Run) -> list[int]:
    """Return the places of all responses in the run, the most contested first; where noise is not
    known, as with one model, by the spread of their ratings."""
    measured = ranked_responses(run) if run.rubric.numeric and run.items else ()
    if any(entry.reason is None for entry in measured):
        return [entry.response for entry in measured]
    spread = spreads(run)
    return sorted(range(len(spread)), key=lambda row: (not spread[row] >= 0, -spread[row]))


@once_per_run
def spreads(run: Run) -> Array:
    """Return the standard deviation of each response's ratings over judges, mean over dimensions;
    NaN where fewer than two judges, or fewer than half of them, rated."""
    import numpy as np

    from persona_panel.statistics.core.arrays import variance_there

    numeric = [d for d, name in enumerate(run.dimensions) if name not in run.categories]
    if not numeric or not run.items:
        return np.full(len(run.items), np.nan)
    ratings = run.ratings[np.ix_(range(len(run.items)), run.ranking_columns()[0], numeric)]
    n = (~np.isnan(ratings)).sum(axis=1)
    sd = np.sqrt(variance_there(ratings, 1))
    enough = n.max(axis=1) >= max(2, len(run.ranking_columns()[0]) / 2)
    measured: Array = np.where(enough, sd.mean(axis=1), np.nan)
    return measured


def headline(of: Contested) -> str:
    """Return which response it is: system, ids of prompt and response, how the prompt begins."""
    return _headline(of.prompt_id, of.id, of.system, of.title)


def _headline(prompt_id: str, id_: str, system: str, title: str) -> str:
    ids = f"{system}, {prompt_id}/{id_}"
    return ids if title == prompt_id else f"{ids} ({title})"


def contested_conclusion(responses: Sequence[ContestedResponse]) -> list[str]:
    """Return how many of all responses of a run are contested, or why that is not known, in a
    sentence; none of no response."""
    if not responses:
        return []
    why = "; ".join(
        dict.fromkeys(str(each.reason) for each in responses if each.reason is not None)
    )
    tested = sum(each.reason is None for each in responses)
    n = sum(each.shown for each in responses)
    if not tested:
        return [f"Which responses are contested is not known: {why}."]
    if not n:
        return [
            f"No response is shown to be contested: on none of {tested:,} do personas differ by "
            "more than noise explains."
        ]
    untested = f" Not every response could be tested ({why})." if why else ""
    return [
        f"{n:,} of {counted(tested, 'response')} {'is' if n == 1 else 'are'} contested: personas "
        f"differ by more than noise explains (adjusted p < 0.05).{untested}"
    ]


def most_contested(run: Run, top: int | None = None) -> list[Contested]:
    """Return the `top` responses (None: all), the most contested first: those on which personas
    differ by more than noise, widest spread first; then the others.

    Over the rubric's dimensions with numbers; where they are on different scales, each is divided
    by the width of its scale, and points are shares of it.
    """
    from persona_panel.analyses.judge_groups import RunCells, axes_of, labels_of_personas

    personas, dimensions = RunCells.of(run).dimensions.personas, RunCells.of(run).names
    seen, unit = _departures(run), unit_of_departures(run).after_number
    labels = {dimension.id: dimension.label for dimension in run.rubric.dimensions}
    names, axes = labels_of_personas(run), axes_of(run)
    of_personas = [names[persona] for persona in personas]
    sides = [axes.get(persona, "") for persona in personas]
    on = [labels[name] for name in dimensions]

    def of(entry: ContestedResponse) -> Contested:
        item, row = run.items[entry.response], entry.response
        by_dimension = seen.by_dimension[row]
        return Contested(
            *item,
            title=run.titles.get(item.prompt_id, item.prompt_id),
            spread=entry.value,
            by_dimension=dict(zip(dimensions, entry.by_dimension, strict=True)),
            share=entry.share,
            p=entry.p,
            p_adjusted=entry.p_adjusted,
            established=entry.shown,
            departures=dict(zip(personas, seen.departures[row].tolist(), strict=True)),
            named=tuple(compress(personas, seen.shown[row])),
            why=()
            if entry.reason is not None
            else reasons(entry, on, of_personas, sides, by_dimension, unit),
            reason=entry.reason,
        )

    return [of(entry) for entry in ranked_responses(run)[:top]]


def unit_of_departures(run: Run) -> FigureUnit:
    """Return what the spread and the departures of contested responses are in."""
    from persona_panel.runs.scale_limits import SHARES_OF_WIDTH, on_one_scale, unit_of_ratings

    return unit_of_ratings(run.rubric) if on_one_scale(run.rubric) else SHARES_OF_WIDTH


@once_per_run
def ranked_responses(run: Run) -> tuple[ContestedResponse, ...]:
    """Return all responses of the run, each with its place in it, in the order of
    `most_contested`."""
    from persona_panel.statistics.personas import contested_responses

    return tuple(contested_responses(_cells(run)))


@once_per_run
def _departures(run: Run) -> ResponseDepartures:
    from persona_panel.statistics.personas import response_departures

    return response_departures(_cells(run))


def _cells(run: Run) -> PersonaCells:
    from persona_panel.analyses.judge_groups import RunCells

    cells = RunCells.of(run)
    return cells.dimensions if cells.one_scale else cells.in_shares(run)


def reasons(
    response: ContestedResponse,
    dimensions: Sequence[str],
    personas: Sequence[str],
    axes: Sequence[str],
    by_dimension: Array,
    unit: str = " points",
) -> tuple[str, ...]:
    """Return where personas differ, in sentences.

    Args:
        dimensions, personas: their labels.
        axes: of each persona, empty where it is not known.
        by_dimension: departures `(personas, dimensions)`, severity taken out.
        unit: what follows a difference; nothing where ratings are shares of preferences.
    """
    import numpy as np

    if not response.value > 0:
        return ("Personas differ by no more than models do for one persona.",)
    place = int(np.nanargmax(response.by_dimension))
    sentences = []
    if not response.shown:
        sentences.append(f"Noise alone may explain it (adjusted p {response.p_adjusted:.2g}).")
    if len(dimensions) > 1:
        widest = f"standard deviation {number(response.by_dimension[place])}{unit}"
        sentences.append(f"Personas differ most on {dimensions[place]} ({widest}).")
    on = by_dimension[:, place]
    far = max(_APART, response.by_dimension[place] / 2)
    sides = []
    for word, sign in (("above", 1), ("below", -1)):
        order = [p for p in np.argsort(-sign * on, kind="stable") if sign * on[p] > far]
        if order:
            those = ", ".join(f"{personas[p]} ({signed(on[p])})" for p in order[:_NAMED])
            more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
            sides.append(f"{word} the panel {'are' if len(order) > 1 else 'is'} {those}{more}")
    if sides:
        both = "; ".join(sides)
        sentences.append(f"On it, {both}." if len(dimensions) > 1 else f"{first_upper(both)}.")
    return (*sentences, *_of_axes(axes, on, unit))


def _of_axes(axes: Sequence[str], on: Array, unit: str) -> list[str]:
    """Return how axes of two personas or more stand to each other on a dimension."""
    import numpy as np

    sides = {axis: on[[own == axis for own in axes]] for axis in dict.fromkeys(axes) if axis}
    means = {
        axis: float(np.nanmean(those))
        for axis, those in sides.items()
        if np.sum(~np.isnan(those)) > 1
    }
    if len(means) < 2:
        return []
    high, low = max(means, key=lambda axis: means[axis]), min(means, key=lambda axis: means[axis])
    apart = means[high] - means[low]
    n_high, n_low = (int(np.sum(~np.isnan(sides[axis]))) for axis in (high, low))
    above, below = int(np.sum(sides[high] > _APART)), int(np.sum(sides[low] < -_APART))
    return [
        f"On average {high} personas are {number(apart)}{unit} above {low} ones on it: {above} of "
        f"the {n_high} {high} personas {'is' if above == 1 else 'are'} above the panel, {below} of "
        f"the {n_low} {low} personas below it."
    ]
