"""`persona-panel demo`: `score` on a small batch that comes with the package."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import click

from persona_panel.cli.failures import NextStep, refusals_without_calls
from persona_panel.cli.help import PanelCommand
from persona_panel.files.secrets.visible import say, visible
from persona_panel.files.wording import command_line


@click.command(cls=PanelCommand)
@refusals_without_calls
def demo() -> None:
    """Score eight short speeches with five personas on the embedded model, without a key, in less
    than a minute. It is `score` with arguments, which it prints; the run is written below `runs`.
    """
    from persona_panel.files.errors import ConfigurationError
    from persona_panel.models.embedded_weights import require_engine, weights_of

    _require_folder()
    try:
        weights_of("smollm2-135m")
        require_engine()
    except ConfigurationError as error:
        raise ConfigurationError(f"The demo has an embedded model judge: {error}") from None
    options = {"--rubric": "debate-speech", "--personas": "disciplinary"}
    batch = _example("debate_speeches.jsonl")
    say("The demo is this command:", err=True)
    say(f"  {visible(command_line('score', [batch], options))}", err=True)
    # Not before that is shown: it imports for a second.
    from persona_panel.cli.score import score

    words = [batch, *(word for pair in options.items() for word in pair)]
    with score.make_context("score", words, parent=click.get_current_context()) as context:
        score.invoke(context)
    NextStep(
        "score the larger example, of 32 responses; put a file of your own in its place, and add "
        "--model PROVIDER:NAME for a model of your own",
        command_line("score", [_example("responses.jsonl")], {"--personas": "disciplinary"}),
    ).say()


def _require_folder() -> None:
    from persona_panel.files.errors import ConfigurationError

    try:
        problem = "" if os.access(Path.cwd(), os.W_OK | os.X_OK) else "cannot be written"
    except FileNotFoundError:
        problem = "is no more"
    if problem:
        raise ConfigurationError(
            f"The demo writes its run below the present folder, which {problem}; start it in "
            "another"
        )


def _example(name: str) -> str:
    """The path of a batch of examples, from the present folder where it is below that."""
    path = Path(str(files("persona_panel").joinpath("library", name))).resolve()
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
