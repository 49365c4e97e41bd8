"""Failures of a command: every fault shown, its exit status (docs/reference/errors.md says what
each means), outputs that may not be overwritten, runs at addresses, and what is missing.

The next step that a command ends with: one, where there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from errno import ENAMETOOLONG
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import click

from persona_panel.files.addresses import is_address, is_meant_as_address
from persona_panel.files.errors import Fault, InputError, PanelError, RunStopped, distinct_faults
from persona_panel.files.secrets import say, say_sentences, to_paste, visible

if TYPE_CHECKING:
    from persona_panel.files.named_files import RunCopy
    from persona_panel.statistics.core.table import Coverage

COMPLETE = 0
INCOMPLETE = 1
"""The command finished, but judgments, or texts, are missing."""
BAD_INPUT = 2
NOT_MET = 3
"""A requirement (`--require`) is not met."""
NOTHING_SCORED = 4
"""No judgment was scored, or whatever else the command is for: it has no result."""
LOST_OUTPUT = 5
"""All went well, but standard output could not take what was printed."""


def status_of(n: int, *, complete: bool) -> int:
    """Return how a command ends that calls models. `n`: how many results it has; without any it is
    no success, even where nothing is missing (all judgments are abstentions, say); `complete`:
    whether everything is there."""
    if not n:
        return NOTHING_SCORED
    return COMPLETE if complete else INCOMPLETE


_OPTIONS = ("--from", "--human", "--like")
"""Besides arguments, what may name a run's folder."""


@contextmanager
def local_runs(ctx: click.Context, parameters: dict[str, Any]) -> Iterator[None]:
    """Put copies on this machine in the place of runs at addresses among what a command is given.
    What the command has written into a copy, such as report.html, is sent there at its end. Raises
    InputError: an address cannot be read; RunStopped: what was written cannot be sent."""
    copies: dict[str, RunCopy] = {}

    def local(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(local, value))
        if not is_address(value):
            return value
        from persona_panel.files.named_files import copied_run

        if value not in copies and (copy := copied_run(value)) is not None:
            copies[value] = copy
        return str(copies[value].path) if value in copies else value

    for param in ctx.command.params:
        if isinstance(param, click.Argument) or param.opts[0] in _OPTIONS:
            name = str(param.name)
            if name in parameters:
                parameters[name] = local(parameters[name])
    try:
        yield
    finally:
        for copy in copies.values():
            copy.send()


WRITTEN = ("--out", "--junit", "--markdown", "--plot", "--batch-out")
"""The options for what a command writes: files, a folder, or a run, which may be at an address."""


def figure_and_file(plot: str) -> tuple[str, str]:
    """Return the name of the figures that `--plot` is to draw, empty for the main ones, and the
    file."""
    name, equals, file = plot.partition("=")
    return (name, file) if equals and name.isidentifier() else ("", plot)


def refuse_overwriting(ctx: click.Context) -> None:
    """See that no option has a command write over what another parameter has it read, over a file
    of a run's folder or at an address. Raises ConfigurationError: one does."""
    runs = [param.opts[0] for param in ctx.command.params if param.metavar == "RUN"]
    options = {param.opts[0]: ctx.params.get(param.name or "") for param in ctx.command.params}
    for option in WRITTEN:
        if isinstance(path := options.get(option), str):
            from persona_panel.files.outputs import refuse_as_output

            if option in runs and is_meant_as_address(path):
                continue
            if option == "--plot":
                _, path = figure_and_file(path)
            others = [value for name, value in options.items() if name != option]
            refuse_as_output(option, path, _texts(others))


def _texts(values: Sequence[Any]) -> Iterator[str]:
    for value in values:
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, str):
                yield part


P = ParamSpec("P")
R = TypeVar("R")


