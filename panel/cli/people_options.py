"""Options of commands that compare a panel with people."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypedDict

import click

from persona_panel.analyses import parameters
from persona_panel.cli.options import Command, with_parameters

if TYPE_CHECKING:
    from persona_panel.files.ratings import GivenScale
    from persona_panel.statistics.core.table import RatingsOrigin


class HumanReading(TypedDict):
    """Settings for reading people's ratings: what
    `persona_panel.files.aligned_ratings.load_human_ratings` takes."""

    human_scale: GivenScale | None
    allow_unmatched: bool


def human_options(
    text: str, example: str = "score=value", *, required: bool = False, in_short: bool = False
) -> Callable[[Command], Command]:
    """People's ratings, their columns and how they are to be read; the command is given `human`,
    None where it is left out, `human_mapping` and `reading`.

    Args:
        text: what they are, for the command's help.
        example: a field and a column of theirs.
        in_short: whether help has --human alone, unless everything is asked for.
    """

    def with_ratings(command: Command) -> Command:
        @wraps(command)
        def with_reading(*args: Any, **inputs: Any) -> Any:
            reading = HumanReading(
                human_scale=inputs.pop("human_scale"), allow_unmatched=inputs.pop("allow_unmatched")
            )
            if inputs["human"] is None:
                refuse_alone("--map-human", inputs["human_mapping"])
                refuse_alone("--human-scale", reading["human_scale"])
                refuse_alone("--allow-unmatched", reading["allow_unmatched"])
            return command(*args, reading=reading, **inputs)

        declared = parameters.people(text, example, required=required)
        for each in declared:
            each.hidden = each.hidden or (in_short and bool(each.needs))
        return with_parameters(*declared)(with_reading)

    return with_ratings


def say_reading(*origins: RatingsOrigin | None) -> None:
    """Print how files of ratings were read, and which of their items match nothing, on standard
    error and before any figure."""
    from persona_panel.files.secrets.visible import say_sentences
    from persona_panel.results.conclusions.readings import origin_sentences

    for origin in origins:
        if origin is not None:
            for sentence in origin_sentences(origin):
                say_sentences(sentence, err=True)


def refuse_alone(name: str, value: object) -> None:
    """Refuse an option that says what --human is, where that is not there. Raises click.UsageError:
    it has a value."""
    if value:
        raise click.UsageError(f"{name} works only with --human; leave it out.")


def epsilon_option(effect: str) -> Callable[[Command], Command]:
    """Declare `--epsilon`; see `persona_panel.analyses.parameters.epsilon`."""
    return with_parameters(parameters.epsilon(effect))


def selected_option(command: Command) -> Command:
    """Declare `--selected`; see `persona_panel.analyses.parameters.selected`."""
    return with_parameters(parameters.selected())(command)


def group_options(*, required: bool) -> Callable[[Command], Command]:
    """Declare `--raters` and `--groups`; see `persona_panel.analyses.parameters.groups`."""
    return with_parameters(*parameters.groups(required=required))
