"""Statistics in a terminal: rows laid out as tables, or as JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from math import isnan

import orjson
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from panel.files.definitions import printable
from panel.statistics.table import ALL, Row

Place = tuple[str, str]
"""A row of a table: group and dimension."""

Cells = Mapping[tuple[str, Place], Row]
"""The rows of a result by statistic and place."""

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
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    said = [part for part in (0, 1) if {place[part] for place in places} != {ALL}] or [0]
    for part in said:
        table.add_column(heads[part], overflow="fold")
    for heading in names:
        table.add_column(heading, justify="right")
    for place in places:
        rows = [
            next((cells[name, place] for name in those if (name, place) in cells), None)
            for those in names.values()
        ]
        labels = [Text(printable(place[part])) for part in said]
        table.add_row(*labels, *("" if row is None else figure(row) for row in rows))
    console.print(table)


def figure(row: Row) -> Text:
    """A value, below it its interval and p-value; or the reason why there is none."""
    if isnan(row.value):
        return Text(why(row), "dim")
    text = Text(number(row.value))
    if not isnan(row.ci_low):
        text.append(f"\n{number(row.ci_low)} to {number(row.ci_high)}", "dim")
    if not isnan(row.p_value):
        text.append(f"\np {row.p_value:.2g}", "dim")
    return text


def why(row: Row) -> str:
    """Why a row has no value."""
    said = _UNDEFINED.search(row.note)
    return said.group(1) if said else "undefined"


def number(value: float) -> str:
    """A statistic to three digits after the point, never a minus nought."""
    return f"{value + 0:.3f}".replace("-0.000", "0.000")


def remark(console: Console, line: str) -> None:
    """What is to be said below a table."""
    console.print(Text(line, "dim"))
