"""`persona-panel questions`: a model asks critical questions about interventions."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.batch_options import show_estimates, tell
from persona_panel.cli.failures import refusals, status_of
from persona_panel.cli.options import caps_of_a_command, dry_run, model_options
from persona_panel.cli.panel_options import patience_option
from persona_panel.cli.signals import run_to_end
from persona_panel.files.secrets.visible import say, say_json, visible
from persona_panel.results.result import load_format

if TYPE_CHECKING:
    from persona_panel.calls.budget import Caps


@click.command()
@click.argument("interventions", metavar="INTERVENTIONS")
@click.option(
    "--model", "spec", metavar="SPEC", required=True, help="Model that asks, provider:name."
)
@click.option(
    "--runs",
    metavar="K",
    type=click.IntRange(min=1),
    default=1,
    help="Ask K times; each question then has a field run, and `match` reports the mean and "
    "standard deviation over runs. Needs a temperature above 0.  [default: 1]",
)
@click.option("--out", metavar="FILE", help="File for the questions.  [default: standard output]")
@model_options
@patience_option
@dry_run
@caps_of_a_command
@refusals
def questions(
    interventions: str,
    spec: str,
    runs: int,
    out: str | None,
    model_options: Mapping[str, Any],
    patience: float | None,
    dry_run: bool,
    caps: Caps,
) -> None:
    """Have a model ask three critical questions about each intervention.

    INTERVENTIONS is a JSONL file with the fields id and intervention. The output is a file
    that `score` reads, one question per line with the intervention as its context: score it
    with `score --rubric critical-question`, or compare it with reference questions by `match`.

    Exit status: 0, all questions are there; 1, some are missing (they are named on standard
    error); 2, wrong input or configuration, no model was called; 4, there is no question. The
    same command asks again for the missing questions only.
    """
    from persona_panel.experiments.questions.asking import (
        QUESTIONS_TOKENS,
        as_row,
        asking_questions,
        load_interventions,
    )
    from persona_panel.experiments.questions.calling import answers, estimate_answers
    from persona_panel.files.errors import ConfigurationError
    from persona_panel.files.outputs import replace_file
    from persona_panel.planning.definitions import configured

    # Run by run, so that what is stopped early has whole runs.
    loaded = load_interventions(interventions)
    asked = [(intervention, run) for run in range(1, runs + 1) for intervention in loaded]
    read = [intervention for intervention, _ in asked]
    times = [run for _, run in asked]
    model = configured(spec, model_options, patience=patience)
    if out and not Path(out).resolve().parent.is_dir():
        raise ConfigurationError(
            f"--out {out}: the folder {Path(out).parent} does not exist; create it first"
        )
    dialogues = [asking_questions(intervention.intervention) for intervention in read]
    if dry_run:
        estimate = estimate_answers(model, dialogues, QUESTIONS_TOKENS, times)
        show_estimates([estimate], load_format("terminal"))
        tell([estimate], caps)
        return
    answered = run_to_end(answers(model, dialogues, caps, times))
    rows = [
        as_row(intervention, number, question, spec, run if runs > 1 else None)
        for (intervention, run), answer in zip(asked, answered, strict=True)
        for number, question in enumerate(answer.value or (), start=1)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    missing = [
        (intervention.id, a.error)
        for intervention, a in zip(read, answered, strict=True)
        if a.error is not None
    ]
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
        "interventions" + (f", {runs} runs together" if runs > 1 else ""),
        err=True,
    )
    if status := status_of(len(rows), complete=not missing):
        sys.exit(status)
