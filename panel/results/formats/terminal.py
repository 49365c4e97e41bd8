"""A result as tables and sentences in a terminal: the figures and last, where a reader looks when
the command has ended, the conclusion. In short it fits on a screen."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TextIO

from rich.console import Console
from rich.text import Text

from persona_panel.results.console import ReportTable, output, show_table
from persona_panel.results.result import QUESTIONS, AnswerText, Result
from persona_panel.results.shown import ResultPart, SmallPrint, figure_parts, key_names, short_names
from persona_panel.statistics.core.display import counted

LINES = 24
"""The largest number of lines of the short report, on a screen of 80 columns."""
COLUMNS = 80
_REST = "--full has the rest, --json every figure."
_ROWS, _BEFORE_SUPPORT = 3, 5
"""Of the first table so many rows are shown at least, and so many before what supports answers."""
_NAME = 20
"""To how many columns names are cut where a report would be longer than a screen."""


def render(result: Result, to: TextIO, *, full: bool, rest: str = _REST) -> None:
    """Write the tables and how to read them, the conclusion, and where the page is; in short what
    of it fits on a screen, the first of each, and `rest`, where there is more."""
    console = output(to)
    figures = list(figure_parts(result, full))
    sentences = list(result.conclusion)
    last = list(filter(None, [result.next_step]))
    place = f"{'Page' if result.page.endswith('.html') else 'Run'}: {result.page}"
    if not full:
        below = [*last, place] if result.page else last
        figures, sentences = _fitting(result, figures, sentences, below, console, rest)
    _write(console, [*figures, *sentences, *last], 0 if full else COLUMNS)
    if result.page:
        # A path that is longer than a line can be copied whole.
        console.print(Text(place), soft_wrap=True)


def _fitting(
    result: Result,
    figures: Sequence[SmallPrint | ReportTable],
    sentences: Sequence[str],
    last: Sequence[str],
    console: Console,
    where: str,
) -> tuple[list[SmallPrint | ReportTable], list[str]]:
    """Return the parts that fit beside what stands last, and the sentence that there is more."""
    # What is not read on a terminal has the same content, however wide its lines are.
    screen = _Screen(min(console.width, COLUMNS) if console.is_terminal else COLUMNS)
    table = next((part for part in figures if isinstance(part, ReportTable)), None)
    least = _first_rows(table)
    rest = _rest_of(0 if table is None else len(table.lines), where)
    kept = {n: each for n, each in enumerate(sentences) if not n or _is_answer(each)}

    def is_too_long(n_rows: int, *more: str) -> bool:
        return screen.height(*least[n_rows], rest, *kept.values(), *more, *last) > LINES

    names = short_names(key_names(result.tables), _NAME) if is_too_long(_ROWS) else {}
    if names:
        sentences = [_renamed(sentence, names) for sentence in sentences]
        kept = {n: sentences[n] for n in kept}
        figures = [_with_names(part, names) for part in figures]
        table = next((part for part in figures if isinstance(part, ReportTable)), None)
        least = _first_rows(table)
    # The first answer last.
    for n in [*range(1, len(sentences)), 0][: len(sentences)]:
        sentence = result.conclusion[n]
        if isinstance(sentence, AnswerText) and is_too_long(_BEFORE_SUPPORT):
            kept[n] = _renamed(sentence.shorter, names)
    for n, sentence in enumerate(sentences):
        if n not in kept:
            if is_too_long(_ROWS, sentence):
                break
            kept[n] = sentence
    whole, sentences = sentences, [kept[n] for n in sorted(kept)]
    left = LINES - screen.height(rest, *sentences, *last)
    shown: list[SmallPrint | ReportTable] = []
    n_left_out = 0
    for part in figures:
        if part in shown:
            # What two tables lack for the same reason is printed once.
            continue
        # Lines that are more than a screen need not be laid out to know that they do not fit.
        may_fit = not isinstance(part, ReportTable) or len(part.lines) < left
        # The empty line between small print and sentences is counted above.
        if may_fit and screen.height(*shown, part) <= left:
            shown.append(part)
        elif part is table:
            cut = _cut(part, left, screen)
            if screen.height(cut) > left:
                # How to read a table helps nobody without it.
                break
            shown.append(cut)
            n_left_out = len(part.lines) - len(cut.lines)
    more = result.has_more or sentences != whole or any(part not in shown for part in figures)
    return [*shown, *([_rest_of(n_left_out, where)] if more else [])], sentences


def _first_rows(table: ReportTable | None) -> dict[int, list[ReportTable]]:
    """Return a table, if any, with no more than its first rows, by how many: each is laid out once
    for all that is asked beside it."""
    tables = [] if table is None else [table]
    return {n: [replace(of, lines=of.lines[:n]) for of in tables] for n in (_ROWS, _BEFORE_SUPPORT)}


def _rest_of(n_rows: int, where: str) -> SmallPrint:
    """Return where more is, and of how many rows of the table."""
    return SmallPrint(f"{counted(n_rows, 'more row')}. {where}" if n_rows else where)


def _is_answer(sentence: str) -> bool:
    return sentence.startswith(tuple(QUESTIONS.values()))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    for name, cut in names.items():
        text = text.replace(name, cut)
    return text


def _with_names(
    part: SmallPrint | ReportTable, names: Mapping[str, str]
) -> SmallPrint | ReportTable:
    if isinstance(part, SmallPrint):
        return SmallPrint(_renamed(part, names))
    lines = [
        replace(line, label=_renamed(line.label, names), heading=_renamed(line.heading, names))
        for line in part.lines
    ]
    return replace(part, columns=[_renamed(head, names) for head in part.columns], lines=lines)


def _cut(table: ReportTable, left: int, screen: _Screen) -> ReportTable:
    """Return a table's first rows that fit, at least one."""
    cut = replace(table, lines=table.lines[:1])
    # From below: a long table is not laid out again and again.
    for n in range(2, len(table.lines) + 1):
        longer = replace(table, lines=table.lines[:n])
        if screen.height(longer) > left:
            break
        cut = longer
    return cut


class _Screen:
    """Counts the lines that parts take on so many columns; each part is laid out once."""

    def __init__(self, width: int) -> None:
        self._width = width
        # By identity, which a part keeps while it is held: tables have no hash.
        self._counted: dict[int, tuple[ResultPart, int]] = {}

    def height(self, *parts: ResultPart) -> int:
        apart = sum(_is_apart(before, part) for before, part in pairwise(parts))
        return apart + sum(map(self._lines, parts))

    def _lines(self, part: ResultPart) -> int:
        if id(part) not in self._counted:
            to = io.StringIO()
            console = output(to)
            console.width = self._width
            _write(console, [part])
            self._counted[id(part)] = part, to.getvalue().count("\n")
        return self._counted[id(part)][1]


def _is_apart(before: ResultPart, part: ResultPart) -> bool:
    """Return True where an empty line stands between two parts: a table ends with one, and
    sentences of one kind stand together."""
    if isinstance(before, ReportTable) or isinstance(part, ReportTable):
        return not isinstance(before, ReportTable)
    return isinstance(part, SmallPrint) != isinstance(before, SmallPrint)


def _write(console: Console, parts: Sequence[ResultPart], at_most: int = 0) -> None:
    for n, part in enumerate(parts):
        if n and _is_apart(parts[n - 1], part):
            console.print()
        if isinstance(part, ReportTable):
            show_table(console, part.title, part.heads, part.columns, part.lines, at_most=at_most)
        else:
            console.print(Text(part, "dim" if isinstance(part, SmallPrint) else ""))
