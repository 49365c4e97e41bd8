"""The command as a process of its own."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

import click

from persona_panel.cli import signals as stopping
from persona_panel.cli.commands import SECTIONS, LazyGroup, new_words
from persona_panel.cli.failures import LOST_OUTPUT
from persona_panel.cli.signals import guarded
from persona_panel.files.secrets import VisibleStream, guard

_NAME = "persona-panel"


class _Process(LazyGroup):
    def main(self, *args: Any, **kwargs: Any) -> Any:
        """The whole of a process: what it prints cannot fail it, and signals end it in order."""
        guard()
        # Statistics multiply thousands of small matrices: threads that wait for each other on
        # them cost twice the CPU. numpy reads it when it is loaded, which is later.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # To look for plug-ins, pydantic reads a file of every installed distribution.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        with guarded() as fault, stopping.heeded():
            try:
                return super().main(*args, **kwargs)
            except SystemExit as ended:
                if (lost := fault()) is None:
                    raise
                click.echo(f"Standard output could not be written: {lost.strerror}.", err=True)
                # How a run ended says more than that.
                sys.exit(ended.code or LOST_OUTPUT)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        with _masked():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _masked():
                return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            # Where judgments come in `persona_panel.cli.job` tells how many are kept.
            stopping.end(*stopped.args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        words, is_old = new_words(args)
        if is_old:
            click.echo(is_old, err=True)
        return super().resolve_command(ctx, words)


@contextmanager
def _masked() -> Iterator[None]:
    """Return click's message on wrong arguments."""
    try:
        yield
    except click.ClickException as error:
        stream = VisibleStream(sys.stderr)
        error.show(cast(TextIO, stream))
        stream.flush()
        sys.exit(error.exit_code)


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(version("persona-panel"))
        ctx.exit()


@click.group(
    _NAME,
    cls=_Process,
    sections=SECTIONS,
    example="score answers.csv --model openai:gpt-5-mini --out runs/first",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def command(**_: Any) -> None:
    """Score texts that have no gold answer with a panel of personas on several models."""


def main() -> None:
    """Run the command as a process of its own."""
    # Imports make little that is let go of: to look for cycles while they go on, as Python does
    # again and again, costs a seventh of the start. All of them make fewer objects than this.
    gc.set_threshold(300_000, 20, 50)
    command(prog_name=_NAME)
