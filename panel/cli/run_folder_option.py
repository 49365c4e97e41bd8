"""Where a command writes its run: a folder, or an address that one is sent to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import chain, count
from pathlib import Path
from typing import Any

import click

from persona_panel.cli.failures import refusals
from persona_panel.cli.signals import received
from persona_panel.files.addresses import is_address, is_meant_as_address
from persona_panel.files.secrets.visible import say, visible


def refuse_batches_at(run: str) -> None:
    """See that a run by batches is in a folder of this machine.

    Raises:
        UsageError: it is at an address, where its journal could be sent only at the end.
    """
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
        help="The run's folder, or an address that it is sent to at the end, such as "
        "s3://bucket/run.  [default: runs/DATE-TIME]",
    )
    @click.option(
        "--overwrite",
        is_flag=True,
        help="Replace a run in the folder that has another panel or other texts.",
    )
    @click.option(
        "--no-texts",
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
        from persona_panel.runs.written_at_address import written_here

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
