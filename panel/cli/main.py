"""The command and its subcommands, each imported only when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

# A subcommand's module and the line that `--help` shows for it, so that help needs no
# import of what it describes.
_COMMANDS = {
    "score": ("panel.cli.score", "Have a panel read a batch of responses, and rank them."),
    "sweep": ("panel.cli.sweep", "Measure what pressure does to the quality of answers."),
    "questions": ("panel.cli.questions", "Have a model ask critical questions."),
    "match": ("panel.cli.questions", "Hold critical questions against labelled references."),
    "agree": ("panel.cli.agree", "Say how far raters agree, and what they are worth."),
    "correlate": ("panel.cli.correlate", "Hold a panel against humans."),
    "personas": ("panel.cli.library", "List the persona sets, or show one."),
    "rubrics": ("panel.cli.library", "List the rubrics, or show one."),
    "framings": ("panel.cli.library", "List the framing sets of sweeps, or show one."),
    "models": ("panel.cli.models", "Show which models can be used here and now."),
    "audit": ("panel.cli.audit", "Measure what sways a panel that should not."),
}


INTERRUPTED = 130


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(_COMMANDS[cmd_name][0]), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Once a run is under way `panel.cli.watching` tells what is kept.
            click.echo("Interrupted before the run began.", err=True)
            ctx.exit(INTERRUPTED)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(args[0], _COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(version("persona-panel"))
        ctx.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def command(**_: Any) -> None:
    """A panel of personas, speaking through several models, reads texts without a gold answer."""
