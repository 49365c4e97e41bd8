"""`persona-panel models`: what is usable here and now, and how to get the rest."""

from __future__ import annotations

import os

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from panel.cli.printing import output
from panel.errors import ConfigurationError
from panel.models.specs import OPENAI_URL, PROVIDERS, install, missing_packages
from panel.models.weights import NOTICE, SHIPPED, require_engine, weights_of


@click.command()
def models() -> None:
    """Show which models can be used here and now, and how to get the rest."""
    console = output()
    table = Table("model", "usable", "what is there, or what is missing", box=SIMPLE_HEAD)
    for name in SHIPPED:
        table.add_row(f"local:{name}", *_local(name))
    table.add_row("local:/path/to/any.gguf", *_engine())
    table.add_row("openai:NAME", *_openai())
    for name, provider in PROVIDERS.items():
        variable = provider.key_env
        lacks_key = variable is not None and variable not in os.environ
        if missing_packages(provider):
            row = (Text("no"), Text(install(provider)))
        elif lacks_key:
            row = (Text("no"), Text(f"put a key into {variable}"))
        else:
            row = (Text("yes", "green"), Text(f"key in {variable}" if variable else "installed"))
        table.add_row(f"{name}:NAME", *row)
    console.print(table)
    console.print(Text(NOTICE))
    console.print(
        Text(
            "openai: also reaches any OpenAI-compatible server (vLLM, Ollama, llama.cpp, "
            "LM Studio, OpenRouter) by base_url in a panel file or OPENAI_BASE_URL."
        )
    )


def _local(name: str) -> tuple[Text, Text]:
    try:
        require_engine()
        path = weights_of(name)
    except ConfigurationError as error:
        return Text("no"), Text(str(error))
    return Text("yes", "green"), Text(f"{path.stat().st_size / 1e6:.0f} MB, shows the machinery")


def _engine() -> tuple[Text, Text]:
    try:
        require_engine()
    except ConfigurationError as error:
        return Text("no"), Text(str(error))
    return Text("yes", "green"), Text("any GGUF file that you have")


def _openai() -> tuple[Text, Text]:
    base_url = os.environ.get("OPENAI_BASE_URL", OPENAI_URL)
    if "OPENAI_API_KEY" in os.environ:
        return Text("yes", "green"), Text(f"key in OPENAI_API_KEY, for {base_url}")
    if base_url.rstrip("/") != OPENAI_URL:
        return Text("yes", "green"), Text(f"without a key, for {base_url}")
    return Text("no"), Text("put a key into OPENAI_API_KEY, or a server into OPENAI_BASE_URL")
