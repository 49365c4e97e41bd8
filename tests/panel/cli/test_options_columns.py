"""Columns with other names, on the command line and in a run's folder."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from persona_panel.testing import serving
from tests.helpers.command import Command

PANEL = ("--personas", "none", "--model", "openai:stub", "--rubric", "debate-speech")


def test_a_run_with_another_mapping_says_so(command: Command, tmp_path: Path) -> None:
    """run.json keeps the mapping and the file's digest; the same folder with another mapping is
    refused with both."""
    path = tmp_path / "in.csv"
    path.write_text("question;answer;draft;model\nWhy?;Because.;So.;ash\n", "utf-8")
    mapped = "prompt=question,response={},system=model"
    with serving() as server:
        given = ("score", "in.csv", *PANEL, "--out", "run", "--map")
        done = command(*given, mapped.format("answer"), OPENAI_BASE_URL=server.base_url)
        assert done.returncode == 0, done.stderr
        n_calls = len(server.calls)
        other = command(*given, mapped.format("draft"), OPENAI_BASE_URL=server.base_url)
        assert len(server.calls) == n_calls
    [file] = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["starts"][0]["inputs"]
    assert file["mapping"] == {"prompt": "question", "response": "answer", "system": "model"}
    assert file["sha256"] == sha256(path.read_bytes()).hexdigest()
    assert other.returncode == 2
    said = " ".join(other.stderr.split())
    assert "mapped as prompt=question, response=answer, system=model before" in said


def test_what_is_no_mapping_is_refused(command: Command) -> None:
    """Text without an equals sign, and a field twice, are refused."""
    for text, says in (("answer", "expected FIELD=COLUMN"), ("id=a,id=b", "given twice")):
        done = command("score", "in.csv", "--map", text)
        assert done.returncode == 2
        assert says in " ".join(done.stderr.split())


def test_strata_by_the_name_of_a_mapped_column_name_the_mapping(
    command: Command, tmp_path: Path
) -> None:
    """A column that was mapped is no column to go by, and the refusal says to which field; by
    `model` strata are those of judges, which is said where `model` was mapped to the system."""
    lines = [f"Why {n}?;Because {n}.;{'ash' if n % 2 else 'elm'}" for n in range(4)]
    (tmp_path / "in.csv").write_text("\n".join(["question;answer;model", *lines]) + "\n", "utf-8")
    mapped = ("--map", "prompt=question,response=answer,system=model")
    given = ("score", "in.csv", *PANEL, "--model", "openai:other", "--out", "run", *mapped, "--by")
    with serving() as server:
        refused = command(*given, "question", OPENAI_BASE_URL=server.base_url)
        assert not server.calls
        done = command(*given, "model", OPENAI_BASE_URL=server.base_url)
    said = "no column 'question' to go by, as it was mapped to the prompt (--map prompt=question)"
    assert (refused.returncode, said in " ".join(refused.stderr.split())) == (2, True)
    which = "column 'model' of the responses was mapped to the system (--map system=model)"
    assert done.returncode == 0, done.stderr
    assert which in " ".join(done.stderr.split())
    agreed = command("agree", "run", "--by", "model")
    assert which in " ".join(agreed.stderr.split())
    refused = command("agree", "run", "--by", "question")
    assert (refused.returncode, said in " ".join(refused.stderr.split())) == (2, True)
