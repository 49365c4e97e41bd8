"""`persona-panel generate`, `prompts` and `keypoints`: texts and prompts that models write, and the
reasons that judges give."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import (
    COMPLETE,
    INCOMPLETE,
    NextStep,
    gathered,
    refusals,
    refusals_without_calls,
    say_failures,
    status_of,
)
from persona_panel.cli.help import PanelCommand, PanelGroup
from persona_panel.cli.job import carried_out, dialogues_counted
from persona_panel.cli.options import (
    caps_of_a_command,
    caps_of_a_file,
    column_mapping,
    limit_option,
    model_in,
    whole_number,
)
from persona_panel.cli.run_options import AnswerOptions, CallOptions, batch_options, call_options
from persona_panel.files.secrets import say, visible

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
    from persona_panel.results.required_figures import result_figures
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


@click.group(cls=PanelGroup, example="build spec.yaml --out prompts.jsonl")
def prompts() -> None:
    """Build a set of prompts, or read pairs of prompts."""


@prompts.command(
    "build",
    example="spec.yaml --out prompts.jsonl",
    short_help="Build a set from templates and from items.",
)
@click.argument("spec", metavar="SPEC")
@click.option("--out", metavar="FILE", required=True, help="File for the prompts (.jsonl).")
@click.option(
    "--model",
    "models",
    metavar="SPEC|FILE",
    multiple=True,
    help="Model in place of all that SPEC names: provider:name, or a YAML file with the fields "
    "that a panel file has for a model; repeatable.",
)
@click.option("--overwrite", is_flag=True, help="Replace another set in the file.")
@call_options(caps_of_a_file)
@result_options("prompts >= 200", "passed >= 100")
@refusals
def build(
    spec: str,
    out: str,
    models: tuple[str, ...],
    overwrite: bool,
    calling: CallOptions,
    output: ResultOutput,
) -> None:
    """Build a set of prompts from templates and from items of existing sets.

    SPEC is a YAML file: slots and templates, sources of items, how items are rewritten into open
    questions, quality filter, near-duplicates, functional diversity, stratified draw. The output
    is a file that `sweep` and `generate` read. Next to it are written NAME.dropped.jsonl (every
    item and prompt that was dropped, with the reason), NAME.funnel.csv, NAME.map.png and .svg
    (with matplotlib and near-duplicates) and NAME.manifest.json (where everything comes from).

    Exit status: 0, the set is there; 1, calls failed and nothing was written, or no prompt is
    left; 2, wrong input or configuration, no model was called; 130, 143, 129, stopped by a signal.
    The same command continues.
    """
    from persona_panel.experiments.prompt_sets.building import (
        BuiltPrompts,
        PromptSetBuild,
        prompt_set_result,
    )
    from persona_panel.experiments.prompt_sets.plan import prompt_set_plan
    from persona_panel.results.required_figures import result_figures
    from persona_panel.runs.folder import OutputFile

    with gathered() as gather:
        own_models = [gather(partial(model_in, model)) for model in models]
    plan = prompt_set_plan(spec, own_models)
    own = tuple(model for model in models if Path(model).is_file())
    file = OutputFile(Path(out), overwrite, (*plan.files, *own))
    built = carried_out(
        PromptSetBuild(plan, file, calling.patience), calling, output,
        lambda: result_figures(prompt_set_result(BuiltPrompts(plan))), watch=dialogues_counted,
    )  # fmt: skip
    if built is None:
        return
    if built.pending:
        note = (
            f"{file.path} was not changed, because calls are without an answer. The replies that "
            "came are stored; the same command continues."
        )
    else:
        note = f"The prompts are in {file.path}; what was dropped, in {file.named('dropped.jsonl')}"
        if not built.prompts:
            note += "\nNo prompt is left; the funnel says at which step they were dropped."
    say(note, err=True)
    complete = bool(built.prompts) and not built.pending
    output.show(
        prompt_set_result(built),
        status=COMPLETE if complete else INCOMPLETE,
        next_step=_answers(file.path) if complete else None,
    )


@prompts.command(
    "pairs",
    example="pairs.csv --out prompts.jsonl",
    short_help="Read pairs of prompts, for a sweep.",
)
@click.argument("pairs", metavar="PAIRS")
@column_mapping("PAIRS", "prompt_a=left")
@click.option("--out", metavar="FILE", required=True, help="File for the prompts (.jsonl).")
@limit_option("pairs")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@refusals_without_calls
def pairs(
    pairs: str, mapping: Mapping[str, str], out: str, limit: int | None, overwrite: bool
) -> None:
    """Read pairs of prompts, one for each side of a question, as conditions of one prompt.

    PAIRS has the fields prompt_a and prompt_b and optionally pair_id, prompt_a_group and
    prompt_b_group (what the sides are called); its other columns are kept. In the output each
    pair is two lines with one prompt_id: condition baseline (prompt_a) and version_b (prompt_b).
    `generate` has models answer them, and `sweep --responses` compares the answers.
    """
    from persona_panel.experiments.prompt_sets.candidates import load_pairs
    from persona_panel.files.outputs import json_lines, make_private_folder, replace_file
    from persona_panel.results.conclusions.wording import counted
    from persona_panel.runs.folder import OutputFile

    output = OutputFile(Path(out), overwrite, (pairs,))
    lines = load_pairs(pairs, mapping=mapping)
    if limit is not None:
        lines = lines[: 2 * limit]
    content = json_lines(lines)
    with output.writing():
        if output.path.exists() and output.path.read_bytes() != content and not overwrite:
            output.refuse("it has other lines")
        make_private_folder(output.path.parent)
        # A file of the user's own, who says who may read it (umask).
        replace_file(output.path, content, permissions=0o666)
    say(visible(f"{counted(len(lines) // 2, 'pair')} in {output.path}"), err=True)
    _answers(output.path).say()


def _answers(prompts: Path) -> NextStep:
    """The next step with a set of prompts."""
    from persona_panel.files.wording import command_line

    options: dict[str, str | int | Path] = {"--target": "SPEC", "--out": "RESPONSES.jsonl"}
    return NextStep("have models answer them", command_line("generate", [prompts], options))


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
    from persona_panel.experiments.key_point_steps import KeyPoints
    from persona_panel.experiments.key_points import (
        key_points_document,
        key_points_result,
        planned_key_points,
        rationales_of,
        write_key_points,
    )
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
