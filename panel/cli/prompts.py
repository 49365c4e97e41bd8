"""`persona-panel prompts`: sets of prompts, built from a SPEC or read from pairs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import (
    COMPLETE,
    INCOMPLETE,
    NextStep,
    gathered,
    refusals,
    refusals_without_calls,
)
from persona_panel.cli.help import PanelGroup
from persona_panel.cli.job import carried_out, dialogues_counted
from persona_panel.cli.options import caps_of_a_file, column_mapping, limit_option, model_in
from persona_panel.cli.run_options import CallOptions, call_options
from persona_panel.files.secrets.visible import say, visible


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
        prompt_set_plan,
        prompt_set_result,
    )
    from persona_panel.results.requirements.of_result import result_figures
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
