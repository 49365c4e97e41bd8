"""What survives a kill: runs as real processes, killed with -9 and started again."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from persona_panel.calls.stores.disk import _records
from persona_panel.testing import Answer, ok, serving
from tests.helpers import forked
from tests.helpers.command import COMMAND
from tests.helpers.fork_client import Forked
from tests.server import echo_headers, faulty

RESPONSES, JUDGES, CONCURRENCY = 60, 10, 16
JUDGMENTS = RESPONSES * JUDGES


class Desk:
    """A batch, a panel of ten judges on one server, and the command that reads it."""

    def __init__(self, folder: Path, url: str, elicitation: str = "dimensions") -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)
        rows = [
            {"id": f"r{i}", "prompt": f"p{i // 4}", "response": f"text {i}", "system": f"s{i % 4}"}
            for i in range(RESPONSES)
        ]
        (folder / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "panel.yaml").write_text(
            f"personas: perspectives\nelicitation: {elicitation}\nmodels:\n"
            f"  - {{model: 'openai:stub', base_url: '{url}', concurrency: {CONCURRENCY}, "
            "timeout: 5}\n"
        )

    def run_folder(self, name: str = "run") -> Path:
        return self._folder / name

    def start(self, name: str = "run") -> Forked:
        """The command, its output in a file."""
        batch, panel = str(self._folder / "batch.jsonl"), str(self._folder / "panel.yaml")
        with (self._folder / f"{name}.output").open("ab") as output:
            command = [COMMAND, "score", batch, "--panel", panel, "--out", self.run_folder(name)]
            return forked.begun(command, self._folder, os.environ, output)

    def run(self, name: str = "run") -> int:
        return self.start(name).wait(60)

    def verdicts(self, name: str = "run") -> bytes:
        return (self.run_folder(name) / "verdicts.csv").read_bytes()

    def judgments(self, name: str = "run") -> list[dict[str, Any]]:
        """judgments.jsonl, of which every line is whole and no two are of one judgment."""
        text = (self.run_folder(name) / "judgments.jsonl").read_text()
        assert text.endswith("\n")
        judgments = [json.loads(line) for line in text.splitlines()]
        assert len({(j["prompt_id"], j["id"], j["judge"]) for j in judgments}) == len(judgments)
        return judgments


def kill_when(process: Forked, moment: Callable[[], bool]) -> None:
    """SIGKILL, as soon as the moment has come; it must come before the process ends."""
    until = time.monotonic() + 30
    while not moment():
        assert process.poll() is None, "the run ended before it was killed"
        assert time.monotonic() < until, "the moment to kill it did not come"
        time.sleep(0.001)
    process.kill()
    assert process.wait(10) == -signal.SIGKILL


def test_what_was_answered_is_not_asked_again_after_two_kills(tmp_path: Path) -> None:
    """600 judgments, killed twice, take at most 600 good answers and those in flight."""
    with serving(faulty(0.1, seed=1), latency_s=0.02) as server:
        desk = Desk(tmp_path, server.base_url)
        for calls in (150, 450):
            kill_when(desk.start(), lambda calls=calls: len(server.calls) >= calls)
        assert desk.run() == 0
        judgments = desk.judgments()
        assert len(judgments) == JUDGMENTS
        assert {judgment["status"] for judgment in judgments} == {"scored"}
        # A stall of 0.3 s is an answer, too.
        answered = server.kinds["well"] + server.kinds["stall"]
        assert JUDGMENTS <= answered <= JUDGMENTS + 2 * CONCURRENCY
        assert sum(judgment["cached"] for judgment in judgments) >= 250


def test_two_processes_on_one_cache_ask_each_question_once(tmp_path: Path) -> None:
    """600 judgments by three processes, one of which is killed, take 600 answers and at most those
    that it had in flight; a fourth, begun in the middle, takes none."""
    with serving(latency_s=0.02) as server:
        desk = Desk(tmp_path, server.base_url)
        runs = [desk.start(name) for name in ("one", "two")]
        killed = desk.start("killed")
        kill_when(killed, lambda: len(server.calls) >= 200)
        runs.append(desk.start("late"))
        assert [run.wait(60) for run in runs] == [0, 0, 0]
        for name in ("one", "two", "late"):
            assert {j["status"] for j in desk.judgments(name)} == {"scored"}
            assert len(desk.judgments(name)) == JUDGMENTS
        asked = {json.dumps(call.payload, sort_keys=True) for call in server.calls}
        assert len(asked) == JUDGMENTS
        assert len(server.calls) <= JUDGMENTS + CONCURRENCY


def test_no_comparison_is_asked_for_again_after_a_kill(tmp_path: Path) -> None:
    """Pairs that were compared when a run was killed are not compared again."""
    # Four responses a prompt: 12 ordered pairs, for each judge.
    comparisons = RESPONSES // 4 * 12 * JUDGES
    with serving(faulty(0.1, seed=1), latency_s=0.01) as server:
        desk = Desk(tmp_path, server.base_url, "pairwise")
        for calls in (comparisons // 4, comparisons // 2):
            kill_when(desk.start(), lambda calls=calls: len(server.calls) >= calls)
        assert desk.run() == 0
        judgments = desk.judgments()
        assert len(judgments) == JUDGMENTS
        assert sum(len(judgment["comparisons"]) for judgment in judgments) == comparisons
        # A stall of 0.3 s is an answer, too.
        answered = server.kinds["well"] + server.kinds["stall"]
        assert comparisons <= answered <= comparisons + 2 * CONCURRENCY


def test_a_run_killed_while_it_replays_loses_no_judgment(tmp_path: Path) -> None:
    """Killed while it reads from the cache, a run leaves its folder as it was and the cache whole:
    the next one calls nothing."""
    with serving() as server:
        desk = Desk(tmp_path, server.base_url)
        assert desk.run() == 0
        verdicts, calls = desk.verdicts(), len(server.calls)
        page = (desk.run_folder() / "report.html").read_bytes()
        whole = (desk.run_folder() / "judgments.jsonl").read_bytes()
        again = desk.run_folder() / ".judgments.jsonl.new"
        kill_when(desk.start(), lambda: again.exists() and again.stat().st_size > 0)
        assert again.exists()
        assert (desk.run_folder() / "judgments.jsonl").read_bytes() == whole
        assert desk.verdicts() == verdicts
        assert (desk.run_folder() / "report.html").read_bytes() == page
        assert desk.run() == 0
        assert len(desk.judgments()) == JUDGMENTS
        assert desk.verdicts() == verdicts
        assert len(server.calls) == calls == JUDGMENTS
        assert sorted(path.name for path in desk.run_folder().iterdir()) == [
            "judgments.jsonl", "report.html", "responses.jsonl", "run.json", "spent.json",
            "summary.json", "verdicts.csv",
        ]  # fmt: skip


def test_a_run_whose_folder_is_moved_goes_on_where_it_is(tmp_path: Path) -> None:
    """It says what happened and ends with 1; the same command with the new folder calls nothing."""
    with serving(latency_s=0.02) as server:
        desk = Desk(tmp_path, server.base_url)
        process = desk.start()
        while len(server.calls) < 100:
            assert process.poll() is None
            time.sleep(0.001)
        desk.run_folder().rename(desk.run_folder("moved"))
        assert process.wait(60) == 1
        output = (tmp_path / "run.output").read_text()
        assert "run was moved or removed during the run" in " ".join(output.split())
        assert "Errno" not in output
        calls = len(server.calls)
        assert desk.run("moved") == 0
        assert len(server.calls) == calls == JUDGMENTS
    assert len(desk.judgments("moved")) == JUDGMENTS
    assert not desk.run_folder().exists()


def test_two_processes_on_one_cache_do_no_harm(tmp_path: Path) -> None:
    """Two runs over the same batch at the same time both end whole, with the same verdicts."""
    with serving(latency_s=0.02) as server:
        desk = Desk(tmp_path, server.base_url)
        both = [desk.start("one"), desk.start("other")]
        assert [process.wait(60) for process in both] == [0, 0]
        assert len(desk.judgments("one")) == len(desk.judgments("other")) == JUDGMENTS
        assert desk.verdicts("one") == desk.verdicts("other")
        # What one has been told the other need not ask, but for what both ask at once.
        made = len(server.calls)
        assert JUDGMENTS <= made <= 2 * JUDGMENTS
        assert desk.run("third") == 0
        assert len(server.calls) == made


@pytest.mark.parametrize("code", [400, 401, 500])
def test_a_key_that_a_server_echoes_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """An error that quotes the request's headers brings the key into no file and no output."""
    canary = "sk-canary-4f1d2c7e9ab35608"
    monkeypatch.setenv("OPENAI_API_KEY", canary)
    # Retried at once, so that the error is the last one soon.
    echo = replace(echo_headers(code), headers={"Retry-After": "0"})

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return ok() if number < 20 else echo

    with serving(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        desk = Desk(tmp_path, server.base_url)
        assert desk.run() == 1
        assert server.calls[-1].headers["Authorization"] == f"Bearer {canary}"
    failed = [judgment for judgment in desk.judgments() if judgment["status"] == "failed"]
    assert failed
    # The error was quoted, with a mask where the key stood.
    assert any("not with these headers" in judgment["error"] for judgment in failed)
    assert any("[secret]" in judgment["error"] for judgment in failed)
    written = dict(_written(tmp_path))
    assert {"run/judgments.jsonl", "run/summary.json", "run.output", "cache/cache.db"} <= set(
        written
    )
    assert sum(name.startswith("row ") for name in written) >= 20
    canary_in = [name for name, content in written.items() if b"canary" in content]
    assert canary_in == []


def _written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below the folder, and every reply in the cache, which is compressed there."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()
    with sqlite3.connect(Path(os.environ["PERSONA_PANEL_CACHE"]) / "cache.db") as cache:
        for key, value in cache.execute("SELECT key, value FROM Cache"):
            for number, (_, reply) in enumerate(_records(value)):
                compressed = not reply.startswith(b"{")
                yield f"row {key}, {number}", zlib.decompress(reply) if compressed else reply
    cache.close()
