"""Options for answers by provider batches or from files of such."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.options import Command, option
from persona_panel.cli.signals import run_to_end
from persona_panel.files.secrets.visible import say, visible

if TYPE_CHECKING:
    from persona_panel.runs.execution import Execution, OnStart
    from persona_panel.runs.request_files import Exported, RequestFiles


_DEFAULT = click.core.ParameterSource.DEFAULT


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """Settings of requests that are answered elsewhere.

    Attributes:
        by_batches: by batches of the models' providers.
        to: a folder that requests are written to, and no run is made.
        answers: a folder with answers.
    """

    by_batches: bool = False
    to: Path | None = None
    answers: Path | None = None

    def execution(self, run: Path | None, on_start: OnStart) -> Execution:
        """Return the execution of a run; `run` is its folder, or the file of its texts."""
        from persona_panel.runs.execution import Execution

        if self.by_batches and run is not None:
            from persona_panel.runs.provider_batches import ByBatches

            return Execution(on_start, ByBatches(run, say_line))
        if self.answers is not None:
            from persona_panel.runs.request_files import ByFiles

            return Execution(on_start, ByFiles(self.answers, say_line))
        return Execution(on_start)

    def export(self, start: Callable[[RequestFiles], Coroutine[Any, Any, Exported]]) -> bool:
        """Have requests written to files, where that is wanted in place of a run; whether it is."""
        if self.to is None:
            return False
        from persona_panel.results.conclusions.wording import counted
        from persona_panel.runs.request_files import RequestFiles

        done = run_to_end(start(RequestFiles(self.to, self.answers)))
        for line in done.left_out:
            say_line(line)
        if self.answers is not None:
            say_line(f"Read from {self.answers}: {counted(done.taken, 'answer')}.")
        if not done.requests:
            say_line("No request is left: without --batch-out, the same command makes the run.")
            return True
        names = ", ".join(file.name for file in done.files)
        say_line(f"Written to {self.to}: {counted(done.requests, 'request')} ({names}).")
        say_line(
            "Put files of answers into the same folder; then run the same command with --batch-in "
            f"{self.to}, too: it reads them and writes the requests that follow from them, until "
            "none is left."
        )
        return True


def batch_options(command: Command) -> Command:
    """Options for answers that come from elsewhere; the command is given them as `answering`."""

    @option(
        "--batch",
        "by_batches",
        is_flag=True,
        help="Ask models by provider batches: cheaper, within a day. Where openai:NAME or its "
        "server has such, and for anthropic:NAME and google_genai:NAME; others are called as "
        "usual. Needs --out, a folder of this machine: started again, the same command goes on "
        "with the same batches.",
    )
    @option(
        "--batch-out",
        hidden=True,
        metavar="DIR",
        help="Write the requests that the cache does not answer to files in DIR, as rows of "
        "its provider's batches, and make no run; with --batch-in, what follows from its answers.",
    )
    @option(
        "--batch-in",
        hidden=True,
        metavar="DIR",
        help="Read answers to such requests from the files *.jsonl and *.jsonl.gz in DIR, and make "
        "the run from these and the cache, without a call.",
    )
    @wraps(command)
    def with_batches(
        *args: Any, by_batches: bool, batch_out: str | None, batch_in: str | None, **others: Any
    ) -> Any:
        if by_batches and (batch_out or batch_in):
            raise click.UsageError(
                "--batch asks the models' providers, --batch-out and --batch-in another system; "
                "leave one of them out."
            )
        context = click.get_current_context()
        no_out = context.get_parameter_source("out") is _DEFAULT
        if by_batches and no_out and not context.params["dry_run"]:
            raise click.UsageError(
                "--batch needs --out RUN: the same command then goes on there with its batches."
            )
        to, answers = (None if path is None else Path(path) for path in (batch_out, batch_in))
        return command(*args, answering=AnswerOptions(by_batches, to, answers), **others)

    return with_batches


def say_line(line: str) -> None:
    """Say on standard error what a line from anywhere says."""
    say(visible(line), err=True)
