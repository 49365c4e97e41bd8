"""A panel corrected by people's ratings, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from persona_panel.reports.formats.terminal.cells import (
    FigureText,
    interval_behind,
    interval_below,
    p_cell,
    value_cell,
)
from persona_panel.reports.formats.terminal.rows import remark, show_conclusion
from persona_panel.reports.formats.terminal.summary import WHERE_THE_REST_IS
from persona_panel.reports.formats.terminal.tables import TableRow, has_ids, show_table
from persona_panel.results.conclusions.calibrate import best_first, calibrate_conclusion
from persona_panel.results.conclusions.labels import labelled_calibration
from persona_panel.statistics.core.table import ALL, COMPOSITE
from persona_panel.statistics.humans.calibration import Calibration, complete
from persona_panel.statistics.humans.prediction_powered import WIDEST, CorrectedMean

_COLUMNS = ("panel", "people", "corrected")
_RATED = "rated/\nscored"
_TITLE = "Means over prompts, corrected by people's ratings"
_HOW_TO_READ = (
    "panel: its mean of everything that it scored. people: theirs of what they rated. corrected: "
    "what people would give on average to everything, from both."
)
_INTERVALS = " In brackets: 95 % intervals over prompts, with these people and judges"
_IN_FULL = (
    "λ: how much the panel counts; 0, people alone."
    f"{_INTERVALS}; a corrected one is at most {WIDEST:g} times as wide as that of people, before "
    "either is cut at an end of the scale. p: adjusted by Holm's method over all differences"
)
_OF_THE_COMPOSITE = (
    " of the composite, and over those of all dimensions together. composite: each rater's mean "
    "over the dimensions"
)
_AT_RANDOM = (
    " All of it takes that what people rated was drawn at random: where `select` drew it, give its "
    "file as --selected."
)
_WEIGHTED = (
    " What people rated counts by the inverse of the probability with which they were asked for it "
    "(inclusion_probability)."
)


def show_calibration(found: Calibration, console: Console, *, full: bool) -> None:
    """What may be concluded; the corrected means of systems, a line each; how to read them.

    Args:
        full: whether means on all dimensions, how much the panel counts, and differences are shown
            in place of the one table, which is of the composite where there is one.
    """
    show_conclusion(calibrate_conclusion(found), console)
    if not has_ids(console):
        found = labelled_calibration(found)
    found = replace(found, systems=tuple(best_first(found.systems)))
    if full:
        _show_tables(found, console)
    else:
        _show_summary(found, console)


def _show_summary(found: Calibration, console: Console) -> None:
    whole = [one for one in found.systems if one.dimension == COMPOSITE]
    shown = whole or found.systems
    names = {one.dimension for one in shown}
    several = len(names) > 1
    lines = [
        TableRow(
            one.system,
            [
                value_cell(one.found.panel),
                interval_behind(
                    one.found.human_only, one.found.human_ci_low, one.found.human_ci_high
                ),
                interval_behind(one.found.corrected, one.found.ci_low, one.found.ci_high),
                _rated(one.found),
            ],
            one.dimension if several else "",
        )
        for one in shown
    ]
    title = _TITLE if several or names <= {ALL} else f"{_TITLE}: {names.pop()}"
    heads = ["dimension", "system"] if several else ["system"]
    show_table(console, title, heads, (*_COLUMNS, _RATED), lines)
    remark(console, f"{_HOW_TO_READ}{_INTERVALS}.{_drawn(found)} {WHERE_THE_REST_IS}")


def _show_tables(found: Calibration, console: Console) -> None:
    """Means by system and dimension, and differences."""
    several = len({one.dimension for one in found.systems}) > 1
    heads = ["dimension", "system"] if several else ["system"]
    lines = [
        TableRow(
            one.system,
            [
                *_cells(one.found),
                value_cell(one.found.tuning),
                _rated(one.found),
            ],
            one.dimension if several else "",
        )
        for one in found.systems
    ]
    title = _TITLE
    if not several and found.systems and found.systems[0].dimension != ALL:
        title += f": {found.systems[0].dimension}"
    show_table(console, title, heads, (*_COLUMNS, "λ", _RATED), lines)
    if found.pairs:
        _show_pairs(found, heads, several, console)
    whole = any(one.dimension == COMPOSITE for one in found.systems)
    remark(
        console, f"{_HOW_TO_READ} {_IN_FULL}{_OF_THE_COMPOSITE if whole else ''}.{_drawn(found)}"
    )


def _drawn(found: Calibration) -> str:
    """How what people rated is taken to be drawn; nothing where they rated everything."""
    if found.weighted:
        return _WEIGHTED
    return "" if complete(found) else _AT_RANDOM


def _show_pairs(found: Calibration, heads: Sequence[str], several: bool, console: Console) -> None:
    lines = [
        TableRow(
            f"{one.a} − {one.b}",
            [*_cells(one.found), p_cell(one.p_adjusted)],
            one.dimension if several else "",
        )
        for one in found.pairs
    ]
    names = [*heads[:-1], "systems"]
    show_table(console, "Differences", names, (*_COLUMNS, "p,\nadjusted"), lines)


def _cells(found: CorrectedMean) -> list[FigureText]:
    return [
        value_cell(found.panel),
        interval_below(found.human_only, found.human_ci_low, found.human_ci_high),
        interval_below(found.corrected, found.ci_low, found.ci_high),
    ]


def _rated(found: CorrectedMean) -> FigureText:
    """How many items people rated, of those that the panel scored."""
    return FigureText(f"{found.n_human:,}/{found.n_items:,}")
