"""`persona-panel report`: a run's folder in, a page to look at out; and the page at a run's end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from panel.cli.failures import refusals_without_calls
from panel.cli.gate import Gate, gate_options
from panel.cli.options import Command, by_option, column_mapping, option, refuse_mapping_alone
from panel.secrets.visible import say, visible

if TYPE_CHECKING:
    from panel.report_page.report import RunReport
    from panel.runs.run import Run
    from panel.statistics.core.table import Ratings


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--human",
    metavar="RATINGS",
    help="Human ratings of the same responses, in the form that `agree` reads, to be compared with "
    "the panel's on the page.",
)
@column_mapping("--human", "score=value", "--map-human", parameter="human_mapping")
@by_option(
    "Also the systems within each persona, axis (of personas), model, prompt or dimension, or each "
    "value of a column of the responses, and whether they differ between these."
)
@click.option("--out", metavar="FILE", help="The page's file.  [default: RUN/report.html]")
@gate_options
@refusals_without_calls
def report(
    run: str,
    human: str | None,
    human_mapping: Mapping[str, str],
    by: str | None,
    out: str | None,
    gate: Gate,
) -> None:
    """Write a page of RUN, the folder of a run or a sweep, to look at in a browser.

    The page is one file that opens without a network and sends nothing: what is established,
    systems with their intervals, who differs, contested responses, every response with its
    judgments, deliberation, sweep and audit, as far as the run has them. Texts that the page has
    no room for stay in the folder, and the page says which.

    Exit status: 0; 2 for bad input; 3 where a requirement is not met.
    """
    from panel.io.ratings import load_ratings
    from panel.report_page.report import NAME, report_of
    from panel.runs.load import load_run

    refuse_mapping_alone(human, human_mapping)
    humans = load_ratings(human, mapping=human_mapping) if human is not None else None
    loaded = load_run(run)
    _written(report_of(loaded, humans, by), Path(out) if out is not None else Path(run) / NAME)
    from panel.gate.run_figures import run_figures

    gate.finish(lambda: run_figures(loaded), conclusion=loaded.conclusion, board=loaded.leaderboard)


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
    """Write a run's page into its folder, or say how to, where that would take long."""
    from panel.report_page.report import AUTOMATIC, NAME, report_of

    if run.folder is None:
        return
    if (n := run.coverage.expected) > AUTOMATIC:
        say(
            f"No report.html for {n:,} judgments, as more than {AUTOMATIC:,} take a while: "
            f"`persona-panel report {visible(str(run.folder))}` writes it.",
            err=True,
        )
        return
    _written(report_of(run, humans, by), run.folder / NAME)


def _written(page: RunReport, path: Path) -> None:
    from panel.errors import RunFolderError

    try:
        page.write(path)
    except OSError as error:
        raise RunFolderError(f"{path} cannot be written: {error.strerror}") from None
    say(f"Report: {visible(str(path))} ({len(page.html.encode()) / 1e6:.1f} MB)", err=True)
