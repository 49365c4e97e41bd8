"""All commands, with the groups that they are in."""

from __future__ import annotations

from collections.abc import Iterator

import click

from persona_panel.cli.main import LazyGroup


def commands_in(group: click.Group, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The commands and groups of a group, each with its words, in the order of the help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands_in(command, *words, name)


def modules_in(group: LazyGroup) -> Iterator[tuple[str, str]]:
    """The name of each command of a group, at any level, and its module; nothing is imported."""
    for name, entry in group.entries.items():
        if isinstance(entry, LazyGroup):
            yield from modules_in(entry)
        elif not isinstance(entry, click.Group):
            yield name, f"persona_panel.{entry[0]}"
