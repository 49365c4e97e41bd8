"""A result as tables and sentences in a terminal: the figures and last, where a reader looks when
the command has ended, the conclusion. In short it fits on a screen."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

from rich.console import Console
from rich.text import Text

from persona_panel.results.console import ReportTable, output, show_table
from persona_panel.results.result import Result
from persona_panel.results.shown import ResultPart, SmallPrint, figure_parts
from persona_panel.statistics.core.display import counted

LINES = 24
"""How many lines the short report has at most, on a screen of 80 columns."""
_COLUMNS = 80
_ROWS = 3
"""Of the first table so many rows are shown at least, but beside answers to questions, which stand
whole."""


def render(result: Result, to: TextIO, *, full: bool) -> None:
    """Write the tables and how to read them, the conclusion, and where the page is; in short what
    of it fits on a screen, the first of each, and that there is more."""
    console = output(to)
    figures = list(figure_parts(result, full))
    sentences: list[ResultPart] = list(result.conclusion)
    last: list[ResultPart] = list(filter(None, [result.next_step]))
    if result.page:
        last.append(f"{'Page' if result.page.endswith('.html') else 'Run'}: {result.page}")
    if not full:
        figures, sentences = _fitting(result, figures, sentences, last, console)
    _write(console, [*figures, *sentences, *last])


def _fitting(
    result: Result,
    figures: Sequence[SmallPrint | ReportTable],
    sentences: Sequence[ResultPart],
    last: Sequence[ResultPart],
    console: Console,
) -> tuple[list[SmallPrint | ReportTable], list[ResultPart]]:
    """Return the figures and sentences that fit beside what stands last, with the sentence that
    there is more."""
    # What is not read on a terminal has the same content, however wide its lines are.
    width = min(console.width, _COLUMNS) if console.is_terminal else _COLUMNS
    rest: list[SmallPrint | ReportTable] = [SmallPrint("--full has the rest, --json every figure.")]
    table = next((part for part in figures if isinstance(part, ReportTable)), None)
    reserved = 0 if table is None else _height(_cut(table, 0, width, _ROWS), width)
    kept = list(sentences[:1])
    for sentence in sentences[1:]:
        # The answers to questions are there in any case, and go before the table.
        is_answer = "? " in str(sentence)
        if not is_answer and _height([*rest, *kept, sentence, *last], width) + reserved > LINES:
            break
        kept.append(sentence)
    left = LINES - _height([*rest, *kept, *last], width)
    shown: list[SmallPrint | ReportTable] = []
    for part in figures:
        # Lines that are more than a screen need not be laid out to know that they do not fit.
        may_fit = not isinstance(part, ReportTable) or len(part.lines) < left
        # The empty line between small print and sentences is counted above.
        if may_fit and _height([*shown, part], width) <= left:
            shown.append(part)
        elif part is table:
            cut = _cut(part, left, width)
            if _height(cut, width) > left:
                # How to read a table helps nobody without it.
                break
            shown += cut
    more = result.has_more or len(kept) < len(sentences) or len(shown) < len(figures)
    return [*shown, *(rest if more else [])], kept


def _cut(
    table: ReportTable, left: int, width: int, least: int = 1
) -> list[SmallPrint | ReportTable]:
    """Return as many of a table's first rows as fit, at least `least`, and how many more there
    are."""

    def first(n: int) -> list[SmallPrint | ReportTable]:
        more = counted(len(table.lines) - n, "more row")
        return [replace(table, lines=table.lines[:n]), SmallPrint(f"{more}.")]

    n = min(least, len(table.lines) - 1)
    if n < 1:
        return [table]
    # From below: a long table is not laid out again and again.
    while n + 1 < len(table.lines) and _height(first(n + 1), width) <= left:
        n += 1
    return first(n)


def _height(parts: Sequence[ResultPart], width: int) -> int:
    to = io.StringIO()
    console = output(to)
    console.width = width
    _write(console, parts)
    return to.getvalue().count("\n")


def _write(console: Console, parts: Sequence[ResultPart]) -> None:
    before: object = None
    for part in parts:
        # A table ends with an empty line; sentences of one kind stand together.
        if before is not None and not isinstance(before, ReportTable) and type(part) is not before:
            console.print()
        if isinstance(part, ReportTable):
            show_table(console, part.title, part.heads, part.columns, part.lines)
        else:
            console.print(Text(part, "dim" if isinstance(part, SmallPrint) else ""))
        before = part if isinstance(part, ReportTable) else type(part)
