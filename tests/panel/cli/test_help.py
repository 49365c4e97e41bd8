"""The help of commands that run a panel: in sections, without what few need
(`persona_panel.cli.sections`)."""

from __future__ import annotations

import re

import click
import pytest
from persona_panel.cli.sections import _RARE, _SECTIONS

from persona_panel.cli.audit import injection
from persona_panel.cli.score import score
from persona_panel.cli.sweep import sweep
from tests.helpers.invoked import invoked

COMMANDS = {("score",): score, ("sweep",): sweep, ("audit", "injection"): injection}


def options_of(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option)]


def lines_of(text: str) -> list[str]:
    """The names of the options that a help describes."""
    return [line.split()[0] for line in text.splitlines() if line.startswith("  --")]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_leaves_out_what_few_need_and_help_all_does_not(name: tuple[str, ...]) -> None:
    """Each option is in one place of --help-all, in lines of 80 columns and with its name whole;
    those that few need are not in --help, also after --help-all was asked for."""
    options = options_of(COMMANDS[name])
    for _ in range(2):
        every, short = (
            invoked(*name, asked, COLUMNS="80").stdout for asked in ("--help-all", "--help")
        )
        assert sorted(lines_of(every)) == sorted(each.opts[-1] for each in options)
        rare = {each.opts[-1] for each in options if each.hidden}
        assert set(lines_of(every)) - set(lines_of(short)) == rare
        assert f"the {len(rare)} options that few need" in short
        for text in (every, short):
            assert max(map(len, text.splitlines())) <= 80
            assert not any(line.rstrip().endswith("-") for line in text.splitlines())
            headings = re.findall(r"^(\w.*):$", text, re.M)
            assert headings == list(_SECTIONS)


def test_sections_name_options_that_there_are() -> None:
    """An option that is renamed is renamed in its section, too."""
    known = {name for command in COMMANDS.values() for each in options_of(command)
             for name in each.opts}  # fmt: skip
    named = {name for names in _SECTIONS.values() for name in names} - {"--help"}
    assert named | _RARE <= known


def test_options_that_help_leaves_out_are_accepted() -> None:
    """They work as before."""
    done = invoked(
        "score", "examples/responses.jsonl", "--personas", "none", "--layout", "persona-first",
        "--max-calls", "5", "--patience", "2.5", "--concurrency", "2", "--dry-run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "--max-calls 5" in done.stderr
