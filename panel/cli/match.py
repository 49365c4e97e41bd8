"""`persona-panel questions match`: critical questions compared with labelled reference
questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import COMPLETE, INCOMPLETE, refusals
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.job import carried_out, dialogues_counted
from persona_panel.cli.options import (
    caps_of_a_command,
    column_mapping,
)
from persona_panel.cli.run_options import CallOptions, call_options

if TYPE_CHECKING:
    from persona_panel.results.requirements.figures import Figure


@click.command(cls=PanelCommand, example="asked.jsonl labelled.jsonl --by chrf")
@click.argument("generated", metavar="GENERATED")
@click.argument("references", metavar="REFERENCES")
@column_mapping("GENERATED", "response=question")
@column_mapping(
    "REFERENCES", "response=question", "--map-references", parameter="references_mapping"
)
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

    from persona_panel.experiments.questions.match import (
        MatchByModel,
        match_by_measure,
        references_of,
    )
    from persona_panel.experiments.questions.match_report import (
        match_report,
        match_result,
        planned_matches,
    )
    from persona_panel.files.responses import load_responses
    from persona_panel.results.requirements.of_result import result_figures

    batch = load_responses(generated, mapping=mapping)
    labelled = load_responses(references, mapping=references_mapping)
    known = references_of(labelled, batch, (references, generated))

    def planned() -> list[Figure]:
        return result_figures(planned_matches(batch))

    if by == "model":
        job = MatchByModel(batch, known, calling.model(spec or ""))
        found = carried_out(job, calling, output, planned, watch=dialogues_counted)
        if found is None:
            return
        matches = found
    else:
        output.gate.refuse_unknown(planned)
        measure: Any = by
        limit = threshold if threshold is not None else {"similarity": 0.65, "chrf": 0.35}[by]
        matches = match_by_measure(batch, known, measure, limit)
    failed = any(match.error is not None for match in matches)
    result = match_result(match_report(batch, matches))
    output.show(result, status=INCOMPLETE if failed else COMPLETE)
