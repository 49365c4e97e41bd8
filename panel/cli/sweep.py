"""`persona-panel sweep`: prompts in, the degradation of responses by framing out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import gathered, refusals, status_of
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.job import carried_out
from persona_panel.cli.options import column_mapping, model_in, whole_number
from persona_panel.cli.panel_options import PanelOptions, panel_options
from persona_panel.cli.report import place_of, report_at_the_end, report_option
from persona_panel.cli.run_options import AnswerOptions, RunOptions, batch_options, run_options

if TYPE_CHECKING:
    from persona_panel.cli.progress import ScoreProgress
    from persona_panel.experiments.sweep.plan import Options
    from persona_panel.experiments.sweep.running import Event
    from persona_panel.results.result import Result
    from persona_panel.runs.cost_estimate import CostEstimate

_SEEN = ("framed", "baseline")


@click.command(
    cls=PanelCommand, example="prompts.jsonl --target openai:gpt-5-mini --out runs/sweep"
)
@click.argument("prompts", metavar="[PROMPTS]", required=False)
@column_mapping("PROMPTS", "prompt=question", needs="PROMPTS")
@click.option(
    "--target",
    "targets",
    metavar="SPEC|FILE",
    multiple=True,
    help="Model whose answers are scored; repeatable. Its name, provider:name, or a YAML file with "
    "the fields that a panel file has for a model.",
)
@panel_options(without=["deliberation"], only_off=["plain_judge"])
@click.option(
    "--framings",
    metavar="NAME|FILE",
    default="scrub",
    show_default=True,
    help="Framing set. Its conditions are what each prompt is rewritten into.",
)
@click.option(
    "--rewriter",
    "rewriters",
    hidden=True,
    metavar="SPEC|FILE",
    multiple=True,
    help="Model that rewrites prompts, as --target. Repeatable, each then rewrites an equal "
    "share.  [default: the panel's models]",
)
@click.option(
    "--responses",
    "responses_file",
    metavar="FILE",
    help="Score responses that exist already. None are generated.",
)
@column_mapping(
    "--responses",
    "response=answer",
    "--map-responses",
    "responses_mapping",
    "--responses",
    hidden=True,
)
@click.option(
    "--judge-sees",
    hidden=True,
    type=click.Choice(_SEEN),
    default="framed",
    show_default=True,
    help="The prompt that judges see with a response: the framed one, which the response "
    "answers, or the baseline.",
)
@whole_number("--words", hidden=True, help="Ask targets for about N words.")
@click.option(
    "--temperature",
    hidden=True,
    metavar="X",
    type=click.FloatRange(min=0),
    help="Sampling temperature of the targets.",
)
@click.option(
    "--threshold",
    hidden=True,
    metavar="X",
    type=click.FloatRange(min=0, min_open=True),
    default=1.2,
    show_default=True,
    help="Mark cells in which |Δ| is X or more.",
)
@click.option(
    "--like",
    hidden=True,
    metavar="FOLDER",
    help="With --dry-run: folder of an earlier sweep, for the smallest detectable Δ in points.",
)
@report_option
@run_options("prompts")
@batch_options
@result_options(
    "delta[my-model, emotion_agree] < 0.5", "large_falls[my-model, clarity, emotion_agree] < 0.1"
)
@refusals
def sweep(
    prompts: str | None,
    mapping: Mapping[str, str],
    targets: tuple[str, ...],
    panel_options: PanelOptions,
    framings: str,
    rewriters: tuple[str, ...],
    responses_file: str | None,
    responses_mapping: Mapping[str, str],
    judge_sees: Any,
    words: int | None,
    temperature: float | None,
    threshold: float,
    like: str | None,
    report: bool,
    options: RunOptions,
    answering: AnswerOptions,
    output: ResultOutput,
) -> None:
    """Measure how adversarial framings of prompts degrade the quality of responses.

    PROMPTS is a file as `score` takes it, with the field prompt and optionally prompt_id.
    Every prompt is rewritten into each condition of a framing set; the targets answer the
    prompt and its variants, and the panel scores the answers, blind to condition and system.
    With --responses, a file with prompt_id, prompt, condition (one of them baseline), system
    and response, nothing is generated, and PROMPTS may be left out.

    Exit status: 0, everything is there; 1, the sweep finished, but variants, answers or
    judgments are missing; 2, wrong input or configuration, no model was called; 3, a
    requirement is not met; 4, no Δ could be measured; 5, the sweep finished, but standard
    output could not be written; 130, 143, 129, stopped by a signal. In every case the same
    command continues the sweep.
    """
    _refuse_mixed(prompts, targets, rewriters, responses_file, words, temperature)
    if like is not None and not options.dry_run:
        raise click.UsageError("--like is only for an estimate; add --dry-run.")

    from persona_panel.experiments.sweep.plan import framings_of
    from persona_panel.files.prompts import load_framed_responses, load_prompts

    limit = options.limit
    with gathered() as gather:
        chosen = gather(lambda: framings_of(framings))
        asked = answered = None
        if prompts:
            asked = gather(lambda: load_prompts(prompts, limit=limit, mapping=mapping))
        if responses_file:
            answered = gather(
                lambda: load_framed_responses(responses_file, mapping=responses_mapping)
            )
        systems = [gather(partial(model_in, target)) for target in targets]
        others = [gather(partial(model_in, rewriter)) for rewriter in rewriters]
    if answered is not None and limit is not None:
        kept = list(dict.fromkeys(response.prompt_id for response in answered))[:limit]
        kept = kept if asked is None else [prompt.id for prompt in asked]
        answered = [response for response in answered if response.prompt_id in kept]
    design: Options = {
        "framings": chosen,
        "rewriters": others,
        "responses": answered,
        "judge_sees": judge_sees,
        "words": words,
        "temperature": temperature,
        "threshold": threshold,
    }
    panel = panel_options.panel()
    options = options.with_inputs(
        [(prompts, mapping), (responses_file, responses_mapping)],
        [framings, *targets, *rewriters, *panel_options.inputs],
    )

    from persona_panel.experiments.sweep.detectable import detectable_delta, sweep_estimate_result
    from persona_panel.experiments.sweep.running import Sweeping
    from persona_panel.experiments.sweep.sweep_result import planned_sweep, sweep_result

    job = Sweeping(panel.plan, asked, systems, design, options.out)

    def foreseen(estimates: Sequence[CostEstimate]) -> Result:
        n_dimensions = len(panel.output_rubric.numeric)
        detectable = detectable_delta(job.sweep, n_dimensions, len(panel.judges), like)
        return sweep_estimate_result(estimates, detectable)

    done = carried_out(
        job, options, output, lambda: planned_sweep(panel.plan, job.sweep), answering=answering,
        watch=_Stages, foreseen=foreseen,
    )  # fmt: skip
    if done is None:
        return
    page = place_of(done.run)
    if report:
        page = report_at_the_end(done.run)
    status = status_of(done.n_measured, complete=done.complete)
    output.show(replace(sweep_result(done), page=page), status=status)


def _refuse_mixed(
    prompts: str | None,
    targets: Sequence[str],
    rewriters: Sequence[str],
    responses_file: str | None,
    words: int | None,
    temperature: float | None,
) -> None:
    if responses_file is None:
        if prompts is None:
            raise click.UsageError(
                "Found neither PROMPTS nor --responses; give a file of prompts, or --responses "
                "FILE."
            )
        if not targets:
            raise click.UsageError(
                "Found neither --target nor --responses; give --target SPEC, or --responses FILE."
            )
    elif targets or rewriters or words is not None or temperature is not None:
        raise click.UsageError(
            "With --responses nothing is generated; leave out --target, --rewriter, --words and "
            "--temperature."
        )


class _Stages:
    """Counts the steps before the judgments, and passes the judgments on."""

    def __init__(self, progress: ScoreProgress) -> None:
        self._progress = progress
        self._rewritten: set[str] = set()
        self._answers = 0

    def __call__(self, event: Event) -> None:
        from persona_panel.graphs import Judgment
        from persona_panel.graphs.framing import Variant
        from persona_panel.graphs.sweeping import TargetAnswer

        if isinstance(event, Judgment):
            self._progress.take(event)
        elif isinstance(event, Variant | TargetAnswer):
            if isinstance(event, Variant):
                self._rewritten.update([event.prompt_id] if event.used else [])
            else:
                self._answers += event.text is not None
            self._progress.note(
                f"{len(self._rewritten):,} prompts rewritten, {self._answers:,} answers"
            )
