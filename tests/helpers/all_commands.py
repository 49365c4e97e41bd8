"""All commands, with the groups that they are in."""

from __future__ import annotations

from collections.abc import Iterator

import click

from persona_panel.cli.commands import LazyGroup


def commands_in(group: click.Group, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The commands and groups of a group, each with its words, in the order of the help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands_in(command, *words, name)


def modules_of(group: LazyGroup) -> list[str]:
    """The modules that the commands of a group are in; nothing is imported."""
    found: set[str] = set()
    for entry in group.entries.values():
        if isinstance(entry, LazyGroup):
            found.update(modules_of(entry))
        elif not isinstance(entry, click.Group):
            found.add(entry[0])
    return sorted(found)
