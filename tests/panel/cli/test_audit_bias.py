"""`persona-panel audit bias` on a run's folder, as a process of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from persona_panel import ModelConfig, Panel, Persona, Response
from persona_panel.testing import Answer, always, ok, serving
from tests.helpers.command import Command
from tests.helpers.results import statistics_of

READERS = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are a {name}.")
    for name in ("librarian", "critic")
]
RESPONSES = [
    Response(
        id=f"{system}-{i}",
        prompt=f"Question {i}?",
        text=" ".join(["word"] * (10 * (i + 1))),
        system=system,
    )
    for i in range(5)
    for system in ("gpt-5", "human")
]


def longer_is_better(number: int, payload: Mapping[str, Any]) -> Answer:
    """Agreement from 1 to 5 that rises with the length of what is judged; gpt-5 is a point more
    lenient, but for its ceiling."""
    words = payload["messages"][-1]["content"].count("word")
    score = words // 10 - (payload["model"] != "gpt-5" and words >= 20)
    return ok(json.dumps({"good_opening": score}))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run by two models on one dimension."""
    with serving(longer_is_better) as server:
        models = [
            ModelConfig(model=f"openai:{name}", base_url=server.base_url)
            for name in ("gpt-5", "claude-4")
        ]
        Panel(READERS, models, "debate-speech").score(RESPONSES, out=tmp_path / "run")
    return tmp_path / "run"


def test_every_bias_as_json(run: Path, command: Command) -> None:
    """All figures come as one list of rows, those that are undefined with their reason."""
    done = command("audit", "bias", run, "--json")
    assert done.returncode == 0, done.stderr
    rows = {(row["statistic"], row["group"]): row for row in statistics_of(done.stdout)}
    # gpt-5 gives 1, 2, 3, 4, 5 to 10, 20, … words, within either system.
    assert rows["length_correlation", "librarian|openai:gpt-5|dimensions|1"]["value"] == (
        pytest.approx(1)
    )
    # gpt-5: 1, 2, 3, 4, 5, claude-4: 1, 1, 2, 3, 4: half of 0, 1, 1, 1, 1 above the mean.
    lenient = rows["leniency", "critic|openai:gpt-5|dimensions|1"]
    assert lenient["value"] == pytest.approx(0.4)
    assert lenient["low"] < 0.4 < lenient["high"]
    # The difference is the same for its own responses and the human's.
    assert rows["self_preference", "openai"]["value"] == pytest.approx(0)
    assert "own family" in rows["self_preference", "anthropic"]["reason"]
    assert rows["persona_share", "openai:gpt-5"]["value"] == pytest.approx(0, abs=1e-9)
    # 1 three times, 2, 3 and 4 twice, 5 once, for each of two personas and systems.
    assert rows["mode_share", "all"]["value"] == pytest.approx(0.3)
    assert rows["position_bias", "all"]["value"] is None
    assert "both orders" in rows["position_bias", "all"]["reason"]


def test_tables(run: Path, command: Command) -> None:
    """The tables name every bias, and what is undefined says why."""
    done = command("audit", "bias", "--full", run)
    assert done.returncode == 0, done.stderr
    for title in ("Judges", "variance", "Self-preference", "Position", "10 responses, 4 judges"):
        assert title in done.stdout
    assert "leniency" in done.stdout
    assert "librarian|openai:gpt-5" in done.stdout


def test_position(tmp_path: Path, command: Command) -> None:
    """The run of a judge that always prefers what stands first has a bias of 1, in its tables
    and for each judge."""
    with serving(always(ok('{"better": "first"}'))) as server:
        model = ModelConfig(model="openai:gpt-5", base_url=server.base_url)
        Panel(READERS, model, "debate-speech", elicitation="pairwise").score(
            RESPONSES, out=tmp_path / "run"
        )
    done = command("audit", "bias", "--full", "run")
    assert done.returncode == 0, done.stderr
    _, table = done.stdout.split("Position bias:")
    for group in ("all", *(reader.id for reader in READERS)):
        assert f"{group} " in table
    assert table.count("1.000") == 3
    done = command("audit", "bias", "--full", "run", "--json")
    rows = {(row["statistic"], row["group"]): row for row in statistics_of(done.stdout)}
    # Five prompts of two responses, for each judge.
    assert rows["position_bias", "all"]["n_items"] == 10
    assert rows["position_bias", "critic|openai:gpt-5|pairwise|1"]["n_items"] == 5


