"""`persona-panel report`, a run's page, also written at its end, and `view`, runs in a browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from persona_panel.analyses import parameters
from persona_panel.cli.analysis_command import Gate, gate_options
from persona_panel.cli.failures import refusals_without_calls, say_what_goes_on
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.options import (
    Command,
    HumanReading,
    decimal_option,
    human_options,
    option,
    say_reading,
    with_parameters,
)
from persona_panel.files.errors import (
    ConfigurationError,
    Fault,
    InputError,
    RunFolderError,
    RunStopped,
)
from persona_panel.files.secrets import say, standard_output, visible
from persona_panel.results.formats import terminal

if TYPE_CHECKING:
    from persona_panel.analyses.group_contrasts import GroupContrasts
    from persona_panel.reports.page.report import RunReport
    from persona_panel.results.required_figures import Figure
    from persona_panel.results.result import Result
    from persona_panel.runs.run import Run
    from persona_panel.statistics import Ratings


def report_option(command: Command) -> Command:
    """The option not to write the page; the command is given `report`, whether to write it."""
    return option(
        "--no-report",
        "report",
        hidden=True,
        flag_value=False,
        default=True,
        help="Do not write report.html at the end; `persona-panel report RUN` writes it later.",
    )(command)


def place_of(run: Run, name: str = "") -> str:
    """Return the name of a run's folder, or of a file in it; empty where there is no folder, and
    of a copy, which is not at its address yet: who sends it says so."""
    from persona_panel.files.named_files import is_copy, shown_folder

    if run.folder is None or is_copy(run.folder):
        return ""
    folder = shown_folder(run.folder)
    return f"{folder}/{name}" if name else folder


def report_at_the_end(run: Run, humans: Ratings | None = None, by: str | None = None) -> str:
    """Write a run's page into its folder, or say how to, where that would take long; return the
    name of the page, or of the folder where none was written; empty where there is no folder.
    Raises RunStopped: it cannot be written; the run itself is whole."""
    from persona_panel.reports.page import AUTOMATIC

    if run.folder is None:
        return ""
    from persona_panel.analyses.analysis import beside_people, command_on

    later = command_on(run, "report", people=beside_people(run))
    if (n := run.coverage.expected) > AUTOMATIC:
        say(
            f"No report.html for {n:,} judgments, as more than {AUTOMATIC:,} take a while: "
            f"`{visible(later)}` writes it.",
            err=True,
        )
        return place_of(run)
    # Templates and their library are of no use to a run that has no page.
    from persona_panel.files.outputs import writing
    from persona_panel.reports.page.report import NAME, report_of

    try:
        with writing(run.folder / NAME):
            report_of(run, humans, by).write(run.folder / NAME)
    except RunFolderError as error:
        raise RunStopped(
            f"{error}. The run is complete but for its page; `{later}` writes it"
        ) from None
    return place_of(run, NAME)


def write_report(page: RunReport, path: Path) -> str:
    """Write a page into its file; return what that is called. Raises RunFolderError: it cannot be
    written."""
    from persona_panel.files.named_files import shown_folder
    from persona_panel.files.outputs import writing

    with writing(path):
        page.write(path)
    folder = shown_folder(path.parent)
    return str(path) if folder == str(path.parent) else f"{folder}/{path.name}"


@click.command(cls=PanelCommand, example="runs/first --human ratings.csv")
@click.argument("run", metavar="RUN")
@human_options(
    "Human ratings of the same responses, in the form that `agree` reads, to be compared with "
    "the panel's on the page."
)
@with_parameters(
    parameters.epsilon(
        "With --human: the alternative annotator test (0.1 if not given),", "--human"
    ),
    parameters.selected("--human"),
    *parameters.groups(required=False, needs="--human"),
    parameters.by(
        "Also the systems by persona, axis, model, prompt, dimension or a column. An axis is one "
        "of personas, a column one of the responses; and whether the systems differ between these."
    ),
)
@click.option("--out", metavar="FILE", help="The page's file.  [default: RUN/report.html]")
@decimal_option
@gate_options("composite[my-model] >= 6", "difference[new, old] > -0.2", "rho >= 0.8")
@refusals_without_calls
def report(
    run: str,
    human: str | None,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    epsilon: float | None,
    selected: str | None,
    raters: str | None,
    groups: str | None,
    by: str | None,
    out: str | None,
    gate: Gate,
) -> None:
    """Write a page of RUN, the folder of a run or a sweep, to look at in a browser, and print the
    answers as `score` does.

    The page is one file that opens without a network and sends nothing: the answers to five
    questions with the ranking as a picture, then their evidence, who differs, contested responses,
    every response with its judgments, deliberation, sweep and audit, as far as the run has them.
    Texts that the page has no room for stay in the folder, and the page says which.

    With --human it also says whether the panel, and which of its judges, may take the place of a
    person (the alternative annotator test, as in `people correlate`), what people would give on
    average to each system (`people calibrate`; with --selected where `select` chose what they
    rated) and the effective number of votes (`people votes`); with --raters and --groups whether
    personas differ as the people they stand for do (`people fidelity`). --require then takes the
    figures of these commands, too.

    Exit status: 0; 2 for bad input; 3 where a requirement is not met.
    """
    from persona_panel.analyses.analysis import EPSILON
    from persona_panel.analyses.score import score_result
    from persona_panel.files.aligned_ratings import load_human_ratings
    from persona_panel.files.selections import known_inclusion
    from persona_panel.files.wording import command_line
    from persona_panel.reports.page.report import NAME, report_of
    from persona_panel.runs.kept import refuse_loss_of_ratings
    from persona_panel.runs.load import load_run

    say_what_goes_on([run])
    if (raters is None) != (groups is None):
        raise click.UsageError("--raters and --groups are given together, or neither.")
    humans = inclusion = None
    if human is not None:
        humans = load_human_ratings(human, human_mapping, **reading)
        inclusion = known_inclusion(humans, selected, human_mapping)
    loaded = load_run(run)
    if humans is None and out is None:
        refuse_loss_of_ratings(
            Path(run),
            "the run's page",
            lambda words: (
                f"keep them with `{visible(command_line('report', [run], None, words))}`, or name "
                "the file of a page by the panel alone with --out"
            ),
        )
    contrasts: GroupContrasts | None = None
    if human is not None and raters is not None and groups is not None:
        from persona_panel.analyses.group_contrasts import group_contrasts
        from persona_panel.analyses.inputs import HumanInput

        people = HumanInput(human, human_mapping, **reading)
        contrasts = group_contrasts(run, people, raters, groups)
    page = report_of(
        loaded,
        humans,
        by,
        epsilon=EPSILON if epsilon is None else epsilon,
        inclusion=inclusion,
        fidelity=contrasts,
        required=[
            name
            for requirement in gate.requirements
            for name in (requirement.name, *requirement.keys)
        ],
    )

    @cache
    def result() -> Result:
        return score_result(loaded, people=page.people)

    @cache
    def figures() -> list[Figure]:
        return _figures(result(), page)

    gate.refuse_unknown(figures)
    say_reading(None if page.people is None else page.people.people.origin)
    written = write_report(page, Path(out) if out is not None else Path(run) / NAME)
    with standard_output() as to:
        terminal.render(
            replace(page.leading or result(), page=written), to, full=False,
            rest="The page has the rest.",
        )  # fmt: skip
    gate.finish(figures, of=result)


def _figures(of_run: Result, page: RunReport) -> list[Figure]:
    """Return the figures that --require may name: the run's, then people's beside the panel."""
    from persona_panel.analyses.score import CORRECTED
    from persona_panel.results.required_figures import result_figures

    # The correction by people's ratings is among what stands beside.
    own = [table for table in of_run.tables if not table.name.startswith(CORRECTED)]
    results = [replace(of_run, tables=own), *page.beside]
    return [figure for result in results for figure in result_figures(result)]


@click.command(cls=PanelCommand, example="runs --open")
@click.argument("folder", metavar="[FOLDER]", default="runs")
@option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65_535),
    default=0,
    help="The port to listen on.  [default: a free one]",
)
@option("--open", "opened", is_flag=True, help="Also open the page in the browser.")
@refusals_without_calls
def view(folder: str, port: int, opened: bool) -> None:
    """Show the runs below FOLDER (`runs` if not given) in a browser, as they go on.

    A line for each run: what it came to, how complete it is, what it cost. Of a run that goes on:
    how far it is, its rate, its cost against the cap, what is missing and why, and systems' means
    with their intervals so far. Two runs can be compared. A run that was killed is shown with the
    command that goes on with it.

    The server reads files and writes none, calls no model, and answers on 127.0.0.1 alone, at an
    address that it prints last. The address has a key, as other users of the machine could open it
    otherwise. For a machine elsewhere, `ssh -L PORT:127.0.0.1:PORT MACHINE` brings the port here.

    Ctrl-C ends it, and no run.

    Exit status: 0; 2 where there is no such folder, or the port is taken.
    """
    from persona_panel.files.wording import unreadable

    root = Path(folder)
    if not root.is_dir():
        actual = "a file" if root.is_file() else unreadable(root)
        expected = "a folder of runs: `score --out FOLDER/NAME` writes one into it"
        raise InputError([Fault(folder, actual, expected)])
    from persona_panel.view.server import HOST, ViewServer

    try:
        server = ViewServer(root, port)
    except OSError as error:
        raise ConfigurationError(
            f"--port {port}: {HOST} cannot be listened on there ({error.strerror}); choose "
            "another one, or leave it out for a free one"
        ) from None
    say(f"Runs below {visible(str(root))}, until Ctrl-C ends this:", err=True)
    say(server.address)
    if opened:
        import webbrowser

        webbrowser.open(server.address_to_open_once())
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.end()
