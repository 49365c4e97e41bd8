"""The parameters that several analyses share, each declared once.

A parameter is called as the argument of the analysis' function that takes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from persona_panel.files.ratings import GivenScale

COLUMNS_OF_RATINGS = "item=text_id,score=value"
"""An example of a mapping of ratings."""

_ENDS = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(-?\d+(?:\.\d+)?)", re.ASCII)
# A column's name may have a comma, but none before what looks like another field.
_BETWEEN_FIELDS = re.compile(r",(?=\s*\w+=)")


class Option(click.Option):
    """An option that may say something of another one, and is refused without it.

    Attributes:
        needs: the option or argument that it is of, such as `--human` or `RESPONSES`; empty where
            it is of none.
    """

    def __init__(self, *names: str, needs: str = "", **settings: Any) -> None:
        super().__init__(list(names), **settings)
        self.needs = needs

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Take the option's value. Raises click.UsageError: what it is of is not there."""
        if self.needs and self.name in opts:
            names = {self.needs, self.needs.lower()}
            [of] = [param for param in ctx.command.params if names & {*param.opts}]
            known = opts.get(str(of.name))
            if not (known and isinstance(known, str | Sequence)):
                raise click.UsageError(
                    f"{self.opts[0]} works only with {self.needs}; leave it out.", ctx
                )
        return super().handle_parse_result(ctx, opts, args)


class _Epsilon(click.FloatRange):
    """The type of a share from 0 to below 1; click takes nan for a number, which no epsilon is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        epsilon = super().convert(value, param, ctx)
        if math.isnan(epsilon):
            self.fail(f"found {value!r}; expected a number from 0 to below 1", param, ctx)
        return epsilon


def run(name: str = "run") -> list[click.Parameter]:
    """Return the argument that is a run's folder."""
    return [click.Argument([name])]


def ratings(name: str) -> list[click.Parameter]:
    """Return the argument that is a run's folder or ratings, and `mapping`, the columns of
    ratings."""
    return [click.Argument([name]), columns(name.upper())]


def columns(
    file: str,
    example: str = COLUMNS_OF_RATINGS,
    name: str = "--map",
    parameter: str = "mapping",
    needs: str = "",
    *,
    hidden: bool = False,
) -> Option:
    """Return the option for columns of a file that have other names than its fields: the column by
    field, empty where there is none.

    Args:
        file: what the file is called in the command's help.
        example: a field and a column, such as "response=answer".
        needs: as of `Option`.
        hidden: whether help leaves it out unless everything is asked for.
    """
    return Option(
        name,
        parameter,
        metavar="FIELD=COLUMN,…",
        multiple=True,
        callback=columns_by_field,
        needs=needs,
        hidden=hidden,
        help=f"Columns of {file} with other names than its fields, such as {example}. Repeatable.",
    )


def people(text: str, example: str = "score=value", *, required: bool = False) -> list[Option]:
    """Return people's ratings and how they are read: `human`, None where it is left out,
    `human_mapping`, `human_scale`, `allow_unmatched`.

    Args:
        text: what they are, for the command's help.
        example: a field and a column of theirs.
    """
    return [
        Option("--human", required=required, metavar="RATINGS", help=text),
        columns("--human", example, "--map-human", "human_mapping", "--human"),
        scale("--human-scale", "--human", needs="--human"),
        Option(
            "--allow-unmatched",
            is_flag=True,
            hidden=True,
            needs="--human",
            help="Go on where fewer than 80 % of the items that people rated match.",
        ),
    ]


def scale(name: str, of: str, needs: str = "") -> Option:
    """Return the option for the scale of ratings, None where it is left out.

    Args:
        of: what the ratings are called in the command's help.
    """
    where = ", where it is not the panel's" if of == "--human" else ""
    return Option(
        name,
        metavar="[DIMENSION=]LOW-HIGH",
        multiple=True,
        callback=scale_of,
        needs=needs,
        help=f"The scale of {of}, such as 1-5{where}. Repeatable, for each dimension. What lies "
        "outside is refused.",
    )


