"""`persona-panel audit translation`: a translation is checked by back-translation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from persona_panel.experiments.dialogues import DialogueReply
from persona_panel.experiments.translation import BackTranslation, translation_result
from persona_panel.models.config import ModelConfig
from persona_panel.planning.languages import english_words, load_translation
from persona_panel.testing import ok, serving
from tests.helpers.command import Command

pytest.importorskip("sacrebleu")


def own_file(path: Path) -> None:
    """A translation that marks each English text of the instructions and one rubric, but for two:
    one says something else, and one is the same as another."""
    document = english_words().model_dump()
    document["name"] = "Marked"
    document["rubrics"] = {"offensiveness": document["rubrics"]["offensiveness"]}
    document["sets"] = document["personas"] = {}
    for name in ("give_json", "give_number"):
        document["instructions"][name] = "§ Nothing of that."
    path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")


def back(n: int, payload: Any) -> Any:
    """A translator who takes the mark away."""
    text = payload["messages"][-1]["content"]
    [shown] = re.findall(r"<text (\w+)>\n(.*)\n</text \1>", text, re.DOTALL)
    return ok(shown[1].removeprefix("§ "))


def test_each_text_is_translated_back_and_compared(command: Command, tmp_path: Path) -> None:
    """What comes back as it was has a chrF of 1, what says something else is named first; a text
    that stands twice is asked for once, and again all of it comes from the cache."""
    own_file(tmp_path / "mk.yaml")
    arguments = ("audit", "translation", "mk.yaml", "--model", "openai:stub")
    with serving(back) as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        dry = command(*arguments, "--dry-run", "--json", **env)
        assert (dry.returncode, len(server.calls)) == (0, 0), dry.stderr
        first = command(*arguments, "--json", **env)
        assert first.returncode == 0, first.stderr
        n = len(server.calls)
        again = command(*arguments, "--require", "chrf[all,openai:stub] > 0.5", **env)
        assert (again.returncode, len(server.calls)) == (0, n), again.stderr
        refused = command(*arguments, "--require", "least[instructions,openai:stub] > 0.9", **env)
        assert refused.returncode == 3
    tables = json.loads(first.stdout)["tables"]
    texts = tables["texts"]
    assert n < len(texts)
    assert {row["place"] for row in texts[:2]} == {"instructions.give_json",
                                                   "instructions.give_number"}  # fmt: skip
    assert all(row["chrf"] < 0.4 for row in texts[:2])
    assert {row["chrf"] for row in texts[2:]} == {1.0}
    parts = {row["part"]: row for row in tables["parts"]}
    assert list(parts) == ["instructions", "rubrics", "all"]
    assert parts["rubrics"]["chrf"]["value"] == 1.0
    mean = sum(row["chrf"] for row in texts) / len(texts)
    assert parts["all"]["chrf"]["value"] == pytest.approx(mean)
    assert "Marked, translated back by openai:stub" in again.stdout


def test_a_text_without_an_answer_is_missing(command: Command, tmp_path: Path) -> None:
    """An empty answer, twice, is a missing text, with its reason, and the status says so."""
    own_file(tmp_path / "mk.yaml")

    def script(n: int, payload: Any) -> Any:
        return ok("") if "Nothing of that" in json.dumps(payload) else back(n, payload)

    with serving(script) as server:
        done = command(
            "audit", "translation", "mk.yaml", "--model", "openai:stub", "--json",
            OPENAI_BASE_URL=server.base_url,
        )  # fmt: skip
    assert done.returncode == 1
    tables = json.loads(done.stdout)["tables"]
    assert {row["part"]: row["missing"] for row in tables["parts"]} == {
        "instructions": 2, "rubrics": 0, "all": 2,
    }  # fmt: skip
    assert [row["error"] for row in tables["texts"][-2:]] == ["unparsed: it is empty"] * 2


def test_models_are_told_the_language_and_not_the_original(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request names the language and has the translated text alone, in a fence."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    job = BackTranslation(load_translation("de"), [ModelConfig(model="openai:stub")])
    english, german = job.texts["instructions.system"]
    request = job._request(german)
    assert "the text in German" in request.blocks[0]
    assert german in request.blocks[0]
    assert english not in request.blocks[0]


def test_chrf_is_by_model() -> None:
    """Each model has its own figures; the original word for word has 1."""
    texts = {"sets.a": ("Five disciplines", "Fünf Disziplinen")}
    replies = {
        "one": [DialogueReply("Five disciplines")],
        "two": [DialogueReply("Quintet of subjects")],
    }
    result = translation_result("German", texts, replies)
    means = {(row["model"], row["part"]): row["chrf"].value for row in result["parts"].rows}
    assert means["one", "all"] == means["one", "sets"] == 1.0
    assert means["two", "all"] < 0.3
    assert [row["model"] for row in result["texts"].rows] == ["two", "one"]
