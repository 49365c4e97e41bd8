"""`persona-panel generate`: models write the texts that a panel is to judge."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import NextStep, gathered, refusals, say_failures, status_of
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.job import carried_out
from persona_panel.cli.options import (
    caps_of_a_file,
    column_mapping,
    limit_option,
    model_in,
    whole_number,
)
from persona_panel.cli.run_options import AnswerOptions, CallOptions, batch_options, call_options
from persona_panel.files.secrets.visible import say, visible

if TYPE_CHECKING:
    from persona_panel.cli.progress import ScoreProgress
    from persona_panel.graphs.sweeping import TargetAnswer


@click.command(cls=PanelCommand, example="prompts.jsonl --target openai:gpt-5 --out texts.jsonl")
@click.argument("prompts", metavar="PROMPTS")
@column_mapping("PROMPTS", "prompt=question")
@click.option(
    "--target",
    "targets",
    metavar="SPEC|FILE",
    multiple=True,
    required=True,
    help="Model that writes: provider:name, or a YAML file; repeatable. The file has the fields "
    "that a panel file has for a model.",
)
@click.option("--words", metavar="N", type=click.IntRange(min=1), help="Ask for about N words.")
@whole_number(
    "--max-words",
    help="Cut responses of more than N words. At the end of the last sentence within them; the "
    "field trimmed says so.",
)
@whole_number(
    "--samples",
    metavar="K",
    default=1,
    help="Responses of each target to each prompt. More than one needs a temperature above 0.  "
    "[default: 1]",
)
@click.option(
    "--instructions",
    metavar="FILE",
    help="Text that is sent in place of the prompt alone, with {prompt}, {context} or {words} "
    "where these belong.",
)
@click.option(
    "--questions",
    is_flag=True,
    help="Each line of an answer that ends with a question mark becomes a response, without its "
    "numbering.",
)
@click.option(
    "--temperature",
    metavar="X",
    type=click.FloatRange(min=0),
    help="Sampling temperature of the targets.",
)
@call_options(caps_of_a_file, "--target")
@click.option("--out", metavar="FILE", required=True, help="File for the responses (.jsonl).")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace other responses in the file. It happens as soon as there is a new one.",
)
@limit_option("prompts")
@batch_options
@result_options("refused[my-model] <= 0", "missing[my-model] <= 0")
@refusals
def generate(
    prompts: str,
    mapping: Mapping[str, str],
    targets: tuple[str, ...],
    words: int | None,
    max_words: int | None,
    samples: int,
    instructions: str | None,
    questions: bool,
    temperature: float | None,
    calling: CallOptions,
    out: str,
    overwrite: bool,
    limit: int | None,
    answering: AnswerOptions,
    output: ResultOutput,
) -> None:
    """Have models write responses to prompts: essays, speeches, critiques, questions.

    PROMPTS is a file as `sweep` takes it, with the field prompt and optionally prompt_id,
    context (the position that a critique attacks, say) and condition. The output is a file that
    `score` reads; with conditions, one of them baseline, `sweep --responses` reads it, too. Each
    line has words, trimmed, cut_off (the answer ended at the token limit) and refused. Where
    everything comes from is written next to it: NAME.manifest.json.

    Exit status: 0, all responses are there; 1, some are missing; 2, wrong input or configuration,
    no model was called; 4, no response came; 130, 143, 129, stopped by a signal. The same command
    continues.
    """
    if answering.by_batches and overwrite:
        raise click.UsageError(
            "With --batch the same command goes on with its batches, and --overwrite would begin "
            "anew; leave out --overwrite, and remove the file or choose another --out."
        )

    from persona_panel.experiments.generation import (
        GeneratedTexts,
        Generation,
        generation_plan,
        load_instructions,
        texts_result,
    )
    from persona_panel.files.prompts import load_generation_prompts
    from persona_panel.files.wording import command_line
    from persona_panel.planning.definitions import configured
    from persona_panel.results.requirements.of_result import result_figures
    from persona_panel.runs.folder import OutputFile

    with gathered() as gather:
        asked = gather(partial(load_generation_prompts, prompts, limit=limit, mapping=mapping))
        models = [gather(partial(model_in, target)) for target in targets]
        own = None
        if instructions is not None and asked is not None:
            own = gather(partial(load_instructions, instructions, asked, words))
    plan = generation_plan(
        asked,
        [configured(model, calling.settings) for model in models],
        samples=samples,
        words=words,
        max_words=max_words,
        temperature=temperature,
        instructions=own,
        questions=questions,
    )
    files = [name for name in (prompts, instructions, *targets) if name and Path(name).is_file()]
    written = OutputFile(Path(out), overwrite, tuple(files), {prompts: mapping} if mapping else {})
    done = carried_out(
        Generation(plan, written, calling.patience), calling, output,
        lambda: result_figures(texts_result(GeneratedTexts(plan, {}))), answering=answering,
        watch=lambda progress: partial(_count, progress),
    )  # fmt: skip
    if done is None:
        return
    missing = done.document()["missing"]
    say_failures(
        [f"{text['prompt_id']}/{text['id']}: missing ({text['reason']})" for text in missing],
        "listed in the manifest",
    )
    if done.has_rows:
        where = f"The responses are in {written.path}; where they come from, in {written.manifest}"
    else:
        where = f"No response came, so {written.path} is as it was. The same command tries again"
    say(visible(where), err=True)
    score = NextStep("score the responses", command_line("score", [written.path]))
    output.show(
        texts_result(done),
        status=status_of(done.has_rows, complete=done.complete),
        next_step=score if done.complete else None,
    )


def _count(progress: ScoreProgress, answer: TargetAnswer) -> None:
    progress.count(answer.system, answer.status, cached=answer.cached)
