"""Every command opens with what may be concluded, and has the same sentences in its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from persona_panel.testing import always, serving, status
from tests.helpers.command import Command
from tests.helpers.results import concluded_in

PANEL = ("--personas", "disciplinary", "--model", "openai:stub")


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """Three systems that answer three prompts."""
    rows = [
        {"id": f"{name}{i}", "prompt": f"Question {i}?", "response": f"{name} {i}.", "system": name}
        for i in range(3)
        for name in ("alder", "birch", "cedar")
    ]
    path = tmp_path / "batch.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_conclusion_comes_last_and_is_in_the_json(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """score, agree, correlate and both audits: the sentences of `conclusion` are the last lines,
    below any table, and summary.json and injection.json have them, too."""
    people = "item,rater,dimension,score\n" + "".join(
        f"{name}{i},{who},conceptual_clarity,{(i + len(name + who)) % 7 + 1}\n"
        for i in range(3)
        for name in ("alder", "birch", "cedar")
        for who in ("x", "yy", "zzzz")
    )
    (tmp_path / "people.csv").write_text(people)
    with serving() as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        score = ("score", batch, *PANEL, "--out", "run")
        injection = (
            "audit", "injection", batch, *PANEL, "--attack", "json-bare", "--out", "audit",
        )  # fmt: skip
        for arguments in (
            score,
            ("agree", "run"),
            ("people", "correlate", "run", "--human", "people.csv"),
            ("audit", "bias", "run"),
            injection,
        ):
            printed = command(*arguments, "--full", **env, COLUMNS="10000").stdout.splitlines()
            if printed[-1].startswith(("Page: ", "Run: ")):
                printed.pop()
            found = json.loads(command(*arguments, "--json", **env).stdout)["conclusion"]
            assert printed[-len(found) - 1 :] == ["", *found]
            assert found[0].endswith(".")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text("utf-8"))
    assert summary["conclusion"][0].startswith("Which system is best? No ")
    audit = json.loads((tmp_path / "audit" / "injection.json").read_text("utf-8"))
    assert audit["conclusion"][0].startswith("Whether this panel is vulnerable is not known: ")


def test_where_nothing_was_judged_the_reason_is_all(command: Command, batch: Path) -> None:
    """Every judgment failed: why is said last, and there are no empty tables."""
    with serving(always(status(401))) as server:
        done = command("score", batch, *PANEL, "--out", "run", OPENAI_BASE_URL=server.base_url)
    assert done.returncode == 4
    said = concluded_in(done.stdout)
    assert said.startswith(
        f"Which system is best? Nothing could be scored: {server.base_url} answered 401: "
    )
    assert ". None of 45 judgments was scored (" in said
    assert done.stdout.count("answered 401") == 1
    assert "composite" not in done.stdout
    assert "─" not in done.stdout
