"""The next step that a command ends with: one, behind all else, whole."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from persona_panel.cli.analysis_command import Gate, ResultOutput
from persona_panel.cli.failures import NextStep
from persona_panel.results.result import load_format
from tests.helpers.invoked import invoked
from tests.helpers.printed_commands import parse, whole_commands
from tests.helpers.results import SAMPLE

STEP = NextStep("do more", "persona-panel report 'runs/one two'")


@pytest.mark.parametrize(("own", "said"), [("", STEP.command), ("Collect more.", "")])
def test_a_result_with_a_next_step_has_no_second_one(
    own: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command's stands on standard error where the result has none of its own."""
    gate = Gate((), by_point=False, junit=None, markdown=None, suite="sample")
    output = ResultOutput(load_format("terminal"), full=False, plot=None, gate=gate)
    result = replace(SAMPLE, next_step=own, reading=(), coverage=None)
    output.show(result, next_step=STEP)
    printed = capsys.readouterr()
    assert own in " ".join(printed.out.split())
    assert printed.err == (f"Next: do more:\n  {said}\n" if said else "")


@pytest.mark.parametrize("width", [30, 60, 200])
def test_a_command_is_broken_between_its_words_on_a_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a backslash behind each line but the last, so that a shell takes it as it stands; a word
    that is wider stays whole."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    words = ["persona-panel", "score", "a long name.jsonl", "it's", "--out", "x" * 40, "--full"]
    NextStep("do more", shlex.join(words)).say()
    lines = terminal.getvalue().partition(":\n")[2].splitlines()
    assert all(len(line) <= width or "x" * 40 in line for line in lines)
    assert (len(lines) == 1) == (width == 200)
    printed = subprocess.run(
        ["sh", "-c", "printf '%s\\n' " + "\n".join(lines)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.splitlines() == words


def test_commands_end_with_a_command_that_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the last line, whatever the width, and parses."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"prompt": f"Why {n}?", "response": f"So {n} {system}.", "system": system}
        for n in range(4)
        for system in "ab"
    ]
    Path("texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    lines = [f"p{i // 2},s{i % 2},p{i // 2}/r{i},j{k},{1 + (i * k) % 5}" for i in range(24)
             for k in (1, 2, 3)]  # fmt: skip
    Path("ratings.csv").write_text("\n".join(["prompt,source,item,rater,score", *lines]) + "\n")
    Path("pairs.csv").write_text("prompt_a,prompt_b\nWhy?,Why not?\n")
    for words in (
        ("init", "texts.jsonl"),
        ("select", "ratings.csv", "--n", "12", "--out", "items.csv"),
        ("prompts", "pairs", "pairs.csv", "--out", "prompts.jsonl"),
        ("people", "make", "texts.jsonl", "--raters", "4", "--per-rater", "8", "--out", "study"),
    ):
        done = invoked(*words, COLUMNS="60")
        assert done.returncode == 0, done.stderr
        *_, before, last = done.stderr.splitlines()
        assert before.endswith(":")
        assert whole_commands(done.stderr) == [last.strip()]
        parse(last.strip())
