"""The commands of analyses, and how any result leaves a command: its format, and `--require`, which
decides the exit status."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import BoundArguments, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.analyses.analysis import Analysis
from persona_panel.cli.failures import (
    COMPLETE,
    INCOMPLETE,
    LOST_OUTPUT,
    NOT_MET,
    NOTHING_SCORED,
    NextStep,
    figure_and_file,
    refusals,
    refusals_without_calls,
    say_what_goes_on,
    say_what_is_missing,
)
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.options import Command, decimal_option, full_option, option
from persona_panel.files.secrets import say, say_sentences, standard_output, visible
from persona_panel.results.result import Result, ResultFormat, format_names, load_format

if TYPE_CHECKING:
    from persona_panel.files.errors import Fault
    from persona_panel.results.decision import GateResult
    from persona_panel.results.required_figures import Figure
    from persona_panel.results.requirement import Requirement

_COVERAGE = ("coverage", "missing", "scored")
"""Figures that say how much may be missing: who requires one has decided that."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Requirements on the figures of a command, and the files that record the outcome.

    Attributes:
        requirements: in their order; none where the command was given none.
        by_point: whether estimates decide.
        junit, markdown: the files to write.
        suite: what the command is called in them.
        unread: the faults of requirements that could not be read.
    """

    requirements: tuple[Requirement, ...]
    by_point: bool
    junit: Path | None
    markdown: Path | None
    suite: str
    unread: tuple[Fault, ...] = ()

    def refuse_unknown(self, figures: Callable[[], Sequence[Figure]]) -> None:
        """Refuse requirements that cannot be read or name none of these figures, before anything is
        spent, printed or written. Raises InputError: there are some; lists them."""
        if self.requirements or self.unread:
            from persona_panel.results.decision import named

            named(self.requirements, figures(), self.unread)

    def finish(
        self,
        figures: Callable[[], Sequence[Figure]],
        *,
        of: Callable[[], Result],
        status: int = COMPLETE,
    ) -> None:
        """Decide the requirements, write and print what became of them, and end the command with
        its exit status; returns where that is 0.

        Args:
            figures: all that the command prints.
            of: the result whose conclusion and first table are in the summary in Markdown.
            status: of the command itself. That nothing was scored goes before a requirement that
                is not met, and that before judgments that are missing. These are no fault where a
                requirement says how many may be.
        """
        if self.requirements:
            from persona_panel.results.decision import decide_all

            result = decide_all(self.requirements, figures(), by_point=self.by_point)
            is_written = self._write(result, of, has_result=status != NOTHING_SCORED)
            if status != NOTHING_SCORED:
                if not result.met:
                    status = NOT_MET
                elif any(requirement.name in _COVERAGE for requirement in self.requirements):
                    status = COMPLETE if status == INCOMPLETE else status
                if not is_written:
                    status = status or LOST_OUTPUT
            _show(result, status)
        if status != COMPLETE:
            sys.exit(status)

    def _write(self, result: GateResult, of: Callable[[], Result], *, has_result: bool) -> bool:
        """Write the files; whether they could be written."""
        texts, is_written = {}, True
        if self.junit is not None:
            from persona_panel.results.decision import junit

            reason = "" if has_result else next(iter(of().conclusion), "there is no result")
            texts[self.junit] = junit(result, self.suite, no_result=reason)
        if self.markdown is not None:
            from persona_panel.results.decision import markdown
            from persona_panel.results.shown import first_table

            whole = of()
            texts[self.markdown] = markdown(result, whole.conclusion, first_table(whole))
        for path, text in texts.items():
            try:
                path.write_text(text, "utf-8")
            except OSError as error:
                say(f"{visible(str(path))} could not be written: {error.strerror}.", err=True)
                is_written = False
        return is_written


def gate_options(*examples: str) -> Callable[[Command], Command]:
    """Options for what figures have to be; the command is given them as `gate`. `examples`: one to
    three requirements on figures of this command."""

    def with_gate_options(command: Command) -> Command:
        return _with_gate(command, [f"'{example}'" for example in examples])

    return with_gate_options


def _with_gate(command: Command, examples: Sequence[str]) -> Command:
    @option(
        "--require",
        "expressions",
        metavar="EXPRESSION",
        multiple=True,
        help=f"What a figure has to be: {examples[0]}. Repeatable. Exit status 3 if it is "
        "not met, by the unfavourable end of its 95 % interval, a one-sided test at 2.5 %; "
        "`level=0.9` at its end makes it 90 % and 5 %. "
        + (f"Others are {' and '.join(examples[1:])}. " if examples[1:] else "")
        + "Names with commas or brackets stand in quotes; a wrong name is answered by the nearest "
        "ones.",
    )
    @option(
        "--require-point",
        "by_point",
        needs="--require",
        is_flag=True,
        hidden=True,
        help="Decide --require by the estimates instead of the ends of their intervals.",
    )
    @option(
        "--junit",
        needs="--require",
        metavar="FILE",
        hidden=True,
        help="Write the result of --require as JUnit XML.",
    )
    @option(
        "--markdown",
        needs="--require",
        metavar="FILE",
        hidden=True,
        help="Write the result of --require as Markdown, for a comment on a pull request.",
    )
    @wraps(command)
    def with_gate(
        *args: Any,
        expressions: tuple[str, ...],
        by_point: bool,
        junit: str | None,
        markdown: str | None,
        **others: Any,
    ) -> Any:
        for name, file in {"--junit": junit, "--markdown": markdown}.items():
            if file is not None and not Path(file).absolute().parent.is_dir():
                raise click.UsageError(f"{name} {file}: the folder of the file does not exist.")
        if junit is not None and not click.get_current_context().params.get("dry_run"):
            from persona_panel.results.decision import remove_junit

            remove_junit(Path(junit))
        requirements: tuple[Requirement, ...] = ()
        faults: Sequence[Fault] = ()
        if expressions:
            from persona_panel.results.decision import parsed

            read, faults = parsed(expressions)
            requirements = tuple(read)
        suite = click.get_current_context().command_path
        gate = Gate(
            requirements,
            by_point,
            junit=None if junit is None else Path(junit),
            markdown=None if markdown is None else Path(markdown),
            suite=suite,
            unread=tuple(faults),
        )
        return command(*args, gate=gate, **others)

    return with_gate


def _show(result: GateResult, status: int) -> None:
    """Print the outcome of each requirement on standard error, behind what the command prints."""
    import os

    from rich.text import Text

    from persona_panel.results.conclusions.wording import counted
    from persona_panel.results.console import notices

    sys.stdout.flush()
    console = notices()
    # A log keeps whole lines, which can be searched.
    whole = not console.is_terminal and not os.environ.get("COLUMNS")
    for decision, sentence in zip(result.decisions, result.sentences(), strict=True):
        console.print(Text(sentence, "" if decision.met else "red"), soft_wrap=whole)
    n, unmet = len(result.decisions), len(result.unmet)
    outcome = f"{unmet or n:,} of {counted(n, 'requirement')} {'not met' if unmet else 'met'}"
    console.print(Text(f"{outcome}: exit status {status}.", "bold"), soft_wrap=whole)


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
        draw it; decide the requirements, and end the command with its exit status where that is not
        0. `status`: of the command itself; `why`: it is not 0, for the last line where no
        requirement decides; `next_step`: follows the result, unless that has one of its own. Raises
        InputError: a requirement names no figure of it; nothing is printed then; click.UsageError:
        it has no estimates to draw."""
        from persona_panel.results.required_figures import result_figures

        self.gate.refuse_unknown(lambda: result_figures(result))
        for sentence in result.reading:
            say_sentences(sentence, err=True)
        with standard_output() as to:
            self.to.render(result, to, full=self.full)
        if self.plot is not None:
            try:
                name, file = figure_and_file(self.plot)
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
    them as `output`, a `ResultOutput`. `requirements`: one to three on figures of this command, for
    its help."""

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
        @decimal_option
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
        say_what_goes_on(
            each
            for value in inputs.values()
            for each in (value if isinstance(value, tuple | list) else [value])
        )
        with _progress(analysis.n_parts) as progress:
            # What a function takes as `*more` is an argument of that name.
            bound = BoundArguments(signature(analysis.function), OrderedDict(inputs | progress))
            result = analysis.function(*bound.args, **bound.kwargs)
        output.show(result)

    made = click.command(
        analysis.name,
        PanelCommand,
        params=list(analysis.parameters),
        help=analysis.help,
        example=analysis.example,
    )
    return made(command)


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


def _check_plot(plot: str) -> None:
    from persona_panel.results.page_columns import NEEDS_PLOTS, plots_at_hand

    if not plots_at_hand():
        raise click.UsageError(f"--plot: {NEEDS_PLOTS}")
    _, file = figure_and_file(plot)
    if file.startswith("="):
        raise click.UsageError(f"--plot {file}: expected a figure's name before =, or a file alone")
    if Path(file).suffix.lower() not in (".pdf", ".svg", ".png"):
        raise click.UsageError(f"--plot {file}: expected a file .pdf, .svg or .png")
    if not Path(file).absolute().parent.is_dir():
        raise click.UsageError(f"--plot {file}: the folder of the file does not exist.")


@contextmanager
def _progress(n_parts: int) -> Iterator[dict[str, Any]]:
    """The keyword by which a function is given what takes note of its progress, where it does."""
    if not n_parts:
        yield {}
        return
    from persona_panel.cli.progress import AnalysisProgress

    with AnalysisProgress(n_parts) as progress:
        yield {"progress": progress.take}
