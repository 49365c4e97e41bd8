"""A result as HTML: the conclusion, tables with a chart of their main estimates, how to read them.

`section` is a part of a page, with the classes that its style sheet gives a look; `render` writes a
whole document, and a notebook shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import isnan, nan
from typing import Any, NamedTuple, TextIO
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from persona_panel.files.pages import content_source, templates
from persona_panel.files.secrets import SECRETS
from persona_panel.results.axis import Axis
from persona_panel.results.page_text import sentence, shown
from persona_panel.results.result import Result
from persona_panel.results.shown import shown_table
from persona_panel.results.table import Column, Table, one_line
from persona_panel.statistics.core.display import signed
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.levels import LEVEL

TEMPLATES = ("persona_panel.results", "templates")
"""Package and folder of the templates, for pages that use their marks."""


_UNQUOTED = "!~*'()"
"""What JavaScript leaves as it is in an address, too."""
_TINTS = 3
_UPRIGHT = 8
"""With more columns their heads in a heat map stand upright."""
_MOST_ROWS = 200


class _Cell(NamedTuple):
    """A cell: of a heat map, with the class of its tint and whether it is established."""

    head: str
    text: str
    ends: str = ""
    tint: str = ""
    established: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class _Chart:
    """What is drawn of a row."""

    value: float
    low: float
    high: float
    wide: tuple[float, float]
    marks: Sequence[float]
    hollow: bool


@dataclass(frozen=True, slots=True)
class _Line:
    """A row: its labels, the response that it is of, its chart, and its cells."""

    labels: list[str]
    response: str
    chart: _Chart | None
    cells: list[_Cell]
    note: str


@dataclass(frozen=True, slots=True)
class _Section:
    """A table as the template lays it out; `axis` is None without a chart, `folded` where a reader
    opens it."""

    title: str
    heads: list[str]
    columns: list[str]
    rows: list[_Line]
    axis: Axis | None
    charted: str
    kind: str
    has_notes: bool
    remarks: list[str]
    folded: bool
    n_more: int


def section(
    result: Result, title: str, *, level: int = 2, full: bool = True, linked: bool = False
) -> Markup:
    """Return the section of a result.

    Args:
        level: of its heading, from 1.
        full: with the tables of the full report, folded.
        linked: whether what is of a response links to it, on a page that lists responses.
    """
    return Markup(  # noqa: S704
        _environment()
        .get_template("section.html.jinja")
        .render(
            id=result.analysis,
            title=title,
            level=level,
            result=result,
            tables=[
                _section(table, full, linked) for table in result.tables if table.is_shown(full)
            ],
            remarks=[*result.remarks, *(result.remarks_in_full if full else ())],
        )
    )


def render(result: Result, to: TextIO, *, full: bool) -> None:
    """Write a document that opens offline and runs nothing."""
    style = files(TEMPLATES[0]).joinpath(TEMPLATES[1], "result.css").read_text("utf-8").strip()
    policy = (
        f"default-src 'none'; style-src {content_source(style)}; base-uri 'none'; "
        "form-action 'none'"
    )
    body = section(result, result.analysis.capitalize(), level=1, full=full)
    to.write(
        SECRETS.scrub(
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>persona-panel {result.analysis}</title><style>{style}</style></head>\n"
            f'<body class="result">{body}</body></html>\n'
        )
    )


@cache
def _environment() -> Environment:
    made = templates(*TEMPLATES, shown)
    made.filters["sentence"] = sentence
    return made


def _section(table: Table, full: bool, linked: bool) -> _Section:
    rows = table.shown_rows(full)[:_MOST_ROWS]
    laid_out = shown_table(replace(table, rows=rows), full)
    heads = [one_line(head) for head in laid_out.columns]
    if table.heat is not None:
        heads = [one_line(entry.head) for entry in table.shown_columns(full)]
    column = table.charted()
    charts = [None if column is None else _chart(table, column, row) for row in rows]
    cells = (
        [
            [
                _Cell(head, *_value_and_ends(cell.plain))
                for head, cell in zip(heads, line.cells, strict=True)
            ]
            for line in laid_out.lines
        ]
        if table.heat is None
        else _heat_cells(table, rows, full)
    )
    lines = [
        _Line(
            [part for part in (line.label, line.heading) if part],
            _response(row) if linked else "",
            chart,
            of_row,
            _note(row),
        )
        for row, chart, line, of_row in zip(rows, charts, laid_out.lines, cells, strict=True)
    ]
    axis = None if column is None else _axis(table, column, rows)
    dense = " dense" if len(heads) > _UPRIGHT else ""
    return _Section(
        laid_out.title,
        [head for head in reversed(laid_out.heads) if head],
        heads,
        lines,
        axis,
        "" if column is None else one_line(column.head),
        f"heat{dense}" if table.heat is not None else "forest" if axis else "",
        table.heat is None and any(line.note for line in lines),
        list(table.remarks),
        table.when == "full",
        len(table.shown_rows(full)) - len(rows),
    )


def _value_and_ends(text: str) -> tuple[str, str]:
    value, bracket, ends = text.replace("\n", " ").partition(" [")
    return value, f"[{ends}" if bracket else ""


def _response(row: Mapping[str, Any]) -> str:
    """The address of the response that a row is of, in the page; empty of what is of none."""
    if not {"prompt_id", "id"} <= row.keys():
        return ""
    return "/".join(
        ["r", *(quote(row[entry], _UNQUOTED, errors="replace") for entry in ("prompt_id", "id"))]
    )


def _note(row: Mapping[str, Any]) -> str:
    lacks = (cell.lacks for cell in row.values() if isinstance(cell, Estimate) and not cell.exact)
    return "; ".join(dict.fromkeys(str(lack) for lack in lacks if lack))


def _chart(table: Table, column: Column, row: Mapping[str, Any]) -> _Chart | None:
    cell: Estimate | None = row.get(column.name)
    if cell is None:
        return None
    wide = row.get(table.wide) or Estimate(nan)
    instead = row.get(table.hollow)
    hollow = isnan(cell.value) and instead is not None
    return _Chart(
        float(instead) if instead is not None and hollow else cell.value,
        *cell.ends,
        wide.ends,
        row.get("marks", ()),
        hollow,
    )


def _axis(table: Table, column: Column, rows: Sequence[Mapping[str, Any]]) -> Axis | None:
    charts = [row[column.name] for row in rows if row.get(column.name) is not None]
    wide = [row[table.wide] for row in rows if row.get(table.wide) is not None]
    ends = [x for entry in [*charts, *wide] for x in (entry.value, *entry.ends) if not isnan(x)]
    limits = {entry.limits for entry in charts if not isnan(entry.value)}
    if not ends or not any(entry.has_interval for entry in charts):
        return None
    if all(isinstance(entry, Difference) for entry in charts) or column.signed:
        return Axis.about_zero(ends)
    return Axis.of(limits.pop() if len(limits) == 1 else (min(ends), max(ends)), ends)


def _heat_cells(table: Table, rows: Sequence[Mapping[str, Any]], full: bool) -> list[list[_Cell]]:
    """Each row's cells: `p1` to `p3` above 0, `n1` to `n3` below, or the other way round where
    lower is better; a dot where one that was tested alone is not beyond chance."""
    columns = table.shown_columns(full)
    of = [[_estimate(row.get(column.name)) for column in columns] for row in rows]
    sizes = [abs(entry.value) for line in of for entry in line if not isnan(entry.value)]
    most = max([*sizes, table.heat or 0.0])
    return [
        [_heat_cell(column, entry, most) for column, entry in zip(columns, line, strict=True)]
        for line in of
    ]


def _estimate(cell: Any) -> Estimate:
    if isinstance(cell, Estimate):
        return cell
    return Estimate(nan if cell is None else cell, exact=True)


def _heat_cell(column: Column, entry: Estimate, most: float) -> _Cell:
    head = one_line(column.head)
    said = "; ".join(part for part in (entry.interval(), entry.p_text(), entry.lacks) if part)
    if not entry.has_interval and not isnan(entry.p) and not entry.p < LEVEL:
        return _Cell(head, "·", said=f"{signed(entry.value)}; {said}")
    beyond = entry.sign if entry.has_interval else not entry.lacks
    css = (
        tint(-entry.value if column.better == "lower" else entry.value, most)
        if beyond or entry.shown
        else ""
    )
    established = entry.shown and bool(entry.sign or not entry.has_interval)
    return _Cell(head, signed(entry.value), "", css, established, said)


def tint(value: float, most: float) -> str:
    """Return the class of a cell: `p1` to `p3` above, `n1` to `n3` below, nothing where it is 0 or
    is not there. The number in the cell says the same.

    Args:
        most: the size from which on a cell has the deepest tint.

    >>> tint(2.0, 2.0), tint(-0.5, 2.0), tint(0.0, 2.0), tint(float("nan"), 1.0)
    ('p3', 'n1', '', '')
    """
    if isnan(value) or most <= 0 or round(value, 2) == 0:
        return ""
    share = min(1.0, abs(value) / max(most, 1e-9))
    return f"{'p' if value > 0 else 'n'}{min(_TINTS, int(share * _TINTS) + 1)}"
