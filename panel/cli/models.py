"""`persona-panel models`: which models can be used here, and what the others need."""

from __future__ import annotations

from datetime import date

import click

from persona_panel.cli.help import PanelCommand
from persona_panel.cli.next_step import NextStep
from persona_panel.cli.options import full_option, json_option
from persona_panel.files.secrets.visible import standard_output
from persona_panel.models.availability_result import availability_result
from persona_panel.models.local_servers import local_servers, local_servers_result, score_command
from persona_panel.results.result import load_format


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
