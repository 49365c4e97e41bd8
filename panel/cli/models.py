"""`persona-panel models`: which models can be used here, and what the others need."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from panel.models.embedded_weights import NOTICE
from panel.models.providers import Availability, load_provider, provider_names
from panel.reports.terminal.tables import output


@click.command()
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


def _availability(name: str) -> Iterator[Availability]:
    try:
        yield from load_provider(name).availability()
    # Another distribution's provider that does not work hides no other.
    except Exception as error:
        yield Availability(f"{name}:NAME", False, str(error))
