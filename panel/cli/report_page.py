"""The page of a run: written at the run's end, and by `persona-panel report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from persona_panel.cli.options import Command, option
from persona_panel.files.errors import RunFolderError, RunStopped
from persona_panel.files.secrets.visible import say, visible

if TYPE_CHECKING:
    from persona_panel.reports.page.report import RunReport
    from persona_panel.runs.run import Run
    from persona_panel.statistics import Ratings


def report_option(command: Command) -> Command:
    """The option not to write the page; the command is given `report`, whether to write it."""
    return option(
        "--no-report",
        "report",
        flag_value=False,
        default=True,
        help="Do not write report.html at the end; `persona-panel report RUN` writes it later.",
    )(command)


def report_at_the_end(run: Run, humans: Ratings | None = None, by: str | None = None) -> None:
    """Write a run's page into its folder, or say how to, where that would take long.

    Raises:
        RunStopped: it cannot be written; the run itself is whole.
    """
    from persona_panel.reports.page import AUTOMATIC

    if run.folder is None:
        return
    from persona_panel.files.commands import command_line
    from persona_panel.files.run_copies import shown_folder

    if (n := run.coverage.expected) > AUTOMATIC:
        say(
            f"No report.html for {n:,} judgments, as more than {AUTOMATIC:,} take a while: "
            f"`{visible(command_line('report', [shown_folder(run.folder)]))}` writes it.",
            err=True,
        )
        return
    # Templates and their library are of no use to a run that has no page.
    from persona_panel.reports.page.report import NAME, report_of

    try:
        write_report(report_of(run, humans, by), run.folder / NAME)
    except RunFolderError as error:
        raise RunStopped(
            f"{error}. The run is complete but for its page; "
            f"`{command_line('report', [shown_folder(run.folder)])}` writes it"
        ) from None


def write_report(page: RunReport, path: Path) -> None:
    """Write a page into its file, and say where it is.

    Raises:
        RunFolderError: it cannot be written.
    """
    from persona_panel.files.outputs import writing
    from persona_panel.files.run_copies import shown_folder

    replaced = ", replaces the one there" if path.exists() else ""
    with writing(path):
        page.write(path)
    size = f"{len(page.html.encode()) / 1e6:.1f} MB"
    folder = shown_folder(path.parent)
    shown = str(path) if folder == str(path.parent) else f"{folder}/{path.name}"
    say(f"Report: {visible(shown)} ({size}{replaced})", err=True)
