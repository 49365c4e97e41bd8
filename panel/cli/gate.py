"""`--require`: requirements on the figures of a command, which decide its exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.failures import (
    COMPLETE,
    INCOMPLETE,
    LOST_OUTPUT,
    NOT_MET,
    NOTHING_SCORED,
    refusals_without_calls,
)
from persona_panel.cli.options import Command, option
from persona_panel.files.secrets.visible import say, visible

if TYPE_CHECKING:
    from persona_panel.results.requirements.decided import GateResult
    from persona_panel.results.requirements.figures import Figure
    from persona_panel.results.requirements.requirement import Requirement
    from persona_panel.results.result import Result

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
    """

    requirements: tuple[Requirement, ...]
    by_point: bool
    junit: Path | None
    markdown: Path | None
    suite: str

    def refuse_unknown(self, figures: Callable[[], Sequence[Figure]]) -> None:
        """Refuse requirements that name none of these figures, before anything is spent, printed or
        written. Raises InputError: there are some; lists them."""
        if self.requirements:
            from persona_panel.results.requirements.decided import named

            named(self.requirements, figures())

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
            from persona_panel.results.requirements.decided import decide_all

            result = decide_all(self.requirements, figures(), by_point=self.by_point)
            is_written = self._write(result, of)
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

    def _write(
        self,
        result: GateResult,
        of: Callable[[], Result],
    ) -> bool:
        """Write the files; whether they could be written."""
        texts, is_written = {}, True
        if self.junit is not None:
            from persona_panel.results.requirements.junit import junit

            texts[self.junit] = junit(result, self.suite)
        if self.markdown is not None:
            from persona_panel.results.requirements.markdown import markdown
            from persona_panel.results.shown import first_table

            texts[self.markdown] = markdown(result, of().conclusion, first_table(of()))
        for path, text in texts.items():
            try:
                path.write_text(text, "utf-8")
            except OSError as error:
                say(f"{visible(str(path))} could not be written: {error.strerror}.", err=True)
                is_written = False
        return is_written


def gate_options(*examples: str) -> Callable[[Command], Command]:
    """Options for what figures have to be; the command is given them as `gate`.

    Args:
        examples: one to three requirements on figures of this command.
    """

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
        is_flag=True,
        hidden=True,
        help="Decide --require by the estimates instead of the ends of their intervals.",
    )
    @option(
        "--junit",
        metavar="FILE",
        hidden=True,
        help="Write the result of --require as JUnit XML.",
    )
    @option(
        "--markdown",
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
        files = {"--junit": junit, "--markdown": markdown}
        named = [name for name, value in files.items() if value is not None]
        named += ["--require-point"] if by_point else []
        if named and not expressions:
            raise click.UsageError(f"{named[0]} works only with --require; leave it out.")
        for name, file in files.items():
            if file is not None and not Path(file).absolute().parent.is_dir():
                raise click.UsageError(f"{name} {file}: the folder of the file does not exist.")
        requirements: tuple[Requirement, ...] = ()
        if expressions:
            from persona_panel.results.requirements.decided import parsed

            requirements = tuple(refusals_without_calls(parsed)(expressions))
        suite = click.get_current_context().command_path
        gate = Gate(
            requirements,
            by_point,
            junit=None if junit is None else Path(junit),
            markdown=None if markdown is None else Path(markdown),
            suite=suite,
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
    for decision, said in zip(result.decisions, result.sentences(), strict=True):
        console.print(Text(said, "" if decision.met else "red"), soft_wrap=whole)
    n, unmet = len(result.decisions), len(result.unmet)
    outcome = f"{unmet or n:,} of {counted(n, 'requirement')} {'not met' if unmet else 'met'}"
    console.print(Text(f"{outcome}: exit status {status}.", "bold"), soft_wrap=whole)
