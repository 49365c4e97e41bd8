"""What files and servers say, as it reaches a terminal: visible characters, on lines of ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.files.secrets import say_sentences, visible
from persona_panel.testing import Answer, ok, serving, status

Command = Callable[..., CompletedProcess[str]]

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\u200b\r\n100 of 100 judgments scored."
NAME = "[red]al[/red]\u202eder :smile: [link=http://x.example]"


def unsafe(text: str) -> set[str]:
    """The characters that a terminal obeys, or does not show, but for line ends."""
    return {char for char in text if category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}


def refuses(number: int, payload: Mapping[str, Any]) -> Answer:
    answers = [
        ok("", refusal=HOSTILE),
        ok(json.dumps({HOSTILE: 1})[:-1] + f", {json.dumps(HOSTILE)}: 2}}"),
        status(400, body={"error": {"message": HOSTILE}}),
    ]
    return answers[number % 3]


@pytest.fixture
def batch(tmp_path: Path) -> str:
    rows = [
        {"id": f"r{i}{HOSTILE}", "prompt": f"{HOSTILE} {i // 2}?", "response": "Text.",
         "system": (NAME, "b")[i % 2], f"note{HOSTILE}": HOSTILE}
        for i in range(6)
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "in.jsonl"


@pytest.mark.parametrize("columns", ["60", ""])
def test_nothing_foreign_speaks_to_the_terminal(command: Command, batch: str, columns: str) -> None:
    """Refusals, JSON keys, errors, names, ids and prompts with escape sequences, bidirectional
    controls and line breaks are shown as one would write them, and markup as it is."""
    for folder, script in (("refused", refuses), ("scored", lambda number, payload: ok())):
        with serving(script) as server:
            done = command(
                "score", batch, "--personas", "disciplinary", "--model", "openai:stub",
                "--out", folder, "--full", OPENAI_BASE_URL=server.base_url, COLUMNS=columns,
            )  # fmt: skip
        assert done.returncode == (4 if script is refuses else 0), done.stderr
        said = done.stdout + done.stderr
        assert unsafe(said) == set()
        assert not any(line.startswith("100 of 100") for line in said.splitlines())
        # Where nothing is scored there is no table to name a system in.
        if script is not refuses:
            assert "[red]al[/red]\\u202eder :smile:" in " ".join(done.stdout.split())


def test_json_on_the_terminal_has_the_same_content(
    command: Command, tmp_path: Path, batch: str
) -> None:
    """--json prints the invisible as JSON escapes, so that a program reads the texts as they came;
    the files keep them."""
    with serving(refuses) as server:
        done = command(
            "score", batch, "--personas", "disciplinary", "--model", "openai:stub", "--json",
            "--out", "run", OPENAI_BASE_URL=server.base_url,
        )  # fmt: skip
    assert unsafe(done.stdout + done.stderr) == set()
    kept = (tmp_path / "run" / "summary.json").read_text()
    read = json.dumps(json.loads(done.stdout), ensure_ascii=False)
    assert "\u202egnp" in kept and "\u202egnp" in read


def test_a_hostile_file_name_in_a_fault(command: Command, tmp_path: Path) -> None:
    """The name of a file that cannot be used is shown on one line, without its controls."""
    name = "a\x1b[2J\u202e\nok.jsonl"
    (tmp_path / name).write_text('{"id": 1}\n')
    done = command("score", name, "--model", "openai:stub", OPENAI_BASE_URL="http://127.0.0.1:9")
    assert done.returncode == 2
    assert unsafe(done.stderr) == set()
    assert "a\\x1b[2J\\u202e\\nok.jsonl:1" in done.stderr


@given(st.text())
def test_every_text_becomes_visible(text: str) -> None:
    """Whatever a text holds, what is printed of it has no control and can be encoded."""
    shown = visible(text)
    assert not unsafe(shown)
    assert "\n" not in shown
    shown.encode()
    if text.isprintable():
        assert shown == text


def test_sentences_are_parted_at_the_width_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between words where there is a width; a log has them whole."""
    text = "5 of 20 judgments of runs/a-long-name are missing (5 failed)"
    monkeypatch.setenv("COLUMNS", "30")
    say_sentences(text)
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines) == text
    assert len(lines) == 3 and max(map(len, lines)) <= 30
    monkeypatch.delenv("COLUMNS")
    say_sentences(text, err=True)
    assert capsys.readouterr().err == f"{text}\n"
