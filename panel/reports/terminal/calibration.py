"""A panel corrected by people's ratings, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from rich.console import Console

from panel.conclusions.calibrate import calibrate_conclusion
from panel.reports.terminal.cells import FigureText, p_cell, value_cell
from panel.reports.terminal.rows import remark, show_conclusion
from panel.reports.terminal.tables import TableRow, show_table
from panel.statistics.core.table import ALL, COMPOSITE
from panel.statistics.humans.calibration import Calibration, complete
from panel.statistics.humans.prediction_powered import WIDEST, CorrectedMean

_COLUMNS = ("panel", "people", "corrected")
_HOW_TO_READ = (
    "panel: its mean of everything that it scored. people: theirs of what they rated. corrected: "
    "what people would give on average to everything, from both. λ: how much the panel counts; 0, "
    "people alone. In brackets: 95 % intervals over prompts, with these people and judges; a "
    f"corrected one is at most {WIDEST:g} times as wide as that of people. p: adjusted by "
    "Holm's method over all differences"
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


def show_calibration(found: Calibration, console: Console) -> None:
    """What may be concluded, then means by system, differences, and how to read them."""
    show_conclusion(calibrate_conclusion(found), console)
    several = len({one.dimension for one in found.systems}) > 1
    heads = ["dimension", "system"] if several else ["system"]
    lines = [
        TableRow(
            one.system,
            [
                *_cells(one.found),
                value_cell(one.found.tuning),
                FigureText(f"{one.found.n_human:,}/{one.found.n_items:,}"),
            ],
            one.dimension if several else "",
        )
        for one in found.systems
    ]
    title = "Means over prompts, corrected by people's ratings"
    if not several and found.systems and found.systems[0].dimension != ALL:
        title += f": {found.systems[0].dimension}"
    show_table(console, title, heads, (*_COLUMNS, "λ", "rated/\nscored"), lines)
    if found.pairs:
        _show_pairs(found, heads, several, console)
    whole = any(one.dimension == COMPOSITE for one in found.systems)
    remark(console, f"{_HOW_TO_READ}{_OF_THE_COMPOSITE if whole else ''}.{_drawn(found)}")


def _drawn(found: Calibration) -> str:
    """How what people rated is taken to be drawn; nothing where they rated everything."""
    if found.weighted:
        return _WEIGHTED
    return "" if complete(found) else _AT_RANDOM


def _show_pairs(found: Calibration, heads: Sequence[str], several: bool, console: Console) -> None:
    lines = [
        TableRow(
            f"{one.a} - {one.b}",
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
        _with_interval(found.human_only, found.human_ci_low, found.human_ci_high),
        _with_interval(found.corrected, found.ci_low, found.ci_high),
    ]


def _with_interval(value: float, low: float, high: float) -> FigureText:
    """A value with its interval below it."""
    if isnan(value):
        return value_cell(value)
    text = FigureText(f"{value:.2f}", value=value, low=low, high=high)
    if not isnan(low):
        text.append(f"\n[{low:.2f}, {high:.2f}]", "dim")
    return text
