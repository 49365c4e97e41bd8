"""The options that name a file to write, and what they may not name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from persona_panel.files.addresses import is_meant_as_address

WRITTEN = ("--out", "--junit", "--markdown", "--plot", "--batch-out")
"""What names what a command writes: files, a folder, or a run, which may be at an address."""


def refuse_overwriting(ctx: click.Context) -> None:
    """See that no option has a command write over what another parameter has it read, over a file
    of a run's folder or at an address.

    Raises:
        ConfigurationError: one does.
    """
    runs = [param.opts[0] for param in ctx.command.params if param.metavar == "RUN"]
    given = {param.opts[0]: ctx.params.get(param.name or "") for param in ctx.command.params}
    for option in WRITTEN:
        if isinstance(path := given.get(option), str):
            from persona_panel.files.outputs import refuse_as_output

            if option in runs and is_meant_as_address(path):
                continue
            others = [value for name, value in given.items() if name != option]
            refuse_as_output(option, path, _texts(others))


def _texts(values: Sequence[Any]) -> Iterator[str]:
    for value in values:
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, str):
                yield one