def test_shares_are_no_points(run: Path, tmp_path: Path, command: Command) -> None:
    """Of judges that compare responses neither the tables nor the report's page say points, but
    shares of the other responses; of judges that rate them, points."""
    latex = command("audit", "bias", "--full", run, "--latex").stdout
    assert "own-family bonus, points" in latex and "leniency, points" in latex
    with serving(always(ok('{"better": "first"}'))) as server:
        models = [
            ModelConfig(model=f"openai:{name}", base_url=server.base_url)
            for name in ("gpt-5", "claude-4")
        ]
        panel = Panel(READERS, models, "debate-speech", elicitation="pairwise")
        panel.score(RESPONSES, out=tmp_path / "compared")
    done = command("audit", "bias", "--full", "compared")
    assert done.returncode == 0, done.stderr
    table = done.stdout.split("Self-preference by family")[1].split("Position bias")[0]
    assert "shares of the other responses" in table and "openai" in table
    assert "points" not in done.stdout
    assert command("report", "compared").returncode == 0
    page = (tmp_path / "compared" / "report.html").read_text("utf-8")
    assert "own-family bonus, shares of the other responses" in page
    assert "bonus, points" not in page and "leniency, points" not in page


def test_a_comparison_that_is_none(run: Path, command: Command) -> None:
    """A line whose comparisons cannot be read is named, with what was expected."""
    file = run / "judgments.jsonl"
    lines = file.read_text().splitlines()
    lines[1] = lines[1].replace('"comparisons":{}', '"comparisons":{"r2":"left"}')
    lines[2] = lines[2].replace('"comparisons":{}', '"comparisons":["r2"]')
    file.write_text("\n".join(lines) + "\n")
    done = command("audit", "bias", "run")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "judgments.jsonl:2: comparisons" in said
    assert "judgments.jsonl:3: comparisons" in said
    assert "first, second, tie" in said


def test_a_run_without_lengths(run: Path, command: Command) -> None:
    """Where verdicts.csv does not tell the words, length is undefined and the rest stands."""
    (run / "verdicts.csv").unlink()
    done = command("audit", "bias", run, "--json")
    assert done.returncode == 0, done.stderr
    rows = {(row["statistic"], row["group"]): row for row in statistics_of(done.stdout)}
    assert rows["length_correlation", "all"]["value"] is None
    assert "lengths of the responses are not known" in rows["length_correlation", "all"]["reason"]
    assert rows["score_entropy", "all"]["value"] > 0


def test_lengths_of_items_whose_names_look_like_formulas(tmp_path: Path, command: Command) -> None:
    """The words of a response are found where verdicts.csv has an apostrophe before its id."""
    rows = [
        {"id": f"=r{i}", "prompt": f"-Question {i // 2}?", "prompt_id": f"@q{i // 2}",
         "response": f"Text {'so ' * i}.", "system": ("alder", "birch")[i % 2]}
        for i in range(8)
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving() as server:
        command(
            "score", "in.jsonl", "--personas", "disciplinary", "--model", "openai:stub",
            "--out", "formulas", OPENAI_BASE_URL=server.base_url,
        )  # fmt: skip
    assert "'@q0,'=r0" in (tmp_path / "formulas" / "verdicts.csv").read_text()
    done = command("audit", "bias", "formulas", "--json")
    rows = {(row["statistic"], row["group"]): row for row in statistics_of(done.stdout)}
    assert rows["length_correlation", "all"]["n_items"] == 8


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: None, "no such file"),
        (lambda folder: folder.write_text("id,prompt\n"), "a file"),
        (lambda folder: folder.mkdir(), "a run's folder"),
    ],
)
def test_what_is_no_run(tmp_path: Path, command: Command, make: Any, said: str) -> None:
    """What is no run's folder is refused with exit 2 and what was expected."""
    make(tmp_path / "given")
    done = command("audit", "bias", "given")
    assert done.returncode == 2
    assert said in done.stderr
    assert "run's folder" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
