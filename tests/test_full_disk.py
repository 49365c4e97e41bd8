"""A disk that fills up in the middle of a run: what was paid for is not lost, and it is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from persona_panel.testing import ScriptedServer, serving
from tests.helpers import forked
from tests.helpers.command import COMMAND
from tests.helpers.fork_client import Forked

JUDGMENTS = 200


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = shutil.which("mount")
    if mount is None:
        pytest.skip("there is no mount")
    command = [mount, "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


class Desk:
    """A batch of 200 judgments, and the command that scores it into folders."""

    def __init__(self, folder: Path, server: ScriptedServer, cache: Path) -> None:
        self._folder, self._server = folder, server
        rows = [
            {"id": f"r{i}", "prompt": f"p{i // 4}", "response": f"text {i}", "system": "s"}
            for i in range(JUDGMENTS // 10)
        ]
        (folder / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        model = f"{{model: 'openai:stub', base_url: '{server.base_url}', concurrency: 16}}"
        (folder / "panel.yaml").write_text(f"personas: perspectives\nmodels:\n  - {model}\n")
        self._environment = os.environ | {"PERSONA_PANEL_CACHE": str(cache)}

    def begin(self, out: Path, *options: str) -> Forked:
        with (self._folder / f"{out.name}.output").open("wb") as output:
            command: list[str | Path] = [COMMAND, "score", self._folder / "batch.jsonl", *options]
            command += ["--panel", self._folder / "panel.yaml", "--out", out]
            return forked.begun(command, self._folder, self._environment, output)

    def said(self, out: Path) -> str:
        return (self._folder / f"{out.name}.output").read_text()

    def when_called(self, calls: int) -> None:
        until = time.monotonic() + 30
        while len(self._server.calls) < calls:
            assert time.monotonic() < until
            time.sleep(0.001)

    @property
    def asked(self) -> int:
        """How many different requests there were."""
        return len({json.dumps(call.payload, sort_keys=True) for call in self._server.calls})


def fill(place: Path) -> Path:
    """Take all the room that is left."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return filler


def scored(run: Path) -> int:
    """How many judgments a folder has; no line is cut off."""
    lines = (run / "judgments.jsonl").read_text().splitlines()
    return sum(json.loads(line)["status"] == "scored" for line in lines)


@pytest.mark.parametrize("full", ["cache", "run"])
def test_a_full_disk_loses_nothing_that_was_paid_for(
    full: str, tmp_path: Path, small: Path
) -> None:
    """The disk of the cache, or of the run's folder, is full after 60 of 200 answers: the run stops
    with a sentence that names it, after the calls in flight; once there is room the same command
    asks only what was not asked. A full cache leaves all answers in the run, too."""
    cache = small / "cache" if full == "cache" else tmp_path / "cache"
    run = small / "run" if full == "run" else tmp_path / "run"
    with serving(latency_s=0.02) as server:
        desk = Desk(tmp_path, server, cache)
        process = desk.begin(run)
        desk.when_called(60)
        filler = fill(small)
        assert process.wait(60) == 1
        named = run if full == "run" else cache
        assert f"{named} cannot be written (No space left on device)" in desk.said(run)
        before = len(server.calls)
        assert before < JUDGMENTS
        spent = json.loads((run / "spent.json").read_text())
        assert (spent["calls"], spent["reserved"]["calls"]) == (before, 0)
        if full == "cache":
            assert scored(run) == before
        filler.unlink()
        assert desk.begin(run).wait(60) == 0
        assert len(server.calls) == desk.asked == JUDGMENTS
        assert scored(run) == JUDGMENTS


def test_a_full_cache_stops_all_who_share_it_without_loss(tmp_path: Path, small: Path) -> None:
    """Two runs on one cache, whose disk is full after 60 answers: both stop, or end where the
    other has asked the rest; started again they pay for nothing twice."""
    runs = [tmp_path / "one", tmp_path / "two"]
    with serving(latency_s=0.02) as server:
        desk = Desk(tmp_path, server, small / "cache")
        processes = [desk.begin(run) for run in runs]
        desk.when_called(60)
        filler = fill(small)
        assert 1 in [process.wait(60) for process in processes]
        filler.unlink()
        assert [desk.begin(run).wait(60) for run in runs] == [0, 0]
        assert len(server.calls) == desk.asked == JUDGMENTS
        assert [scored(run) for run in runs] == [JUDGMENTS] * 2


def test_what_was_spent_has_its_room_from_the_start(tmp_path: Path, small: Path) -> None:
    """spent.json alone on a full disk: a run goes on to its end, as the room was taken before; one
    that finds none does not begin."""
    run = tmp_path / "run"
    with serving() as server:
        desk = Desk(tmp_path, server, tmp_path / "cache")
        assert desk.begin(run, "--max-calls", "10").wait(60) in (0, 1)
        assert len(server.calls) == 10
        shutil.move(run / "spent.json", small / "spent.json")
        (run / "spent.json").symlink_to(small / "spent.json")
        filler = fill(small)
        assert desk.begin(run).wait(60) == 0
        assert json.loads((run / "spent.json").read_text())["calls"] == JUDGMENTS
        other = tmp_path / "other"
        desk = Desk(tmp_path, server, tmp_path / "another-cache")
        assert desk.begin(other, "--max-calls", "10").wait(60) in (0, 1)
        (other / "spent.json").unlink()
        (other / "spent.json").symlink_to(small / "new.json")
        before = len(server.calls)
        assert desk.begin(other).wait(60) == 2
        assert "spent.json cannot be written: No space left on device" in desk.said(other)
        assert len(server.calls) == before
        filler.unlink()
        assert desk.begin(other).wait(60) == 0
        assert len(server.calls) - before == JUDGMENTS - 10
