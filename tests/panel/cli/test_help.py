"""The help of every command: two screens with an example, and everything with --help-all
(`persona_panel.cli.help`)."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from persona_panel.cli.help import _OF_A_PANEL, _SECTIONS, _short
from persona_panel.cli.main import command
from tests.helpers.all_commands import commands_in
from tests.helpers.invoked import invoked
from tests.helpers.printed_commands import parse

COMMANDS = {(): command, **dict(commands_in(command))}
SCREENS, WIDTH = 48, 80


def options_of(of: click.Command) -> list[click.Option]:
    return [param for param in of.params if isinstance(param, click.Option)]


def lines_of(text: str) -> list[str]:
    """The names of the options that a help describes."""
    _, _, options = text.partition("\nExample:\n")
    return [line.split()[0] for line in options.splitlines() if line.startswith("  --")]


def help_of(words: tuple[str, ...], asked: str = "--help") -> str:
    done = invoked(*words, asked, COLUMNS=str(WIDTH))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_fits_on_two_screens_and_has_an_example(words: tuple[str, ...]) -> None:
    """The help of each command has at most 48 lines of 80 columns, no name of an option is broken,
    and its one example is a command that the parser takes."""
    text = help_of(words)
    lines = text.splitlines()
    assert len(lines) <= SCREENS
    for shown in (text, help_of(words, "--help-all")) if "--help-all" in text else (text,):
        assert max(map(len, shown.splitlines())) <= WIDTH
        assert not any(line.rstrip().endswith("-") for line in shown.splitlines())
    assert lines.count("Example:") == 1
    example = lines[lines.index("Example:") + 1].strip()
    assert shlex.split(example)[: len(words) + 1] == ["persona-panel", *words]
    parse(example)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_leaves_out_what_few_need_and_help_all_does_not(words: tuple[str, ...]) -> None:
    """Each option is in one place of --help-all; those that few need are not in --help, also after
    --help-all was asked for. Where --help has everything, there is no --help-all."""
    options = options_of(COMMANDS[words])
    short = help_of(words)
    if "--help-all" not in short:
        assert not any(each.hidden for each in options)
        return
    every = help_of(words, "--help-all")
    assert sorted(lines_of(every)) == sorted(each.opts[-1] for each in options)
    rare = {each.opts[-1] for each in options if each.hidden}
    assert set(lines_of(every)) - set(lines_of(short)) == rare
    if rare:
        assert re.search(rf"with the {len(rare)} options? that few need", " ".join(short.split()))
    assert help_of(words) == short
    for text in (every, short):
        headings = re.findall(r"^(\w.*):$", text, re.M)
        assert [each for each in headings if each in _SECTIONS] == sorted(
            {each for each in headings if each in _SECTIONS}, key=list(_SECTIONS).index
        )


def test_help_all_says_what_exit_statuses_mean() -> None:
    """The first paragraph is in --help, all of the text in --help-all."""
    assert "Exit status" not in help_of(("score",))
    assert "Exit status: 0, all judgments are there" in help_of(("score",), "--help-all")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use it.  [x>=1]", "Use it."),
        ("Use it. Or do not.  [default: 1; x>=1]", "Use it.  [default: 1]"),
        ("A file .pdf, .svg or .png.", "A file .pdf, .svg or .png."),
        ("A file.  [default: a. B]  [required]", "A file.  [default: a. B; required]"),
    ],
)
def test_short_help_of_an_option_is_its_first_sentence(text: str, expected: str) -> None:
    """With the default, without the range; a point within a name ends no sentence."""
    assert _short(text) == expected


def test_sections_name_options_that_there_are() -> None:
    """An option that is renamed is renamed in its section, too."""
    known = {
        name for each in COMMANDS.values() for param in options_of(each) for name in param.opts
    }
    sections = [*_SECTIONS.values(), *_OF_A_PANEL.values()]
    assert {name for names in sections for name in names} - {"--help"} <= known


def test_options_that_help_leaves_out_are_accepted() -> None:
    """They work as before."""
    done = invoked(
        "score", "examples/responses.jsonl", "--personas", "none", "--layout", "persona-first",
        "--max-calls", "5", "--patience", "2.5", "--concurrency", "2", "--dry-run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "--max-calls 5" in done.stderr
