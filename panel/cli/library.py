"""`persona-panel library` and `models`: what can be named, and which models can be used here."""

from __future__ import annotations

from datetime import date

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.cli.failures import NextStep, refusals_without_calls
from persona_panel.cli.help import PanelCommand, PanelGroup
from persona_panel.cli.options import full_option, json_option
from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.secrets import standard_output
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
from persona_panel.results.result import load_format
from persona_panel.rubrics import ItemForm, Rubric
from persona_panel.rubrics.instructions import ENGLISH_CODE
from persona_panel.rubrics.wording import scale_words


@click.group(cls=PanelGroup, example="personas disciplinary")
def library() -> None:
    """List or show personas, rubrics, framings, languages."""


@library.command(example="disciplinary", short_help="List the persona sets, or show one.")
@click.argument("name", required=False)
@refusals_without_calls
def personas(name: str | None) -> None:
    """List the persona sets, or show the set NAME (or a YAML file) with its descriptions."""
    console = output()
    shipped = persona_library.shipped()
    if name is None:
        table = _names("label", "personas", "axes")
        for key, path in shipped.items():
            persona_set = load_definition(path, PersonaSet)
            axes = dict.fromkeys(persona.axis for persona in persona_set.personas)
            table.add_row(
                key, Text(persona_set.label), str(len(persona_set.personas)), ", ".join(axes)
            )
        console.print(table)
        return
    persona_set = load_definition(resolve(name, shipped, "persona set"), PersonaSet)
    console.print(Text(f"{persona_set.id}: {persona_set.label}", style="bold"))
    for persona in persona_set.personas:
        console.print()
        console.print(Text.assemble((persona.id, "bold"), f"  {persona.label} ({persona.axis})"))
        _say(console, persona.description)


@library.command(example="scrub", short_help="List the rubrics, or show one.")
@click.argument("name", required=False)
@refusals_without_calls
def rubrics(name: str | None) -> None:
    """List the rubrics, or show the rubric NAME (or a YAML file) in full, NAME:VARIANT in the words
    of a variant."""
    console = output()
    shipped = rubric_library.shipped()
    if name is None:
        table = _names("label", "dimensions", "abstention", "variants")
        for key, path in shipped.items():
            rubric = load_definition(path, Rubric)
            asked = "yes" if rubric.abstention else "no"
            names = ", ".join(rubric.variants)
            table.add_row(key, Text(rubric.label), str(len(rubric.dimensions)), asked, names)
        console.print(table)
        return
    own, _ = split_variant(name)
    variants = load_definition(resolve(own, shipped, "rubric"), Rubric).variants
    rubric = resolve_rubric(name)
    of = f", {variants[rubric.variant].label}" if rubric.variant else ""
    console.print(Text(f"{rubric.id}: {rubric.label}{of}", style="bold"))
    _say(console, rubric.question)
    if rubric.variant is None and variants:
        listed = "; ".join(f"{own}:{key} ({variant.label})" for key, variant in variants.items())
        _say(console, f"Variants: {listed}")
    if rubric.item != ItemForm():
        item = rubric.item
        _say(console, f"An item is put as {item.prompt}, {item.context} and {item.response}.")
    if rubric.item.prompt_from:
        _say(console, f"The {item.prompt} is the field {item.prompt_from}, where there is one.")
    for dimension in rubric.dimensions:
        console.print()
        family = f" ({dimension.family})" if dimension.family else ""
        console.print(Text.assemble((dimension.id, "bold"), f"  {dimension.label}{family}"))
        _say(console, dimension.definition)
        _say(console, dimension.guiding_question)
        console.print(Text(scale_words(dimension), "dim"))
    if rubric.abstention:
        console.print()
        console.print(Text("abstained", style="bold"))
        _say(console, f"{rubric.abstention.definition} {rubric.abstention.guiding_question}")


@library.command(example="scrub", short_help="List the framing sets of sweeps, or show one.")
@click.argument("name", required=False)
@refusals_without_calls
def framings(name: str | None) -> None:
    """List the framing sets, or show the set NAME (or a YAML file) with its instructions."""
    # What sweeps need takes long to import.
    from persona_panel.experiments.sweep.plan import framings_of, shipped_framings
    from persona_panel.graphs.framing import Framings

    console = output()
    if name is None:
        table = _names("label", "conditions", "placebo")
        for key, path in shipped_framings().items():
            framings = load_definition(path, Framings)
            table.add_row(
                key, Text(framings.label), ", ".join(framings.ids), framings.placebo or "none"
            )
        console.print(table)
        return
    framings = framings_of(name)
    console.print(Text(f"{framings.id}: {framings.label}", style="bold"))
    for condition in framings.conditions:
        console.print()
        console.print(Text.assemble((condition.id, "bold"), f"  {condition.label}"))
        _say(console, condition.instruction)
    for contrast in framings.contrasts:
        console.print()
        console.print(Text.assemble((contrast.id, "bold"), f"  {contrast.label}"))
        console.print(Text(f"{', '.join(contrast.plus)} − {', '.join(contrast.minus)}"))


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


def _say(console: Console, text: str) -> None:
    """Print a text of several lines, or of one."""
    for line in text.splitlines():
        console.print(Text(line))


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
