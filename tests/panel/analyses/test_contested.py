"""`contested`: the responses on which personas disagree, from a run's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from persona_panel import Panel, Persona, Response, contested, load_run
from persona_panel.analyses.contested import contested_conclusion
from persona_panel.cli.main import command
from persona_panel.results.result import Result
from persona_panel.rubrics import ModelRequest
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.personas import ContestedResponse
from persona_panel.testing import ScriptedModel
from tests.helpers.results import concluded_in

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
    result = CliRunner().invoke(command, ["contested", str(folder), "--top", "1"])
    assert result.exit_code == 0, result.output
    assert concluded_in(result.stdout).startswith("1 of 6 responses is contested")
    assert re.search(r"\n *s, p-\w+/b \(Why\?\) +\d\.\d\d ", result.output)
    assert "bove the panel are " in result.output
    assert re.search(r"\bAnn \(\+[12]\.\d\d\)", result.output)
    assert re.search(
        r"On average left personas are \d\.\d\d points above right ones on it: 2 of the 2 left "
        r"personas are above the panel, 2 of the 2 right personas below it\.",
        " ".join(result.output.split()),
    )
    assert "5 more responses: --top 6" in result.output


def test_the_title_says_no_more_than_the_conclusion(folder: Path) -> None:
    """Of one contested response the table is of contested ones; of more rows it says how many;
    where none is shown to be, as of the other five, it is of the widest spread."""
    run = load_run(folder)
    whole = "Responses with the widest spread between personas"
    assert titles(contested(run, top=1)) == ["Most contested responses (spread in points)"]
    assert titles(contested(run, top=2)) == [f"{whole}, 1 contested (spread in points)"]
    run.ratings[run.items.index(next(each for each in run.items if each.id == "b"))] = 3.0
    run.computed.clear()
    result = contested(run)
    assert result.conclusion[0].startswith("No response is shown to be contested")
    assert titles(result) == [f"{whole}, none shown to be contested (spread in points)"]


def titles(result: Result) -> list[str]:
    return [table.title for table in result.tables if table.title]


def test_json_has_the_figures_and_no_more_than_asked_for(folder: Path) -> None:
    """`--top 2` gives two objects, with each persona's departure; what names one response is an
    estimate whose p-value is adjusted over all six."""
    result = CliRunner().invoke(command, ["contested", str(folder), "--top", "2", "--json"])
    document = json.loads(result.output)
    tables = document["tables"]
    first = tables["responses"][0]
    assert (first["id"], first["title"], len(tables["responses"])) == ("b", "Why?", 2)
    assert first["established"]
    assert first["spread"]["p"] < first["spread"]["p_adjusted"] < 0.05
    departures = {
        row["persona"]: row["departure"] for row in tables["departures"] if row["id"] == "b"
    }
    assert departures["ann"] > 1
    assert departures["dan"] < -1
    assert [row["dimension"] for row in tables["dimensions"]] == ["good_opening"] * 2
    assert tables["counts"] == [{"responses": 6, "tested": 6, "contested": 1}]
    assert document["conclusion"][0].startswith("1 of 6 responses is contested")


def test_a_requirement_names_how_many_are_contested(folder: Path) -> None:
    """One is: none is not met and ends with 3; a run is taken in place of its folder."""
    for bound, status in ((1, 0), (0, 3)):
        words = ["contested", str(folder), "--require", f"contested_responses <= {bound}"]
        assert CliRunner().invoke(command, words).exit_code == status
    assert contested(load_run(folder), top=None)["responses"].rows[0]["id"] == "b"


def response(reason: Reason | None = None, *, p_adjusted: float = 0.5) -> ContestedResponse:
    return ContestedResponse(1.0, p=0.01, p_adjusted=p_adjusted, reason=reason)


def test_what_cannot_be_said_has_its_reason() -> None:
    """Nothing tested, nothing established, and some untested."""
    few = response(Reason.FEW_RATERS)
    assert contested_conclusion([few]) == [
        f"Which responses are contested is not known: {Reason.FEW_RATERS}."
    ]
    (said,) = contested_conclusion([response()] * 3)
    assert "on none of 3 do personas differ" in said
    (said,) = contested_conclusion([response(p_adjusted=0.04)] * 2 + [response(), few])
    assert said.startswith("2 of 3 responses are contested")
    assert said.endswith(f"Not every response could be tested ({Reason.FEW_RATERS}).")
