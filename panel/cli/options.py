"""Options that several commands have: how a result is computed and printed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from persona_panel.analyses import parameters
from persona_panel.cli.failures import refusals
from persona_panel.reports.formats import load_renderer, renderer_names

Command = Callable[..., Any]

_DEFAULT_FORMAT = "terminal"
_SHORT_FORMATS = ("json", "csv", "latex")
"""Formats with an option of their own. Markdown has none: --markdown is the file of a summary."""


def option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """`click.option`, of a command with any parameters."""
    return click.option(*names, **settings)


def with_parameters(*parameters: click.Parameter) -> Callable[[Command], Command]:
    """Declare parameters that are made already, in their order."""

    def declared(command: Command) -> Command:
        # As click's own decorators do, from the last to the first.
        there: list[click.Parameter] = command.__dict__.setdefault("__click_params__", [])
        there.extend(reversed(parameters))
        return command

    return declared


def random_option(effect: str) -> Callable[[Command], Command]:
    """Declare `--random`; see `persona_panel.analyses.parameters.random`."""
    return with_parameters(parameters.random(effect))


def output_format(command: Command) -> Command:
    """Options for how a result is printed; the command is given the renderer as `renderer`."""

    @option(
        "--format",
        "name",
        metavar="NAME",
        type=click.Choice(renderer_names()),
        help=f"Format of the printed result: {', '.join(renderer_names())}.  "
        f"[default: {_DEFAULT_FORMAT}]",
    )
    @_short_formats
    @wraps(command)
    def with_renderer(*args: Any, name: str | None, **others: Any) -> Any:
        given = [short for short in _SHORT_FORMATS if others.pop(f"as_{short}")]
        chosen = dict.fromkeys([*given, *([] if name is None else [name])])
        if len(chosen) > 1:
            said = [f"--{short}" for short in given]
            said += [] if name is None else [f"--format {name}"]
            raise click.UsageError(
                f"{' and '.join(said)} exclude each other; leave all but one of them out."
            )
        renderer = refusals(load_renderer)(next(iter(chosen), _DEFAULT_FORMAT))
        return command(*args, renderer=renderer, **others)

    return with_renderer


def _short_formats(command: Command) -> Command:
    for short in reversed(_SHORT_FORMATS):
        command = option(
            f"--{short}", f"as_{short}", is_flag=True, help=f"Short for --format {short}."
        )(command)
    return command


def limit_option(texts: str) -> Callable[[Command], Command]:
    """The option to use a part; the command is given it as `limit`, None where it is left out.

    Args:
        texts: what a part is used of, such as "responses".
    """
    return option(
        "--limit", metavar="N", type=click.IntRange(min=1), help=f"Use the first N {texts} only."
    )


def json_option(command: Command) -> Command:
    """The option `--json` of a command whose figures have no renderer; it is given it as
    `as_json`."""
    return option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")(command)


def by_option(text: str) -> Callable[[Command], Command]:
    """Declare `--by`; see `persona_panel.analyses.parameters.by`."""
    return with_parameters(parameters.by(text))


def full_option(command: Command) -> Command:
    """The option for all tables; the command is given it as `full`."""
    return option(
        "--full",
        is_flag=True,
        help="Print every table in place of the short one, of the main statistics.",
    )(command)
