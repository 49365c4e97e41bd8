"""A result as HTML: the conclusion, a picture, tables that a reader opens.

`section` is a part of a page, `first_screen` its beginning, `page` a whole one, that opens offline;
`render` writes a result as a page, which a notebook shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from math import isnan, nan
from typing import Any, NamedTuple, TextIO
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from persona_panel.files.pages import (
    content_source,
    named,
    sentence,
    shown,
    templates,
)
from persona_panel.files.secrets import SECRETS
from persona_panel.results.axis import Axis
from persona_panel.results.conclusions.wording import judged
from persona_panel.results.definitions import definitions_of
from persona_panel.results.result import Result
from persona_panel.results.shown import key_names, short_names, shown_table
from persona_panel.results.table import Column, Table, choices_by_kind, one_line
from persona_panel.statistics.core.display import rounded, signed
from persona_panel.statistics.core.estimate import LEVEL, Difference, Estimate

TEMPLATES = ("persona_panel.results", "templates")
"""Package and folder of the templates, for pages that use their charts."""


_UNQUOTED = "!~*'()"
"""The signs that JavaScript leaves as they are in an address, too."""
_TINTS = 3
_SHADES = 8
_UPRIGHT = 8
"""With more columns their heads in a heat map stand upright."""
_MOST_ROWS = 200
_PICTURED = 20
"""The most rows of a picture, and columns of a heat map; beside a chart `_PICTURED_COLUMNS` of the
estimates have one."""
_PICTURED_COLUMNS = 3
NAME = 48
"""To how many columns names are cut in sentences and pictures; tables have them whole."""


class _Cell(NamedTuple):
    """A cell: of a heat map, with the class of its tint and whether it is significant."""

    head: str
    text: str
    ends: str = ""
    css: str = "r"
    established: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Chart:
    """The drawing of a row."""

    value: float
    low: float
    high: float
    wide: tuple[float, float]
    beside: tuple[float, float, float]
    marks: Sequence[float]
    hollow: bool


@dataclass(slots=True)
class _Line:
    """A row: its labels, the response that it is of, its chart, and its cells."""

    labels: list[str]
    response: str
    chart: _Chart | None
    cells: list[_Cell]
    note: str


@dataclass(frozen=True, slots=True)
class _Section:
    """A table as the template lays it out; `axis`: of a chart, `key`: what that draws; `names`: how
    long ones are shown."""

    title: str
    heads: list[str]
    columns: list[str]
    rows: list[_Line]
    axis: Axis | None
    key: str
    kind: str
    n_more: int
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Curve:
    """A specification curve as the template lays it out: of each row its place across, its value
    and ends, whether 0 lies outside them, and whether it is the main analysis; of each choice where
    it is marked."""

    title: str
    head: str
    axis: Axis
    points: Sequence[tuple[str, float, float, float, bool, bool]]
    choices: Sequence[tuple[str, str, Sequence[str]]]
    key: str
    kind: str = "curve"


def section(
    result: Result,
    title: str,
    *,
    full: bool = True,
    linked: bool = False,
    pictured: bool = True,
    command: str = "",
) -> Markup:
    """Return the section of a result: its conclusion and its figures, as `figures` has them."""
    made = figures(result, full=full, linked=linked, pictured=pictured, command=command)
    names = names_of(result.tables)
    sentences = [sentence(each, names) for each in (*result.conclusion, result.next_step) if each]
    return _rendered(
        "section.html.jinja", id=result.analysis, title=title, sentences=sentences, figures=made
    )


def first_screen(result: Result, title: str, *, full: bool = True) -> Markup:
    """Return the beginning of a page of a result: what was read, the answer with its figures, and
    beside them what else it concludes."""
    names = names_of(result.tables)
    concluded = [each for each in (*result.conclusion, result.next_step) if each] or [""]
    answer, *also = [sentence(each, names) for each in concluded]
    coverage = f"{judged(result.coverage)}." if result.coverage else ""
    read = " ".join(filter(None, (coverage, *result.reading)))
    template: Any = _environment().get_template("first.html.jinja").module
    return Markup(template.screen(title, read, answer, figures(result, full=full), also))  # noqa: S704


def names_of(tables: Sequence[Table]) -> dict[str, str]:
    """Return what a page shows for the names of rows, and of columns of heat maps, that are too
    long for it."""
    heads = {one_line(c.head) for table in tables if _is_heat(table) for c in table.columns}
    return short_names(key_names(tables) | heads, NAME)


def figures(
    result: Result,
    *,
    full: bool = True,
    linked: bool = False,
    pictured: bool = True,
    command: str = "",
) -> Markup:
    """Return a picture of a result, and its tables, which a reader opens.

    Args:
        full: with the tables of the full report.
        linked: whether what is of a response links to it, on a page that lists responses.
        pictured: whether it has a picture, of the first table that can be drawn.
        command: what prints the figures.
    """
    tables = [table for table in result.tables if table.is_shown(full)]
    drawn = next((table for table in tables if pictured and _is_drawn(table, full)), None)
    folded = [
        {
            "title": "Figures" if table is drawn else table.title,
            "table": None
            if table is drawn and _is_whole(table, full)
            else _section(table, full, linked, charted=table is not drawn),
            "remarks": table.remarks,
            "definitions": definitions_of(table, full),
        }
        for table in tables
    ]
    return _rendered(
        "figures.html.jinja",
        picture=None if drawn is None else _pictured(drawn, full, linked),
        tables=folded,
        remarks=[*result.remarks, *(result.remarks_in_full if full else ())],
        command=command,
    )


def picture(result: Result, name: str = "", command: str = "") -> Markup:
    """Return the picture of a table, of the first that can be drawn unless named, and how it is
    computed; empty without any.

    Args:
        command: what prints the figures.
    """
    named = (each for each in result.tables if name in ("", each.name))
    there = (each for each in named if each.is_shown(True) and _is_drawn(each, True))
    if (table := next(there, None)) is None:
        return Markup()
    drawn = _pictured(table, True, linked=False)
    return _rendered(
        "picture.html.jinja", table=drawn, definitions=definitions_of(table, True), command=command
    )


def gauge(estimate: Estimate, marks: Mapping[str, float]) -> Markup:
    """Return a small chart of an estimate beside values that it is compared with; empty where it
    has neither a value nor anything beside it."""
    there = [x for x in (estimate.value, *estimate.ends, *marks.values()) if not isnan(x)]
    if isnan(estimate.value) or not (estimate.has_interval or marks):
        return Markup()
    limits = min(0.0, *there), max(1.0, *there)
    about_zero = isinstance(estimate, Difference)
    axis = Axis.about_zero(there) if about_zero else Axis.of(limits, there)
    return _rendered("gauge.html.jinja", of=estimate, axis=axis, marks=marks)


def page(title: str, body: str, *, script: str = "", data: str = "") -> str:
    """Return a page that opens offline and loads nothing.

    Args:
        script: what it runs, nothing else.
        data: JSON for the script, so escaped that it can neither end its element nor begin one.
    """
    style = part(*TEMPLATES, "page.css")
    runs = f"script-src {content_source(script)}; " if script else ""
    policy = (
        f"default-src 'none'; {runs}style-src {content_source(style)}; base-uri 'none'; "
        "form-action 'none'"
    )
    scripts = (
        f'<script type="application/json" id="data">{data}</script>\n<script>{script}</script>\n'
    )
    before, after = SECRETS.scrub(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{Markup.escape(shown(title))}</title><style>{style}</style></head>\n"
        f'<body class="alone"><div class="page">{body}</div>\n\0</body></html>\n'
    ).split("\0")
    return f"{before}{scripts if script else ''}{after}"


def render(result: Result, to: TextIO, *, full: bool) -> None:
    """Write a page that runs nothing."""
    title = ": ".join(filter(None, (result.analysis.capitalize(), result.source)))
    body = first_screen(result, title, full=full)
    to.write(page(f"persona-panel {result.analysis}", f"<main>{body}</main>"))


@cache
def part(package: str, folder: str, name: str) -> str:
    """Return a style sheet or a script as it is inlined."""
    return files(package).joinpath(folder, name).read_text("utf-8").strip()


@cache
def _environment() -> Environment:
    made = templates(*TEMPLATES, shown)
    made.filters |= {"sentence": sentence, "named": named}
    return made


def _rendered(name: str, **values: Any) -> Markup:
    return Markup(_environment().get_template(name).render(values))  # noqa: S704


def _is_heat(table: Table) -> bool:
    return table.heat is not None or table.scale is not None


def _is_whole(table: Table, full: bool) -> bool:
    """Return whether a picture of the table has all of it, as of a heat map that is not large."""
    sizes = len(table.shown_rows(full)), len(table.shown_columns(full))
    return _is_heat(table) and max(sizes) <= _PICTURED


def _is_drawn(table: Table, full: bool) -> bool:
    column = table.charted()
    return _is_heat(table) or (
        column is not None and _axis(table, column, table.shown_rows(full)) is not None
    )


def _curve(table: Table) -> _Curve:
    """Lay out the rows that have a value, the least at the left."""
    column = table.charted()
    assert column is not None  # noqa: S101
    rows = [row for row in reversed(table.rows) if not isnan(row[column.name].value)]
    across = Axis(0.0, float(len(rows)))
    places = [across.at(n + 0.5) for n in range(len(rows))]
    points = [
        (place, of.value, *of.ends, of.sign != 0, bool(row.get("main")))
        for place, row in zip(places, rows, strict=True)
        for of in (row[column.name],)
    ]
    choices = [
        (*choice, [x for x, row in zip(places, rows, strict=True) if choice in row[table.curve]])
        for choice in choices_by_kind([row[table.curve] for row in rows])
    ]
    axis = _axis(table, column, rows) or Axis(-1.0, 1.0)
    key = (
        f"{_key(table, column, rows).replace('band', 'line')}; grey: 0 lies in it; ◇ main "
        "analysis; marks below: the choices of each analysis"
    )
    return _Curve(table.title, one_line(column.head), axis, points, choices, key)


def _pictured(table: Table, full: bool, linked: bool) -> _Section | _Curve:
    """The chart with its main estimates, whose intervals it draws; a heat map as it is."""
    if table.curve:
        return _curve(table)
    if _is_heat(table):
        cut = replace(table, columns=tuple(table.shown_columns(full)[:_PICTURED]))
        return replace(_section(cut, full, linked, n=_PICTURED), names=names_of([table]))
    estimates = [
        column
        for column in table.shown_columns(full)
        if column.kind == "estimate" and not column.ends_only
    ]
    own = table.charted()
    kept = [each for each in estimates if own in estimates[:_PICTURED_COLUMNS] or each == own]
    columns = tuple(kept[:_PICTURED_COLUMNS])
    laid_out = _section(replace(table, columns=columns), full, linked, of=table, n=_PICTURED)
    # What all rows share is in the sentence and in the table.
    if len(laid_out.rows) > 1 and len({row.labels[-1] for row in laid_out.rows}) == 1:
        for labels in (laid_out.heads, *(row.labels for row in laid_out.rows)):
            del labels[-1]
    # The chart has no place for a rank.
    kept_ends = {one_line(each.head) for each in columns if not each.digits}
    for row in laid_out.rows:
        row.note = ""
        row.cells = [c if c.head in kept_ends else c._replace(ends="") for c in row.cells]
    return replace(laid_out, names=names_of([table]))


def _section(
    table: Table,
    full: bool,
    linked: bool,
    *,
    charted: bool = True,
    of: Table | None = None,
    n: int = _MOST_ROWS,
) -> _Section:
    """Lay out the first `n` rows; the chart is of a table with more columns, `of`."""
    rows = table.shown_rows(full)[:n]
    laid_out = shown_table(replace(table, rows=rows), full)
    heads = [one_line(head) for head in laid_out.columns]
    if _is_heat(table):
        heads = [one_line(entry.head) for entry in table.shown_columns(full)]
    drawn = of or table
    column = drawn.charted() if charted else None
    charts = [None if column is None else _chart(drawn, column, row) for row in rows]
    texts = {one_line(each.head) for each in table.columns if each.kind in ("text", "texts")}
    cells = (
        [
            [
                _Cell(head, *_value_and_ends(cell.plain), "foreign t" if head in texts else "r")
                for head, cell in zip(heads, line.cells, strict=True)
            ]
            for line in laid_out.lines
        ]
        if not _is_heat(table)
        else _heat_cells(table, rows, full)
    )
    lines = [
        _Line(
            [part for part in (line.label, line.heading) if part],
            _response(row) if linked else "",
            chart,
            of_row,
            "" if _is_heat(table) else _note(row),
        )
        for row, chart, line, of_row in zip(rows, charts, laid_out.lines, cells, strict=True)
    ]
    axis = None if column is None else _axis(drawn, column, rows)
    dense = " dense" if len(heads) > _UPRIGHT else ""
    return _Section(
        laid_out.title,
        [head for head in reversed(laid_out.heads) if head],
        heads,
        lines,
        axis,
        "" if axis is None or column is None else _key(drawn, column, rows),
        f"heat{dense}" if _is_heat(table) else "forest" if axis else "",
        len(table.shown_rows(full)) - len(rows),
    )


def _key(table: Table, column: Column, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the key of a chart."""
    heads = {each.name: one_line(each.head) for each in table.columns}
    of = [row[column.name] for row in rows if row.get(column.name) is not None]
    over = next((f" over {each.over}" for each in of if each.has_interval and each.over), "")
    level = next((100 * each.level for each in of), 0)
    sentences = [f"● {one_line(column.head)}, band: {level:g} % interval{over}"]
    for name, mark in ((table.wide, "line"), (table.beside, "◇")):
        if any(row.get(name) is not None for row in rows):
            sentences.append(f"{mark}{':' if mark == 'line' else ''} {heads[name]}")
    if any(isnan(each.value) for each in of) and table.hollow:
        sentences.append("hollow: not ranked")
    if any(row.get("marks") for row in rows):
        sentences.append("marks: prompts")
    return "; ".join(sentences)


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
    wide, beside = (row.get(name) or Estimate(nan) for name in (table.wide, table.beside))
    instead = row.get(table.hollow)
    hollow = isnan(cell.value) and instead is not None
    return _Chart(
        float(instead) if instead is not None and hollow else cell.value,
        *cell.ends,
        wide.ends,
        (beside.value, *beside.ends),
        row.get("marks", ()),
        hollow,
    )


