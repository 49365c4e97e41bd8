"""`persona-panel keypoints`: the reasons that judges give, summed up and counted."""

from __future__ import annotations

from pathlib import Path

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import NextStep, refusals, refusals_without_calls, status_of
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.job import carried_out, dialogues_counted
from persona_panel.cli.options import caps_of_a_command, limit_option
from persona_panel.cli.run_options import CallOptions, call_options
from persona_panel.files.secrets.visible import say, visible


@click.command(cls=PanelCommand, example="runs/first --model openai:gpt-5-mini")
@click.argument("run")
@click.option(
    "--model",
    "spec",
    metavar="SPEC",
    help="Model that sums up the rationales, provider:name.  [default: local:smollm2-135m]",
)
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(min=1, max=20),
    default=10,
    show_default=True,
    help="At most N key points for the texts, and N against them.",
)
@limit_option("rationales")
@call_options(caps_of_a_command, "--model")
@result_options('key_point_share["It gives examples."] >= 0.5', "pro_share_by_system[good] > 0.5")
@refusals
def keypoints(
    run: str,
    spec: str | None,
    most: int,
    limit: int | None,
    calling: CallOptions,
    output: ResultOutput,
) -> None:
    """Sum up the reasons that the judges of RUN give, and count them by system and judge.

    RUN is a run's folder whose judgments have rationales (score --elicitation justified). A model
    states the points of each rationale with a quotation, sums up all points in key points for and
    against the texts, and assigns each point to one of them. Points are dropped, and counted, whose
    quotation is not in the rationale, white space apart.

    Shares are of rationales, with 95 % intervals over prompts; differences between systems are
    paired by prompt, with p-values adjusted by Holm over all of them. Without --limit the result is
    also written to keypoints.json in RUN, for which `report RUN` has a section. Printed are the
    key points, their shares by system, significant differences and two quotations of each; with
    --full the shares by persona and model, too, all differences and quotations.

    Exit status: 0; 1, some rationales could not be read, or the command was stopped; 2, wrong
    input or configuration, no model was called; 4, no rationale could be read. The same command
    asks only what is missing.
    """
    from persona_panel.experiments.keypoints.report import (
        key_points_document,
        key_points_result,
        planned_key_points,
        rationales_of,
        write_key_points,
    )
    from persona_panel.experiments.keypoints.steps import KeyPoints
    from persona_panel.files.outputs import writing
    from persona_panel.files.wording import command_line
    from persona_panel.planning.settings import DEFAULT_MODEL
    from persona_panel.runs.load import load_run

    opened = load_run(run)
    rationales = rationales_of(opened)[:limit]
    model = calling.model(spec or DEFAULT_MODEL)
    summed_up = carried_out(
        KeyPoints([rationale.text for rationale in rationales], model, most), calling, output,
        lambda: planned_key_points(rationales), watch=dialogues_counted,
    )  # fmt: skip
    if summed_up is None:
        return
    document = key_points_document(rationales, summed_up, model.id)
    read = document["rationales"]
    note = f"Written to {run}/keypoints.json."
    page = None
    # What is of a part must not stand on the page for the whole, nor replace what is.
    if limit is not None or not read["read"]:
        note = f"Not written to {run}/keypoints.json: "
        note += "no rationale could be read." if not read["read"] else "--limit leaves some out."
    else:
        remedy = (
            "check permissions. The answers are in the cache: the same command asks nothing again"
        )
        with writing(Path(run) / "keypoints.json", remedy):
            write_key_points(document, Path(run))
        page = NextStep("show it on the page of the run", command_line("report", [run]))
    say(visible(note), err=True)
    # Which key points there are is not known before, and models were called.
    refusals_without_calls(output.show)(
        key_points_result(document, source=run),
        status=status_of(read["read"], complete=not read["missing"]),
        next_step=page,
    )
