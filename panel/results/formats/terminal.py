"""A result as tables and sentences in a terminal: the figures, and last, where a reader looks when
the command has ended, the conclusion."""

from __future__ import annotations

from typing import TextIO

from rich.text import Text

from persona_panel.results.console import ReportTable, output, show_table
from persona_panel.results.result import Result
from persona_panel.results.shown import SmallPrint, figure_parts

WHERE_THE_REST_IS = "--full has every table, --json every statistic."


def render(result: Result, to: TextIO, *, full: bool) -> None:
    """Write the tables and how to read them, in short, where the rest is, and the conclusion."""
    console = output(to)
    rest = [SmallPrint(WHERE_THE_REST_IS)] if result.has_more and not full else []
    before: object = None
    said = [*result.conclusion, *filter(None, [result.next_step])]
    for part in [*figure_parts(result, full), *rest, *said]:
        # A table ends with an empty line; sentences of one kind stand together.
        if before is not None and not isinstance(before, ReportTable) and type(part) is not before:
            console.print()
        if isinstance(part, ReportTable):
            show_table(console, part.title, part.heads, part.columns, part.lines)
        else:
            console.print(Text(part, "dim" if isinstance(part, SmallPrint) else ""))
        before = part if isinstance(part, ReportTable) else type(part)
