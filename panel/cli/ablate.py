"""`persona-panel ablate`: a panel and responses in, what each setting of the panel changes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import NextStep, refusals, status_of
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.job import carried_out
from persona_panel.cli.options import HumanReading, column_mapping, human_options, option
from persona_panel.cli.panel_options import PanelOptions, panel_options
from persona_panel.cli.run_options import RunOptions, run_options
from persona_panel.planning.variation import varied_settings

if TYPE_CHECKING:
    from persona_panel.cli.progress import ScoreProgress


@click.command(
    cls=PanelCommand,
    example="answers.csv --panel panel.yaml --vary reasoning,personas",
)
@click.argument("responses", metavar="RESPONSES")
@column_mapping("RESPONSES", "response=answer,system=model")
@option(
    "--vary",
    "vary",
    metavar="NAME[=VALUE]",
    multiple=True,
    required=True,
    help="What is varied, one at a time; repeatable. Names and values: "
    + "; ".join(f"{name}={of.values}" for name, of in varied_settings().items())
    + ". Several values are joined by commas: replicates=3,5. Without values, names joined by "
    "commas stand for their usual ones: reasoning (before ratings, or none), guidelines (each "
    "variant, and no rubric), personas (none: a judge without a persona, asked as often as all "
    "personas together), models (each alone).",
)
@panel_options()
@human_options(
    "People's ratings of the responses. The file is as `agree` reads it; it is measured, too, what "
    "each change does to the panel's agreement with them.",
    in_short=True,
)
@run_options("responses")
@result_options('score["personas=none"] < 0.5', 'agreement["reasoning=yes"] > -0.1')
@refusals
def ablate(
    responses: str,
    mapping: Mapping[str, str],
    vary: tuple[str, ...],
    panel_options: PanelOptions,
    human: str | None,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    options: RunOptions,
    output: ResultOutput,
) -> None:
    """Score RESPONSES, a file as `score` takes it, with a panel and with panels that differ from it
    in one thing each, and measure what each changes.

    The panel's own run is in the folder `base` of --out, that of each other in one that is called
    after what is varied, such as `personas=none`: runs like those of `score`, for `report`, `view`,
    `compare` and `agree`. They are made one after the other. What two of them ask alike is asked
    once; caps are of all of them together.

    Against the base, response by response: the mean score, the agreement of the judges, the order
    of the responses, the lead of the best system, tokens and cost and, with --human, agreement
    with people. A panel that cannot be run or compared ends none of the others; one that lacks most
    of its judgments is not compared. The answer is also in ablation.json of --out.

    Exit status: 0, all judgments are there; 1, judgments are missing, or a panel could not be run
    or compared; 2, wrong input or configuration, no model was called; 3, a requirement is not met;
    4, nothing could be compared; 5, the ablation finished, but standard output could not be
    written; 130, 143, 129, stopped by a signal. In every case the same command continues it.
    """
    from persona_panel.files.named_files import is_copy
    from persona_panel.files.responses import ResponseFile

    if is_copy(options.out.path):
        raise click.UsageError("--out: several runs are not sent to an address; name a folder.")
    from persona_panel.experiments.ablation import Ablating
    from persona_panel.planning.variation import BASE, varied_panels

    panels = varied_panels(panel_options.arguments(), vary)
    humans = None
    if human:
        # Only where people have rated.
        from persona_panel.files.aligned_ratings import load_human_ratings

        humans = load_human_ratings(human, human_mapping, **reading)
    options = options.with_inputs([(human, human_mapping)], panel_options.inputs)
    batch = ResponseFile(responses, limit=options.limit, mapping=panel_options.columns(mapping))

    from persona_panel.analyses.ablation import ablation_result, planned_ablation
    from persona_panel.files.outputs import replace_file, writing
    from persona_panel.files.wording import command_line
    from persona_panel.results.required_figures import result_figures

    job = Ablating(panels, batch, options.out, humans)
    others = [name for name in panels if name != BASE]
    done = carried_out(
        job, options, output, lambda: result_figures(planned_ablation(others)), watch=_by_panel
    )
    if done is None:
        return
    result = ablation_result(BASE, done.runs, done.failures, humans, human or "")
    compared = len(result["differences"].rows)
    status = status_of(compared, complete=done.complete and compared == len(others))
    folder = options.out.folder
    with writing(folder):
        replace_file(folder / "ablation.json", result.text("json").encode())
    follows = None
    for name in [row["panel"] for row in result["differences"].rows][:1]:
        two = [str(job.folders[each]) for each in (BASE, name)]
        follows = NextStep(f"compare {BASE} with {name} in full", command_line("compare", two))
    output.show(replace(result, page=str(options.out.path)), status=status, next_step=follows)


def _by_panel(progress: ScoreProgress) -> Callable[[Any], None]:
    """Have a progress count judgments, and show which panel makes them."""

    def take(event: Any) -> None:
        progress.note(event) if isinstance(event, str) else progress.take(event)

    return take
