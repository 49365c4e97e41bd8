"""Options of commands that compare a panel with people."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypedDict

import click

from persona_panel.cli.column_mapping import column_mapping
from persona_panel.cli.options import Command, option

if TYPE_CHECKING:
    from persona_panel.files.people_scales import GivenScale
    from persona_panel.statistics.core.origin import RatingsOrigin

_ENDS = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(-?\d+(?:\.\d+)?)", re.ASCII)


class HumanReading(TypedDict):
    """How people's ratings are to be read: what
    `persona_panel.files.aligned_ratings.load_human_ratings` takes."""

    human_scale: GivenScale | None
    allow_unmatched: bool


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
    """People's ratings, their columns and how they are to be read; the command is given `human`,
    None where it is left out, `human_mapping` and `reading`.

    Args:
        text: what they are, for the command's help.
        example: a field and a column of theirs.
    """

    def with_ratings(command: Command) -> Command:
        @wraps(command)
        def with_reading(*args: Any, **given: Any) -> Any:
            reading = HumanReading(
                human_scale=given.pop("human_scale"), allow_unmatched=given.pop("allow_unmatched")
            )
            if given["human"] is None:
                refuse_alone("--map-human", given["human_mapping"])
                refuse_alone("--human-scale", reading["human_scale"])
                refuse_alone("--allow-unmatched", reading["allow_unmatched"])
            return command(*args, reading=reading, **given)

        ratings = option("--human", required=required, metavar="RATINGS", help=text)
        columns = column_mapping("--human", example, "--map-human", parameter="human_mapping")
        unmatched = option(
            "--allow-unmatched",
            is_flag=True,
            help="Go on where fewer than 80 % of the items that people rated match.",
        )
        return ratings(columns(scale_option("--human-scale", "--human")(unmatched(with_reading))))

    return with_ratings


def scale_option(name: str, of: str) -> Callable[[Command], Command]:
    """The scale of ratings; the command is given it as `scale` or `human_scale`, None where it is
    left out.

    Args:
        of: what the ratings are called in the command's help.
    """
    where = ", where it is not the panel's" if of == "--human" else ""
    return option(
        name,
        metavar="[DIMENSION=]LOW-HIGH",
        multiple=True,
        callback=_scale,
        help=f"The scale of {of}, such as 1-5{where}; repeatable, for each dimension. What lies "
        "outside is refused.",
    )


def _scale(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> GivenScale | None:
    found: dict[str, tuple[float, float]] = {}
    for text in value:
        name, _, ends = text.rpartition("=")
        match = _ENDS.fullmatch(ends.strip())
        if match is None:
            raise click.BadParameter(f"found {text!r}; expected LOW-HIGH or DIMENSION=LOW-HIGH")
        if name.strip() in found or ("" in found or (found and not name)):
            raise click.BadParameter(f"{text} is there with another; one for each dimension")
        found[name.strip()] = float(match[1]), float(match[2])
    return found.get("", found) or None


def say_reading(*origins: RatingsOrigin | None) -> None:
    """How files of ratings were read, and which of their items match nothing, on standard error and
    before any figure."""
    from persona_panel.files.secrets.visible import say_sentences
    from persona_panel.results.conclusions.readings import origin_sentences

    for origin in origins:
        if origin is not None:
            for sentence in origin_sentences(origin):
                say_sentences(sentence, err=True)


def refuse_alone(name: str, value: object) -> None:
    """Refuse an option that says what --human is, where that is not there.

    Raises:
        click.UsageError: it has a value.
    """
    if value:
        raise click.UsageError(f"{name} works only with --human; leave it out.")


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
