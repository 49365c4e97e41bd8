"""Sweeps and generated texts by provider batches: rewriting, answers and judgments go in rounds,
with the results of calls."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from persona_panel import Panel, RunFolderError
from persona_panel.analyses.run_summary import run_summary
from persona_panel.calls.budget import Caps
from persona_panel.experiments.generation import Generation
from persona_panel.experiments.sweep.running import Sweeping
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.rubrics import ModelRequest
from persona_panel.runs import executor
from persona_panel.runs.execution import Execution
from persona_panel.runs.folder import OutputFile
from persona_panel.runs.provider_batches import ByBatches, look, take_answers
from persona_panel.runs.request_files import ByFiles, RequestFiles
from persona_panel.testing import Answer, ScriptedModel, ScriptedServer, ok, serving
from persona_panel.testing.server import BatchScript
from tests.helpers.answers import answered
from tests.helpers.batches import (
    FAST,
    PERSONAS,
    RESPONSES,
    generated,
    generation,
    model_at,
    panel_at,
    swept,
)
from tests.sycophant import OPENERS, questions, world

FENCED = re.compile(r"<question (\w+)>\n(.*?)\n</question \1>", re.DOTALL)


@pytest.fixture(autouse=True)
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing a sweep takes seconds."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def doubting(number: int, payload: Mapping[str, Any]) -> Answer:
    """The world of sweeps, where the first placebo does not pass its check and the second does."""
    said = [one["content"] for one in payload["messages"] if one["role"] == "user"]
    schema = (payload.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    names = list(schema.get("properties", {}))
    if len(said) > 1:
        asked = FENCED.findall(said[0])[0][1]
        openers = OPENERS | {"placebo": "In short."}
        return ok(json.dumps({name: f"{openers[name]} {asked}" for name in names}))
    if "placebo_stands_alone" in names and "Quick one." in said[0]:
        return ok(json.dumps({name: name != "placebo_stands_alone" for name in names}))
    answer: Answer = world(sycophantic=True)(number, payload)
    return answer


def lines(path: Path, *without: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(({k: v for k, v in row.items() if k not in without} for row in rows), key=str)


def totals(server: ScriptedServer) -> list[int]:
    return [batch["request_counts"]["total"] for batch in server.batches.made]


def test_a_sweep_by_batches_is_the_sweep_by_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same variants, answers and judgments, each request in one batch and none called, at half
    the price: two prompts are rewritten, checked, rewritten once more and checked, answered under
    six conditions, and judged."""
    with serving(doubting) as server:
        live = swept(server.base_url, tmp_path / "live", batches=False)
        n_calls = len(server.calls)
        monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "other"))
        sweep = swept(server.base_url, tmp_path / "batched")
        assert (len(server.calls), totals(server)) == (n_calls, [2, 2, 2, 2, 12, 12])
        assert len(set(server.batches.asked)) == n_calls == 32
    assert sweep.complete
    for name, without in (
        ("judgments.jsonl", ["latency_s"]),
        ("responses.jsonl", ["latency_s"]),
        ("framings.jsonl", []),
    ):
        assert lines(tmp_path / "batched" / name, *without) == lines(
            tmp_path / "live" / name, *without
        )
    called, batched = (run_summary(one.run)["calls"] for one in (live, sweep))
    assert batched["made"] == called["made"] == 32
    assert batched["usd"] == pytest.approx(called["usd"] / 2, abs=1e-6)
    assert sorted(batched["usage"]) == sorted(f"{name} (batch)" for name in called["usage"])


def test_a_sweep_whose_cap_is_reached_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    """With room for 10 calls both prompts are rewritten and checked, and six answers are there;
    with room for 28 the rest is asked, and nothing again."""
    with serving(world(sycophantic=True)) as server:
        assert not swept(server.base_url, tmp_path / "run", Caps(calls=10)).complete
        assert totals(server) == [2, 2, 6]
        assert swept(server.base_url, tmp_path / "run", Caps(calls=28)).complete
        assert len(server.batches.asked) == len(set(server.batches.asked)) == 28
        assert not server.calls


