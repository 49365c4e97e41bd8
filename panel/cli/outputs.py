"""The options that name a file to write, and what they may not name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

WRITTEN = ("--out", "--html", "--junit", "--markdown")
"""What names a file that a command writes; with some commands `--out` is a folder."""


def refuse_overwriting(ctx: click.Context) -> None:
    """See that no option has a command write over what another parameter has it read, or over a
    file of a run's folder.

    Raises:
        ConfigurationError: one does.
    """
    given = {param.opts[0]: ctx.params.get(param.name or "") for param in ctx.command.params}
    for option in WRITTEN:
        if isinstance(path := given.get(option), str):
            from panel.io.outputs import refuse_as_output

            others = [value for name, value in given.items() if name != option]
            refuse_as_output(option, Path(path), _texts(others))


def _texts(values: Sequence[Any]) -> Iterator[str]:
    for value in values:
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, str):
                yield one
