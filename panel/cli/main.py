"""The command and its subcommands, each imported only when it is called."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TextIO, cast

import click

from persona_panel.cli import signals as stopping
from persona_panel.cli.failures import LOST_OUTPUT
from persona_panel.cli.signals import guarded
from persona_panel.files.secrets.visible import VisibleStream, guard

# A subcommand's module and the line that `--help` shows for it, so that help needs no
# import of what it describes.
_COMMANDS = {
    "prompts": ("persona_panel.cli.prompts", "Build a set of prompts, or read pairs of prompts."),
    "generate": (
        "persona_panel.cli.generate",
        "Have models write the responses that are to be scored.",
    ),
    "score": (
        "persona_panel.cli.score",
        "Score a batch of responses with a panel of judges, and rank them.",
    ),
    "batch": (
        "persona_panel.cli.batch",
        "Look at the batches of a run, wait for them or cancel them.",
    ),
    "report": ("persona_panel.cli.report", "Write a page of a run, to look at in a browser."),
    "view": ("persona_panel.cli.view", "Show the runs below a folder in a browser, as they go on."),
    "contested": (
        "persona_panel.analyses.contested",
        "List the responses on which personas disagree.",
    ),
    "keypoints": ("persona_panel.cli.keypoints", "Sum up and count the reasons that judges give."),
    "compare": ("persona_panel.analyses.compare", "Compare runs: other texts, or another panel."),
    "agree": ("persona_panel.analyses.agree", "Measure inter-rater agreement and panel quality."),
    "correlate": ("persona_panel.analyses.correlate", "Compare panel scores with human ratings."),
    "votes": (
        "persona_panel.analyses.votes",
        "Estimate the effective number of votes of personas and models.",
    ),
    "fidelity": (
        "persona_panel.analyses.fidelity",
        "Compare how personas differ with how the people they stand for differ.",
    ),
    "plan": (
        "persona_panel.analyses.plan",
        "Plan a study: how many prompts, personas, models and raters it takes.",
    ),
    "select": ("persona_panel.cli.select", "Choose the items of a run that people should rate."),
    "study": ("persona_panel.cli.study", "Have people rate texts blind to their authors."),
    "calibrate": (
        "persona_panel.analyses.calibrate",
        "Correct a panel's means by people's ratings of a part.",
    ),
    "align": (
        "persona_panel.analyses.align",
        "Learn from people's ratings how to combine or rescale scores.",
    ),
    "sweep": ("persona_panel.cli.sweep", "Measure how adversarial framings degrade responses."),
    "audit": (
        "persona_panel.cli.audit",
        "Measure a panel's biases and its resistance to prompt injection.",
    ),
    "questions": ("persona_panel.cli.questions", "Have a model ask critical questions."),
    "match": ("persona_panel.cli.match", "Compare critical questions with labelled references."),
    "personas": ("persona_panel.cli.library", "List the persona sets, or show one."),
    "rubrics": ("persona_panel.cli.library", "List the rubrics, or show one."),
    "framings": ("persona_panel.cli.library", "List the framing sets of sweeps, or show one."),
    "cache": ("persona_panel.cli.cache", "Count, move or remove the answers in the cache."),
    "models": ("persona_panel.cli.models", "Show which models can be used here."),
}
_ANALYSES = "persona_panel.analyses."
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
            from persona_panel.analyses.analysis import ANALYSES
            from persona_panel.cli.analysis_command import analysis_command

            return analysis_command(ANALYSES[cmd_name])
        command: click.Command = getattr(module, cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _masked():
                return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            # Where judgments come in `persona_panel.cli.watching` tells how many are kept.
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
    """Return click's message on wrong arguments, which may be addresses, without passwords, tokens
    and control characters."""
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


def main() -> None:
    """Run the command as a process of its own."""
    # Imports make little that is let go of: to look for cycles while they go on, as Python does
    # again and again, costs a seventh of the start. All of them make fewer objects than this.
    gc.set_threshold(300_000, 20, 50)
    command()
