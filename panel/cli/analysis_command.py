"""The commands of analyses, made of their declarations, and how any result leaves a command."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import BoundArguments, signature
from pathlib import Path
from typing import Any

import click

from persona_panel.analyses.analysis import Analysis
from persona_panel.analyses.parameters import Option
from persona_panel.cli.failures import (
    COMPLETE,
    refusals,
    refusals_without_calls,
    say_what_is_missing,
)
from persona_panel.cli.gate import Gate, gate_options
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.next_step import NextStep
from persona_panel.cli.options import Command, full_option, option
from persona_panel.files.secrets.visible import say, say_sentences, standard_output, visible
from persona_panel.results.result import Result, ResultFormat, format_names, load_format

_SHORT_FORMATS = ("json", "csv", "latex")
"""Formats with an option of their own. Markdown has none: --markdown is the file of a summary."""
_DEFAULT_FORMAT = "terminal"


@dataclass(frozen=True, slots=True)
class ResultOutput:
    """Output of a command's result: format, files, and requirements on its figures."""

    to: ResultFormat
    full: bool
    plot: str | None
    gate: Gate

    def show(
        self,
        result: Result,
        *,
        status: int = COMPLETE,
        why: Sequence[str] = (),
        next_step: NextStep | None = None,
    ) -> None:
        """Print the result in its format, with what is to be known of its inputs on standard error;
        draw it; decide the requirements, and end the command with its exit status where that is
        not 0.

        Args:
            status: of the command itself.
            why: it is not 0, for the last line where no requirement decides.
            next_step: follows the result, unless that has one of its own.

        Raises:
            InputError: a requirement names no figure of it; nothing is printed then.
            click.UsageError: it has no estimates to draw.
        """
        from persona_panel.results.requirements.of_result import result_figures

        self.gate.refuse_unknown(lambda: result_figures(result))
        for sentence in result.reading:
            say_sentences(sentence, err=True)
        with standard_output() as to:
            self.to.render(result, to, full=self.full)
        if self.plot is not None:
            try:
                name, file = _plotted(self.plot)
                figure = result.plot(name)
            except ValueError as error:
                raise click.UsageError(f"--plot {self.plot}: {error}.") from None
            figure.savefig(file)
        say_what_is_missing(result.source, result.coverage)
        if next_step is not None and not result.next_step:
            next_step.say()
        if status and why and not self.gate.requirements:
            say(visible(f"Exit status {status}: {'; '.join(why)}."), err=True)
        self.gate.finish(lambda: result_figures(result), of=lambda: result, status=status)

    def show_stopped(self, result: Result) -> None:
        """Print what there is of the result of a command that a signal stopped: no requirement is
        decided, and nothing drawn."""
        with standard_output() as to:
            self.to.render(result, to, full=self.full)


def result_options(*requirements: str) -> Callable[[Command], Command]:
    """Declare the options for how a result is printed, drawn and required; the command is given
    them as `output`, a `ResultOutput`.

    Args:
        requirements: one to three on figures of this command, for its help.
    """

    def declared(command: Command) -> Command:
        @full_option
        @option(
            "--format",
            "name",
            metavar="NAME",
            type=click.Choice(format_names()),
            help=f"Format of the printed result: {', '.join(format_names())}.  "
            f"[default: {_DEFAULT_FORMAT}]",
        )
        @_short_formats
        @option(
            "--plot",
            metavar="[FIGURE=]FILE",
            help="Draw the main estimates to a .pdf, .svg or .png file. With FIGURE=, those of a "
            "name such as tau_c.",
        )
        @gate_options(*requirements)
        @wraps(command)
        def with_output(
            *args: Any, name: str | None, full: bool, plot: str | None, gate: Gate, **others: Any
        ) -> Any:
            short = [each for each in _SHORT_FORMATS if others.pop(f"as_{each}")]
            chosen = dict.fromkeys([*short, *([] if name is None else [name])])
            if len(chosen) > 1:
                both = [f"--{each}" for each in short]
                both += [] if name is None else [f"--format {name}"]
                raise click.UsageError(
                    f"{' and '.join(both)} exclude each other; leave all but one of them out."
                )
            if plot is not None:
                _check_plot(plot)
            to = refusals(load_format)(next(iter(chosen), _DEFAULT_FORMAT))
            return command(*args, output=ResultOutput(to, full, plot, gate), **others)

        return with_output

    return declared


def analysis_command(analysis: Analysis) -> click.Command:
    """Return the command of an analysis: its parameters, those of every result, and its help."""

    @result_options(*analysis.requirements)
    @refusals_without_calls
    def command(output: ResultOutput, **inputs: Any) -> None:
        with _progress(analysis.n_parts) as progress:
            # What a function takes as `*more` is an argument of that name.
            bound = BoundArguments(signature(analysis.function), OrderedDict(inputs | progress))
            result = analysis.function(*bound.args, **bound.kwargs)
        output.show(result)

    @wraps(command)
    def checked(**inputs: Any) -> None:
        _refuse_alone(analysis.parameters, inputs)
        command(**inputs)

    made = click.command(
        analysis.name,
        PanelCommand,
        params=list(analysis.parameters),
        help=analysis.help,
        example=analysis.example,
    )
    return made(checked)


def _short_formats(command: Command) -> Command:
    for short in reversed(_SHORT_FORMATS):
        command = option(
            f"--{short}",
            f"as_{short}",
            is_flag=True,
            hidden=short != "json",
            help=f"Short for --format {short}.",
        )(command)
    return command


def _plotted(plot: str) -> tuple[str, str]:
    """Return the figures to draw, empty for the main ones, and the file."""
    name, equals, file = plot.partition("=")
    return (name, file) if equals and name.isidentifier() else ("", plot)


def _check_plot(plot: str) -> None:
    from persona_panel.results.page_columns import PLOTS, plots_at_hand

    if not plots_at_hand():
        raise click.UsageError(f"--plot needs Matplotlib: {PLOTS}")
    _, file = _plotted(plot)
    if Path(file).suffix.lower() not in (".pdf", ".svg", ".png"):
        raise click.UsageError(f"--plot {file}: expected a file .pdf, .svg or .png")
    if not Path(file).absolute().parent.is_dir():
        raise click.UsageError(f"--plot {file}: the folder of the file does not exist.")


def _refuse_alone(parameters: Sequence[click.Parameter], inputs: dict[str, Any]) -> None:
    """Refuse options that say something of another one, where that is not there."""
    names = {one.opts[0]: str(one.name) for one in parameters}
    for parameter in parameters:
        if (
            not isinstance(parameter, Option)
            or not parameter.needs
            or not inputs[str(parameter.name)]
        ):
            continue
        if inputs[names[parameter.needs]] is None:
            raise click.UsageError(
                f"{parameter.opts[0]} works only with {parameter.needs}; leave it out."
            )


@contextmanager
def _progress(n_parts: int) -> Iterator[dict[str, Any]]:
    """The keyword by which a function is given what takes note of its progress, where it does."""
    if not n_parts:
        yield {}
        return
    from persona_panel.cli.progress import AnalysisProgress

    with AnalysisProgress(n_parts) as progress:
        yield {"progress": progress.take}
