"""Commands that are printed, as a reader would type them."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from persona_panel.cli.main import command, new_words

WHOLE = re.compile(
    r"`(persona-panel [^`]+)`|<code>(persona-panel [^<]+)</code>|^ +(persona-panel .+)$", re.M
)
"""A command that can be typed as it stands."""
NAMED = re.compile(r"`((?:persona-panel )?[a-z]+(?: [^`\n]*)?)`")
"""What may be a command by its name alone, perhaps with options."""


def whole_commands(text: str) -> list[str]:
    """Those that begin with `persona-panel`, one line each."""
    return [next(filter(None, found)) for found in WHOLE.findall(text)]


def parse(line: str) -> click.Context:
    """Read a command line as a shell and click do, without running the command.

    Raises:
        click.UsageError: it cannot be run so.
    """
    words = shlex.split(line)
    assert words[0] == "persona-panel"
    assert not new_words(words[1:])[1], line
    context = command.make_context("persona-panel", words[1:])
    here: click.Command = command
    while isinstance(here, click.Group):
        name, found, rest = here.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None, name
        here, context = found, found.make_context(name, rest, parent=context)
    return context


def fault_of_a_name(text: str) -> str | None:
    """What is wrong with a command that is named by its first words and options; None where
    nothing is, or where it names no command of ours."""
    words = text.split()
    if len(words) > 1 and (is_old := new_words(words)[1]):
        return f"`{text}`: {is_old}"
    if words[0] not in command.entries:
        return None
    here, rest = command.get_command(click.Context(command), words[0]), words[1:]
    while isinstance(here, click.Group) and rest and re.fullmatch("[a-z]+", rest[0]):
        if (found := here.get_command(click.Context(here), rest[0])) is None:
            return f"`{text}`: no command {rest[0]}"
        here, rest = found, rest[1:]
    if here is None or not all(re.fullmatch(r"[\w:./|{}=,…<>-]+", word) for word in rest):
        return None
    known = {name for param in here.params for name in (*param.opts, *param.secondary_opts)}
    known |= {"--help", "-h"}
    wrong = [word for word in rest if word.startswith("--") and word.split("=")[0] not in known]
    return f"`{text}`: no option {', '.join(wrong)}" if wrong else None


def strings_in(file: Path) -> Iterator[str]:
    """The strings of a module but its docstrings; what an f-string fills in is `X`."""
    tree = ast.parse(file.read_text("utf-8"))
    parts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(map(id, node.values))
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value