def selected(needs: str = "") -> Option:
    """Return the option for the file of items that people were asked for."""
    return Option(
        "--selected",
        needs=needs,
        metavar="FILE",
        help="The items that people were asked for, with their probabilities, as `select` wrote "
        "them.",
    )


def groups(*, required: bool, needs: str = "") -> list[click.Parameter]:
    """Return the options for people's attributes, and for the groups that are compared: `raters`
    and `groups`."""
    return [
        Option(
            "--raters",
            required=required,
            needs=needs,
            metavar="RATERS",
            help="A file with `rater` and attributes of the people who gave the human ratings.",
        ),
        Option(
            "--groups",
            required=required,
            needs=needs,
            metavar="GROUPS",
            help="A YAML file: groups of people, the personas that stand for them, and contrasts.",
        ),
    ]


def random(effect: str) -> Option:
    """Return the option `--random`.

    Args:
        effect: what it decides, as the beginning of a sentence.
    """
    return Option(
        "--random",
        type=click.Choice(["prompts", "prompts-and-judges"]),
        default="prompts",
        show_default=True,
        hidden=True,
        help=f"{effect}: the prompts, judges fixed, or the judges, too, as a "
        "sample of such judges (personas and models each, where they are crossed).",
    )


def effort() -> list[click.Parameter]:
    """Return the options for how long an analysis takes: `resamples` and `intervals`."""
    return [
        Option(
            "--resamples",
            type=click.IntRange(min=0),
            default=1999,
            show_default=True,
            hidden=True,
            metavar="N",
            help="How many shuffles a permutation test takes; with 0 there are no such p-values.",
        ),
        Option(
            "--no-intervals",
            "intervals",
            flag_value=False,
            default=True,
            hidden=True,
            help="Print the values without confidence intervals.",
        ),
    ]


def min_shared(fewest: str) -> Option:
    """Return the option for how many items a pair of raters has to share, None where it is left
    out; `fewest` is the number then."""
    return Option(
        "--min-shared",
        type=click.IntRange(min=2),
        hidden=True,
        metavar="N",
        help="Leave pairs of raters who share fewer items out of the means over pairs.  "
        f"[default: {fewest}]",
    )


def by(text: str) -> Option:
    """Return the option for strata, None where it is left out.

    Args:
        text: what is printed by strata, for the command's help.
    """
    return Option("--by", metavar="KIND", help=text)


def epsilon(effect: str, needs: str = "") -> Option:
    """Return the option for the allowance of the alternative annotator test, None where it is not
    there.

    Args:
        effect: what it does in this command, the beginning of a sentence.
        needs: as of `Option`.
    """
    return Option(
        "--epsilon",
        needs=needs,
        type=_Epsilon(min=0, max=1, max_open=True),
        metavar="E",
        help=f"{effect} in which a person may be ahead of a judge by so much: 0.2 where people are "
        "experts, 0.15 where skilled, 0.1 from a crowd.",
    )


def columns_by_field(
    ctx: click.Context, param: click.Parameter, value: Sequence[str]
) -> dict[str, str]:
    """Return the columns of a mapping by field, from what the option was given."""
    from persona_panel.files.records import GivenMapping

    result: dict[str, str] = {}
    for text in value:
        for part in _BETWEEN_FIELDS.split(text):
            field, equals, column = part.partition("=")
            if not (equals and field.strip() and column):
                raise click.BadParameter(f"found {part!r}; expected FIELD=COLUMN")
            if field.strip() in result:
                raise click.BadParameter(f"{field.strip()} is given twice; leave one of them out")
            result[field.strip()] = column
    return GivenMapping(result, param.opts[0])


def scale_of(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> GivenScale | None:
    """Return the scale, or scales by dimension, from what the option was given."""
    result: dict[str, tuple[float, float]] = {}
    for text in value:
        name, _, ends = text.rpartition("=")
        match = _ENDS.fullmatch(ends.strip())
        if match is None:
            raise click.BadParameter(f"found {text!r}; expected LOW-HIGH or DIMENSION=LOW-HIGH")
        if name.strip() in result or ("" in result or (result and not name)):
            raise click.BadParameter(f"{text} is there with another; one for each dimension")
        result[name.strip()] = float(match[1]), float(match[2])
    return result.get("", result) or None
