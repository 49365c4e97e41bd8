"""Options that several commands have: what a run may spend, where it is written, how results are
printed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from panel.cli.failures import refusals
from panel.cli.run_folder_option import run_folder_option
from panel.reports import load_renderer, renderer_names

if TYPE_CHECKING:
    from panel.calls.budget import Caps
    from panel.reports import Renderer
    from panel.runs.output import RunOutput

Command = Callable[..., Any]

_DEFAULT_FORMAT = "terminal"
_SHORT_FORMATS = ("json", "csv", "latex")
"""Formats with an option of their own. Markdown has none: --markdown is the file of a summary."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Of what a command scores, how much, at what cost, into which folder, printed in what form.

    Attributes:
        out: the run's folder.
        limit: how many responses or prompts are used, from the first on; all where it is None.
        dry_run: whether the cost is estimated and no model called.
        caps: what may be spent.
        renderer: prints the result.
    """

    out: RunOutput
    limit: int | None
    dry_run: bool
    caps: Caps
    renderer: Renderer

    def with_inputs(
        self,
        files: Sequence[tuple[str | None, Mapping[str, str]]],
        names: Sequence[str | None],
    ) -> RunOptions:
        """The same with the inputs that the run's folder records: these files, each with the
        mapping of its columns, and those of the names that are files and not, for instance,
        rubrics of the library."""
        given = [name for name, _ in files if name is not None]
        given += [name for name in names if name is not None and Path(name).is_file()]
        mappings = {name: mapping for name, mapping in files if name is not None and mapping}
        return replace(self, out=replace(self.out, inputs=tuple(given), mappings=mappings))


def run_options(texts: str) -> Callable[[Command], Command]:
    """Options of a command that runs a panel; the command is given them as `options`.

    Args:
        texts: what the command takes, such as "responses".
    """

    def decorate(command: Command) -> Command:
        @run_folder_option
        @option(
            "--limit",
            metavar="N",
            type=click.IntRange(min=1),
            help=f"Use the first N {texts} only.",
        )
        @dry_run
        @caps
        @output_format
        @wraps(command)
        def with_options(
            *args: Any,
            out: RunOutput,
            limit: int | None,
            dry_run: bool,
            caps: Caps,
            renderer: Renderer,
            **others: Any,
        ) -> Any:
            options = RunOptions(out, limit, dry_run, caps, renderer)
            return command(*args, options=options, **others)

        return with_options

    return decorate


def random_option(effect: str) -> Callable[[Command], Command]:
    """The option `--random`; the command is given `random`.

    Args:
        effect: what it decides, as the beginning of a sentence.
    """
    return option(
        "--random",
        type=click.Choice(["prompts", "prompts-and-judges"]),
        default="prompts",
        show_default=True,
        help=f"{effect}: the prompts, with these judges as they are, or the judges, too, as a "
        "sample of such judges (personas and models each, where they are crossed).",
    )


def analysis_options(command: Command) -> Command:
    """Options for how long an analysis takes; the command is given `resamples` and `intervals`."""
    command = option(
        "--no-intervals",
        "intervals",
        flag_value=False,
        default=True,
        help="Print the values without confidence intervals.",
    )(command)
    return option(
        "--resamples",
        type=click.IntRange(min=0),
        default=1999,
        show_default=True,
        metavar="N",
        help="How many shuffles a permutation test takes; with 0 there are no such p-values.",
    )(command)


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


def by_option(text: str) -> Callable[[Command], Command]:
    """The option for strata; the command is given it as `by`, None where it is left out.

    Args:
        text: what is printed by strata, for the command's help.
    """
    return option("--by", metavar="KIND", help=text)


def full_option(command: Command) -> Command:
    """The option for all tables; the command is given it as `full`."""
    return option(
        "--full",
        is_flag=True,
        help="Print every table in place of the short one, of the main statistics.",
    )(command)


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
    from panel.models.options import parsed_option

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
        from panel.calls.budget import Caps

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
        from panel.models.keys import keys_optional

        with keys_optional() if dry_run else nullcontext():
            return command(*args, dry_run=dry_run, **others)

    return with_dry_run


def column_mapping(
    file: str, example: str, name: str = "--map", *, parameter: str = "mapping"
) -> Callable[[Command], Command]:
    """The option for columns of a file that have other names; the command is given it as
    `parameter`, the column by field, empty where there is none.

    Args:
        file: what the file is called in the command's help.
        example: a field and a column, such as "response=answer".
    """
    return option(
        name,
        parameter,
        metavar="FIELD=COLUMN,…",
        multiple=True,
        callback=_columns_by_field,
        help=f"Columns of {file} that have other names than its fields, such as {example}; "
        "repeatable.",
    )


def refuse_mapping_alone(human: str | None, mapping: Mapping[str, str]) -> None:
    """--map-human says what columns of --human are.

    Raises:
        click.UsageError: it is there without --human.
    """
    if mapping and human is None:
        raise click.UsageError("--map-human works only with --human; leave it out.")


# A column's name may have a comma, but none before what looks like another field.
_BETWEEN_FIELDS = re.compile(r",(?=\s*\w+=)")


def _columns_by_field(
    ctx: click.Context, param: click.Parameter, value: Sequence[str]
) -> dict[str, str]:
    from panel.io.records import GivenMapping

    given: dict[str, str] = {}
    for text in value:
        for part in _BETWEEN_FIELDS.split(text):
            field, equals, column = part.partition("=")
            if not (equals and field.strip() and column):
                raise click.BadParameter(f"found {part!r}; expected FIELD=COLUMN")
            if field.strip() in given:
                raise click.BadParameter(f"{field.strip()} is given twice; leave one of them out")
            given[field.strip()] = column
    return GivenMapping(given, param.opts[0])


def option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """`click.option`, of a command with any parameters."""
    return click.option(*names, **settings)
