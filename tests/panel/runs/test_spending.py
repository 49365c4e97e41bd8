"""What a run's folder says of what was spent: at every moment at least what it was."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from persona_panel import Caps, Judgment, ModelConfig, Panel, Persona, Response
from persona_panel.analyses.run_summary import run_summary
from persona_panel.runs.executor import Scoring
from persona_panel.runs.spending import record_in
from persona_panel.testing import ScriptedServer, serving
from tests.helpers import forked
from tests.helpers.command import COMMAND
from tests.helpers.fork_client import Forked
from tests.helpers.judgments import PLAIN

ANN = Persona(id="ann", label="Ann", axis="own", description="You are Ann.")
RESPONSES = [
    Response(id=f"r{i}", prompt="Why?", text=f"Text {i}.", system=f"s{i % 2}") for i in range(4)
]


def recorded(folder: Path) -> Any:
    """spent.json of a folder."""
    return json.loads((folder / "spent.json").read_text())


@pytest.mark.parametrize(("caps", "reserved"), [(Caps(), True), (Caps(calls=50), False)])
def test_what_a_killed_run_has_reserved_is_said_and_stays(
    caps: Caps, reserved: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """While a run without a cap goes on, spent.json has calls to come in `reserved`, which a run
    that ends takes back. Of one that was killed, the next start and a dry run say so, and add no
    more once they have ended. With a cap there is nothing but what was set aside for calls."""

    def killed_here(_: Judgment) -> None:
        if not (tmp_path / "killed").exists():
            shutil.copytree(tmp_path / "run", tmp_path / "killed")

    with serving() as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=3)
        panel = Panel([ANN], model, PLAIN)
        panel.score(RESPONSES, out=tmp_path / "run", caps=caps, on_judgment=killed_here)
        assert recorded(tmp_path / "run")["calls"] == 4
        assert recorded(tmp_path / "run")["reserved"] == {"calls": 0, "usage": {}}
        left = recorded(tmp_path / "killed")["reserved"]
        assert bool(left["calls"]) == bool(left["usage"]) == reserved
        held = Scoring(panel.plan, RESPONSES, tmp_path / "killed", summary=run_summary).held()
        assert held is not None
        assert held.unsure.calls == left["calls"]
        assert "may have been made" not in caplog.text
        panel.score(RESPONSES, out=tmp_path / "killed", caps=caps)
    assert recorded(tmp_path / "killed")["reserved"] == left
    said = f"up to {left['calls']} calls more than they have recorded may have been made"
    assert (said in caplog.text) == reserved


def test_caps_count_what_killed_runs_may_have_spent(tmp_path: Path) -> None:
    """A cap leaves room for what is beside both what is recorded and what is reserved; what is
    shown as spent is only what is recorded."""
    for n_calls, n_tokens, made in ((8, None, 2), (None, 1, 0), (None, None, 3)):
        folder = tmp_path / f"{n_calls}-{n_tokens}"
        with serving() as server:
            model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=1)
            panel = Panel([ANN], model, PLAIN)
            panel.score(RESPONSES, out=folder, caps=Caps(calls=1))
            kept = recorded(folder)
            kept["reserved"] = {"calls": 5, "usage": kept["usage"]}
            (folder / "spent.json").write_text(json.dumps(kept))
            spent, unsure = record_in(folder / "spent.json")
            tokens = None if n_tokens is None else spent.tokens + unsure.tokens + n_tokens
            run = panel.score(RESPONSES, out=folder, caps=Caps(calls=n_calls, tokens=tokens))
            assert len(server.calls) == 1 + made
            assert run.calls.before.calls == 1


def test_a_record_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """It said how many calls it did not count, and nothing of what they took."""
    path = tmp_path / "spent.json"
    path.write_text('{"calls": 3, "usage": {}, "uncounted": 34}')
    spent, unsure = record_in(path)
    assert (spent.calls, unsure.calls, unsure.usage) == (3, 34, {})


class _Runs:
    """A command that is started and killed, and whether spent.json is ahead of its server."""

    def __init__(self, folder: Path, server: ScriptedServer, *options: str) -> None:
        self._folder, self._server = folder, server
        rows = [
            {"id": f"r{i}", "prompt": f"p{i // 4}", "response": f"text {i}", "system": "s"}
            for i in range(30)
        ]
        (folder / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        model = f"{{model: 'openai:stub', base_url: '{server.base_url}', concurrency: 8}}"
        (folder / "panel.yaml").write_text(f"personas: perspectives\nmodels:\n  - {model}\n")
        panel = folder / "panel.yaml"
        self._command: list[str | Path] = [COMMAND, "score", folder / "batch.jsonl", *options]
        self._command += ["--panel", panel, "--out", folder / "run"]
        self.looks = 0

    def begin(self) -> Forked:
        with (self._folder / "output").open("ab") as output:
            return forked.begun(self._command, self._folder, os.environ, output)

    def killed(self, calls: int) -> None:
        """Run until so many calls have come, and a little longer."""
        process = self.begin()
        while len(self._server.calls) < calls and process.poll() is None:
            self.look()
        process.kill()
        process.wait(10)
        self.look()

    def look(self) -> None:
        """Compare. What the server has is counted first: more may come while the file is read."""
        calls = len(self._server.calls)
        if (self._folder / "run" / "spent.json").exists():
            self.looks += 1
            spent, unsure = record_in(self._folder / "run" / "spent.json")
            assert spent.calls + unsure.calls >= calls
            # The server's own count for each call.
            tokens = sum(_tokens(call.payload) for call in self._server.calls[:calls])
            assert spent.tokens + unsure.tokens >= tokens
        time.sleep(0.001)


def _tokens(payload: Mapping[str, Any]) -> int:
    """What the scripted server reports to have read."""
    return sum(len(message["content"].split()) for message in payload["messages"])


def test_the_record_is_never_behind_the_server_s(tmp_path: Path) -> None:
    """300 judgments killed five times at random moments: whenever one looks, spent.json has at
    least the calls and the tokens that the server has had."""
    drawn = random.Random(7)
    with serving(latency_s=0.02) as server:
        runs = _Runs(tmp_path, server)
        for n in range(5):
            runs.killed(drawn.randrange(50 * n + 1, 50 * n + 50))
        process = runs.begin()
        while process.poll() is None:
            runs.look()
        runs.look()
        assert process.wait(10) == 0
        assert runs.looks > 50


def test_killed_runs_never_pass_a_cap(tmp_path: Path) -> None:
    """A run with a cap of 150 calls that is killed three times makes 150 at most in truth, those
    of a first start without a cap counted in."""
    with serving(latency_s=0.02) as server:
        _Runs(tmp_path, server).killed(20)
        capped = _Runs(tmp_path, server, "--max-calls", "150")
        for calls in (50, 70, 90):
            capped.killed(calls)
        capped.begin().wait(60)
        assert 90 <= len(server.calls) <= 150
