"""A rubric in one of its variants, and a judgment in one call a dimension, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from persona_panel import ConfigurationError, Panel
from persona_panel.testing import ok, serving
from tests.helpers.command import Command

ROWS = [
    {"id": "a", "prompt": "Ban cars? Yes.", "conclusion": "Cars should be banned.",
     "response": "They stink.", "system": "s"},
    {"id": "b", "prompt": "Ban cars? Yes.", "response": "They are loud.", "system": "t"},
]  # fmt: skip


def test_novice_guidelines_one_dimension_at_a_time(command: Command, tmp_path: Path) -> None:
    """Each of fifteen calls a judgment asks for one dimension in the novices' words, about the
    conclusion where a response has one; run.json names the variant and how it was asked, a dry
    run foresees the calls, and the experts' guidelines are another run."""
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    asked: list[str] = []

    def script(n: int, payload: Any) -> Any:
        text = payload["messages"][-1]["content"]
        asked.append(text)
        [name] = payload["response_format"]["json_schema"]["schema"]["properties"]
        return ok(json.dumps({name: 2}))

    arguments = ("--personas", "none", "--model", "openai:stub", "--one-dimension-per-call")
    with serving(script) as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        score = ("score", "in.jsonl", "--rubric", "argument-quality:novice", *arguments)
        dry = command(*score, "--dry-run", "--json", **env)
        done = command(*score, "--out", "run", **env)
        assert done.returncode == 0, done.stderr
        assert len(asked) == 30 == json.loads(dry.stdout)["tables"]["models"][0]["calls"]
        other = command(
            "score", "in.jsonl", "--rubric", "argument-quality:expert", *arguments, "--out",
            "run", **env,
        )  # fmt: skip
    assert other.returncode == 2
    assert "rubric" in other.stderr
    assert done.stderr.count("1 of 2 responses have no text in the field 'conclusion'") == 1
    first = [text for text in asked if "They stink." in text]
    assert all("Cars should be banned." in text and "Ban cars?" not in text for text in first)
    assert all("Ban cars?" in text for text in asked if "They are loud." in text)
    assert sum("Each reason by itself might well be so." in text for text in asked) == 2
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert manifest["rubric"]["variant"] == "novice"
    assert manifest["rubric"]["variants"] == {}
    assert manifest["one_dimension_per_call"] is True
    line = json.loads((tmp_path / "run" / "judgments.jsonl").read_text().splitlines()[0])
    assert len(line["scores"]) == 15


def test_a_panel_file_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A panel file may name a variant, of a shipped rubric or of one beside it, no personas, a
    plain judge and one dimension a call."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    (tmp_path / "own.yaml").write_text(
        "id: own\nlabel: Own\nquestion: Good?\ndimensions:\n  - {id: clarity, label: C, "
        "definition: D, guiding_question: Q, scale: {min: 1, max: 3, low: a, high: b}}\n"
        'variants:\n  short: {label: short, question: "Well?"}\n'
    )
    file = tmp_path / "panel.yaml"
    for rubric, question in (("own.yaml:short", "Well?"), ("own.yaml", "Good?")):
        file.write_text(
            f"personas: disciplinary\nrubric: {rubric}\nmodels: [openai:stub]\n"
            "plain_judge: true\none_dimension_per_call: true\n"
        )
        panel = Panel.from_file(file)
        assert panel.rubric.question == question
        assert panel.plan.settings.one_dimension_per_call
        assert len(panel.judges) == 10
    file.write_text("rubric: argument-quality:expert\npersonas: none\nmodels: [openai:stub]\n")
    assert Panel.from_file(file).rubric.variant == "expert"


def test_one_number_cannot_be_asked_by_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    """An elicitation that weighs all dimensions together is refused, with those that do not, by
    the names under which they are chosen; of those only what the rubric can be asked by."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    refused = {"personas": "none", "models": "openai:stub", "elicitation": "holistic"}
    able = r"use 'dimensions' or 'expected' or 'justified' or 'yes-no', or leave it out"
    with pytest.raises(ConfigurationError, match=f"weighs all dimensions together; {able}"):
        Panel(**refused, one_dimension_per_call=True)
    with pytest.raises(ConfigurationError, match="use 'dimensions' or 'justified', or"):
        Panel(**refused, rubric="conceptual-critique", one_dimension_per_call=True)
