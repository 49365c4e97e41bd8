"""Options of commands that call models: at what cost, who answers, and the folder of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.failures import refusals
from persona_panel.cli.options import Command, caps, dry_run, limit_option, model_options_of, option
from persona_panel.cli.panel_options import patience_option
from persona_panel.cli.signals import received, run_to_end
from persona_panel.files.addresses import is_address, is_meant_as_address
from persona_panel.files.secrets import say, visible

if TYPE_CHECKING:
    from persona_panel.calls.budget import Caps
    from persona_panel.models.config import ModelConfig
    from persona_panel.runs.execution import Execution, OnStart
    from persona_panel.runs.output import RunOutput
    from persona_panel.runs.request_files import Exported, RequestFiles


def refuse_batches_at(run: str) -> None:
    """See that a run by batches is in a folder of this machine. Raises UsageError: it is at an
    address, where its journal could be sent only at the end."""
    if is_address(run):
        raise click.UsageError(
            "The journal of batches, which are paid for, belongs in a folder of this machine; "
            "found an address."
        )


def folder_by_time() -> Path:
    """A folder below `runs` called after the time that is not there yet: several runs may begin in
    one second."""
    name = time.strftime("%Y%m%d-%H%M%S")
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(folder for folder in map(Path("runs").joinpath, names) if not folder.exists())


def run_folder_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options for the folder of a run; the command is given it as `out`, and has to have
    `dry_run`. One at an address is a folder of this machine, and all that the command leaves there,
    such as report.html, is sent at its end."""

    @click.option(
        "--out",
        metavar="RUN",
        help="The run's folder. Or an address that it is sent to at the end, such as "
        "s3://bucket/run.  [default: runs/DATE-TIME]",
    )
    @click.option(
        "--overwrite",
        is_flag=True,
        hidden=True,
        help="Replace another run in the folder. A run is another where its panel or its texts "
        "are.",
    )
    @click.option(
        "--no-texts",
        hidden=True,
        is_flag=True,
        help="Store the SHA-256 of each text in the folder instead of the text, and no metadata. "
        "Answers of judges, which are stored, may quote texts.",
    )
    @wraps(command)
    def with_output(
        *args: Any, out: str | None, overwrite: bool, no_texts: bool, **others: Any
    ) -> Any:
        from persona_panel.runs.output import RunOutput

        folder = out or folder_by_time()
        output = RunOutput(folder, overwrite, not no_texts)
        if not is_meant_as_address(folder):
            return command(*args, out=output, **others)
        if others.get("by_batches"):
            refuse_batches_at(str(folder))
        from persona_panel.files.errors import RunStopped
        from persona_panel.runs.output import written_here

        @refusals
        def sent() -> Any:
            try:
                with written_here(output, dry=others["dry_run"], telling=_telling) as here:
                    return command(*args, out=here, **others)
            except RunStopped as unsent:
                # The end stays that by a signal.
                if received():
                    raise KeyboardInterrupt(str(unsent)) from unsent
                raise

        return sent()

    return with_output


@contextmanager
def _telling(address: str) -> Iterator[None]:
    """Says that a run is sent there, and once it is that it is there: on standard error, as
    standard output has the result by now."""
    later = "; Ctrl-C ends that, and the same command does it later" if received() else ""
    say(f"Sending the run to {visible(address)}{later}.", err=True)
    yield
    say(f"The run is in {visible(address)}", err=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """The settings of a command that calls models.

    Attributes:
        dry_run: whether the cost is estimated and no model called.
        caps: what may be spent.
        patience: how long a server is tried, in seconds; None, as long as is usual.
        settings: of the models that a command line names, by their provider's names for them.
    """

    dry_run: bool
    caps: Caps
    patience: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def model(self, spec: str) -> ModelConfig:
        """The model that a command line names, with its settings. Raises ConfigurationError: it is
        no `provider:name`, or a setting is none."""
        from persona_panel.planning.definitions import configured

        return configured(spec, self.settings, patience=self.patience)


def call_options(
    caps: Callable[[Command], Command], models: str = ""
) -> Callable[[Command], Command]:
    """Options of a command that calls models; the command is given them as `calling`. `caps`: the
    options for what may be spent; `models`: the option that names models whose settings there is an
    option for."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(
            *args: Any, dry_run: bool, caps: Caps, patience: float | None, **others: Any
        ) -> Any:
            settings = others.pop("model_options", {})
            calling = CallOptions(dry_run=dry_run, caps=caps, patience=patience, settings=settings)
            return command(*args, calling=calling, **others)

        declared = patience_option(dry_run(caps(with_options)))
        return model_options_of(models)(declared) if models else declared

    return decorate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(CallOptions):
    """Of what a command scores, how much, at what cost, into which folder. `out`: the run's folder;
    `limit`: how many responses or prompts are used, from the first on; all where it is None."""

    out: RunOutput
    limit: int | None

    def with_inputs(
        self, files: Sequence[tuple[str | None, Mapping[str, str]]], names: Sequence[str | None]
    ) -> RunOptions:
        """The same with the inputs that the run's folder records: these files, each with the
        mapping of its columns, and those of the names that are files and not, for instance,
        rubrics of the library."""
        inputs = [name for name, _ in files if name is not None]
        inputs += [name for name in names if name is not None and Path(name).is_file()]
        mappings = {name: mapping for name, mapping in files if name is not None and mapping}
        return replace(self, out=replace(self.out, inputs=tuple(inputs), mappings=mappings))


def run_options(texts: str) -> Callable[[Command], Command]:
    """Options of a command that runs a panel; the command is given them as `options`. `texts`: what
    the command takes, such as "responses"."""

    def decorate(command: Command) -> Command:
        @run_folder_option
        @limit_option(texts)
        @dry_run
        @caps
        @wraps(command)
        def with_options(
            *args: Any, out: RunOutput, limit: int | None, dry_run: bool, caps: Caps, **others: Any
        ) -> Any:
            options = RunOptions(out=out, limit=limit, dry_run=dry_run, caps=caps)
            return command(*args, options=options, **others)

        return with_options

    return decorate


_DEFAULT = click.core.ParameterSource.DEFAULT


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """Settings of requests that are answered elsewhere. `by_batches`: by batches of the models'
    providers; `to`: a folder that requests are written to, and no run is made; `answers`: a folder
    with answers."""

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
