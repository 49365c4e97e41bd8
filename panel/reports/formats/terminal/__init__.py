"""Results as tables and sentences in a terminal: the conclusion first, then its figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

# Nothing is imported here that the result at hand may do without.
if TYPE_CHECKING:
    from rich.console import Console

    from persona_panel.analyses.breakdown.strata import SystemsBy
    from persona_panel.runs.run import Run


def render_run(run: Run, labels: Mapping[str, str], to: TextIO) -> None:
    """The leaderboard, the ranking within each prompt, what is missing, and what a deliberation
    changed."""
    from persona_panel.reports.formats.terminal.run import show_run
    from persona_panel.results.console import output

    console = output(to)
    show_run(run, console, labels)
    if (report := run.deliberation()) is not None:
        from persona_panel.reports.formats.terminal.deliberation import show_deliberation

        show_deliberation(report, console, labels)
    _show_folder(run.folder, console)


def render_run_by(run: Run, found: SystemsBy, labels: Mapping[str, str], to: TextIO) -> None:
    """As `render_run`, then the systems within strata."""
    from persona_panel.analyses.systems_by import systems_by_result
    from persona_panel.results.formats.terminal import render

    render_run(run, labels, to)
    render(systems_by_result(found, run), to, full=False)


def _show_folder(folder: Path | None, console: Console) -> None:
    if folder is None:
        return
    from persona_panel.files.named_files import is_copy, shown_folder

    # It is not at its address yet: who sends it says so.
    if not is_copy(folder):
        console.print(f"The run is in {shown_folder(folder)}", soft_wrap=True)
