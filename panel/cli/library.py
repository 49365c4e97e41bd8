"""`persona-panel library` and `models`: what can be named, and which models can be used here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import click
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table
from rich.text import Text

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.cli.failures import NextStep, refusals_without_calls
from persona_panel.cli.help import PanelCommand, PanelGroup
from persona_panel.cli.options import full_option, json_option, option
from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.secrets import standard_output
from persona_panel.files.wording import some
from persona_panel.models.local_servers import (
    availability_result,
    local_servers,
    local_servers_result,
    score_command,
)
from persona_panel.personas import PersonaSet
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.planning.languages import english_words, language_names, load_translation
from persona_panel.planning.settings import split_variant
from persona_panel.results.console import output
from persona_panel.results.formats.terminal import COLUMNS, LINES
from persona_panel.results.result import load_format
from persona_panel.rubrics import ItemForm, Rubric
from persona_panel.rubrics.instructions import ENGLISH_CODE
from persona_panel.rubrics.wording import scale_words

_all_option = option("--full", is_flag=True, help="Show all of NAME, not what fits on a screen.")


@click.group(cls=PanelGroup, example="personas disciplinary")
def library() -> None:
    """List or show personas, rubrics, framings, languages."""


@library.command(example="disciplinary", short_help="List the persona sets, or show one.")
@click.argument("name", required=False)
@_all_option
@refusals_without_calls
def personas(name: str | None, *, full: bool) -> None:
    """List the persona sets, or show the set NAME (or a YAML file) with its descriptions."""
    shipped = persona_library.shipped()
    if name is None:
        table = _names("label", "personas", "axes")
        for key, path in shipped.items():
            persona_set = load_definition(path, PersonaSet)
            axes = dict.fromkeys(persona.axis for persona in persona_set.personas)
            table.add_row(
                key, Text(persona_set.label), str(len(persona_set.personas)), ", ".join(axes)
            )
        output().print(table)
        return
    persona_set = load_definition(resolve(name, shipped, "persona set"), PersonaSet)
    heading = Text(f"{persona_set.id}: {persona_set.label}", style="bold")
    parts = [
        _LibraryPart(persona.id, f"{persona.label} ({persona.axis})", _lines(persona.description))
        for persona in persona_set.personas
    ]
    _show([heading], parts, full=full)


@library.command(example="scrub", short_help="List the rubrics, or show one.")
@click.argument("name", required=False)
@_all_option
@refusals_without_calls
def rubrics(name: str | None, *, full: bool) -> None:
    """List the rubrics, or show the rubric NAME (or a YAML file), NAME:VARIANT in the words of a
    variant."""
    shipped = rubric_library.shipped()
    if name is None:
        table = _names("label", "dimensions", "abstention", "variants")
        for key, path in shipped.items():
            rubric = load_definition(path, Rubric)
            asked = "yes" if rubric.abstention else "no"
            names = ", ".join(rubric.variants)
            table.add_row(key, Text(rubric.label), str(len(rubric.dimensions)), asked, names)
        output().print(table)
        return
    own, _ = split_variant(name)
    variants = load_definition(resolve(own, shipped, "rubric"), Rubric).variants
    rubric = resolve_rubric(name)
    of = f", {variants[rubric.variant].label}" if rubric.variant else ""
    above = [Text(f"{rubric.id}: {rubric.label}{of}", style="bold"), *_lines(rubric.question)]
    if rubric.variant is None and variants:
        listed = "; ".join(f"{own}:{key} ({variant.label})" for key, variant in variants.items())
        above.append(Text(f"Variants: {listed}"))
    if (item := rubric.item) != ItemForm():
        above.append(Text(f"An item is put as {item.prompt}, {item.context} and {item.response}."))
    if item.prompt_from:
        above.append(
            Text(f"The {item.prompt} is the field {item.prompt_from}, where there is one.")
        )
    parts = [
        _LibraryPart(
            dimension.id,
            f"{dimension.label}{f' ({dimension.family})' if dimension.family else ''}",
            [
                *_lines(dimension.definition), *_lines(dimension.guiding_question),
                Text(scale_words(dimension), "dim"),
            ],
        )
        for dimension in rubric.dimensions
    ]  # fmt: skip
    if (abstention := rubric.abstention) is not None:
        text = _lines(f"{abstention.definition} {abstention.guiding_question}")
        parts.append(_LibraryPart("abstained", "", text))
    _show(above, parts, full=full)


@library.command(example="scrub", short_help="List the framing sets of sweeps, or show one.")
@click.argument("name", required=False)
@_all_option
@refusals_without_calls
def framings(name: str | None, *, full: bool) -> None:
    """List the framing sets, or show the set NAME (or a YAML file) with its instructions."""
    # What sweeps need takes long to import.
    from persona_panel.experiments.sweep.plan import framings_of, shipped_framings
    from persona_panel.graphs.framing import Framings

    if name is None:
        table = _names("label", "conditions", "placebo")
        for key, path in shipped_framings().items():
            framings = load_definition(path, Framings)
            table.add_row(
                key, Text(framings.label), ", ".join(framings.ids), framings.placebo or "none"
            )
        output().print(table)
        return
    framings = framings_of(name)
    parts = [
        _LibraryPart(condition.id, condition.label, _lines(condition.instruction))
        for condition in framings.conditions
    ]
    for contrast in framings.contrasts:
        sides = Text(f"{', '.join(contrast.plus)} − {', '.join(contrast.minus)}")
        parts.append(_LibraryPart(contrast.id, contrast.label, [sides]))
    _show([Text(f"{framings.id}: {framings.label}", style="bold")], parts, full=full)


@library.command(example="en", short_help="List the languages of judges, or print one.")
@click.argument("name", required=False)
@refusals_without_calls
def languages(name: str | None) -> None:
    """List the languages in which judges can be asked, or print the words of the language NAME (or
    of a YAML file) as YAML: those of `en` are what a translation of your own translates."""
    import yaml

    if name is not None:
        words = english_words() if name == ENGLISH_CODE else load_translation(name)
        with standard_output() as to:
            document = words.model_dump()
            to.write(yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=100))
        return
    table = _names("language", "rubrics", "persona sets", "translation")
    for code in language_names():
        words = english_words() if code == ENGLISH_CODE else load_translation(code)
        status = "" if code == ENGLISH_CODE else "not validated"
        table.add_row(code, words.name, str(len(words.rubrics)), str(len(words.sets)), status)
    output().print(table)


def _names(*heads: str) -> Table:
    """Return an empty table, of names that are whole."""
    return Table(Column("name", no_wrap=True), *heads, box=SIMPLE_HEAD, collapse_padding=True)


def _lines(text: str) -> list[Text]:
    return [Text(line) for line in text.splitlines()]


class _LibraryPart(NamedTuple):
    """A persona, a dimension, a condition: what is shown of it."""

    id: str
    label: str
    texts: Sequence[Text]


def _show(above: Sequence[Text], parts: Sequence[_LibraryPart], *, full: bool) -> None:
    """Print what stands above, and the parts: in short the first that a screen has room for, and
    which there are besides."""
    console = output()
    width = min(console.width, COLUMNS)
    shown = list(above)
    for n, part in enumerate(parts):
        more = [Text(), Text.assemble((part.id, "bold"), f"  {part.label}".rstrip()), *part.texts]
        rest = [each.id for each in parts[n + 1 :]]
        lines = [*shown, *more, *_besides(rest)]
        if n and not full and sum(len(text.wrap(console, width)) for text in lines) > LINES:
            shown += _besides([part.id, *rest])
            break
        shown += more
    for text in shown:
        console.print(text)


def _besides(ids: Sequence[str]) -> list[Text]:
    if not ids:
        return []
    return [Text(), Text(f"Also {some(ids, 6, as_=str)}: --full shows all.", "dim")]


@click.command(cls=PanelCommand, example="--local")
@click.option(
    "--local",
    is_flag=True,
    help="List the models of servers on this machine: what answers at the usual ports of Ollama "
    "(11434), llama.cpp (8080), vLLM (8000) and LM Studio (1234). No key is sent.",
)
@full_option
@json_option
def models(*, local: bool, full: bool, as_json: bool) -> None:
    """Show which models can be used here, and what the others need."""
    servers = local_servers() if local else []
    result = local_servers_result(servers) if local else availability_result(date.today())
    with standard_output() as to:
        load_format("json" if as_json else "terminal").render(result, to, full=full)
    if score := score_command(servers):
        NextStep("score responses by it", score).say()