def _axis(table: Table, column: Column, rows: Sequence[Mapping[str, Any]]) -> Axis | None:
    charts = [row[column.name] for row in rows if row.get(column.name) is not None]
    more = [row[name] for name in (table.wide, table.beside) for row in rows if row.get(name)]
    ends = [x for entry in [*charts, *more] for x in (entry.value, *entry.ends) if not isnan(x)]
    limits = {entry.limits for entry in charts if not isnan(entry.value)}
    if not ends or not any(entry.has_interval for entry in charts):
        return None
    if all(isinstance(entry, Difference) for entry in charts) or column.signed:
        return Axis.about_zero(ends)
    return Axis.of(limits.pop() if len(limits) == 1 else (min(ends), max(ends)), ends)


def _heat_cells(table: Table, rows: Sequence[Mapping[str, Any]], full: bool) -> list[list[_Cell]]:
    """Each row's cells: `p1` to `p3` above 0, `n1` to `n3` below, or the other way round where
    lower is better; a dot where one that was tested alone is not beyond chance. On a scale `s1` to
    `s4` from its low to its high end."""
    columns = table.shown_columns(full)
    of = [[_estimate(row.get(column.name)) for column in columns] for row in rows]
    sizes = [abs(entry.value) for line in of for entry in line if not isnan(entry.value)]
    most = max([*sizes, table.heat or 0.0])
    return [
        [
            _heat_cell(column, each, most, table.scale)
            for column, each in zip(columns, line, strict=True)
        ]
        for line in of
    ]


