"""`persona-panel match`: critical questions compared with labelled reference questions."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.call_options import caps_of_a_command, dry_run, model_options, patience
from persona_panel.cli.column_mapping import column_mapping
from persona_panel.cli.dry_run import show_estimates, tell
from persona_panel.cli.exit_status import INCOMPLETE
from persona_panel.cli.failures import refusals
from persona_panel.cli.options import output_format
from persona_panel.cli.signals import run_to_end
from persona_panel.files.secrets.visible import standard_output

if TYPE_CHECKING:
    from persona_panel.calls.budget import Caps
    from persona_panel.reports.formats import Renderer


@click.command()
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
@model_options
@patience
@dry_run
@caps_of_a_command
@output_format
@refusals
def match(
    generated: str,
    references: str,
    mapping: Mapping[str, str],
    references_mapping: Mapping[str, str],
    by: str,
    threshold: float | None,
    spec: str | None,
    model_options: Mapping[str, Any],
    patience: int | None,
    dry_run: bool,
    caps: Caps,
    renderer: Renderer,
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
    if by != "model" and model_options:
        raise click.UsageError(
            f"--option works only with --by model: --by {by} calls no model; leave it out."
        )
    if by != "model" and patience is not None:
        raise click.UsageError(
            f"--patience works only with --by model: --by {by} calls no model; leave it out."
        )
    if by == "model" and threshold is not None:
        raise click.UsageError(
            "--threshold does not work with --by model: the model decides what matches; leave it "
            "out."
        )
    if by != "model" and dry_run:
        raise click.UsageError(
            f"--dry-run works only with --by model: --by {by} calls no model; leave it out."
        )

    from persona_panel.experiments.questions.match import (
        estimate_by_model,
        match_by_measure,
        match_by_model,
    )
    from persona_panel.experiments.questions.match_report import match_report
    from persona_panel.experiments.questions.references import references_of
    from persona_panel.files.responses import load_responses
    from persona_panel.plan.definitions import configured

    batch = load_responses(generated, mapping=mapping)
    labelled = load_responses(references, mapping=references_mapping)
    known = references_of(labelled, batch, (references, generated))
    if dry_run:
        from persona_panel.reports.formats import result_format_of

        estimate = estimate_by_model(batch, known, configured(spec or "", model_options))
        show_estimates([estimate], result_format_of(renderer))
        tell([estimate], caps)
        return
    if by == "model":
        model = configured(spec or "", model_options, patience=patience)
        matches = run_to_end(match_by_model(batch, known, model, caps))
    else:
        measure: Any = by
        limit = threshold if threshold is not None else {"similarity": 0.65, "chrf": 0.35}[by]
        matches = match_by_measure(batch, known, measure, limit)
    with standard_output() as to:
        renderer.render_matches(match_report(batch, matches), to)
    if any(one.error is not None for one in matches):
        sys.exit(INCOMPLETE)
