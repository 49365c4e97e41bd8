"""Options of commands that call models: at what cost; where a panel judges, how much of its texts,
into which folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.failures import refusals
from persona_panel.cli.options import Command, caps, dry_run, limit_option, model_options_of
from persona_panel.cli.panel_options import patience_option
from persona_panel.cli.signals import received
from persona_panel.files.addresses import is_address, is_meant_as_address
from persona_panel.files.secrets.visible import say, visible

if TYPE_CHECKING:
    from persona_panel.calls.budget import Caps
    from persona_panel.models.config import ModelConfig
    from persona_panel.runs.output import RunOutput


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
    """How a command calls models.

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
    """Options of a command that calls models; the command is given them as `calling`.

    Args:
        caps: the options for what may be spent.
        models: the option that names models whose settings there is an option for.
    """

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
    """Of what a command scores, how much, at what cost, into which folder.

    Attributes:
        out: the run's folder.
        limit: how many responses or prompts are used, from the first on; all where it is None.
    """

    out: RunOutput
    limit: int | None

    def with_inputs(
        self,
        files: Sequence[tuple[str | None, Mapping[str, str]]],
        names: Sequence[str | None],
    ) -> RunOptions:
        """The same with the inputs that the run's folder records: these files, each with the
        mapping of its columns, and those of the names that are files and not, for instance,
        rubrics of the library."""
        inputs = [name for name, _ in files if name is not None]
        inputs += [name for name in names if name is not None and Path(name).is_file()]
        mappings = {name: mapping for name, mapping in files if name is not None and mapping}
        return replace(self, out=replace(self.out, inputs=tuple(inputs), mappings=mappings))


def run_options(texts: str) -> Callable[[Command], Command]:
    """Options of a command that runs a panel; the command is given them as `options`.

    Args:
        texts: what the command takes, such as "responses".
    """

    def decorate(command: Command) -> Command:
        @run_folder_option
        @limit_option(texts)
        @dry_run
        @caps
        @wraps(command)
        def with_options(
            *args: Any,
            out: RunOutput,
            limit: int | None,
            dry_run: bool,
            caps: Caps,
            **others: Any,
        ) -> Any:
            options = RunOptions(out=out, limit=limit, dry_run=dry_run, caps=caps)
            return command(*args, options=options, **others)

        return with_options

    return decorate
