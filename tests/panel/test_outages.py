"""A whole panel whose server is away, stopped or late: others go on, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from persona_panel import Judgment, ModelConfig, Panel, Persona, Response
from persona_panel.calls import endpoint as lines
from persona_panel.graphs.framing import FramedResponse
from persona_panel.testing import Answer, ok, serving, status
from tests.helpers.command import COMMAND
from tests.helpers.plain_rubric import plain_rubric
from tests.helpers.ports import free_port

ROOT = Path(__file__).parents[2]
READERS = [
    Persona(id=name, label=name.title(), axis="own", description=f"I am {name}.")
    for name in ("ann", "bob")
]
RUBRIC = plain_rubric("clarity", most=9)
RESPONSES = [Response(id=f"r{i}", prompt="What?", text=f"Text {i}.", system="s") for i in range(60)]
HEALTHY, LATE = "openai:healthy", "openai:late"


def judge_at(name: str, port: int, **more: Any) -> ModelConfig:
    # Two calls in flight: far fewer responses are read at once than there are.
    return ModelConfig(
        model=name, base_url=f"http://127.0.0.1:{port}/v1", concurrency=2, timeout=20, **more
    )


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server counts as down at its second fault, and is tried every twentieth of a second."""
    for name in ("_SILENCE_S", "_FIRST_PROBE_S", "_LONGEST_PROBE_S"):
        monkeypatch.setattr(lines, name, 0.05)


class Late:
    """A server that starts once the healthy model has said all that it has to say."""

    def __init__(self, expected: int, script: Any = None) -> None:
        self.port = free_port()
        self.told: list[Judgment] = []
        self._expected, self._script = expected, script
        self._at_work = ExitStack()

    def hear(self, event: object) -> None:
        if not isinstance(event, Judgment):
            return
        self.told.append(event)
        if event.judge.model == HEALTHY:
            self._expected -= 1
            if self._expected == 0:
                self._at_work.enter_context(serving(self._script, port=self.port))

    def __enter__(self) -> Late:
        return self

    def __exit__(self, *error: object) -> None:
        self._at_work.close()

    def statuses(self) -> set[tuple[str, str]]:
        return {(judgment.judge.model, judgment.status) for judgment in self.told}


BOTH = {(HEALTHY, "scored"), (LATE, "scored")}


def test_a_server_that_starts_late_holds_nobody_up(tmp_path: Path) -> None:
    """The other model reads all responses, many times more than are read at once, before the late
    one's server is there; then that reads them, too, and nothing is missing."""
    with serving() as healthy, Late(2 * len(RESPONSES)) as late:
        models = [judge_at(HEALTHY, healthy.port), judge_at(LATE, late.port)]
        run = Panel(READERS, models, RUBRIC).score(RESPONSES, on_judgment=late.hear)
        assert len(late.told) == 4 * len(RESPONSES)
        assert late.statuses() == BOTH
        assert run.calls.made >= 4 * len(RESPONSES)


def test_a_server_that_goes_away_holds_nobody_up(tmp_path: Path) -> None:
    """The same where the server has answered before it went away."""
    with Late(2 * len(RESPONSES)) as late, serving() as healthy, ExitStack() as before:
        before.enter_context(serving(port=late.port))

        def hear(judgment: Judgment) -> None:
            if judgment.judge.model == LATE:
                before.close()
            late.hear(judgment)

        models = [judge_at(HEALTHY, healthy.port), judge_at(LATE, late.port)]
        Panel(READERS, models, RUBRIC).score(RESPONSES, on_judgment=hear)
        assert len(late.told) == 4 * len(RESPONSES)
        assert late.statuses() == BOTH


def test_a_late_server_holds_up_no_comparison(tmp_path: Path) -> None:
    """The same where the responses to a prompt are compared with each other."""
    responses = [
        Response(id=f"r{i}", prompt=f"What {i // 2}?", text=f"Text {i}.", system=f"s{i % 2}")
        for i in range(60)
    ]

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return ok('{"A": 1, "B": 2}')

    with serving(script) as healthy, Late(2 * len(responses), script) as late:
        models = [judge_at(HEALTHY, healthy.port), judge_at(LATE, late.port)]
        panel = Panel(READERS, models, RUBRIC, elicitation="ranking")
        panel.score(responses, on_judgment=late.hear)
        assert len(late.told) == 4 * len(responses)
        assert late.statuses() == BOTH


