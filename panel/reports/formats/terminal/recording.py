"""The tables and sentences that the terminal shows, for other formats to write.

So that each table is made once, and what one format shows the others show, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TextIO

from persona_panel.results.console import ReportTable, TableRecorder

ReportPart = str | ReportTable
"""A sentence or a table."""


def tables_written_by(
    write: Callable[[Sequence[ReportPart], TextIO], None], *, has_ids: bool = False
) -> Callable[[str], Any]:
    """`__getattr__` of a module that is a renderer: its function of each kind of result, which
    hands what the terminal shows to `write`; `has_ids` as of `TableRecorder`."""

    def function_of(name: str) -> Any:
        from persona_panel.reports.formats import terminal

        if not name.startswith("render_"):
            raise AttributeError(name)
        show = getattr(terminal, name)

        @wraps(show)
        def render(*given: Any) -> None:
            *result, to = given
            recorder = TableRecorder(has_ids=has_ids)
            show(*result, recorder)
            write(recorder.parts, to)

        return render

    return function_of
