"""`persona-panel questions`: a model asks critical questions about interventions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from panel.cli.failures import refusals
from panel.cli.options import caps_of_a_command, dry_run, patience
from panel.cli.signals import run_to_end
from panel.reports import load_renderer
from panel.secrets.visible import say, say_json, standard_output, visible

if TYPE_CHECKING:
    from panel.calls.budget import Caps

INCOMPLETE = 1


@click.command()
@click.argument("interventions", metavar="INTERVENTIONS")
@click.option(
    "--model", "spec", metavar="SPEC", required=True, help="Model that asks, provider:name."
)
@click.option("--out", metavar="FILE", help="File for the questions.  [default: standard output]")
@patience
@dry_run
@caps_of_a_command
@refusals
def questions(
    interventions: str,
    spec: str,
    out: str | None,
    patience: int | None,
    dry_run: bool,
    caps: Caps,
) -> None:
    """Have a model ask three critical questions about each intervention.

    INTERVENTIONS is a JSONL file with the fields id and intervention. The output is a file
    that `score` reads, one question per line with the intervention as its context: score it
    with `score --rubric critical-question`, or compare it with reference questions by `match`.

    Exit status: 0, all questions are there; 1, some are missing (they are named on standard
    error); 2, wrong input or configuration, no model was called. The same command asks again
    for the missing questions only.
    """
    from panel.errors import ConfigurationError
    from panel.io.private_files import replace_file
    from panel.plan.definitions import config_of
    from panel.questions.asking import QUESTIONS_TOKENS, asking_questions
    from panel.questions.calling import answers, estimate_answers
    from panel.questions.interventions import as_row, load_interventions

    read = load_interventions(interventions)
    model = config_of(spec).model_copy(update={"patience": patience})
    if out and not Path(out).resolve().parent.is_dir():
        raise ConfigurationError(
            f"--out {out}: the folder {Path(out).parent} does not exist; create it first"
        )
    dialogues = [asking_questions(one.intervention) for one in read]
    if dry_run:
        estimate = estimate_answers(model, dialogues, QUESTIONS_TOKENS)
        with standard_output() as to:
            load_renderer("terminal").render_cost_estimates([estimate], to)
        return
    found = run_to_end(answers(model, dialogues, caps))
    rows = [
        as_row(one, number, question, spec)
        for one, answer in zip(read, found, strict=True)
        for number, question in enumerate(answer.value or (), start=1)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    missing = [(one.id, a.error) for one, a in zip(read, found, strict=True) if a.error is not None]
    if out and missing and Path(out).exists():
        # It may be whole, and the replies that came are in the cache.
        say(f"{out} was not changed, because questions are missing.", err=True)
    elif out:
        # A file of the user's own, who says who may read it (umask).
        replace_file(Path(out), text.encode(), permissions=0o666)
    else:
        say_json(text)
    for name, error in missing:
        say(visible(f"{name}: no questions ({error})"), err=True)
    say(
        f"{len(rows):,} questions about {len(read) - len(missing):,} of {len(read):,} "
        "interventions",
        err=True,
    )
    if missing:
        sys.exit(INCOMPLETE)
