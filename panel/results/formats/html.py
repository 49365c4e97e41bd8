"""A result as HTML: the conclusion, tables with a chart of their main estimates, how to read them.

`section` is a part of a page, with the classes that its style sheet gives a look; `render` writes a
whole document, and a notebook shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import isnan
from typing import Any, TextIO

from jinja2 import Environment
from markupsafe import Markup

from persona_panel.files.pages import content_source, templates
from persona_panel.files.secrets import SECRETS
from persona_panel.results.axis import Axis
from persona_panel.results.page_text import sentence, shown
from persona_panel.results.result import Result
from persona_panel.results.shown import shown_table
from persona_panel.results.table import Table, one_line
from persona_panel.statistics.core.estimate import Estimate

TEMPLATES = ("persona_panel.results", "templates")
"""Package and folder of the templates, for pages that use their marks."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A row: its labels, its chart, and its cells as head, value and interval."""

    labels: list[str]
    chart: Estimate | None
    cells: list[tuple[str, str, str]]
    note: str


@dataclass(frozen=True, slots=True)
class _Section:
    """A table as the template lays it out; `axis` is None without a chart."""

    title: str
    heads: list[str]
    columns: list[str]
    rows: list[_Line]
    axis: Axis | None
    charted: str
    has_notes: bool
    remarks: list[str]


def section(result: Result, title: str, *, level: int = 2, full: bool = True) -> Markup:
    """Return the section of a result.

    Args:
        level: of its heading, from 1.
    """
    return Markup(  # noqa: S704
        _environment()
        .get_template("section.html.jinja")
        .render(
            id=result.analysis,
            title=title,
            level=level,
            result=result,
            tables=[_section(table, full) for table in result.tables if table.is_shown(full)],
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


def _section(table: Table, full: bool) -> _Section:
    rows = table.shown_rows(full)
    laid_out = shown_table(table, full)
    heads = [one_line(head) for head in laid_out.columns]
    column = table.charted()
    charts = [None if column is None else row.get(column.name) for row in rows]
    lines = [
        _Line(
            [part for part in (line.label, line.heading) if part],
            chart,
            [
                (head, *_value_and_ends(cell.plain))
                for head, cell in zip(heads, line.cells, strict=True)
            ],
            _note(row),
        )
        for row, chart, line in zip(rows, charts, laid_out.lines, strict=True)
    ]  # fmt: skip
    return _Section(
        laid_out.title,
        [head for head in reversed(laid_out.heads) if head],
        heads,
        lines,
        _axis([chart for chart in charts if chart is not None]),
        "" if column is None else one_line(column.head),
        any(line.note for line in lines),
        list(table.remarks),
    )


def _value_and_ends(text: str) -> tuple[str, str]:
    value, bracket, ends = text.replace("\n", " ").partition(" [")
    return value, f"[{ends}" if bracket else ""


def _note(row: Mapping[str, Any]) -> str:
    lacks = (cell.lacks for cell in row.values() if isinstance(cell, Estimate) and not cell.exact)
    return "; ".join(dict.fromkeys(str(lack) for lack in lacks if lack))


def _axis(charts: list[Estimate]) -> Axis | None:
    ends = [x for chart in charts for x in (chart.value, chart.low, chart.high) if not isnan(x)]
    limits = {chart.limits for chart in charts}
    if not ends or not any(chart.has_interval for chart in charts):
        return None
    return Axis.of(limits.pop() if len(limits) == 1 else (min(ends), max(ends)), ends)
