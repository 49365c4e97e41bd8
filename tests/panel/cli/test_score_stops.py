"""How `persona-panel score` stops before its end, and goes on: caps, Ctrl-C, a full disk."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from persona_panel.testing import Answer, ok, serving, stall
from tests.helpers import forked
from tests.helpers.command import COMMAND

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
        self.command = [COMMAND, "score", "--full", str(folder / "batch.jsonl")]
        self.command += ["--panel", str(folder / "panel.yaml"), "--out", str(folder / "run")]

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        return forked.run([*self.command, *more], self.folder, self.env)

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
        assert "price of openai:stub is unknown" in refused.stderr
        assert not server.calls


@pytest.mark.parametrize(
    ("option", "cap"),
    [("--max-usd", "nan"), ("--max-usd", "inf"), ("--max-usd", "-1"), ("--max-usd", "0"),
     ("--max-calls", "0"), ("--max-calls", "nan"), ("--max-tokens", "-5")],
)  # fmt: skip
def test_a_cap_that_is_none_is_refused(option: str, cap: str, tmp_path: Path) -> None:
    """Exit 2 with the option's name, no call and no folder."""
    with serving(answer) as server:
        refused = Desk(tmp_path, server.base_url).run(option, cap)
        assert refused.returncode == 2
        assert option in refused.stderr
        assert not server.calls
    assert not (tmp_path / "run").exists()


def test_a_cap_holds_across_runs_into_a_folder(tmp_path: Path) -> None:
    """Capped at 100 calls, the same command again makes none; at 150 it makes 50 more, and says
    what was spent before; in another folder the cap begins anew."""
    with serving(answer) as server:
        desk = Desk(tmp_path, server.base_url)
        assert desk.run("--max-calls", "100").returncode == 1
        again = desk.run("--max-calls", "100")
        assert again.returncode == 1
        assert len(server.calls) == 100
        assert "Earlier runs in this folder made 100 calls" in again.stdout
        assert "100 of it by earlier runs in this folder" in " ".join(again.stdout.split())
        desk.run("--max-calls", "150")
        assert len(server.calls) == 150
        before = desk.summary()["calls"]["earlier_runs"]
        assert before["calls"] == 100
        assert before["tokens"] > 10_000
        assert before["usd"] is None
        desk.command[-1] = str(tmp_path / "other")
        desk.run("--max-calls", "50")
        assert len(server.calls) == 200


def test_a_run_without_a_cap_is_counted_by_a_later_one(tmp_path: Path) -> None:
    """What was spent without any cap, and tokens, count against a cap that comes later."""
    with serving(answer) as server:
        desk = Desk(tmp_path, server.base_url)
        desk.run("--limit", "10")
        assert len(server.calls) == 50
        spent = json.loads((tmp_path / "run" / "spent.json").read_text())
        assert spent["calls"] == 50
        used = spent["usage"]["openai:stub"]
        assert desk.run("--max-tokens", str(used["input"] + used["output"])).returncode == 1
        assert len(server.calls) == 50
        assert desk.run().returncode == 0
        assert len(server.calls) == 300
        assert json.loads((tmp_path / "run" / "spent.json").read_text())["calls"] == 300


def test_a_killed_run_has_spent_what_was_sent(tmp_path: Path) -> None:
    """Killed again and again, runs under one cap send together no more calls than it, and no call
    that was in flight is forgotten."""
    with serving(answer, latency_s=0.05) as server:
        desk = Desk(tmp_path, server.base_url)
        for stop_at in (20, 50, 80):
            process = forked.begun([*desk.command, "--max-calls", "120"], tmp_path, desk.env)
            deadline = time.monotonic() + 60
            while len(server.calls) < stop_at and time.monotonic() < deadline:
                time.sleep(0.01)
            process.kill()
            process.wait()
            spent = json.loads((tmp_path / "run" / "spent.json").read_text())
            # Up to eight were set aside, and may not have reached the server.
            assert len(server.calls) <= spent["calls"] <= len(server.calls) + 8
        assert desk.run("--max-calls", "120").returncode == 1
        assert 80 < len(server.calls) <= 120


