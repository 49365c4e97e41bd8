"""A panel aligned with people, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan

from rich.console import Console
from rich.text import Text

from persona_panel.reports.formats.terminal.rows import remark, show_conclusion
from persona_panel.reports.formats.terminal.summary import WHERE_THE_REST_IS
from persona_panel.results.cells import (
    FigureText,
    interval_behind,
    interval_below,
    p_cell,
    value_cell,
)
from persona_panel.results.conclusions.align import LOWER, METHOD_NAMES, align_conclusion, verdict
from persona_panel.results.conclusions.labels import labelled_alignment, whole_label
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.console import TableRow, has_ids, show_table
from persona_panel.statistics.alignment import (
    AlignedDimension,
    Alignment,
    HeldOutFigure,
    MethodAlignment,
)
from persona_panel.statistics.alignment_rules import compares_judges
from persona_panel.statistics.core.display import ALL, number

_OF_ERROR = "RMSE on held-out prompts: the panel's own, and its change"
_COLUMNS = ("before", "after", "difference", "p,\nadjusted")
_FIGURES = {"rmse": "RMSE", "mae": "mean absolute error", "tau_b": "τ_b"}
_HOW_TO_READ_IT = (
    "On prompts that nothing was learnt from, compared with people's mean; a prompt counts once. "
    "panel: the error of the mean of all judges. Then the error of the aligned scores less it, "
    "below 0 where they are nearer to people; in brackets: 95 % intervals over prompts, with these "
    "people and judges."
)
_HOW_TO_READ = (
    "All figures are of prompts that nothing was learnt from, compared with people's mean; a "
    "prompt counts once. before: the mean of all judges. after: the aligned scores. difference: "
    "after less before, with its 95 % interval over prompts, with these people and judges. "
    "The verdict is on RMSE: a lower error is a gain only if τ_b of the aligned scores is shown to "
    "be above 0, too; p: the larger of the two, adjusted by Holm's method over all methods. RMSE "
    "and mean absolute error contain people's own noise, and so do not reach 0."
)


def show_alignment(found: Alignment, console: Console, *, full: bool) -> None:
    """What may be concluded; the change of the error by method, a line a dimension; how to read it.

    Args:
        full: whether all figures by method, and what was learnt, are shown in place of that table.
    """
    show_conclusion(align_conclusion(found), console)
    whole = ALL if has_ids(console) else whole_label(found.panel)
    if not has_ids(console):
        found = labelled_alignment(found)
    learnt = [one for one in found.dimensions if any(of.figures for of in one.learnt.methods)]
    if not learnt:
        return
    if full:
        _show_tables(found, learnt, console)
    else:
        _show_summary(learnt, whole, console)


def _show_summary(learnt: Sequence[AlignedDimension], whole: str, console: Console) -> None:
    methods = dict.fromkeys(of.method for one in learnt for of in one.learnt.methods)
    lines = []
    for one in learnt:
        errors = {of.method: of.error for of in one.learnt.methods if of.error is not None}
        before = next(iter(errors.values())).before
        changes = [_change(errors.get(method)) for method in methods]
        name = whole if one.dimension == ALL else one.dimension
        lines.append(TableRow(name, [value_cell(before), *changes]))
    columns = ["panel", *(METHOD_NAMES[method] for method in methods)]
    show_table(console, _OF_ERROR, ["dimension"], columns, lines)
    remark(console, f"{_sizes(learnt)} {_HOW_TO_READ_IT} {WHERE_THE_REST_IS}")


def _change(error: HeldOutFigure | None) -> FigureText:
    if error is None:
        return value_cell(nan)
    return interval_behind(error.difference, error.ci_low, error.ci_high, p_value=error.p)


def _sizes(learnt: Sequence[AlignedDimension]) -> str:
    """How many items people rated, and how reliably; of several dimensions from least to most."""
    items, prompts, people = (
        _from_to([f"{n:,}" for n in sorted(getattr(one.learnt, name) for one in learnt)])
        for name in ("n_items", "n_prompts", "n_people")
    )
    reliability = _from_to([*map(number, sorted(one.learnt.reliability for one in learnt))])
    return (
        f"{items} items in {prompts} prompts, rated by {people} people; reliability of their mean "
        f"{reliability}."
    )


def _from_to(told: Sequence[str]) -> str:
    return told[0] if told[0] == told[-1] else f"{told[0]} to {told[-1]}"


def _show_tables(found: Alignment, learnt: Sequence[AlignedDimension], console: Console) -> None:
    several = len(found.dimensions) > 1
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
    ends = figure.ci_low, figure.ci_high
    return interval_below(figure.difference, *ends, p_value=figure.p)


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
        f"{learnt.n_people:,} people; reliability of their mean {number(learnt.reliability)} "
        f"(lower end of its 95 % interval {number(learnt.reliability_low)})."
    )
    left_out = {one.method: one.n_left_out for one in learnt.methods if one.n_left_out}
    for method, n in left_out.items():
        name = METHOD_NAMES[method].capitalize()
        told += f" {name}: {counted(n, 'item')} left out, which no judge with a weight rated."
    return told
