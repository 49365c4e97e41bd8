"""A panel aligned with people, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from rich.console import Console
from rich.text import Text

from panel.conclusions.align import LOWER, METHOD_NAMES, align_conclusion, verdict
from panel.conclusions.wording import counted
from panel.reports.terminal.cells import FigureText, p_cell, value_cell
from panel.reports.terminal.rows import number, remark, show_conclusion
from panel.reports.terminal.tables import TableRow, show_table
from panel.statistics.core.table import ALL
from panel.statistics.humans.align import AlignedDimension, Alignment
from panel.statistics.humans.alignment import HeldOutFigure, MethodAlignment
from panel.statistics.humans.alignment_rules import compares_judges

_COLUMNS = ("before", "after", "difference", "p,\nadjusted")
_FIGURES = {"rmse": "RMSE", "mae": "mean absolute error", "tau_b": "τ_b"}
_HOW_TO_READ = (
    "All figures are of prompts that nothing was learnt from, compared with people's mean; a "
    "prompt counts once. before: the mean of all judges. after: the aligned scores. difference: "
    "after less before, with its 95 % interval over prompts, with these people and judges. "
    "The verdict is on RMSE: a lower error is a gain only if τ_b of the aligned scores is shown to "
    "be above 0, too; p: the larger of the two, adjusted by Holm's method over all methods. RMSE "
    "and mean absolute error contain people's own noise, and so do not reach 0."
)


def show_alignment(found: Alignment, console: Console) -> None:
    """What may be concluded, then figures by method, what was learnt, and how to read them."""
    show_conclusion(align_conclusion(found), console)
    several = len(found.dimensions) > 1
    learnt = [one for one in found.dimensions if any(of.figures for of in one.learnt.methods)]
    if not learnt:
        return
    lines = [line for one in learnt for line in _lines(one, several)]
    title = "Nearness to people's mean on held-out prompts"
    if not several and found.dimensions[0].dimension != ALL:
        title += f": {found.dimensions[0].dimension}"
    show_table(console, title, ["method", "figure"], _COLUMNS, lines)
    for one in learnt:
        _show_weights(one, several, console)
    for one in learnt:
        remark(console, _counts(one, several))
    remark(console, _HOW_TO_READ)


def _lines(found: AlignedDimension, several: bool) -> Iterator[TableRow]:
    for one in found.learnt.methods:
        heading = f"{METHOD_NAMES[one.method]} ({verdict(one)})"
        if several:
            heading = f"{found.dimension}: {heading}"
        for figure in one.figures:
            yield TableRow(_FIGURES[figure.figure], _cells(one, figure), heading)


def _cells(one: MethodAlignment, figure: HeldOutFigure) -> list[Text]:
    cells: list[Text] = [value_cell(figure.before), value_cell(figure.after), _difference(figure)]
    if figure is one.error:
        return [*cells, p_cell(one.p_adjusted)]
    return [*cells, Text("")]


def _difference(figure: HeldOutFigure) -> FigureText:
    if isnan(figure.difference):
        return value_cell(figure.difference)
    text = FigureText(
        number(figure.difference, 2),
        value=figure.difference,
        low=figure.ci_low,
        high=figure.ci_high,
        p_value=figure.p,
    )
    if not isnan(figure.ci_low):
        text.append(f"\n[{number(figure.ci_low, 2)}, {number(figure.ci_high, 2)}]", "dim")
    return text


def _show_weights(found: AlignedDimension, several: bool, console: Console) -> None:
    """What weight each judge has, learnt from all that people rated, where that is a gain."""
    rules = {
        one.method: one.rule
        for one in found.learnt.methods
        if one.rule is not None and compares_judges(one.method) and verdict(one) == LOWER
    }
    if not rules:
        return
    order = sorted(
        range(len(found.judges)), key=lambda j: [-rule.weights[j] for rule in rules.values()]
    )
    lines = [
        TableRow(found.judges[j], [value_cell(float(rule.weights[j])) for rule in rules.values()])
        for j in order
    ]
    on = f" on {found.dimension}" if several else ""
    columns = [METHOD_NAMES[method] for method in rules]
    show_table(console, f"Weights learnt from all rated prompts{on}", ["judge"], columns, lines)


def _counts(found: AlignedDimension, several: bool) -> str:
    learnt = found.learnt
    on = f"{found.dimension}: " if several else ""
    told = (
        f"{on}{counted(learnt.n_items, 'item')} in {counted(learnt.n_prompts, 'prompt')}, rated by "
        f"{learnt.n_people:,} people; reliability of their mean {learnt.reliability:.2f} "
        f"(lower end of its 95 % interval {learnt.reliability_low:.2f})."
    )
    left_out = {one.method: one.n_left_out for one in learnt.methods if one.n_left_out}
    for method, n in left_out.items():
        name = METHOD_NAMES[method].capitalize()
        told += f" {name}: {counted(n, 'item')} left out, which no judge with a weight rated."
    return told
