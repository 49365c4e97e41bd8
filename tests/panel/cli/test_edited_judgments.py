"""A run's judgments that somebody changed after its end: every command that reads them says so."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from persona_panel.results.conclusions.wording import EDITED
from persona_panel.testing import serving
from persona_panel.view.lines import Lines, RunFolders, Writers
from tests.helpers.command import Command

ROWS = [
    {
        "id": f"r{i}",
        "prompt": f"Question {i // 2}?",
        "response": f"A text, {i}.",
        "system": "ab"[i % 2],
    }
    for i in range(6)
]
ARGUMENTS = ("batch.jsonl", "--personas", "disciplinary", "--model", "openai:stub")


def scored(command: Command, out: str, *more: str, **environment: str) -> None:
    done = command("score", *ARGUMENTS, "--out", out, *more, **environment)
    assert done.returncode == 0, done.stderr


def edit(run: Path) -> None:
    """Give the first judgment one point more or less, as a hand would."""
    first, *others = (run / "judgments.jsonl").read_text().splitlines(keepends=True)
    line: dict[str, Any] = json.loads(first)
    name, score = next(iter(line["scores"].items()))
    line["scores"][name] = score + (1 if score < 10 else -1)
    (run / "judgments.jsonl").write_text(json.dumps(line) + "\n" + "".join(others))


def state(root: Path) -> tuple[str, str]:
    [line] = [each for each in Lines(RunFolders(root), Writers()).all() if each.name == "run"]
    return line.state, line.answer


def test_every_command_says_that_judgments_were_edited(command: Command, tmp_path: Path) -> None:
    """On the terminal, in JSON, on the page and in the list of `view`; of a folder of an earlier
    version, which has no digest, nothing is said; the run's command restores the judgments."""
    (tmp_path / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    run, manifest = tmp_path / "run", tmp_path / "run" / "run.json"
    commands: list[tuple[str, ...]] = [
        ("report", "run"),
        ("agree", "run"),
        ("compare", "other", "run"),
    ]
    with serving() as server:
        scored(command, "run", OPENAI_BASE_URL=server.base_url)
        scored(command, "other", OPENAI_BASE_URL=server.base_url)
        before = (run / "judgments.jsonl").read_bytes()
        digest = hashlib.sha256(before).hexdigest()
        assert json.loads(manifest.read_text())["starts"][-1]["judgments"] == digest

        def says() -> list[bool]:
            every = []
            for words in commands:
                done = command(*words)
                assert done.returncode == 0, done.stderr
                every.append(EDITED in " ".join((done.stdout + done.stderr).split()))
            page = " ".join((run / "report.html").read_text().split())
            agree = json.loads(command("agree", "run", "--json").stdout)
            compare = json.loads(command("compare", "other", "run", "--json").stdout)
            noted = any(EDITED in sentence for sentence in compare["conclusion"])
            return [
                *every,
                EDITED in page,
                agree["missing"]["edited"],
                noted,
                state(tmp_path)[0] == "damaged",
            ]

        assert says() == [False] * 7
        edit(run)
        assert says() == [True] * 7
        kept = manifest.read_text()
        document = json.loads(kept)
        del document["starts"][-1]["judgments"]
        manifest.write_text(json.dumps(document))
        assert says() == [False] * 7
        manifest.write_text(kept)
        scored(command, "run", OPENAI_BASE_URL=server.base_url)
    assert says() == [False] * 7
    assert json.loads((run / "summary.json").read_text())["coverage"]["edited"] is False


@pytest.mark.parametrize("killed", [False, True])
def test_a_run_that_goes_on_is_not_called_edited(
    command: Command, tmp_path: Path, killed: bool
) -> None:
    """With more responses; and where a kill came during the second start, whose lines nobody has
    the digest of."""
    (tmp_path / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    with serving() as server:
        scored(command, "run", "--limit", "4", OPENAI_BASE_URL=server.base_url)
        first = json.loads((tmp_path / "run/run.json").read_text())["starts"][-1]["judgments"]
        scored(command, "run", OPENAI_BASE_URL=server.base_url)
    document = json.loads((tmp_path / "run/run.json").read_text())
    assert [start["judgments"] for start in document["starts"]] != [first] * 2
    if killed:
        # As run.json is from the second start to its end.
        del document["starts"][-1]["judgments"]
        (tmp_path / "run/run.json").write_text(json.dumps(document))
    done = command("agree", "run", "--json")
    assert json.loads(done.stdout)["missing"]["edited"] is False
