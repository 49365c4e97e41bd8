"""Statistics in a terminal: rows laid out as tables, or as JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from math import isnan
from textwrap import wrap

import orjson
from rich.console import Console
from rich.text import Text

from panel.cli.printing import Line, show_table
from panel.statistics.table import ALL, Row

Place = tuple[str, str]
"""A row of a table: group and dimension."""

Cells = Mapping[tuple[str, Place], Row]
"""The rows of a result by statistic and place."""

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
    common is not said: the group or dimension of those that have no name. A column without any
    value, for one reason, is a line below the table.
    """
    names = {
        heading: (names,) if isinstance(names, str) else names for heading, names in columns.items()
    }
    wanted = {name for those in names.values() for name in those}
    places = list(dict.fromkeys(place for statistic, place in cells if statistic in wanted))
    if not places:
        return
    found = {
        heading: [
            next((cells[name, at] for name in those if (name, at) in cells), None) for at in places
        ]
        for heading, those in names.items()
    }
    undefined = {heading: why for heading, rows in found.items() if (why := _why_all(rows))}
    shown = [heading for heading, rows in found.items() if any(rows) and heading not in undefined]
    said = [part for part in (0, 1) if {place[part] for place in places} != {ALL}] or [0]
    # What changes less often from line to line is the heading of those that follow.
    said.sort(key=lambda part: sum(1 for _ in groupby(place[part] for place in places)))
    if shown:
        lines = [
            Line(
                at[said[-1]],
                [Text("") if row is None else figure(row) for row in its_rows],
                at[said[0]] if len(said) > 1 else "",
            )
            for at, *its_rows in zip(places, *(found[heading] for heading in shown), strict=True)
            if any(its_rows)
        ]
        show_table(console, title, [heads[part] for part in said], shown, lines)
    else:
        console.print(Text(title, "bold"))
    for why in dict.fromkeys(undefined.values()):
        those = [" ".join(heading.split()) for heading in undefined if undefined[heading] == why]
        remark(console, f"Undefined: {', '.join(those)} ({why}).")
    if undefined:
        console.print()


def _why_all(rows: Sequence[Row | None]) -> str | None:
    """The reason why there is no value, where it is the same everywhere."""
    whys = {why(row) if isnan(row.value) else None for row in rows if row is not None}
    return whys.pop() if len(whys) == 1 else None


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
