"""`persona-panel questions ask`: a model asks critical questions about interventions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from persona_panel.cli.failures import refusals, say_failures, status_of
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.job import carried_out, dialogues_counted
from persona_panel.cli.next_step import NextStep
from persona_panel.cli.options import caps_of_a_command
from persona_panel.cli.run_options import CallOptions, call_options
from persona_panel.files.secrets.visible import say, say_json


@click.command(cls=PanelCommand, example="said.jsonl --model openai:gpt-5 --out asked.jsonl")
@click.argument("interventions", metavar="INTERVENTIONS")
@click.option(
    "--model", "spec", metavar="SPEC", required=True, help="Model that asks, provider:name."
)
@click.option(
    "--runs",
    metavar="K",
    type=click.IntRange(min=1),
    default=1,
    help="Ask K times; each question then has a field run, and `questions match` reports the "
    "mean and standard deviation over runs. Needs a temperature above 0.  [default: 1]",
)
@click.option("--out", metavar="FILE", help="File for the questions.  [default: standard output]")
@call_options(caps_of_a_command, "--model")
@refusals
def ask(
    interventions: str,
    spec: str,
    runs: int,
    out: str | None,
    calling: CallOptions,
) -> None:
    """Have a model ask three critical questions about each intervention.

    INTERVENTIONS is a JSONL file with the fields id and intervention. The output is a file
    that `score` reads, one question per line with the intervention as its context: score it
    with `score --rubric critical-question`, or compare it with reference questions by `questions
    match`.

    Exit status: 0, all questions are there; 1, some are missing (they are named on standard
    error); 2, wrong input or configuration, no model was called; 4, there is no question. The
    same command asks again for the missing questions only.
    """
    from persona_panel.experiments.questions.asking import Questions, load_interventions
    from persona_panel.files.errors import ConfigurationError
    from persona_panel.files.outputs import replace_file
    from persona_panel.files.wording import command_line

    loaded = load_interventions(interventions)
    model = calling.model(spec)
    if out and not Path(out).resolve().parent.is_dir():
        raise ConfigurationError(
            f"--out {out}: the folder {Path(out).parent} does not exist; create it first"
        )
    job = Questions(loaded, model, runs)
    replies = carried_out(job, calling, None, watch=dialogues_counted)
    if replies is None:
        return
    rows = job.rows(replies, spec)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    missing = [
        f"{asked.id}: no questions ({reply.error})"
        for (asked, _), reply in zip(job.asked, replies, strict=True)
        if reply.error is not None
    ]
    if out and missing and Path(out).exists():
        # It may be whole, and the replies that came are in the cache.
        say(f"{out} was not changed, because questions are missing.", err=True)
    elif out:
        # A file of the user's own, who says who may read it (umask).
        replace_file(Path(out), text.encode(), permissions=0o666)
    else:
        say_json(text)
    say_failures(missing, "which the same command asks for again")
    say(
        f"{len(rows):,} questions about {len(replies) - len(missing):,} of {len(replies):,} "
        "interventions" + (f", {runs} runs together" if runs > 1 else ""),
        err=True,
    )
    if status := status_of(len(rows), complete=not missing):
        sys.exit(status)
    if out:
        scored = command_line("score", [out], {"--rubric": "critical-question"})
        NextStep("score the questions", scored).say()
