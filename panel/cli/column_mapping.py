"""The option for columns of a file that have other names than its fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import click

from persona_panel.cli.options import Command, option

COLUMNS_OF_RATINGS = "item=text_id,score=value"
"""An example of a mapping of ratings."""


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


def ratings_argument(name: str) -> Callable[[Command], Command]:
    """A run's folder, or ratings; the command is given it as `name`, and the columns of ratings as
    `mapping`."""

    def with_ratings(command: Command) -> Command:
        columns = column_mapping(name.upper(), COLUMNS_OF_RATINGS)
        return click.argument(name)(columns(command))

    return with_ratings


# A column's name may have a comma, but none before what looks like another field.
_BETWEEN_FIELDS = re.compile(r",(?=\s*\w+=)")


def _columns_by_field(
    ctx: click.Context, param: click.Parameter, value: Sequence[str]
) -> dict[str, str]:
    from persona_panel.files.records import GivenMapping

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
