"""Runs compared with the first of them, in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from persona_panel.analyses.comparison import shown
from persona_panel.analyses.comparison.labels import labelled_comparison
from persona_panel.analyses.comparison.result import ComparedRuns, RunComparison, RunDifference
from persona_panel.reports.formats.terminal.rows import remark, show_conclusion
from persona_panel.results.cells import FigureText, difference_cell, interval_below
from persona_panel.results.console import TableRow, has_ids, legible, show_table
from persona_panel.statistics.core.display import ends, number, p_value, signed
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.paired.panels import PairedFigure

_DIFFERENCES = (
    "a", "b", "b − a\n[95 % interval]", "p,\nadjusted", "effect\nsize", "wins/\nties/\nlosses",
)  # fmt: skip
_NARROWEST_NAME = 14
"""As far as names of dimensions are folded, so that the differences are one table at 80 columns."""
_ALIKE = ("τ_b within\nprompts", "τ_b", "α", "best:\nsame/\nshared/\nother")
_PEOPLE = (
    "τ_b,\na", "τ_b,\nb", "τ_b,\nb − a", "p,\nadjusted",
    "distance,\na", "distance,\nb", "distance,\nb − a", "p,\nadjusted",
)  # fmt: skip
_PLACES = ("ρ,\na", "ρ,\nb", "ρ,\nb − a", "p,\nadjusted", "ω,\na", "ω,\nb")


def show_run_comparison(found: RunComparison, console: Console) -> None:
    """What may be concluded, then each run's figures, then how to read them."""
    show_conclusion(found.conclusion, console)
    if not has_ids(console):
        found = labelled_comparison(found)
    for one in found.compared:
        _show_matching(one, console)
        title = shown.differences_title(legible(one.a), legible(one.b))
        _show_rows(title, "dimension", one.differences, console)
        if one.systems:
            _show_rows("Composite by system", "system", one.systems, console)
        if one.strata:
            _show_rows(shown.strata_title(found.by), found.by or "", one.strata, console)
            _show_apart(one, found.by or "", console)
        if one.alike:
            _show_alike(one, console)
        if one.people:
            _show_people(one, console)
            _show_places(one, found, console)
        if one.risen or one.fallen:
            _show_changed(one, console)
    for sentence in shown.how_to_read(found):
        remark(console, sentence)


def _show_matching(one: ComparedRuns, console: Console) -> None:
    what = f"{shown.what_differs(one)}: {legible(one.b)} compared with {legible(one.a)}"
    console.print(Text(what, "bold"))
    for sentence in shown.matching(one):
        console.print(Text(sentence))
    console.print()


def _show_rows(title: str, head: str, rows: Sequence[RunDifference], console: Console) -> None:
    lines = []
    for row in rows:
        cells = [
            Text(number(row.a_mean)),
            Text(number(row.b_mean)),
            difference_cell(row.difference, row.ci_low, row.ci_high),
            Text(p_value(row.p_adjusted)),
            Text(signed(row.effect_size)),
            Text(f"{row.wins}/{row.ties}/{row.losses}"),
        ]
        lines.append(TableRow(_name(row), cells))
    show_table(console, title, [head], _DIFFERENCES, lines, narrowest=_NARROWEST_NAME)
    reasons: dict[Reason, list[str]] = {}
    for row in rows:
        if row.reason is not None:
            reasons.setdefault(row.reason, []).append(legible(_name(row)))
    for reason, names in reasons.items():
        of = "" if len(names) == len(rows) else f" for {'; '.join(names)}"
        remark(console, f"No interval and no p{of}: {reason}.")
    if reasons:
        console.print()


def _name(row: RunDifference) -> str:
    return row.stratum or row.system or row.dimension


def _show_apart(one: ComparedRuns, by: str, console: Console) -> None:
    lines = [
        TableRow(
            name,
            [
                Text(signed(row.difference)),
                Text(ends(row.ci_low, row.ci_high)),
                Text(p_value(row.p_adjusted)),
            ],
        )
        for name, row in shown.apart_rows(one)
    ]
    show_table(
        console, shown.apart_title(by), [by], ["difference", "95 % interval", "p,\nadjusted"], lines
    )
    for reason in dict.fromkeys(row.reason for row in one.apart if row.reason is not None):
        remark(console, f"Not compared where there is a dash: {reason}.")
    remark(console, shown.APART_REMARK)
    console.print()


def _show_alike(one: ComparedRuns, console: Console) -> None:
    lines = [
        TableRow(
            alike.dimension,
            [
                *map(_with_interval, (alike.tau_within, alike.tau, alike.alpha)),
                Text(f"{alike.best.same}/{alike.best.shared}/{alike.best.flipped}"),
            ],
        )
        for alike in one.alike
    ]
    show_table(console, "Agreement of the two panels", ["dimension"], _ALIKE, lines)
    _remarks(shown.alike_reasons(one), console)


def _show_people(one: ComparedRuns, console: Console) -> None:
    lines = [
        TableRow(
            name,
            [
                Text(number(found.a_tau)),
                Text(number(found.b_tau)),
                _difference(found.tau),
                Text(p_value(found.tau.p_adjusted)),
                Text(number(found.a_distance)),
                Text(number(found.b_distance)),
                _difference(found.distance),
                Text(p_value(found.distance.p_adjusted)),
            ],
        )
        for name, found in one.people
    ]
    show_table(console, shown.people_title(one), ["dimension"], _PEOPLE, lines)
    _remarks([*shown.people_reasons(one), shown.PEOPLE_REMARK], console)


def _show_places(one: ComparedRuns, found: RunComparison, console: Console) -> None:
    """The alternative annotator test of both panels."""
    tested = [(name, each.advantages) for name, each in one.people if each.advantages is not None]
    lines = []
    for name, places in tested:
        cells = [
            Text(number(places.a_advantage)),
            Text(number(places.b_advantage)),
            _difference(places.difference),
            Text(p_value(places.difference.p_adjusted)),
        ]
        if found.epsilon is not None:
            cells += map(Text, map(number, (places.a_winning_rate, places.b_winning_rate)))
        lines.append(TableRow(name, cells))
    columns = _PLACES if found.epsilon is not None else _PLACES[:4]
    show_table(console, shown.places_title(found), ["dimension"], columns, lines)
    _remarks([*shown.places_reasons(one), shown.PLACES_REMARK], console)


def _show_changed(one: ComparedRuns, console: Console) -> None:
    changed = (("higher", one.risen), ("lower", one.fallen))
    lines = [
        TableRow(
            shown.label(response),
            [
                Text(number(response.a)),
                Text(number(response.b)),
                Text(signed(response.difference)),
            ],
            f"{how} in {legible(one.b)}",
        )
        for how, those in changed
        for response in those
    ]
    heads = ["", "prompt, system, response"]
    show_table(console, shown.changed_title(one), heads, ["a", "b", "b − a"], lines)


def _remarks(sentences: Sequence[str], console: Console) -> None:
    for sentence in sentences:
        remark(console, sentence)
    if sentences:
        console.print()


def _with_interval(one: PairedFigure) -> FigureText:
    return interval_below(one.value, one.ci_low, one.ci_high)


def _difference(one: PairedFigure) -> FigureText:
    return difference_cell(one.value, one.ci_low, one.ci_high)
