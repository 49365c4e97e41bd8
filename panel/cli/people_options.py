"""Options of commands that compare a panel with people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import click

from panel.cli.column_mapping import column_mapping
from panel.cli.options import Command, option


class _Epsilon(click.FloatRange):
    """click takes nan for a number, which no epsilon is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        epsilon = super().convert(value, param, ctx)
        if math.isnan(epsilon):
            self.fail(f"found {value!r}; expected a number from 0 to below 1", param, ctx)
        return epsilon


def human_options(
    text: str, example: str = "score=value", *, required: bool = False
) -> Callable[[Command], Command]:
    """People's ratings, and their columns; the command is given `human`, None where it is left out,
    and `human_mapping`.

    Args:
        text: what they are, for the command's help.
        example: a field and a column of theirs.
    """

    def with_ratings(command: Command) -> Command:
        ratings = option("--human", required=required, metavar="RATINGS", help=text)
        columns = column_mapping("--human", example, "--map-human", parameter="human_mapping")
        return ratings(columns(command))

    return with_ratings


def refuse_mapping_alone(human: str | None, mapping: Mapping[str, str]) -> None:
    """--map-human says what columns of --human are.

    Raises:
        click.UsageError: it is there without --human.
    """
    if mapping and human is None:
        raise click.UsageError("--map-human works only with --human; leave it out.")


def epsilon_option(effect: str) -> Callable[[Command], Command]:
    """The allowance of the alternative annotator test; the command is given `epsilon`, None where
    it is not there.

    Args:
        effect: what it does in this command, the beginning of a sentence.
    """
    return option(
        "--epsilon",
        type=_Epsilon(min=0, max=1, max_open=True),
        metavar="E",
        help=f"{effect} in which a person may be ahead of a judge by so much: 0.2 where people are "
        "experts, 0.15 where skilled, 0.1 from a crowd.",
    )


def selected_option(command: Command) -> Command:
    """The file of items that people were asked for; the command is given its name as `selected`."""
    return option(
        "--selected",
        metavar="FILE",
        help="The items that people were asked for, with their probabilities, as `select` wrote "
        "them.",
    )(command)


def group_options(*, required: bool) -> Callable[[Command], Command]:
    """People's attributes, and the groups that are compared; the command is given the names of both
    files as `raters` and `groups`."""

    def with_groups(command: Command) -> Command:
        raters = option(
            "--raters",
            required=required,
            metavar="RATERS",
            help="A file with `rater` and attributes of the people who gave the human ratings.",
        )
        groups = option(
            "--groups",
            required=required,
            metavar="GROUPS",
            help="A YAML file: groups of people, the personas that stand for them, and contrasts.",
        )
        return raters(groups(command))

    return with_groups
