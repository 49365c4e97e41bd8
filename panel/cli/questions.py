"""`persona-panel questions`: critical questions, asked by a model or compared with labels."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import (
    COMPLETE,
    INCOMPLETE,
    NextStep,
    refusals,
    say_failures,
    status_of,
)
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.job import carried_out, dialogues_counted
from persona_panel.cli.options import caps_of_a_command, column_mapping, whole_number
from persona_panel.cli.run_options import CallOptions, call_options
from persona_panel.files.secrets import say, say_json

if TYPE_CHECKING:
    from persona_panel.results.required_figures import Figure


@click.command(cls=PanelCommand, example="said.jsonl --model openai:gpt-5 --out asked.jsonl")
@click.argument("interventions", metavar="INTERVENTIONS")
@click.option(
    "--model", "spec", metavar="SPEC", required=True, help="Model that asks, provider:name."
)
@whole_number(
    "--runs",
    metavar="K",
    default=1,
    help="Ask K times; each question then has a field run, and `questions match` reports the "
    "mean and standard deviation over runs. Needs a temperature above 0.  [default: 1]",
)
@click.option("--out", metavar="FILE", help="File for the questions.  [default: standard output]")
@call_options(caps_of_a_command, "--model")
@refusals
def ask(interventions: str, spec: str, runs: int, out: str | None, calling: CallOptions) -> None:
    """Have a model ask three critical questions about each intervention.

    INTERVENTIONS is a JSONL file with the fields id and intervention. The output is a file
    that `score` reads, one question per line with the intervention as its context: score it
    with `score --rubric critical-question`, or compare it with reference questions by `questions
    match`.

    Exit status: 0, all questions are there; 1, some are missing (they are named on standard
    error); 2, wrong input or configuration, no model was called; 4, there is no question. The
    same command asks again for the missing questions only.
    """
    from persona_panel.experiments.question_asking import Questions, load_interventions
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


@click.command(cls=PanelCommand, example="asked.jsonl labelled.jsonl --by chrf")
@click.argument("generated", metavar="GENERATED")
@click.argument("references", metavar="REFERENCES")
@column_mapping("GENERATED", "response=question")
@column_mapping("REFERENCES", "response=question", "--map-references", "references_mapping")
@click.option(
    "--by",
    type=click.Choice(["similarity", "chrf", "model"]),
    default="similarity",
    show_default=True,
    help="How to decide that two questions ask the same: cosine similarity of sentence "
    "embeddings, chrF, or the answer of a model.",
)
@click.option(
    "--threshold",
    metavar="T",
    type=click.FloatRange(0, 1),
    help="A question below this similarity to every reference is not evaluable.  "
    "[default: 0.65 for similarity, 0.35 for chrf]",
)
@click.option("--model", "spec", metavar="SPEC", help="The model of --by model.")
@call_options(caps_of_a_command, "--model")
@result_options("score[my-model] >= 0.5", "missing[my-model] <= 0")
@refusals
def match(
    generated: str,
    references: str,
    mapping: Mapping[str, str],
    references_mapping: Mapping[str, str],
    by: str,
    threshold: float | None,
    spec: str | None,
    calling: CallOptions,
    output: ResultOutput,
) -> None:
    """Give each question in GENERATED the label of the reference that asks the same.

    Both are files that `score` reads, with the intervention as prompt_id; REFERENCES has a
    further field label: useful, unhelpful or invalid. If GENERATED has that field, too,
    Cohen's kappa of both labels is printed. The score of an intervention is the share of its
    questions that are useful.

    Exit status: 0; 1, the model gave no answer on some questions; 2, wrong input or
    configuration, no model was called.
    """
    if (by == "model") != bool(spec):
        raise click.UsageError(
            "--model and --by model work only together; give both, or leave both out."
        )
    of_a_model = {
        "--option": calling.settings,
        "--patience": calling.patience is not None,
        "--dry-run": calling.dry_run,
    }
    for name, is_there in of_a_model.items():
        if by != "model" and is_there:
            raise click.UsageError(
                f"{name} works only with --by model: --by {by} calls no model; leave it out."
            )
    if by == "model" and threshold is not None:
        raise click.UsageError(
            "--threshold does not work with --by model: the model decides what matches; leave it "
            "out."
        )

    from persona_panel.experiments.question_match import (
        MatchByModel,
        match_by_measure,
        match_result,
        planned_matches,
        references_of,
    )
    from persona_panel.files.responses import load_responses
    from persona_panel.results.required_figures import result_figures

    batch = load_responses(generated, mapping=mapping)
    labelled = load_responses(references, mapping=references_mapping)
    known = references_of(labelled, batch, (references, generated))

    def planned() -> list[Figure]:
        return result_figures(planned_matches(batch))

    if by == "model":
        job = MatchByModel(batch, known, calling.model(spec or ""))
        by_model = carried_out(job, calling, output, planned, watch=dialogues_counted)
        if by_model is None:
            return
        matches = by_model
    else:
        output.gate.refuse_unknown(planned)
        measure: Any = by
        limit = threshold if threshold is not None else {"similarity": 0.65, "chrf": 0.35}[by]
        matches = match_by_measure(batch, known, measure, limit)
    failed = any(match.error is not None for match in matches)
    result = match_result(batch, matches)
    output.show(result, status=INCOMPLETE if failed else COMPLETE)
