"""`score --language`: a batch in every language, from the dry run to the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from persona_panel import load_run
from persona_panel.analyses.methods import methods_of
from persona_panel.planning.languages import language_names, load_translation
from persona_panel.testing import ok, serving
from tests.helpers.command import Command

OTHERS = language_names()[1:]
NOTICE = (
    "Judges are asked in {}, in a translation that is not validated: their ratings may differ "
    "from those of judges who are asked in English."
)


def responses(path: Path) -> None:
    """Two systems' responses to three prompts."""
    rows = [
        {"prompt": f"Q{at}", "response": f"A {system} {at}.", "system": system}
        for at in range(3)
        for system in ("s", "t")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize("language", OTHERS)
def test_a_batch_in_a_language(command: Command, tmp_path: Path, language: str) -> None:
    """Judges are asked in its words, the dry run, run.json, the result, its methods and the page
    say that it is not validated, once each, and English judges answer none of it from the cache."""
    responses(tmp_path / "in.jsonl")
    asked: list[str] = []

    def script(n: int, payload: Any) -> Any:
        asked.append("\n".join(message["content"] for message in payload["messages"]))
        keys = payload["response_format"]["json_schema"]["schema"]["properties"]
        return ok(json.dumps({key: 8 if key != "abstained" else False for key in keys}))

    words = load_translation(language)
    notice = NOTICE.format(words.name)
    score = ("score", "in.jsonl", "--personas", "disciplinary", "--model", "openai:stub")
    with serving(script) as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        dry = command(*score, "--language", language, "--dry-run", **env)
        assert (dry.returncode, asked) == (0, [])
        assert notice in dry.stderr
        done = command(*score, "--language", language, "--out", "run", "--json", **env)
        assert done.returncode == 0, done.stderr
        assert notice in done.stderr
        n_asked = len(asked)
        assert n_asked == 30
        english = command(*score, "--out", "english", "--json", **env)
        assert len(asked) == 2 * n_asked
    for text in asked[:n_asked]:
        assert words.instructions.system in text
        assert words.instructions.give_json in text
        assert words.rubrics["scrub"]["question"] in text
        assert "You " not in text
    result = json.loads(done.stdout)
    assert result["conclusion"].count(notice) == 1
    assert methods_of(load_run(tmp_path / "run"))[0].count(notice) == 1
    assert "not validated" not in english.stdout
    manifest = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert manifest["notice"] == notice
    assert manifest["rubric"]["language"] == language
    assert manifest["rubric"]["translation"]["name"] == words.name
    report = command("report", "run")
    assert report.returncode == 0, report.stderr
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert page.count(notice) == 1
    for name in ("sociologist", "moral-philosopher"):
        assert words.personas[name].label in page


def test_another_language_is_another_run(command: Command, tmp_path: Path) -> None:
    """A folder of an English run is not continued in another language; a comparison names both."""
    responses(tmp_path / "in.jsonl")

    def script(n: int, payload: Any) -> Any:
        return ok("7")

    score = (
        "score", "in.jsonl", "--personas", "disciplinary", "--model", "openai:stub",
        "--elicitation", "holistic", "--out",
    )  # fmt: skip
    with serving(script) as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        command(*score, "run", **env)
        other = command(*score, "run", "--language", "de", **env)
        command(*score, "german", "--language", "de", **env)
    assert other.returncode == 2
    assert "differs in: language" in other.stderr
    compared = command("compare", "run", "german", "--full")
    assert "The panels differ in: language (English; German)." in compared.stdout


def test_an_unknown_language_is_refused(command: Command, tmp_path: Path) -> None:
    """The error names those there are and how to come by another."""
    responses(tmp_path / "in.jsonl")
    refused = command("score", "in.jsonl", "--model", "openai:stub", "--language", "fr")
    assert refused.returncode == 2
    assert "persona-panel library languages en" in refused.stderr
    assert ", ".join(language_names()) in refused.stderr
