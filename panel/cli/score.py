"""`persona-panel score`: responses in, a run folder and a leaderboard out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from persona_panel.analyses import parameters
from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import refusals, status_of
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.job import carried_out
from persona_panel.cli.options import (
    Command,
    HumanReading,
    column_mapping,
    human_options,
    option,
    options_by_name,
    whole_number,
    with_parameters,
)
from persona_panel.cli.panel_options import PanelOptions, panel_options
from persona_panel.cli.report import place_of, report_at_the_end, report_option
from persona_panel.cli.run_options import AnswerOptions, RunOptions, batch_options, run_options
from persona_panel.clusters.engines import engine_names
from persona_panel.files.secrets import say

if TYPE_CHECKING:
    from persona_panel.results.required_figures import Figure
    from persona_panel.runs.execution import Engine
    from persona_panel.statistics import Random


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine as `NAME` or `NAME:ADDRESS`, how many workers it is to have, and options of its
    own; None, this process judges."""

    spec: str | None
    workers: int | None
    options: Mapping[str, Any]

    def opened(self, *, dry_run: bool) -> AbstractContextManager[Engine | None]:
        """The engine, connected for as long as the block lasts; a dry run only sees that there is
        such an engine: whether its cluster answers, only a run finds out. Raises
        ConfigurationError: there is none, or its address or options cannot be right."""
        if self.spec is None:
            return nullcontext()
        from persona_panel.clusters.engines import check_engine_options, opened_engine

        if dry_run:
            check_engine_options(self.spec, self.options)
            return nullcontext()
        return opened_engine(self.spec, self.workers, self.options)


def engine_options(command: Command) -> Command:
    """Options for a cluster; the command is given them as `engine`."""

    @option(
        "--engine",
        "spec",
        hidden=True,
        metavar="NAME[:ADDRESS]",
        help="Judge by the workers of an engine, which share limits, caps and the cache. "
        f"Installed: {', '.join(engine_names())}. `ray` is a Ray cluster, at ADDRESS (HOST:PORT), "
        "or the one that $RAY_ADDRESS names or that runs on this machine, or else a new one here.  "
        "[default: judge in this process]",
    )
    @whole_number(
        "--workers",
        needs="--engine",
        hidden=True,
        help="Number of workers; only with --engine.  [default: as many as the cluster has room "
        "for, 8 at most]",
    )
    @option(
        "--engine-option",
        "options_of_engine",
        needs="--engine",
        hidden=True,
        metavar="NAME=VALUE",
        multiple=True,
        callback=options_by_name,
        help="An option of the engine. Of `ray`, what each worker takes of the cluster: num_cpus "
        "(1 if not given), num_gpus, or 'resources={NAME: AMOUNT}'. Repeatable; only with "
        "--engine.",
    )
    @wraps(command)
    def with_engine(
        *args: Any,
        spec: str | None,
        workers: int | None,
        options_of_engine: Mapping[str, Any],
        **others: Any,
    ) -> Any:
        answering = others["answering"]
        if spec is not None and (answering.by_batches or answering.to or answering.answers):
            raise click.UsageError(
                "--engine calls models, and --batch, --batch-out and --batch-in do not; leave one "
                "of them out."
            )
        return command(*args, engine=EngineOptions(spec, workers, options_of_engine), **others)

    return with_engine


@click.command(cls=PanelCommand, example="answers.csv --model openai:gpt-5-mini --out runs/first")
@click.argument("responses", metavar="RESPONSES")
@column_mapping("RESPONSES", "response=answer,system=model")
@panel_options()
@human_options(
    "People's ratings of the same responses. They are in the form that `agree` reads: the ranking "
    "is corrected by them, and the panel is compared with them.",
    in_short=True,
)
@with_parameters(
    parameters.by(
        "Also print the systems by persona, model or a column. KIND is persona, axis (of "
        "personas), model, prompt, dimension or a column of RESPONSES; and whether they differ "
        "between these."
    ),
    parameters.random("What differences between systems, and with them ranks, take as a sample"),
)
@report_option
@run_options("responses")
@batch_options
@engine_options
@result_options("composite[my-model] >= 6", "difference[new, old] > -0.2", "coverage >= 0.98")
@refusals
def score(
    responses: str,
    mapping: Mapping[str, str],
    panel_options: PanelOptions,
    human: str | None,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    by: str | None,
    random: Random,
    report: bool,
    options: RunOptions,
    answering: AnswerOptions,
    engine: EngineOptions,
    output: ResultOutput,
) -> None:
    """Score every response in RESPONSES, a file with the columns prompt, response and system, with
    a panel of judges, and rank them.

    RESPONSES is a .jsonl, .json, .csv, .tsv or .parquet file (all but .parquet also with .gz), a
    folder of Parquet files, a pattern such as 'texts/*.parquet', an address such as s3://…, or -
    for JSONL on standard input, with the fields prompt, response and system (or
    prompt_text, response_text, respondent_id) and optionally id (or response_id), prompt_id
    and context. --map says which columns they are, where they have other names. All other
    fields are copied into the outputs.

    If --out names the folder of an earlier run, that run is continued: the panel must be the
    same, and the responses must include those of the earlier run.

    Exit status: 0, all judgments are there; 1, the run finished, but judgments are missing;
    2, wrong input or configuration, no model was called; 3, a requirement is not met; 4, no
    judgment was scored; 5, the run finished, but standard output could not be written; 130,
    143, 129, stopped by a signal. In every case the same command continues the run.
    """
    from persona_panel.files.responses import ResponseFile

    batch = ResponseFile(responses, limit=options.limit, mapping=panel_options.columns(mapping))
    panel = panel_options.panel()
    humans = column = None
    if human:
        # Only where people have rated.
        from persona_panel.files.aligned_ratings import load_human_ratings

        humans = load_human_ratings(human, human_mapping, **reading)
    options = options.with_inputs([(human, human_mapping)], panel_options.inputs)

    from persona_panel.analyses.run_summary import run_summary
    from persona_panel.runs.executor import Scoring

    job = Scoring(panel.plan, batch, options.out, summary=run_summary, humans=humans, random=random)
    if by is not None:
        from persona_panel.analyses.strata import BY, column_of

        # A column that is not there is refused before anything is called.
        column = None if by in BY else column_of(batch, by, responses, batch.mapping)

    def planned() -> list[Figure]:
        from persona_panel.analyses.score import planned_score

        return planned_score(job.plan, job.batch, humans)

    at = engine.opened(dry_run=options.dry_run)
    try:
        run = carried_out(
            job,
            options,
            output,
            planned,
            answering=answering,
            engine=at,
            ranking=job.ranking_so_far,
        )
    except KeyboardInterrupt:
        # Before a response has its verdict there is no answer.
        if job.so_far is not None and job.so_far.coverage.scored and job.so_far.verdicts:
            from persona_panel.analyses.score import score_result

            output.show_stopped(score_result(job.so_far))
        elif job.so_far is not None:
            say("There is no answer yet: no response is scored by all of its judges.", err=True)
        raise
    if run is None:
        return
    # Not before the run, whose calls need nothing of it.
    from persona_panel.analyses.score import score_result

    strata = None
    if by is not None:
        from persona_panel.analyses.strata import systems_by

        strata = systems_by(run, by, column)
    page = place_of(run)
    if report:
        kept = column is None or options.out.texts
        page = report_at_the_end(run, humans, by if kept else None)
        if not kept:
            say(f"It has no breakdown by {by}: without texts the folder has no metadata.", err=True)
    status = status_of(run.coverage.scored, complete=run.coverage.complete)
    output.show(replace(score_result(run, strata), page=page), status=status)
