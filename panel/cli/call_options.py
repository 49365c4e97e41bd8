"""Options of commands that call models: their settings, how long they are tried, and what may be
spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any

import click

from persona_panel.cli.options import Command, option


def patience(command: Command) -> Command:
    """The option for how long a server is tried; the command is given it as `patience`."""
    return option(
        "--patience",
        metavar="SECONDS",
        type=click.IntRange(min=0),
        help="How long to go on calling a model while all of its calls fail; the other models "
        "continue. A panel file can set it for each model.  [default: 120]",
    )(command)


def model_options(command: Command) -> Command:
    """The option for settings of models that their provider takes; the command is given them as
    `model_options`."""
    return model_options_of("--model")(command)


def model_options_of(name: str) -> Callable[[Command], Command]:
    """As `model_options`, of the models that another option names."""
    return option(
        "--option",
        "model_options",
        metavar="NAME=VALUE",
        multiple=True,
        callback=options_by_name,
        help=f"Setting of every {name} under its provider's own name for it, such as seed=7, "
        "reasoning_effort=low or 'thinking={type: disabled}'; VALUE is JSON or YAML; repeatable. "
        "Secrets are refused: keys belong in environment variables.",
    )


def options_by_name(
    ctx: click.Context, param: click.Parameter, value: Sequence[str]
) -> dict[str, Any]:
    """The options by name."""
    from persona_panel.models.config import parsed_option

    given: dict[str, Any] = {}
    for text in value:
        try:
            name, said = parsed_option(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        if name in given:
            raise click.BadParameter(f"{name} is given twice; leave one of them out")
        given[name] = said
    return given


class _Dollars(click.FloatRange):
    """A sum of money: click takes nan and inf for numbers, which no sum reaches."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        sum_ = super().convert(value, param, ctx)
        if not math.isfinite(sum_):
            self.fail(
                f"found {value!r}; expected a number of dollars above 0, such as 2.5", param, ctx
            )
        return sum_


def caps(command: Command) -> Command:
    """Options for what may be spent in a run's folder; the command is given them as `caps`."""
    return _caps(command, "in the folder --out, earlier runs included")


def caps_of_a_file(command: Command) -> Command:
    """As `caps`, of what is spent for the file --out."""
    return _caps(command, "for the file --out, earlier runs included")


def caps_of_a_command(command: Command) -> Command:
    """As `caps`, where there is no folder that records what was spent before."""
    return _caps(command, "by this command")


def _caps(command: Command, where: str) -> Command:
    @option(
        "--max-usd",
        metavar="X",
        type=_Dollars(min=0, min_open=True),
        help=f"Stop before more than X US dollars are spent {where}. A call whose usage is "
        "unknown, for instance after a timeout, is counted at the most that it may have cost.",
    )
    @option(
        "--max-calls",
        metavar="N",
        type=click.IntRange(min=1),
        help=f"Stop before more than N calls are made {where}; retries count.",
    )
    @option(
        "--max-tokens",
        metavar="N",
        type=click.IntRange(min=1),
        help=f"Stop before more than N tokens, input and output, are used {where}.",
    )
    @wraps(command)
    def with_caps(
        *args: Any,
        max_usd: float | None,
        max_calls: int | None,
        max_tokens: int | None,
        **others: Any,
    ) -> Any:
        from persona_panel.calls.budget import Caps

        return command(*args, caps=Caps(max_usd, max_calls, max_tokens), **others)

    return with_caps


def dry_run(command: Command) -> Command:
    """The option to spend nothing, for which no key is needed; the command is given it as
    `dry_run`."""

    @option(
        "--dry-run",
        is_flag=True,
        help="Estimate calls, tokens and cost for each model, and call no model. Needs no key; "
        "says what is done already and which caps would stop the run.",
    )
    @wraps(command)
    def with_dry_run(*args: Any, dry_run: bool, **others: Any) -> Any:
        from persona_panel.models.availability import keys_optional

        with keys_optional() if dry_run else nullcontext():
            return command(*args, dry_run=dry_run, **others)

    return with_dry_run
