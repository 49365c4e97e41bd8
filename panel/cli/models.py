"""`persona-panel models`: which models can be used here, and what the others need."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from persona_panel.cli.help import PanelCommand
from persona_panel.models.availability import OLD, age_of_table, differences, litellm_table, retired
from persona_panel.models.config import known_models, prices_as_of
from persona_panel.models.embedded_weights import NOTICE
from persona_panel.models.providers import Availability, load_provider, provider_names
from persona_panel.results.console import output


@click.command(cls=PanelCommand)
def models() -> None:
    """Show which models can be used here, and what the others need."""
    console = output()
    table = Table("model", "usable", "found, or missing", box=SIMPLE_HEAD)
    for name in provider_names():
        for line in _availability(name):
            usable = Text("yes", "green") if line.usable else Text("no")
            table.add_row(Text(line.model), usable, Text(line.detail))
    console.print(table)
    console.print(Text(NOTICE))
    console.print(
        Text(
            "openai: also calls any OpenAI-compatible server (vLLM, Ollama, llama.cpp, LM Studio, "
            "OpenRouter): set base_url in a panel file, or OPENAI_BASE_URL."
        )
    )
    _show_age(console)


def _show_age(console: Console) -> None:
    """Print which entries of the table of prices, windows and abilities are out of date."""
    today = date.today()
    known, as_of = len(known_models()), prices_as_of()
    console.print()
    console.print(Text(f"Prices and context windows of {known} models are as of {as_of}."))
    if (age := age_of_table(today)) > OLD:
        line = f"They are {age.days} days old: check them before you rely on a cost in dollars."
        console.print(Text(line, "yellow"))
    if gone := retired(today):
        line = f"Taken off by their providers since: {', '.join(gone)}."
        console.print(Text(line, "yellow"))
    published = litellm_table()
    if published is None:
        console.print(Text("With litellm installed, they are compared with the table it ships."))
        return
    differing = differences(published)
    source = f"the table of LiteLLM {published.version}"
    if not differing:
        console.print(Text(f"They agree with {source}."))
        return
    table = Table("model", "", "here", source, box=SIMPLE_HEAD)
    for entry in differing:
        table.add_row(
            *map(Text, (entry.model, entry.what, _said(entry.listed), _said(entry.published)))
        )
    console.print(
        Text(f"{len(differing)} entries differ from {source}; a panel file can set them:")
    )
    console.print(table)


def _said(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,}"


def _availability(name: str) -> Iterator[Availability]:
    try:
        yield from load_provider(name).availability()
    # Another distribution's provider that does not work hides no other.
    except Exception as error:
        yield Availability(f"{name}:NAME", False, str(error))