def test_one_folder_is_one_process_s(tmp_path: Path) -> None:
    """A second process on a folder is refused at once and calls nothing; once the first is
    killed, nothing of it is in the way."""
    killed = threading.Event()

    # The first is answered slowly, so that it cannot end before the second has started.
    def answer_once_killed(number: int, payload: Mapping[str, Any]) -> Answer:
        return answer(number, payload) if killed.is_set() else stall(2)

    with serving(answer_once_killed) as server:
        desk = Desk(tmp_path, server.base_url)
        first = forked.begun([*desk.command, "--max-calls", "1000"], tmp_path, desk.env)
        deadline = time.monotonic() + 60
        while len(server.calls) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        second = desk.run("--max-calls", "10")
        first.kill()
        first.wait()
        killed.set()
        assert second.returncode == 2
        assert "another run is writing" in second.stderr
        n = len(server.calls)
        third = desk.run("--max-calls", str(n + 10))
        assert third.returncode == 1
        assert n < len(server.calls) <= n + 10


@pytest.mark.parametrize("content", ["{", "[]", '{"calls": -5, "usage": {}}', '{"calls": 5}'])
def test_a_record_that_cannot_be_read_is_refused(content: str, tmp_path: Path) -> None:
    """What it does not say cannot be counted: exit 2 with what to do, and no call."""
    with serving(answer) as server:
        desk = Desk(tmp_path, server.base_url)
        desk.run("--limit", "1")
        (tmp_path / "run" / "spent.json").write_text(content)
        refused = desk.run()
        assert refused.returncode == 2
        assert "spent.json is not a record of calls and tokens" in refused.stderr
        assert len(server.calls) == 5


def test_an_odd_usage_is_named_once(tmp_path: Path) -> None:
    """In the terminal by one line, in summary.json by model; what it took is an estimate, and
    every judgment is scored."""
    odd = {"prompt_tokens": -600, "completion_tokens": 3}
    with serving(lambda n, payload: ok(ANSWER, usage=odd)) as server:
        desk = Desk(tmp_path, server.base_url)
        done = desk.run("--limit", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("-600") == 1
    assert "openai:stub reported an impossible usage" in done.stdout
    calls = desk.summary()["calls"]
    assert "-600" in calls["odd_usage"]["openai:stub"]
    assert calls["estimated"]["calls"] == 10
    assert calls["estimated"]["tokens"] > 1000
    assert calls["estimated"]["usd"] is None


def test_calls_that_timed_out_are_told_of_as_estimated(tmp_path: Path) -> None:
    """A line says how many and what they count as, and summary.json has it."""
    late: set[str] = set()

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        asked = json.dumps(payload["messages"])
        if "text 0" in asked and asked not in late:
            late.add(asked)
            return stall(20)
        return ok(ANSWER)

    with serving(script) as server:
        desk = Desk(tmp_path, server.base_url)
        panel = (tmp_path / "panel.yaml").read_text()
        (tmp_path / "panel.yaml").write_text(
            panel.replace("concurrency: 8", "concurrency: 8, timeout: 1")
        )
        done = desk.run("--limit", "2")
    assert done.returncode == 0, done.stderr
    assert "The usage of 5 calls is unknown" in done.stdout
    assert desk.summary()["calls"]["estimated"]["calls"] == 5


def test_a_dry_run_calls_nothing_and_writes_nothing(tmp_path: Path) -> None:
    """--dry-run prints calls and an unknown price, makes no call and no run folder."""
    with serving(answer) as server:
        told = Desk(tmp_path, server.base_url).run("--dry-run")
        assert told.returncode == 0
        assert "300" in told.stdout
        assert "unknown" in told.stdout
        assert not server.calls
        assert not (tmp_path / "run").exists()


def test_a_dry_run_refuses_peoples_ratings_of_other_texts(tmp_path: Path) -> None:
    """Ratings of items that the batch does not have are refused by --dry-run as by the run."""
    (tmp_path / "people.csv").write_text("item,rater,score\nelsewhere,ann,3\nnowhere,ann,4\n")
    with serving(answer) as server:
        done = Desk(tmp_path, server.base_url).run("--human", "people.csv", "--dry-run")
        assert done.returncode == 2
        assert "people.csv" in done.stderr
        assert not server.calls


def test_ctrl_c_ends_at_once_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """Interrupted, a run says what is done within two seconds; resumed, it asks only the rest, and
    its progress counts from what is stored on."""
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
        assert "The same command continues the run" in " ".join(said.split())
        assert len(server.calls) < 300
        stored = len(desk.lines())
        done = desk.run()
        assert done.returncode == 0
        counts = [int(n) for n in re.findall(r"^(\d+)/300 judgments", done.stderr, re.MULTILINE)]
        assert (counts[0], counts[-1]) == (stored, 300)
        assert 0 < stored < 300
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
