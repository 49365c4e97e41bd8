"""What deliberation did, as tables in a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from persona_panel.reports.formats.terminal.rows import remark
from persona_panel.results.conclusions.judge_names import left_out_of, short_ids
from persona_panel.results.console import TableRow, is_narrow, show_table
from persona_panel.runs.deliberation import DeliberationReport
from persona_panel.statistics.core.arrays import Statistic
from persona_panel.statistics.core.display import NONE, number, percent, signed
from persona_panel.statistics.core.display import p_value as told_p
from persona_panel.statistics.deliberation import TowardHumans
from persona_panel.statistics.revisions import Change, Conformity, Influence

_JUDGES_SHOWN = 10
_PERSONAS_SHOWN = 12
_INFLUENCE = (
    "How far row personas moved toward (+) or away from (−) column personas: of the changed "
    "ratings, the share that moved nearer less the share that moved farther, from -1 to 1."
)


def show_deliberation(
    found: DeliberationReport, console: Console, labels: Mapping[str, str]
) -> None:
    """What changed, toward whom, what it did to the rankings, and whether it brought the panel
    nearer to the human ratings.

    `labels` are the dimensions' labels by their ids.
    """
    moves = found.conformity.all.n_moves
    of = sum(means.n for means in found.dimensions.values())
    console.print(
        Text(
            f"{found.n_deliberated:,} of {found.n_responses:,} responses were deliberated; "
            f"{moves:,} of {of:,} ratings changed by half a step or more.",
            "bold",
        )
    )
    if not found.n_deliberated:
        return
    _show_dimensions(found, labels, console)
    if moves:
        _show_conformity(found, console)
        _show_influence(found.influence, console)
        remark(console, _INFLUENCE)
        console.print()
        _show_judges(found, console)
    _show_rankings(found, console)
    if found.humans is not None:
        _show_humans(found.humans, labels, console)
        for direction in dict.fromkeys(one.direction for one in found.humans.values()):
            names = _listed(
                labels.get(name, name)
                for name, one in found.humans.items()
                if one.direction is direction
            )
            why = {one.reason for one in found.humans.values() if one.direction is direction}
            said = "; ".join(reason for reason in why if reason)
            console.print(Text(f"{names}: {direction}{f' ({said})' if said else ''}.", "bold"))


def _show_dimensions(
    found: DeliberationReport, labels: Mapping[str, str], console: Console
) -> None:
    lines = []
    for name, means in found.dimensions.items():
        spread = found.spread[name]
        cells = (
            _arrow(means.before, means.after),
            f"{means.n_moved:,} of {means.n:,}",
            _arrow(spread.before, spread.after),
            _interval(spread),
        )
        lines.append(_line(labels.get(name, name), *cells))
    columns = ["mean", "changed", "spread of judges", "change of spread"]
    show_table(console, "Before and after", ["dimension"], columns, lines)


def _show_conformity(found: DeliberationReport, console: Console) -> None:
    rows: dict[str, Conformity] = {
        "with a stated reason": found.conformity.stated,
        "without one": found.conformity.unstated,
        "all": found.conformity.all,
    }
    lines = [
        _line(
            name,
            f"{one.n_moves:,}",
            f"{one.n_toward:,}",
            f"{one.n_away:,}",
            f"{one.n_undefined:,}",
            _percent(one.share),
        )
        for name, one in rows.items()
    ]
    columns = ["total", "toward", "away", "neither", "share toward"]
    title = "Changed ratings: toward or away from the mean of the other judges"
    show_table(console, title, ["changes"], columns, lines)


def _show_influence(found: Influence, console: Console) -> None:
    """A row for each persona that changed a rating, a column for each that it moved toward or away
    from; of many personas, the sums of the columns alone."""
    people = list(enumerate(found.personas))
    if len(people) <= _PERSONAS_SHOWN:
        lines = [
            _line(f"{row + 1} {name}", *(_net(found.cell(row, column)) for column, _ in people))
            for row, name in people
        ]
        lines.append(_line("all", *(_net(found.pull(column)) for column, _ in people)))
        columns = [f"{place + 1}" for place, _ in people]
        show_table(console, "Influence between personas", ["persona"], columns, lines)
        return
    pulls = sorted(
        ((found.pull(place), name) for place, name in people),
        key=lambda pull: math.inf if pull[0].reason else -pull[0].value,
    )
    lines = [_line(name, _net(pull), f"{pull.n_items:,}") for pull, name in pulls[:_PERSONAS_SHOWN]]
    columns = ["influence on all", "changes"]
    show_table(console, "Influence between personas", ["persona"], columns, lines)


def _show_judges(found: DeliberationReport, console: Console) -> None:
    movers = sorted(
        ((judge, means) for judge, means in found.judges.items() if means.n_moved),
        key=lambda one: -one[1].n_moved / one[1].n,
    )
    ids = [judge.id for judge in found.judges]
    names = short_ids(ids) if is_narrow(console) else {}
    lines = [
        _line(
            names.get(judge.id, judge.id),
            _arrow(means.before, means.after),
            f"{means.n_moved:,} of {means.n:,}",
        )
        for judge, means in movers[:_JUDGES_SHOWN]
    ]
    show_table(console, "Judges with most changed ratings", ["judge"], ["mean", "changed"], lines)
    if names and (told := left_out_of(ids)):
        remark(console, told)
        console.print()


def _show_rankings(found: DeliberationReport, console: Console) -> None:
    rankings = found.rankings
    told = (
        f"{rankings.n_swapped:,} of {rankings.n_pairs:,} pairs of responses to one prompt changed "
        f"their order, {rankings.n_tied:,} became ties, {rankings.n_untied:,} ties were broken"
    )
    inside = rankings.tau_b.mean
    if not inside.reason:
        told += f"; τ_b before to after {number(inside.value)}"
    console.print(Text(f"{told}."))
    if not rankings.reranked:
        console.print(Text("No system changed its rank."))
        return
    lines = [
        _line(
            one.system,
            f"{one.rank_before or '-'} → {one.rank_after or '-'}",
            _arrow(one.before, one.after),
        )
        for one in rankings.reranked
    ]
    columns = ["rank", "composite"]
    show_table(console, "Systems that changed their rank", ["system"], columns, lines)


def _show_humans(
    found: Mapping[str, TowardHumans], labels: Mapping[str, str], console: Console
) -> None:
    lines = [
        _line(
            labels.get(name, name),
            _change(one.tau_c, one.p_tau_c),
            _change(one.distance, one.p_distance),
            _change(one.spread, one.p_spread),
            f"{one.n_prompts:,}",
        )
        for name, one in found.items()
    ]
    title = "Agreement with human ratings, and spread among judges: before → after"
    show_table(console, title, ["dimension"], ["τ_c", "distance", "spread", "prompts"], lines)


def _line(label: str, *cells: str) -> TableRow:
    return TableRow(label, [Text(cell) for cell in cells])


def _change(change: Change, p_value: float) -> str:
    if change.reason:
        return change.reason
    told = f"{_arrow(change.before, change.after)}\n{_interval(change)}"
    return told if math.isnan(p_value) else f"{told}\np {told_p(p_value)}"


def _interval(change: Change) -> str:
    if change.reason or change.interval is None:
        return NONE
    if change.interval.reason:
        return f"{signed(change.change)}"
    low, high = change.interval.low, change.interval.high
    return f"{signed(change.change)} [{signed(low)}, {signed(high)}]"


def _arrow(before: float, after: float) -> str:
    return NONE if math.isnan(before) else f"{number(before)} → {number(after)}"


def _net(estimate: Statistic) -> str:
    return NONE if estimate.reason else signed(estimate.value)


def _percent(estimate: Statistic) -> str:
    return NONE if estimate.reason else percent(estimate.value)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
