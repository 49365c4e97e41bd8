"""Options that several commands have: results, columns, people's ratings, models and money."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from persona_panel.analyses import parameters

if TYPE_CHECKING:
    from persona_panel.files.outputs import DecimalSign
    from persona_panel.files.ratings import GivenScale
    from persona_panel.models.config import ModelConfig
    from persona_panel.statistics.core.table import RatingsOrigin

Command = Callable[..., Any]


def option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """Declare an option, which may say what other one it `needs`."""
    return with_parameters(parameters.Option(*names, **settings))


def with_parameters(*parameters: click.Parameter) -> Callable[[Command], Command]:
    """Declare parameters that are made already, in their order."""

    def declared(command: Command) -> Command:
        # As click's own decorators do, from the last to the first.
        there: list[click.Parameter] = command.__dict__.setdefault("__click_params__", [])
        there.extend(reversed(parameters))
        return command

    return declared


def whole_number(
    *names: str, least: int = 1, metavar: str = "N", **settings: Any
) -> Callable[[Command], Command]:
    """Declare an option for a whole number, `least` or more."""
    return option(*names, metavar=metavar, type=click.IntRange(min=least), **settings)


def limit_option(texts: str) -> Callable[[Command], Command]:
    """The option to use a part; the command is given it as `limit`, None where it is left out.
    `texts`: what a part is used of, such as "responses"."""
    return whole_number("--limit", help=f"Use the first N {texts} only.")


def json_option(command: Command) -> Command:
    """The option `--json` of a command whose figures have no renderer; it is given it as
    `as_json`."""
    return option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")(command)


def decimal_option(command: Command) -> Command:
    """The option for the sign before decimals, in ratings that are read and CSV that is written."""
    return option(
        "--decimal",
        type=click.Choice(["comma", "point"]),
        callback=_with_decimal,
        expose_value=False,
        hidden=True,
        help="With comma, CSV is written with decimal commas and semicolons between cells. Of "
        "ratings it decides whether 1,234 is 1.234 (comma) or 1234 (point).",
    )(command)


def _with_decimal(ctx: click.Context, param: click.Parameter, value: DecimalSign | None) -> None:
    """Have files read and written so until the command ends."""
    from persona_panel.files.outputs import DECIMAL

    token = DECIMAL.set(value)
    ctx.call_on_close(lambda: DECIMAL.reset(token))


def full_option(command: Command) -> Command:
    """The option for all tables; the command is given it as `full`."""
    return option("--full", is_flag=True, help="Print every table, not the main statistics alone.")(
        command
    )


def column_mapping(*settings: str, **others: Any) -> Callable[[Command], Command]:
    """Declare the option; see `persona_panel.analyses.parameters.columns`."""
    return with_parameters(parameters.columns(*settings, **others))


def model_in(text: str) -> str | ModelConfig:
    """A spec as it is; a YAML file as the model that it describes. Raises InputError: the file
    cannot be read, or describes none."""
    if not text.endswith((".yaml", ".yml")):
        return text
    from persona_panel.files.definitions import load_definition
    from persona_panel.models.config import ModelConfig

    return load_definition(Path(text), ModelConfig)


def model_options(command: Command) -> Command:
    """The option for settings of models that their provider takes; the command is given them as
    `model_options`."""
    return model_options_of("--model")(command)


def model_options_of(name: str) -> Callable[[Command], Command]:
    """Declare `model_options`, of the models that another option names."""
    return option(
        "--option",
        "model_options",
        hidden=True,
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

    fields: dict[str, Any] = {}
    for text in value:
        try:
            name, option = parsed_option(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        if name in fields:
            raise click.BadParameter(f"{name} is given twice; leave one of them out")
        fields[name] = option
    return fields


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
    """Declare `caps`, of what is spent for the file --out."""
    return _caps(command, "for the file --out, earlier runs included")


def caps_of_a_command(command: Command) -> Command:
    """Declare `caps`, where there is no folder that records what was spent before."""
    return _caps(command, "by this command")


def _caps(command: Command, where: str) -> Command:
    @option(
        "--max-usd",
        metavar="X",
        type=_Dollars(min=0, min_open=True),
        help=f"Stop before more than X US dollars are spent. What is spent {where} counts. A call "
        "whose usage is unknown, for instance after a timeout, is counted at the most that it may "
        "have cost.",
    )
    @whole_number(
        "--max-calls",
        hidden=True,
        help=f"Stop before more than N calls are made {where}; retries count.",
    )
    @whole_number(
        "--max-tokens",
        hidden=True,
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
        help="Estimate calls, tokens and cost, and call no model. Needs no key; says what is done "
        "already and which caps would stop the run.",
    )
    @wraps(command)
    def with_dry_run(*args: Any, dry_run: bool, **others: Any) -> Any:
        from persona_panel.models.availability import keys_optional

        with keys_optional() if dry_run else nullcontext():
            return command(*args, dry_run=dry_run, **others)

    return with_dry_run


class HumanReading(TypedDict):
    """Settings for reading people's ratings: what
    `persona_panel.files.aligned_ratings.load_human_ratings` takes."""

    human_scale: GivenScale | None
    allow_unmatched: bool


def human_options(
    text: str, example: str = "score=value", *, required: bool = False, in_short: bool = False
) -> Callable[[Command], Command]:
    """People's ratings, their columns and how they are to be read; the command is given `human`,
    None where it is left out, `human_mapping` and `reading`. `text`: what they are, for the
    command's help; `example`: a field and a column of theirs; `in_short`: whether help has --human
    alone, unless everything is asked for."""

    def with_ratings(command: Command) -> Command:
        @wraps(command)
        def with_reading(*args: Any, **inputs: Any) -> Any:
            reading = HumanReading(
                human_scale=inputs.pop("human_scale"), allow_unmatched=inputs.pop("allow_unmatched")
            )
            return command(*args, reading=reading, **inputs)

        declared = parameters.people(text, example, required=required)
        for each in declared:
            each.hidden = each.hidden or (in_short and bool(each.needs))
        return with_parameters(*declared)(with_reading)

    return with_ratings


def say_reading(*origins: RatingsOrigin | None) -> None:
    """Print how files of ratings were read, and which of their items match nothing, on standard
    error and before any figure."""
    from persona_panel.files.secrets import say_sentences
    from persona_panel.results.conclusions.wording import origin_sentences

    for origin in origins:
        if origin is not None:
            for sentence in origin_sentences(origin):
                say_sentences(sentence, err=True)