def test_a_rewriter_without_batches_is_called_before_the_others_are_asked(tmp_path: Path) -> None:
    """What the others are asked follows from it: it is called four times, and answers and
    judgments go in two batches."""

    def writes(request: ModelRequest) -> str:
        names = list((request.schema or {})["properties"])
        if "placebo_stands_alone" in names:
            return json.dumps(dict.fromkeys(names, True))
        asked = FENCED.findall("".join(request.blocks))[0][1]
        return json.dumps({name: f"{OPENERS[name]} {asked}" for name in names})

    rewriter = ScriptedModel(writes)
    with serving(world(sycophantic=True)) as server:
        panel, model = Panel(PERSONAS[:1], model_at(server.base_url)), model_at(server.base_url)
        told: list[str] = []
        by = Execution(answered_by=ByBatches(tmp_path, told.append, FAST))
        job = Sweeping(panel.plan, questions(2), model, {"rewriters": [rewriter]})
        assert asyncio.run(job.run(execution=by)).complete
        assert (totals(server), len(server.calls)) == ([12, 12], 0)
    assert len(rewriter.requests) == 4
    assert "rewriter scriptedmodel:scripted has no batches here and is called as usual." in told


def test_judges_deliberate_with_a_model_that_has_no_batches(tmp_path: Path) -> None:
    """It is called while the others' requests are gathered, so that they can be asked about what it
    said: every judge of four responses has revised in round 1."""
    with serving() as server:
        models = [model_at(server.base_url), ScriptedModel()]
        panel = panel_at(server.base_url, models=models, deliberation=Deliberation(rounds=1))
        by = Execution(answered_by=ByBatches(tmp_path, print, FAST))
        run = asyncio.run(executor.score(panel.plan, RESPONSES, summary=run_summary, execution=by))
        assert not server.calls
        assert totals(server)[:2] == [8, 8]
    assert run.coverage.complete


def test_requests_of_a_sweep_are_answered_by_files(tmp_path: Path) -> None:
    """Rewriting, checks, answers and judgments are written out one after the other, as each is
    answered; then the sweep is made without a call."""
    with serving() as server:
        panel, model = Panel(PERSONAS[:1], model_at(server.base_url)), model_at(server.base_url)
        given = (panel.plan, questions(2), model, {})
        n, files = [], RequestFiles(tmp_path / "out")
        while (done := asyncio.run(Sweeping(*given).export(files))).requests:
            n.append(done.requests)
            answered(tmp_path / "out", world(sycophantic=True))
            files = RequestFiles(tmp_path / "out", tmp_path / "out")
        by = Execution(answered_by=ByFiles(tmp_path / "out", print))
        sweep = asyncio.run(Sweeping(*given).run(execution=by))
        assert (n, sweep.complete) == ([2, 2, 12, 12], True)
        assert (sweep.run.calls.made, server.calls, server.batches.made) == (0, [], [])


def test_texts_by_batches_are_the_texts_by_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four answers come in one batch, in the file that four calls make, and are counted once; the
    same command asks nothing more."""
    with serving() as server:
        live, batched = tmp_path / "live.jsonl", tmp_path / "batched.jsonl"
        generated(server.base_url, live, batches=False)
        monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "other"))
        for _ in range(2):
            assert generated(server.base_url, batched).complete
            spent = orjson.loads((tmp_path / "batched.spent.json").read_bytes())
            assert (spent["calls"], list(spent["usage"])) == (4, ["openai:stub (batch)"])
        assert (len(server.calls), totals(server)) == (4, [4])
    assert batched.read_bytes() == live.read_bytes()


def test_open_batches_of_texts(tmp_path: Path) -> None:
    """While a batch is open its texts are neither generated by calls nor replaced; it is looked at
    and waited for by the name of the file, and the same command then has the texts."""
    out = tmp_path / "texts.jsonl"

    def stop(line: str) -> None:
        if "in_progress" in line:
            raise KeyboardInterrupt

    with serving() as server:
        server.batches.script = BatchScript(looks=10_000)
        with pytest.raises(KeyboardInterrupt):
            generated(server.base_url, out, tell=stop)
        with pytest.raises(RunFolderError, match=r"texts.jsonl has open batches.*--batch and"):
            generated(server.base_url, out, batches=False)
        by = Execution(answered_by=ByBatches(out, print, FAST))
        with pytest.raises(RunFolderError, match="without --overwrite"):
            job = Generation(generation(server.base_url), OutputFile(out, overwrite=True))
            asyncio.run(job.run(execution=by))
        (now,) = asyncio.run(look(out))
        assert now.status is not None and now.status.phase == "working"
        server.batches.script = BatchScript()
        asyncio.run(take_answers(out, print, FAST))
        spent = orjson.loads((tmp_path / "texts.spent.json").read_bytes())
        assert spent["calls"] == 4
        assert generated(server.base_url, out).complete
        assert (server.calls, totals(server)) == ([], [4])
