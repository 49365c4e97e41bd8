"""The command and its subcommands, each imported only when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TextIO, cast

import click

from panel.cli import signals as stopping
from panel.cli.exit_status import LOST_OUTPUT
from panel.cli.streams import guarded
from panel.secrets.visible import VisibleStream, guard

# A subcommand's module and the line that `--help` shows for it, so that help needs no
# import of what it describes.
_COMMANDS = {
    "prompts": ("panel.cli.prompts", "Build a set of prompts, or read pairs of prompts."),
    "generate": ("panel.cli.generate", "Have models write the responses that are to be scored."),
    "score": (
        "panel.cli.score",
        "Score a batch of responses with a panel of judges, and rank them.",
    ),
    "batch": ("panel.cli.batch", "Look at the batches of a run, wait for them or cancel them."),
    "report": ("panel.cli.report", "Write a page of a run, to look at in a browser."),
    "contested": ("panel.cli.contested", "List the responses on which personas disagree."),
    "keypoints": ("panel.cli.keypoints", "Sum up and count the reasons that judges give."),
    "compare": ("panel.cli.compare", "Compare runs: other texts, or another panel."),
    "agree": ("panel.cli.agree", "Measure inter-rater agreement and panel quality."),
    "correlate": ("panel.cli.correlate", "Compare panel scores with human ratings."),
    "votes": (
        "panel.analyses.votes",
        "Estimate the effective number of votes of personas and models.",
    ),
    "fidelity": (
        "panel.cli.fidelity",
        "Compare how personas differ with how the people they stand for differ.",
    ),
    "plan": (
        "panel.cli.plan",
        "Plan a study: how many prompts, personas, models and raters it takes.",
    ),
    "select": ("panel.cli.select", "Choose the items of a run that people should rate."),
    "study": ("panel.cli.study", "Have people rate texts blind to their authors."),
    "calibrate": (
        "panel.analyses.calibrate",
        "Correct a panel's means by people's ratings of a part.",
    ),
    "align": ("panel.cli.align", "Learn from people's ratings how to combine or rescale scores."),
    "sweep": ("panel.cli.sweep", "Measure how adversarial framings degrade responses."),
    "audit": (
        "panel.cli.audit",
        "Measure a panel's biases and its resistance to prompt injection.",
    ),
    "questions": ("panel.cli.questions", "Have a model ask critical questions."),
    "match": ("panel.cli.match", "Compare critical questions with labelled references."),
    "personas": ("panel.cli.library", "List the persona sets, or show one."),
    "rubrics": ("panel.cli.library", "List the rubrics, or show one."),
    "framings": ("panel.cli.library", "List the framing sets of sweeps, or show one."),
    "cache": ("panel.cli.cache", "Count, move or remove the answers in the cache."),
    "models": ("panel.cli.models", "Show which models can be used here."),
}
_ANALYSES = "panel.analyses."
"""What the modules of analyses begin with: their commands are made of their declarations."""


class _Lazy(click.Group):
    def main(self, *args: Any, **kwargs: Any) -> Any:
        """The whole of a process: what it prints cannot fail it, and signals end it in order."""
        guard()
        # Statistics multiply thousands of small matrices: threads that wait for each other on
        # them cost twice the CPU. numpy reads it when it is loaded, which is later.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
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

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = _COMMANDS[cmd_name][0]
        module = import_module(name)
        if name.startswith(_ANALYSES):
            from panel.analyses.analysis import ANALYSES
            from panel.cli.analysis_command import analysis_command

            return analysis_command(ANALYSES[cmd_name])
        command: click.Command = getattr(module, cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _masked():
                return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            # Where judgments come in `panel.cli.watching` tells how many are kept.
            stopping.end(*stopped.args)

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


@contextmanager
def _masked() -> Iterator[None]:
    """What click says of wrong arguments, which may be addresses, without passwords, tokens and
    control characters."""
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
    """Score texts that have no gold answer with a panel of personas on several models."""
