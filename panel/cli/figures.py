"""Statistics in a terminal: rows laid out as tables, or as JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate
from math import isnan
from textwrap import wrap

import orjson
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from panel.files.wording import printable
from panel.statistics.table import ALL, Row

Place = tuple[str, str]
"""A row of a table: group and dimension."""

Cells = Mapping[tuple[str, Place], Row]
"""The rows of a result by statistic and place."""

_GAP = 3
_LABEL_WIDTH = 36
_REASON_WIDTH = 14
_UNDEFINED = re.compile(r"undefined: ([^;]+)")


def print_json(rows: Sequence[Row]) -> None:
    """The rows as a JSON list; what is undefined is null."""
    listed = orjson.dumps([asdict(row) for row in rows], option=orjson.OPT_INDENT_2)
    sys.stdout.write(listed.decode() + "\n")


def by_place(rows: Iterable[Row]) -> Cells:
    """The rows by statistic and place."""
    return {(row.statistic, (row.group, row.dimension)): row for row in rows}


def by_part(rows: Iterable[Row], statistic: str) -> Cells:
    """The rows of a statistic whose groups say, after a slash, what they are about: that, and
    the place that is left."""
    found = {}
    for row in rows:
        if row.statistic == statistic:
            group, _, part = row.group.partition(" / ")
            found[part, (group, row.dimension)] = row
    return found


def show(
    console: Console,
    title: str,
    cells: Cells,
    columns: Mapping[str, str | tuple[str, ...]],
    heads: tuple[str, str] = ("group", "dimension"),
) -> None:
    """A table with a row for each place, and a column for each heading.

    A column is one statistic, or several, of which a place has one. What all places have in
    common is not said: the group or dimension of those that have no name.
    """
    names = {
        heading: (names,) if isinstance(names, str) else names for heading, names in columns.items()
    }
    wanted = {name for those in names.values() for name in those}
    places = list(dict.fromkeys(place for statistic, place in cells if statistic in wanted))
    if not places:
        return
    said = [part for part in (0, 1) if {place[part] for place in places} != {ALL}] or [0]
    labels = [[Text(heads[part])] + [Text(printable(at[part])) for at in places] for part in said]
    figures = [
        [Text(heading)]
        + [
            next((figure(cells[name, at]) for name in those if (name, at) in cells), Text(""))
            for at in places
        ]
        for heading, those in names.items()
    ]
    figures = [column for column in figures if any(column[1:])]
    room = console.width - 1 - sum(min(_width(column), _LABEL_WIDTH + _GAP) for column in labels)
    console.print(Text(title, "bold"))
    while figures:
        fitting = _fitting(figures, room)
        console.print(_table(labels, figures[:fitting]))
        figures = figures[fitting:]


def _fitting(columns: Sequence[Sequence[Text]], width: int) -> int:
    """How many columns go into a width, one at least."""
    used = accumulate(map(_width, columns))
    return max(1, sum(so_far <= width for so_far in used))


def _width(column: Sequence[Text]) -> int:
    return _GAP + max(cell_len(line) for cell in column for line in cell.plain.split("\n"))


def _table(labels: Sequence[Sequence[Text]], figures: Sequence[Sequence[Text]]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for head, *_ in labels:
        table.add_column(head, overflow="fold", max_width=_LABEL_WIDTH)
    for head, *_ in figures:
        table.add_column(head, justify="right", vertical="top", no_wrap=True)
    for row in zip(*(column[1:] for column in (*labels, *figures)), strict=True):
        table.add_row(*row)
    return table


def figure(row: Row) -> Text:
    """A value and its p-value, below it its interval; or the reason why there is none."""
    if isnan(row.value):
        return Text("\n".join(wrap(why(row), _REASON_WIDTH)), "dim")
    text = Text(number(row.value, 3))
    if not isnan(row.p_value):
        text.append(f" p {row.p_value:.2g}", "dim")
    if not isnan(row.ci_low):
        text.append(f"\n[{number(row.ci_low, 2)}, {number(row.ci_high, 2)}]", "dim")
    return text


def why(row: Row) -> str:
    """Why a row has no value."""
    said = _UNDEFINED.search(row.note)
    return said.group(1) if said else "undefined"


def number(value: float, digits: int) -> str:
    """A statistic to so many digits after the point, nought without a sign."""
    return f"{round(value, digits) + 0:.{digits}f}"


def remark(console: Console, line: str) -> None:
    """What is to be said below a table."""
    console.print(Text(line, "dim"))
