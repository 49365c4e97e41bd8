"""What a user reads: help that fits a terminal, and the field's terms in help, headings, errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from persona_panel.cli.help import ALL
from persona_panel.cli.main import command

ROOT = Path(__file__).parents[3]

# Each with what to write instead. A newcomer in the field knows the second and must guess at the
# first.
DIALECT = {
    r"\b(?:hold|holds|held) (?:\w+ ){0,3}against\b": "compare with",
    r"\bwho (?:reads|asks|says so)\b": "personas that judge; the model that asks",
    r"\bwhat is asked\b": "the rubric to score by",
    r"\b(?:tell|tells|told)\b(?!.* apart\b)": "say, print, report, show",
    r"\bworth\b": "quality",
    r"\b(?:sway|sways)\b": "bias",
    r"\btalk\w* round\b": "raise the scores of",
    r"\bbeside\b": "next to, compared with, in the same folder",
    r"\b(?:is|are) made of\b": "consists of",
    r"\bvoices?\b": "judges, ratings",
    r"\b(?:read|reads|reading) again\b": "re-rating",
    r"\bmost judges say\b": "majority",
    r"\bsay that the response\b": "judged as",
    r"\b(?<!there )(?:is|are) no (?!longer\b|more\b)\w+": "is not a",
    r"\bgoes on from\b": "continues",
    r"\bwhat it would take\b": "estimated calls and cost",
    r"\bhere and now\b": "here",
    r"\blike length\b": "similar length",
    r"\bmoved whom\b": "influence between personas",
    r"\bsit together\b": "be combined",
    r"\bleft alone\b": "wait",
    r"\bless others\b": "own-family bonus",
}

# Modules whose texts are prompts to models: another wording there would be another experiment.
PROMPTS = (
    "graphs/rewriting.py",
    "panel/experiments/prompt_sets/filters.py",
    "panel/experiments/question_asking.py",
    "panel/experiments/sweep/plan.py",
    "panel/runs/cost_estimate.py",
    "rubrics/comparison.py",
    "rubrics/elicitations/",
    "rubrics/instructions.py",
    "rubrics/replies.py",
    "rubrics/rubric.py",
    "rubrics/wording.py",
)


def commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below a group, with the words that call it, the group itself first."""
    yield name, group
    context = click.Context(group, info_name=name)
    for below in group.list_commands(context):
        found = group.get_command(context, below)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, f"{name} {below}")
        else:
            yield f"{name} {below}", found


COMMANDS = dict(commands(command, "persona-panel"))


def helps(name: str) -> str:
    """What `--help-all` prints."""
    # Our own options of `-h`, as the outermost group passes them on.
    names = command.context_settings
    context = click.Context(COMMANDS[name], info_name=name, **names)
    context.meta[ALL] = True
    return COMMANDS[name].get_help(context)


def dialect_in(text: str) -> list[str]:
    """The expressions of the list that occur in a text, each with what to write instead."""
    return [
        f"{found.group()!r}: write {better!r} or the like"
        for pattern, better in DIALECT.items()
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """The texts in a file that are no docstrings, by line: of f-strings what is fixed."""
    tree = ast.parse(path.read_text("utf-8"))
    within = {
        part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    }
    docs = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            fixed = [one.value if isinstance(one, ast.Constant) else "…" for one in node.values]
            yield node.lineno, "".join(map(str, fixed))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node not in within
            and node not in docs
        ):
            yield node.lineno, node.value


def test_all_commands_are_looked_at() -> None:
    """The commands of the README, and those within `audit`, are among those that are checked."""
    assert {"persona-panel score", "persona-panel audit injection"} <= set(COMMANDS)
    assert len(COMMANDS) > 12


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_eighty_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of a command's help is wider than 80 columns, and no summary is cut off."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = helps(name).splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if line.endswith("...") and "[ARGS]" not in line] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_in_the_fields_terms(name: str) -> None:
    """No expression of the list occurs in a command's help, and every option has a help text."""
    assert dialect_in(" ".join(helps(name).split())) == []
    options = [one for one in COMMANDS[name].params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


def test_headings_and_errors_are_in_the_fields_terms() -> None:
    """No expression of the list occurs in a text that a module of ours could print: headings of
    tables, notes, progress, errors and log messages."""
    files = [
        path
        for package in ("panel", "graphs", "rubrics", "personas")
        for path in sorted((ROOT / package).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(PROMPTS)
    ]
    assert len(files) > 150
    found = [
        f"{path.relative_to(ROOT)}:{line}: {one}"
        for path in files
        for line, text in literals(path)
        for one in dialect_in(text)
    ]
    assert found == []
