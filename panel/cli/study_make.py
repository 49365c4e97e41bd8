"""`persona-panel study make`: packets for raters, and the key to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from persona_panel.cli.column_mapping import column_mapping
from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.options import json_option
from persona_panel.files.secrets.visible import say, standard_output, visible

# A format is a function of a module that writes a study's packets into a folder.
_FORMATS = {
    "html": ("persona_panel.study.html_kit", "write_pages"),
    "label-studio": ("persona_panel.study.label_studio", "write_label_studio"),
    "potato": ("persona_panel.study.potato", "write_potato"),
}
_NAMING_SHOWN = 5


@click.command(short_help="Make packets for raters, blind to who wrote the texts.")
@click.argument("responses", metavar="RESPONSES")
@column_mapping("RESPONSES", "response=answer,system=model")
@click.option(
    "--raters",
    metavar="N",
    type=click.IntRange(1, 999),
    required=True,
    help="How many people rate.",
)
@click.option(
    "--per-rater",
    metavar="N",
    type=click.IntRange(min=1),
    required=True,
    help="How many texts each rater sees, besides calibration, repeats and attention checks.",
)
@click.option(
    "--tasks",
    metavar="TASK,…",
    default="rank,rate",
    show_default=True,
    help="What is done with each set of texts to a prompt: rank them, rate each on the rubric's "
    "dimensions, or both; each with reasons.",
)
@click.option(
    "--calibration",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many prompts, with their texts, all raters see, before the others.",
)
@click.option(
    "--repeats",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many sets each rater sees a second time, at the end.",
)
@click.option(
    "--attention",
    metavar="K",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many sets each rater sees whose two texts say how they are to be answered.",
)
@click.option(
    "--rubric",
    metavar="NAME|FILE|RUN",
    default="scrub",
    show_default=True,
    help="The rubric to rate by: one of `persona-panel rubrics`, a YAML file, or a run's folder, "
    "for what its judges rated by.",
)
@click.option("--consent", metavar="FILE", help="Text that raters consent to, in place of ours.")
@click.option(
    "--instructions", metavar="FILE", help="Text that raters read first, in place of ours."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_FORMATS)),
    default="html",
    show_default=True,
    help="Pages to send, or an import for Label Studio or Potato.",
)
@click.option(
    "--items",
    metavar="FILE",
    help="Rate these items of RESPONSES only, as `select` wrote them. `collect` then writes their "
    "inclusion probabilities for `calibrate`.",
)
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Of all draws.")
@click.option("--out", metavar="FOLDER", required=True, help="The study's folder, a new one.")
@json_option
@refusals_without_calls
def make(
    responses: str,
    mapping: Mapping[str, str],
    raters: int,
    per_rater: int,
    tasks: str,
    calibration: int,
    repeats: int,
    attention: int,
    rubric: str,
    consent: str | None,
    instructions: str | None,
    form: str,
    items: str | None,
    seed: int,
    out: str,
    as_json: bool,
) -> None:
    """Make packets for raters of RESPONSES, a file that `score` reads, as responses.jsonl in the
    folder of a run is.

    A rater sees sets: a prompt with up to six of its texts, called A, B, C. Texts rotate over
    raters so that every text is rated and, where texts are ranked, every two texts to a prompt
    are compared by a rater. The order of sets and of texts in a set is balanced over raters by
    Williams squares. A design that cannot do this is refused, with the number that would do.

    OUT/packets has a file for each rater: a page that works without a network or a server,
    saves answers in the browser and exports them to a file, to be sent back. Its ids say nothing
    of prompts and systems. OUT/key says which text is whose: keep it from raters.

    Exit status: 0; 2, bad input or an impossible design.
    """
    from persona_panel.files.responses import load_responses
    from persona_panel.files.selections import read_inclusion
    from persona_panel.plan.definitions import resolve_rubric
    from persona_panel.reports.formats.json import write_json
    from persona_panel.reports.formats.terminal.study import show_study_design
    from persona_panel.results.console import output
    from persona_panel.rubrics import shipped
    from persona_panel.runs.load import load_run
    from persona_panel.study.figures import design_figures
    from persona_panel.study.kit import (
        CONSENT,
        INSTRUCTIONS,
        PACKETS,
        make_study,
        refuse_a_study_there,
        write_key,
    )
    from persona_panel.study.selection import selected_responses
    from persona_panel.study.settings import StudySettings

    folder = Path(out)
    refuse_a_study_there(folder)
    settings = StudySettings(
        raters, per_rater, _tasks(tasks), calibration, repeats, attention, seed
    )
    is_run = rubric not in shipped() and (Path(rubric) / "run.json").is_file()
    texts, inclusion = load_responses(responses, mapping=mapping), None
    if items is not None:
        drawn = read_inclusion(items, needed=True) or {}
        texts, inclusion = selected_responses(texts, drawn, items)
    made = make_study(
        texts,
        load_run(rubric).rubric if is_run else resolve_rubric(rubric),
        settings,
        consent=CONSENT if consent is None else _text("--consent", consent),
        instructions=INSTRUCTIONS
        if instructions is None
        else _text("--instructions", instructions),
        inclusion=inclusion,
    )
    key = write_key(made, folder)
    written = _writer(form)(made, folder)
    figures = design_figures(made)
    if as_json:
        write_json(figures)
    else:
        with standard_output() as to:
            show_study_design(figures, output(to))
    for line in _naming_lines(made.naming):
        say(visible(line), err=True)
    say(
        f"{len(written)} files for raters are in {visible(str(folder / PACKETS))}. Keep "
        f"{visible(str(key))} from raters: it says which text is whose.",
        err=True,
    )


def _naming_lines(naming: tuple[Any, ...]) -> list[str]:
    """Warnings of texts that name a system, those that name their own first."""
    from persona_panel.results.conclusions.wording import counted

    said = []
    for own, which in ((True, "the name of its own system"), (False, "the name of another system")):
        found = [one for one in naming if one.own is own]
        if not found:
            continue
        shown = ", ".join(
            f"{one.prompt_id}/{one.id} ({one.part}: {one.name!r})" for one in found[:_NAMING_SHOWN]
        )
        more = len(found) - _NAMING_SHOWN
        said.append(
            f"Warning: {which} stands in {counted(len(found), 'text')}, from which a rater may "
            f"guess the author: {shown}"
            f"{f' and {more:,} more (--json has all)' if more > 0 else ''}. "
            "Change the texts, or check that the word means something else."
        )
    return said


def _tasks(given: str) -> Any:
    from persona_panel.study.settings import TASKS

    names = tuple(name.strip() for name in given.split(","))
    if not set(names) <= set(TASKS) or len(set(names)) < len(names):
        raise click.UsageError(f"--tasks {given}: expected rank, rate, or rank,rate")
    return tuple(name for name in TASKS if name in names)


def _text(name: str, path: str) -> str:
    """The text of a file of the user's."""
    from persona_panel.files.errors import Fault, InputError
    from persona_panel.files.text_lines import text_of_file

    text = text_of_file(Path(path), field=name)
    if not text.strip():
        raise InputError([Fault(path, "an empty file", "a text file", field=name)])
    return text


def _writer(form: str) -> Callable[..., list[Path]]:
    from importlib import import_module

    module, name = _FORMATS[form]
    found: Callable[..., list[Path]] = getattr(import_module(module), name)
    return found
