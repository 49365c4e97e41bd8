"""`persona-panel select`: the items of a run that people should rate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.next_step import NextStep
from persona_panel.cli.options import ratings_argument
from persona_panel.files.secrets.visible import say, visible

_TEXTS, _RUBRIC = "RESPONSES", "RUBRIC"
"""What stands in a command for what only the user knows."""


@click.command(cls=PanelCommand, example="runs/first --n 60 --out items.csv")
@ratings_argument("run")
@click.option(
    "--n",
    type=click.IntRange(min=1),
    required=True,
    metavar="N",
    help="How many items people are to rate.",
)
@click.option(
    "--seed",
    hidden=True,
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of what is drawn at random.",
)
@click.option("--out", metavar="FILE", help="Write the items to this CSV file, for `people make`.")
@result_options("items >= 60", "prompts >= 10")
@refusals_without_calls
def select(
    run: str,
    mapping: Mapping[str, str],
    n: int,
    seed: int,
    out: str | None,
    output: ResultOutput,
) -> None:
    """Choose the items of RUN that people should rate, for `people calibrate`.

    RUN is a run's folder, or a file of ratings as `agree` reads it. Items are drawn at random, as
    many of each system, the more probably the more the judges disagree on them (there people's
    ratings narrow the corrected intervals most) and the fewer items their prompt has (a prompt
    counts once). The CSV of --out has the columns item, prompt, source (the
    system), inclusion_probability and spread (the standard deviation of the judges' scores).

    `people make --items` makes packets of these items for raters, and `people collect` writes their
    ratings with the probabilities. Of ratings that you collect otherwise, give the file to
    `people calibrate` as --selected, so that its estimates stay unbiased.

    Printed is how many items were drawn, and what they are too few for; with --full the items, too.

    Exit status: 0, or 2 for bad input.
    """
    from persona_panel.analyses.select import select_result
    from persona_panel.files.errors import Fault, InputError
    from persona_panel.files.outputs import require_ending
    from persona_panel.files.ratings import load_ratings
    from persona_panel.files.selections import write_selection
    from persona_panel.results.requirements.of_result import result_figures
    from persona_panel.statistics import select_items

    if out is not None:
        require_ending(out, ".csv")
    ratings = load_ratings(run, mapping=mapping)
    try:
        selection = select_items(ratings, n, seed)
    except ValueError as error:
        raise InputError([Fault(run, str(error), "ratings by judges with a persona")]) from None
    result = select_result(selection, ratings, n, source=run)
    output.gate.refuse_unknown(lambda: result_figures(result))
    if out is not None:
        write_selection(selection, Path(out))
        say(visible(f"The items are in {out}."), err=True)
    output.show(result, next_step=None if out is None else _study(run, out, len(selection)))


def _study(run: str, out: str, n_items: int) -> NextStep:
    """The next step with items in a file, and what the words in it mean that only the user
    knows."""
    made = _study_command(run, out, n_items)
    meanings = [
        f"{name} is {what}"
        for name, what in (
            (_TEXTS, "the file of the texts"),
            (_RUBRIC, "what the panel rated them by"),
        )
        if f" {name} " in made
    ]
    where = f" ({', '.join(meanings)})" if meanings else ""
    return NextStep(f"make packets of them for three people, who rate all, blind{where}", made)


def _study_command(run: str, out: str, n_items: int) -> str:
    """The command that makes packets of these items, with what it takes of a run's folder; of other
    ratings, and of a run that holds no texts, the user knows where the texts are."""
    from persona_panel.files.wording import command_line

    texts, rubric = _TEXTS, _RUBRIC
    if (Path(run) / "run.json").is_file():
        texts, rubric = _of_run(run)
    stem, n = Path(out).with_suffix(""), 1
    study = Path(f"{stem}-study")
    while study.exists():
        # A study is never written over another.
        n += 1
        study = Path(f"{stem}-study-{n}")
    options: dict[str, str | int | Path] = {
        "--items": out,
        "--raters": 3,
        "--per-rater": n_items,
        "--tasks": "rate",
        "--rubric": rubric,
        "--out": study,
    }
    return command_line("people make", [texts], options)


def _of_run(run: str) -> tuple[str, str]:
    """Return where the texts of a run are, and the rubric of its ratings."""
    from persona_panel.files.errors import RunFolderError
    from persona_panel.planning.definitions import resolve_rubric
    from persona_panel.rubrics import shipped
    from persona_panel.runs.kept import RESPONSES
    from persona_panel.runs.load import load_run

    loaded = load_run(run)
    own = loaded.rubric.id
    is_shipped = own in shipped() and resolve_rubric(own) == loaded.rubric
    try:
        next(loaded.responses(), None)
    except RunFolderError:
        # It was made with --no-texts.
        return _TEXTS, own if is_shipped else run
    return str(Path(run) / RESPONSES), own if is_shipped else run