def test_a_late_server_holds_up_no_sweep(tmp_path: Path) -> None:
    """The same in a sweep, of more prompts than are under way at once."""
    given = [
        FramedResponse(
            prompt_id=f"p{i}", prompt=f"What {i}?", system="s", condition=name, text=f"{name} {i}"
        )
        for i in range(40)
        for name in ("baseline", "placebo")
    ]
    with serving() as healthy, Late(2 * len(given)) as late:
        models = [judge_at(HEALTHY, healthy.port), judge_at(LATE, late.port)]
        Panel(READERS, models, RUBRIC).sweep(responses=given, on_event=late.hear)
        assert len(late.told) == 4 * len(given)
        assert late.statuses() == BOTH


def test_a_dead_model_is_skipped_once_the_patience_is_over(tmp_path: Path) -> None:
    """A server that never comes leaves its judgments missing with the reason, all others there."""
    told: list[Judgment] = []
    with serving() as healthy:
        models = [judge_at(HEALTHY, healthy.port), judge_at(LATE, free_port(), patience=1)]
        Panel(READERS, models, RUBRIC).score(RESPONSES, on_judgment=told.append)
    lost = [judgment for judgment in told if judgment.judge.model == LATE]
    assert {judgment.status for judgment in told if judgment not in lost} == {"scored"}
    assert {judgment.status for judgment in lost} == {"skipped"}
    assert all("it never answered in" in str(j.error) for j in lost)
    assert len(told) == 4 * len(RESPONSES)


@contextmanager
def a_process_of_its_own() -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The server's port, and the process that it is."""
    command = [sys.executable, "-m", "tests.server", "--latency", "0.01"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield orjson.loads(process.stdout.readline())["port"], process
        finally:
            process.kill()


def test_a_server_that_is_stopped_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that hangs for longer than all attempts of a call take loses no judgment."""
    monkeypatch.setattr("persona_panel.calls.endpoint.ATTEMPTS", 2)
    told: list[Judgment] = []
    with a_process_of_its_own() as (port, server):

        def hear(judgment: Judgment) -> None:
            told.append(judgment)
            if len(told) == 20:
                server.send_signal(signal.SIGSTOP)
                threading.Timer(4, server.send_signal, [signal.SIGCONT]).start()

        model = ModelConfig(
            model=LATE, base_url=f"http://127.0.0.1:{port}/v1", concurrency=8, timeout=0.5
        )
        run = Panel(READERS, [model], RUBRIC).score(RESPONSES, on_judgment=hear)
    assert {judgment.status for judgment in told} == {"scored"}
    assert len(told) == 2 * len(RESPONSES)
    assert run.calls.faults["timeout"] > 0


def test_a_run_that_is_stopped_and_goes_on(tmp_path: Path) -> None:
    """The same where it is the run that was stopped, for longer than a call may take."""
    rows = [{"id": r.id, "prompt": r.prompt, "response": r.text, "system": "s"} for r in RESPONSES]
    (tmp_path / "batch.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    with serving(latency_s=0.1) as server:
        (tmp_path / "panel.yaml").write_text(
            "personas: disciplinary\nmodels:\n"
            f"  - {{model: 'openai:stub', base_url: '{server.base_url}', timeout: 1}}\n"
        )
        command = [COMMAND, "score", "batch.jsonl", "--panel", "panel.yaml", "--out", "run"]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as run:
            while len(server.calls) < 40:
                time.sleep(0.01)
            run.send_signal(signal.SIGSTOP)
            time.sleep(2.5)
            run.send_signal(signal.SIGCONT)
            assert run.wait(60) == 0
    summary = orjson.loads((tmp_path / "run/summary.json").read_bytes())
    assert summary["coverage"]["scored"] == 5 * len(RESPONSES)


def test_a_clock_that_is_set_back_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour back in the middle of a run, with a provider that names a time of day to come again
    at: everything is scored, and no duration is below 0 or an hour."""
    told: list[Judgment] = []
    true_time = time.time
    soon = [status(429, headers={"Retry-After": at_http(true_time() + 2)})] * 3

    def hear(judgment: Judgment) -> None:
        told.append(judgment)
        monkeypatch.setattr(time, "time", lambda: true_time() - 3600)

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        # Sent with the server's own date: that of a machine whose clock is right.
        answer = soon[number % 3] if 20 <= number < 23 else ok()
        return replace(answer, headers=dict(answer.headers) | {"Date": at_http(true_time())})

    with serving(script) as server:
        model = ModelConfig(model=LATE, base_url=server.base_url, concurrency=4)
        run = Panel(READERS, [model], RUBRIC).score(RESPONSES, on_judgment=hear, out=tmp_path / "r")
    assert {judgment.status for judgment in told} == {"scored"}
    assert len(told) == 2 * len(RESPONSES)
    assert all(0 <= judgment.latency_s < 60 for judgment in told)
    assert 0 <= run.elapsed_s < 60


def at_http(moment: float) -> str:
    return format_datetime(datetime.fromtimestamp(moment, UTC), usegmt=True)
