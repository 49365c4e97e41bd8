"""Answers that turn out to be other requests' stay in no run, no folder and no cache."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from persona_panel import ModelConfig, Panel, Persona, Response, Run, load_run
from persona_panel.runs.run_remarks import run_remarks
from tests.helpers.judgments import PLAIN
from tests.helpers.stray_server import stray_server

READERS = [
    Persona(id=f"p{n}", label=f"Reader {n}", axis="own", description=f"You are PERSONA-{n}.")
    for n in range(4)
]
RESPONSES = [
    Response(id=f"r{i}", prompt=f"Why {i // 2}?", text=f"TEXT-{i} says.", system=f"s{i % 2}")
    for i in range(20)
]
DIMENSIONS = [dimension.id for dimension in PLAIN.dimensions]


def scores_for(asked: str) -> dict[str, int]:
    """The scores that belong to a text and a reader, by their marks."""
    digest = hashlib.sha256(asked.encode()).digest()
    return {name: 1 + digest[n] % 10 for n, name in enumerate(DIMENSIONS)}


def answer(words: str) -> str:
    """A judgment of what the words are about."""
    marks = re.findall(r"TEXT-\d+|PERSONA-\d+", words)
    return json.dumps({**scores_for(" ".join(sorted(marks))), "abstained": False})


def wrong(run: Run) -> int:
    """How many judgments in a run's folder have scores that belong to another request."""
    n = 0
    for judgment in run.judgments():
        marks = f"PERSONA-{judgment.judge.persona[1:]} TEXT-{judgment.id[1:]}"
        n += judgment.status == "scored" and dict(judgment.scores) != scores_for(marks)
    return n


@pytest.mark.parametrize(
    "settings",
    [
        {"place": "shift", "latency_s": 0.05},
        {"place": "shift", "latency_s": 0.3},
        {"place": "shift", "latency_s": 0.05, "every": 10},
        {"place": "shift", "latency_s": 0.3, "every": 10},
        {"place": "swapped", "latency_s": 0.02},
    ],
    ids=str,
)
def test_no_answer_of_a_shifted_connection_is_kept(
    settings: Mapping[str, Any], tmp_path: Path
) -> None:
    """A stray answer that is taken for the awaited one shifts those after it: all are taken back
    and asked again, which the run says first, and the same run again has them right as well."""
    with stray_server(answer=answer, **settings) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=12)
        panel = Panel(READERS, model, PLAIN)
        run = panel.score(RESPONSES, out=tmp_path / "run")
        assert wrong(run) == 0
        assert run.coverage.scored == len(READERS) * len(RESPONSES)
        assert run.calls.taken_back
        for each in (run, load_run(tmp_path / "run")):
            assert run_remarks(each)[0].startswith(f"{run.calls.taken_back:,} answers were taken")
        n_asked = len(server.asked)
        again = panel.score(RESPONSES, out=tmp_path / "again")
        assert wrong(again) == 0
        assert again.coverage.complete
        assert len(server.asked) == n_asked


def test_a_server_without_strays_is_asked_once_each(tmp_path: Path) -> None:
    """No answer of a server without fault is taken back, and no call repeated."""
    with stray_server("after", n_strays=0, answer=answer, latency_s=0.01) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=4)
        run = Panel(READERS, model, PLAIN).score(RESPONSES, out=tmp_path / "run")
    assert wrong(run) == 0
    assert run.calls.taken_back == 0
    assert len(server.asked) == len(set(server.asked)) == len(READERS) * len(RESPONSES)