def _estimate(cell: Any) -> Estimate:
    if isinstance(cell, Estimate):
        return cell
    return Estimate(nan if cell is None else cell, exact=True)


def _heat_cell(
    column: Column, entry: Estimate, most: float, scale: tuple[float, float] | None
) -> _Cell:
    head = one_line(column.head)
    if scale is not None:
        return _Cell(head, entry.number(1), "", f"c {shade(entry.value, scale)}")
    text = "; ".join(part for part in (entry.interval(), entry.p_text(), entry.lacks) if part)
    if not entry.has_interval and not isnan(entry.p) and not entry.p < LEVEL:
        return _Cell(head, "·", "", "c ", title=f"{signed(entry.value)}; {text}")
    beyond = entry.sign if entry.has_interval else not entry.lacks
    css = (
        tint(-entry.value if column.better == "lower" else entry.value, most)
        if beyond or entry.shown
        else ""
    )
    established = entry.shown and bool(entry.sign or not entry.has_interval)
    return _Cell(head, signed(entry.value), "", f"c {css}", established, text)


def tint(value: float, most: float) -> str:
    """Return the class of a cell: `p1` to `p3` above, `n1` to `n3` below, nothing where it is 0 or
    is not there. The number in the cell says the same.

    Args:
        most: the size from which on a cell has the deepest tint.

    >>> tint(2.0, 2.0), tint(-0.5, 2.0), tint(0.0, 2.0), tint(float("nan"), 1.0)
    ('p3', 'n1', '', '')
    """
    if isnan(value) or most <= 0 or rounded(value) == 0:
        return ""
    third = int(abs(value) / most * _TINTS) + 1
    return f"{'p' if value > 0 else 'n'}{min(_TINTS, third)}"


def shade(value: float, scale: tuple[float, float]) -> str:
    """Return the class of a cell on a scale: `s1` in its lowest eighth to `s8` in its highest.

    >>> shade(1.0, (1.0, 10.0)), shade(10.0, (1.0, 10.0)), shade(float("nan"), (1.0, 10.0))
    ('s1', 's8', '')
    """
    low, high = scale
    if isnan(value) or not high > low:
        return ""
    return f"s{1 + min(_SHADES - 1, max(0, int(_SHADES * (value - low) / (high - low))))}"