def refusals(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a PanelError into its message on standard error and exit status 2, and say that no
    model was called, or how many calls were made."""
    return _refusals(function, True)


def refusals_without_calls(function: Callable[P, R]) -> Callable[P, R]:
    """The same for what calls no model anyway, so that it goes without saying."""
    return _refusals(function, False)


def _refusals(function: Callable[P, R], calls_models: bool) -> Callable[P, R]:
    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if (ctx := click.get_current_context(silent=True)) is not None:
                refuse_overwriting(ctx)
                with local_runs(ctx, kwargs):
                    return function(*args, **kwargs)
            return function(*args, **kwargs)
        except InputError as error:
            faults = distinct_faults(error.faults)
            say("\n".join(map(visible, faults)), err=True)
            n = len(faults)
            calls = "; no model was called" if calls_models else ""
            say(f"{n:,} fault{'s' if n != 1 else ''} found{calls}.", err=True)
        except RunStopped as error:
            say(f"Stopped: {error}", err=True)
            sys.exit(INCOMPLETE)
        except PanelError as error:
            n = error.n_calls
            calls = f"Calls made to find this out: {n}." if n else "No model was called."
            say(f"{error}\n{calls}" if calls_models else str(error), err=True)
        except OSError as error:
            if error.errno != ENAMETOOLONG:
                raise
            say(f"{visible(str(error.filename))}: {error.strerror}.", err=True)
        sys.exit(BAD_INPUT)

    return guarded


@contextmanager
def gathered() -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Lets several inputs be read before any of them is refused.

    What is yielded calls a reader, and gives None in place of what it refuses. Raises InputError:
    at the end, with the faults of all."""
    faults: list[Fault] = []

    def gather(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except InputError as error:
            faults.extend(error.faults)
            return None

    yield gather
    if faults:
        raise InputError(faults)


_FAILURES_SHOWN = 5


def say_failures(failures: Sequence[str], elsewhere: str) -> None:
    """Say on standard error which results there are not, the first of them; `elsewhere` is said of
    the others."""
    for line in failures[:_FAILURES_SHOWN]:
        say(visible(line), err=True)
    if (more := len(failures) - _FAILURES_SHOWN) > 0:
        say(f"and {more:,} more, {elsewhere}", err=True)


def say_what_goes_on(inputs: Iterable[object]) -> None:
    """A line for each input of a command that is the folder of a run which another process writes:
    what is read of it is not all that it comes to."""
    from persona_panel.files.judgments import is_being_written

    for each in inputs:
        if isinstance(each, str) and not is_address(each) and is_being_written(Path(each)):
            say(f"The run {visible(each)} goes on: only what it has so far is read.", err=True)


def say_what_is_missing(source: str, coverage: Coverage | None) -> None:
    """A sentence where judgments of a run are missing, as they failed or the run was stopped, and
    where they were edited. `source`: the run's folder; `coverage`: as `Ratings` has it; nothing is
    said where there is none."""
    from persona_panel.files.judgments import is_being_written
    from persona_panel.results.conclusions.wording import EDITED, missing_judgments

    if coverage is None:
        return
    if coverage.edited:
        say_sentences(
            f"{visible(source)}: {EDITED}. The run's command, given again, restores it.", err=True
        )
    if not coverage.missing:
        return
    n = sum(coverage.missing.values())
    sentence = missing_judgments(
        n, coverage.expected, of=visible(source), by_status=coverage.missing
    )
    more = "Judging the same responses into this folder again asks for the missing ones alone."
    if is_being_written(Path(source)):
        more = ""
    say_sentences(f"{sentence}: figures are of those that are there. {more}".rstrip(), err=True)


class NextStep(NamedTuple):
    """The command that follows from what a command did. `what`: what it does, such as "score the
    responses"; `command`: as `persona_panel.files.wording.command_line` makes it."""

    what: str
    command: str

    def say(self) -> None:
        """Print it on standard error, the command on lines of its own, to be pasted."""
        say_sentences(f"Next: {self.what}:", err=True)
        say(to_paste(self.command), err=True)
