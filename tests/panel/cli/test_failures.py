"""What a command says of what it refuses, where it calls no model anyway."""

from __future__ import annotations

import pytest

from tests.helpers.command import Command


@pytest.mark.parametrize(
    "arguments",
    [
        ("agree", "runs/none"),
        ("people", "correlate", "runs/none", "--human", "runs/none"),
        ("audit", "bias", "runs/none"),
        ("library", "personas", "nobody"),
    ],
)
def test_a_command_that_calls_no_model_does_not_say_so(
    command: Command, arguments: tuple[str, ...]
) -> None:
    """Its refusal is about its input alone."""
    done = command(*arguments)
    assert done.returncode == 2
    assert "found" in done.stderr
    assert "model was called" not in done.stderr


def test_a_path_that_is_not_there_may_have_been_a_run(command: Command) -> None:
    """`agree` says that it takes a run's folder, too."""
    said = command("agree", "runs/none").stderr
    assert said.startswith("runs/none: found no such file or folder; expected a run's folder, or")


@pytest.mark.parametrize(
    "arguments",
    [
        ("agree", "a" * 300),
        ("library", "rubrics", "a" * 300),
        ("people", "correlate", "runs/none", "--human", "a" * 300),
    ],
)
def test_a_name_too_long_for_a_file_is_refused(
    command: Command, arguments: tuple[str, ...]
) -> None:
    """No file can have it, and it is named, without a traceback."""
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stderr.rstrip() in (f"{name}: File name too long." for name in arguments)
