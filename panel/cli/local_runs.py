"""Runs at addresses (`s3://bucket/run`), for every command that takes a run's folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from persona_panel.files.addresses import is_address

if TYPE_CHECKING:
    from persona_panel.files.run_copies import RunCopy

_OPTIONS = ("--from", "--human", "--like")
"""Besides arguments, what may name a run's folder."""


@contextmanager
def local_runs(ctx: click.Context, given: dict[str, Any]) -> Iterator[None]:
    """Put copies on this machine in the place of runs at addresses among what a command is given.
    What the command has written into a copy, such as report.html, is sent there at its end.

    Raises:
        InputError: an address cannot be read.
        RunStopped: what was written cannot be sent.
    """
    copies: dict[str, RunCopy] = {}

    def local(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(local, value))
        if not is_address(value):
            return value
        from persona_panel.files.run_copies import copied_run

        if value not in copies and (copy := copied_run(value)) is not None:
            copies[value] = copy
        return str(copies[value].path) if value in copies else value

    for param in ctx.command.params:
        if isinstance(param, click.Argument) or param.opts[0] in _OPTIONS:
            name = str(param.name)
            if name in given:
                given[name] = local(given[name])
    try:
        yield
    finally:
        for copy in copies.values():
            copy.send()
