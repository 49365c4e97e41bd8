"""Statistics in a terminal: rows laid out as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from math import isnan
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from persona_panel.results.cells import FigureText, interval_behind
from persona_panel.results.console import TableRow, show_table
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.display import p_value as told_p
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.core.table import Row

Line = tuple[str, ...]
"""What the line of a table is of: a group and a dimension, say."""

Cells = Mapping[tuple[str, Line], Row]
"""The rows of a result by the heading of their column, and by their line."""

_REASON_WIDTH = 14


def in_words(text: str, word: str) -> str:
    """A heading or a remark of a statistic, with `judge` replaced by what one of those who rated
    is called.

    >>> in_words("effective number of judges", "rater")
    'effective number of raters'
    """
    return text.replace("judge", word)


def cells_of(rows: Iterable[Row], headings: Mapping[str, str]) -> Cells:
    """The rows of the statistics that have a heading, by it and by group and dimension."""
    return {
        (headings[row.statistic], (row.group, row.dimension)): row
        for row in rows
        if row.statistic in headings
    }


def show(
    console: Console,
    title: str,
    cells: Cells,
    columns: Iterable[str],
    heads: Sequence[str] = ("group", "dimension"),
    cell: Callable[[Row], FigureText] | None = None,
) -> None:
    """A table with a line for each that cells name, and a column for each heading.

    What all lines have in common is not said, where it has no name (`all`). A column without any
    value, for one reason, is a sentence below the table.

    Args:
        heads: what the parts of a line are.
        cell: what a row is shown as; `figure` if None.
    """
    columns, cell = list(columns), cell or figure
    lines = list(dict.fromkeys(line for heading, line in cells if heading in columns))
    if not lines:
        return
    found = {heading: [cells.get((heading, line)) for line in lines] for heading in columns}
    undefined = {heading: why for heading, rows in found.items() if (why := _why_all(rows))}
    shown = [heading for heading, rows in found.items() if any(rows) and heading not in undefined]
    named = [part for part in range(len(heads)) if {line[part] for line in lines} != {ALL}] or [0]
    # What changes less often from line to line is the heading of those that follow.
    named.sort(key=lambda part: sum(1 for _ in groupby(line[part] for line in lines)))
    if shown:
        *outer, label = named
        rows = [
            TableRow(
                line[label],
                [Text("") if row is None else cell(row) for row in its_rows],
                " / ".join(line[part] for part in outer),
            )
            for line, *its_rows in zip(lines, *(found[heading] for heading in shown), strict=True)
            if any(its_rows)
        ]
        above = [" / ".join(heads[part] for part in outer)] if outer else []
        show_table(console, title, [*above, heads[label]], shown, rows)
    else:
        console.print(Text(title, "bold"))
    for why in dict.fromkeys(undefined.values()):
        those = [one_line(heading) for heading in undefined if undefined[heading] == why]
        # Names hold commas.
        remark(console, f"Undefined: {'; '.join(those)} ({why}).")
    without = _without_interval(found)
    for reason, those in without.items():
        remark(console, f"No interval: {'; '.join(map(one_line, those))} ({reason}).")
    if undefined or without:
        console.print()


def _without_interval(columns: Mapping[str, Sequence[Row | None]]) -> dict[str, list[str]]:
    """The headings of columns with a value that could have no interval, by the reason why."""
    found: dict[str, list[str]] = {}
    for heading, rows in columns.items():
        reasons = (row.ci_reason for row in rows if row is not None and row.reason is None)
        for reason in dict.fromkeys(reason for reason in reasons if reason is not None):
            found.setdefault(reason, []).append(heading)
    return found


def _why_all(rows: Sequence[Row | None]) -> str | None:
    """The reason why there is no value, where it is the same everywhere."""
    whys = {row.reason for row in rows if row is not None}
    return whys.pop() if len(whys) == 1 else None


def figure(row: Row) -> FigureText:
    """A value and its p-value, below it its interval; or the reason why there is none."""
    if row.reason is not None:
        return FigureText("\n".join(wrap(row.reason, _REASON_WIDTH)), "dim", reason=row.reason)
    is_count = row.statistic.endswith("_needed")
    text = FigureText(
        f"{row.value:,.0f}" if is_count else number(row.value, 3),
        value=row.value,
        low=row.ci_low,
        high=row.ci_high,
        p_value=row.p_value,
    )
    if not isnan(row.p_value):
        text.append(f" p {told_p(row.p_value)}", "dim")
    if not isnan(row.ci_low):
        text.append(f"\n[{number(row.ci_low, 2)}, {number(row.ci_high, 2)}]", "dim")
    return text


def figure_on_a_line(row: Row) -> FigureText:
    """A value with its interval behind it; or the reason why there is none."""
    if row.reason is not None:
        return figure(row)
    return interval_behind(row.value, row.ci_low, row.ci_high, p_value=row.p_value)


def one_line(heading: str) -> str:
    """A heading without its line breaks."""
    return " ".join(heading.split())


def show_conclusion(sentences: Iterable[str], console: Console) -> None:
    """What may be concluded, each sentence on a line of its own, before the tables."""
    for sentence in sentences:
        console.print(Text(sentence))
    console.print()


def remark(console: Console, line: str) -> None:
    """What is to be said below a table."""
    console.print(Text(line, "dim"))
