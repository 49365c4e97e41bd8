"""`persona-panel study`: a blinded study with people: collected, here; made, in `study_make`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.exit_status import INCOMPLETE
from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.options import json_option
from persona_panel.cli.study_make import make
from persona_panel.files.secrets.visible import say, standard_output, visible

if TYPE_CHECKING:
    from persona_panel.study.answers import ReadAnswers
    from persona_panel.study.key import StudyKey


@click.group()
def study() -> None:
    """Have people rate texts blind to their authors, and compare them with a panel."""


study.add_command(make)


@study.command(short_help="Unblind raters' answers, and write them as ratings.")
@click.argument("folder", metavar="STUDY")
@click.argument("answers", metavar="ANSWERS…", nargs=-1, required=True)
@click.option("--out", metavar="FILE", required=True, help="A CSV file for the ratings.")
@click.option("--overwrite", is_flag=True, help="Replace files that an earlier collection wrote.")
@json_option
@refusals_without_calls
def collect(
    folder: str, answers: tuple[str, ...], out: str, overwrite: bool, as_json: bool
) -> None:
    """Unblind ANSWERS, the files that raters sent back, of the study in the folder STUDY.

    Writes FILE with the scores and, next to it, the ranks and a folder with the raters' reasons,
    from which a panel can infer scores. `agree` and `correlate` read the ratings. Prints what is
    missing, how long raters took, how far they agree with themselves on repeated sets and with
    each other on calibration texts, and which attention checks were not passed. Nobody is left
    out for it. A file that is not of this study, or was changed, is refused alone. Files that are
    there already are replaced only with --overwrite; they may have been edited.

    Exit status: 0; 1, answers are missing, or a file was refused; 2, bad input, or no file could
    be used.
    """
    from persona_panel.reports.formats.json import write_json
    from persona_panel.reports.formats.terminal.study import show_collected_study
    from persona_panel.results.console import output
    from persona_panel.study.collection import collect_study
    from persona_panel.study.figures import collection_figures
    from persona_panel.study.key import read_key
    from persona_panel.study.reliability import calibration_agreement, repeat_reliability
    from persona_panel.study.tables import write_tables

    if Path(out).suffix != ".csv":
        raise click.UsageError(f"--out {out}: expected the name of a file that ends in .csv")
    key = read_key(Path(folder))
    read = _read(key, answers)
    found = collect_study(key, read)
    written = write_tables(key, found.ratings, Path(out), overwrite=overwrite)
    repeats = repeat_reliability(found.ratings, key.rubric)
    calibration = calibration_agreement(found.ratings, key.rubric)
    figures = collection_figures(key, read, found, [*repeats[0], *repeats[1]], calibration)
    if as_json:
        write_json(figures)
    else:
        with standard_output() as to:
            show_collected_study(found, repeats, calibration, output(to))
    for path in written:
        say(f"Written: {visible(str(path))}", err=True)
    for line in _selection_lines(figures, out) if "rate" in key.tasks else ():
        say(visible(line), err=True)
    if figures["missing"] or read.faults:
        sys.exit(INCOMPLETE)


@study.command(short_help="List who has answered, and how much is missing.")
@click.argument("folder", metavar="STUDY")
@click.argument("answers", metavar="[ANSWERS…]", nargs=-1)
@json_option
@refusals_without_calls
def status(folder: str, answers: tuple[str, ...], as_json: bool) -> None:
    """List the raters of the study in the folder STUDY, and what is missing of their ANSWERS.

    Exit status: 0, all is answered; 1, answers are missing, or a file was refused; 2, bad input.
    """
    from persona_panel.reports.formats.json import write_json
    from persona_panel.reports.formats.terminal.study import show_study_progress
    from persona_panel.results.console import output
    from persona_panel.study.answers import read_answers
    from persona_panel.study.collection import collect_study
    from persona_panel.study.figures import progress_figures
    from persona_panel.study.key import read_key

    key = read_key(Path(folder))
    read = read_answers(map(Path, answers), key)
    _say_faults(read)
    found = collect_study(key, read)
    figures = progress_figures(read, found)
    if as_json:
        write_json(figures)
    else:
        with standard_output() as to:
            show_study_progress(found, output(to))
    if figures["missing"] or read.faults:
        sys.exit(INCOMPLETE)


def _read(key: StudyKey, answers: tuple[str, ...]) -> ReadAnswers:
    """The answers; where no file can be used, its faults are the command's."""
    from persona_panel.files.errors import InputError
    from persona_panel.study.answers import read_answers

    read = read_answers(map(Path, answers), key)
    if not read.found:
        raise InputError(read.faults)
    _say_faults(read)
    return read


def _say_faults(read: ReadAnswers) -> None:
    for fault in read.faults:
        say(visible(f"Left out: {fault}"), err=True)
    for name in read.replaced:
        say(visible(f"Left aside: {name}, as a later file answers the same packet"), err=True)


def _selection_lines(figures: Mapping[str, Any], out: str) -> list[str]:
    """What `calibrate` can make of ratings of items that `select` drew, written to `out`."""
    from persona_panel.files.commands import command_line
    from persona_panel.results.conclusions.wording import counted

    if "selected" not in figures:
        return []
    said = [
        "Ratings have the inclusion probabilities of `select`, by which "
        f"`{command_line('calibrate', ['RUN'], {'--human': out})}` weighs them."
    ]
    if n := figures["selected_unrated"]:
        said.append(
            f"{n:,} of {counted(figures['selected'], 'selected item')} "
            f"{'has' if n == 1 else 'have'} no rating: corrected means are then unbiased only if "
            "it is chance which these are."
        )
    return said
