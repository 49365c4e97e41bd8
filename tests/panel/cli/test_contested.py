"""`contested`: the responses on which personas disagree, from a run's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from persona_panel import Panel, Persona, Response
from persona_panel.cli.contested import contested
from persona_panel.results.conclusions.contested import contested_conclusion
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedModel

PERSONAS = [
    Persona(id=name, label=name.title(), axis=axis, description=f"You are {name}.")
    for name, axis in (("ann", "left"), ("bob", "left"), ("cat", "right"), ("dan", "right"))
]


def answers(model: str) -> Callable[[ModelRequest], str]:
    """3 of most texts; of the one with a banner 5 by the left and 1 by the right. The second model
    differs from the first once for ann and once for cat: that is the noise."""

    def answer(request: ModelRequest) -> str:
        asked = str(request)
        score = 3
        if "A banner" in asked:
            score = 5 if "You are ann" in asked or "You are bob" in asked else 1
        if model == "two":
            score += "essay 2" in asked and "You are ann" in asked
            score -= "essay 3" in asked and "You are cat" in asked
        return json.dumps({"good_opening": score})

    return answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six texts by four personas through two models."""
    out = tmp_path_factory.mktemp("contested") / "run"
    models = [ScriptedModel(answers(name), model=name) for name in ("one", "two")]
    panel = Panel(PERSONAS, models, "debate-speech")
    batch = [
        Response(id=f"r{i}", prompt="Why?", text=f"An essay {i}.", system="s") for i in range(5)
    ]
    panel.score([*batch, Response(id="b", prompt="Why?", text="A banner.", system="s")], out=out)
    return out


def test_the_contested_response_is_first_with_its_reasons(folder: Path) -> None:
    """Of six texts the one on which left and right part is named, with who is on which side."""
    result = CliRunner().invoke(contested, [str(folder), "--top", "1"])
    assert result.exit_code == 0, result.output
    assert "1 of 6 responses is contested" in result.output
    assert re.search(r"1\. s, p-\w+/b \(Why\?\)\n", result.output)
    assert "Above the panel are " in result.output
    assert re.search(r"\bAnn \(\+[12]\.\d\d\)", result.output)
    assert re.search(
        r"On average left personas are \d\.\d\d points above right ones on it: 2 of the 2 left "
        r"personas are above the panel, 2 of the 2 right personas below it\.",
        " ".join(result.output.split()),
    )
    assert "5 more responses: --top 6" in result.output


def test_json_has_the_fields_and_no_more_than_asked_for(folder: Path) -> None:
    """`--top 2` gives two objects; what could not be said would be null."""
    result = CliRunner().invoke(contested, [str(folder), "--top", "2", "--json"])
    document = json.loads(result.output)
    assert document["responses"][0]["id"] == "b"
    assert document["responses"][0]["title"] == "Why?"
    assert len(document["responses"]) == 2
    assert document["responses"][0]["established"]
    assert document["conclusion"][0].startswith("1 of 6 responses is contested")


def test_what_cannot_be_said_has_its_reason() -> None:
    """Nothing tested, nothing established, and some untested."""
    assert contested_conclusion(0, 0, ("why",)) == (
        "Which responses are contested cannot be said: why."
    )
    assert "on none of 3 do personas differ" in contested_conclusion(0, 3, ())
    assert contested_conclusion(2, 3, ("few",)).endswith(
        "Not every response could be tested (few)."
    )
