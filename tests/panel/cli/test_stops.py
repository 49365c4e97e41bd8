"""How `persona-panel score` stops before its end, and goes on: caps, Ctrl-C, a full disk."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server import Answer, ok, serving

COMMAND = str(Path(sys.executable).with_name("persona-panel"))
ANSWER = (
    '{"conceptual_clarity": 5, "evidential_grounding": 5, "contextual_relevance": 5, '
    '"pluralistic_engagement": 5, "argumentative_soundness": 5, "abstained": false}'
)


def answer(number: int, payload: Mapping[str, Any]) -> Answer:
    return ok(ANSWER)


class Desk:
    """A folder with a batch of 60 responses, a panel file of five judges, and a cache."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        rows = [
            {"id": f"r{i}", "prompt": "p", "response": f"text {i}", "system": "s"}
            for i in range(60)
        ]
        (folder / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "panel.yaml").write_text(
            "personas: disciplinary\nmodels:\n"
            f"  - {{model: 'openai:stub', base_url: '{url}', concurrency: 8}}\n"
        )
        self.env = os.environ | {"PERSONA_PANEL_CACHE": str(folder / "cache")}
        self.command = [COMMAND, "score", str(folder / "batch.jsonl")]
        self.command += ["--panel", str(folder / "panel.yaml"), "--out", str(folder / "run")]

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *more], env=self.env, capture_output=True, text=True, check=False
        )

    def summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = json.loads((self.folder / "run" / "summary.json").read_text())
        return summary

    def lines(self) -> list[dict[str, Any]]:
        text = (self.folder / "run" / "judgments.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]


def test_a_cap_on_calls_stops_exactly_there_and_the_next_run_makes_the_rest(
    tmp_path: Path,
) -> None:
    """300 judgments capped at 100 make 100 calls and exit 1; without the cap, 200 more and 0."""
    with serving(answer) as server:
        desk = Desk(tmp_path, server.base_url)
        capped = desk.run("--max-calls", "100")
        assert capped.returncode == 1
        assert len(server.calls) == 100
        coverage = desk.summary()["coverage"]
        assert (coverage["scored"], coverage["missing"]) == (100, {"skipped": 200})
        assert desk.run().returncode == 0
        assert len(server.calls) == 300
        assert len(desk.lines()) == 300


def test_a_cap_on_tokens_is_not_passed(tmp_path: Path) -> None:
    """What the provider reports as used stays within the cap."""
    with serving(answer) as server:
        desk = Desk(tmp_path, server.base_url)
        assert desk.run("--max-tokens", "50000").returncode == 1
        usage = desk.summary()["usage"]["openai:stub"]
        assert 0 < usage["input"] + usage["output"] <= 50_000


def test_a_cap_in_dollars_wants_a_known_price(tmp_path: Path) -> None:
    """An unknown price is not counted as nothing: exit 2, and no call."""
    with serving(answer) as server:
        refused = Desk(tmp_path, server.base_url).run("--max-usd", "1")
        assert refused.returncode == 2
        assert "price of openai:stub is not known" in refused.stderr
        assert not server.calls


def test_a_dry_run_calls_nothing_and_writes_nothing(tmp_path: Path) -> None:
    """--dry-run prints calls and an unknown price, makes no call and no run folder."""
    with serving(answer) as server:
        told = Desk(tmp_path, server.base_url).run("--dry-run")
        assert told.returncode == 0
        assert "300" in told.stdout
        assert "unknown" in told.stdout
        assert not server.calls
        assert not (tmp_path / "run").exists()


def test_ctrl_c_ends_at_once_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """Interrupted, a run says what is done within two seconds; resumed, it asks only the rest."""
    with serving(answer, latency_s=0.05) as server:
        desk = Desk(tmp_path, server.base_url)
        # A shell's background job ignores Ctrl-C, and so would what it starts.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        process = subprocess.Popen(
            desk.command, env=desk.env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        signal.signal(signal.SIGINT, before)
        while len(server.calls) < 40:
            time.sleep(0.02)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert time.monotonic() - started < 2
        assert process.returncode == 130
        assert "The same command goes on from there" in " ".join(said.split())
        assert len(server.calls) < 300
        assert desk.run().returncode == 0
        # Those in flight at the interruption, eight at most, are asked again.
        assert len(server.calls) <= 300 + 8
        assert len(desk.lines()) == 300


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_a_full_disk_stops_the_run_with_what_to_do(tmp_path: Path) -> None:
    """Where the cache's disk is full the run ends by itself, says so, and exits 1; once there is
    room, the same command asks only for the rest."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(small)], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")

    def wordy(number: int, payload: Mapping[str, Any]) -> Answer:
        return ok(random.Random(number).randbytes(2_000).hex() + ANSWER)

    try:
        with serving(wordy) as server:
            desk = Desk(tmp_path, server.base_url)
            desk.env["PERSONA_PANEL_CACHE"] = str(small / "cache")
            stopped = desk.run()
            assert stopped.returncode == 1
            assert "space" in stopped.stderr
            assert "Traceback" not in stopped.stderr
            assert 20 < len(server.calls) < 280
            subprocess.run(["mount", "-o", "remount,size=9m", str(small)], check=True)
            assert desk.run().returncode == 0
            # Those in flight when the disk was full, eight at most, are asked again.
            assert len(server.calls) <= 300 + 8
    finally:
        subprocess.run(["umount", str(small)], check=True)
