"""The lines of the list: their order, what they say, and that a run that has ended is read once."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from persona_panel.view.lines import Lines, RunFolders, RunLine, Writers
from tests.helpers.viewed import scored


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has ended."""
    folder = tmp_path_factory.mktemp("ended")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERSONA_PANEL_CACHE", str(folder / "cache"))
        scored(folder / "run")
    return folder / "run"


def lines_of(root: Path) -> list[RunLine]:
    return Lines(RunFolders(root), Writers()).all()


def change(file: Path, **values: Any) -> None:
    """Change fields of a file of JSON."""
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def begun(folder: Path, at: str) -> None:
    """Have a run's last start be at this time."""
    start = json.loads((folder / "run.json").read_text())["starts"][-1]
    change(folder / "run.json", starts=[start | {"at": at}])


def test_the_latest_come_first_and_unreadable_ones_last(ended: Path, tmp_path: Path) -> None:
    for name, at in (("old", "2020-01-01T00:00:00Z"), ("new", "2024-01-01T00:00:00Z")):
        shutil.copytree(ended, tmp_path / name)
        begun(tmp_path / name, at)
    (tmp_path / "a-broken-one").mkdir()
    (tmp_path / "a-broken-one" / "run.json").write_text("{}")
    assert [line.name for line in lines_of(tmp_path)] == ["new", "old", "a-broken-one"]


def test_what_a_run_came_to(ended: Path, tmp_path: Path) -> None:
    """Which system is best and how far judges agree, as its summary answers; without answers, as
    in a sweep, the first sentence of its conclusion. Completeness is rounded down, so that nothing
    that is missing looks whole."""
    run = tmp_path / "run"
    shutil.copytree(ended, run)
    best, trust = json.loads((run / "summary.json").read_text())["answers"][:2]
    [line] = lines_of(tmp_path)
    assert (best["question"], line.answer) == ("best", best["sentence"])
    assert float(line.agreement.replace("\N{MINUS SIGN}", "-")) == pytest.approx(
        trust["estimate"]["value"], abs=0.005
    )
    assert (line.texts, line.judges, line.state) == (24, 5, "ended")
    trust["estimate"] = {"value": None, "reason": "one judge"}
    coverage = {"expected": 100_000, "scored": 99_989, "abstained": 10}
    change(run / "summary.json", answers=[trust], conclusion=["Held."], coverage=coverage)
    [line] = lines_of(tmp_path)
    assert (line.answer, line.complete, line.agreement) == ("Held.", "99.9 %", "")


def test_a_run_whose_last_start_has_no_end_is_stopped(ended: Path, tmp_path: Path) -> None:
    """With an earlier start's summary, too; it has an answer no more."""
    run = tmp_path / "run"
    shutil.copytree(ended, run)
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
    begun(run, later)
    for path in run.iterdir():
        os.utime(path, (time.time() - 7200, time.time() - 7200))
    [line] = lines_of(tmp_path)
    why = "no process writes it, and it has not come to its end"
    assert (line.state, line.answer, line.complete) == ("stopped", why, "")
    (run / "summary.json").unlink()
    assert lines_of(tmp_path)[0].state == "stopped"
    # A copy from a machine whose clock is ahead is written by nobody, either.
    ahead = time.time() + 7200
    os.utime(run / "judgments.jsonl", (ahead, ahead))
    assert lines_of(tmp_path)[0].state == "stopped"
    (run / "summary.json").write_text("{")
    assert lines_of(tmp_path)[0].answer == "summary.json cannot be read"
    (run / "judgments.jsonl").unlink()
    assert lines_of(tmp_path)[0].answer == "it has no judgments.jsonl"


@pytest.mark.parametrize(
    ("n_left", "later", "answer"),
    [
        (0, False, "judgments.jsonl was changed after the run ended."),
        (119, True, "judgments.jsonl was changed after the run ended."),
        (None, True, "judgments.jsonl was deleted after the run ended."),
        (120, True, None),
    ],
)
def test_judgments_that_have_gone_since_the_end_are_missed(
    ended: Path, tmp_path: Path, n_left: int | None, later: bool, answer: str | None
) -> None:
    """Whatever a summary says of 120: `n_left` lines, none where there is no file; `later`: written
    after the summary, as by whoever cut them, and not as a disk that has lost them."""
    run = tmp_path / "run"
    shutil.copytree(ended, run)
    [whole] = lines_of(tmp_path)
    judgments, ended_at = run / "judgments.jsonl", (run / "summary.json").stat().st_mtime
    kept = judgments.read_text().splitlines(keepends=True)[:n_left]
    judgments.unlink()
    if n_left is not None:
        judgments.write_text("".join(kept))
        os.utime(judgments, (ended_at + later, ended_at + later))
    [line] = lines_of(tmp_path)
    if answer is None:
        assert line == whole
    else:
        assert (line.state, line.answer, line.complete, whole.complete) == (
            "damaged", answer, "", "100 %"
        )  # fmt: skip


def test_a_run_that_has_ended_is_read_once(ended: Path, tmp_path: Path) -> None:
    """And again when one of its files has another size or time."""
    run = tmp_path / "run"
    shutil.copytree(ended, run)
    change(run / "summary.json", answers=[], conclusion=["one"])
    lines = Lines(RunFolders(tmp_path), Writers())
    assert lines.all()[0].answer == "one"
    before = (run / "summary.json").stat()
    change(run / "summary.json", conclusion=["two"])
    os.utime(run / "summary.json", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert lines.all()[0].answer == "one"
    os.utime(run / "summary.json")
    assert lines.all()[0].answer == "two"


def test_a_folder_that_is_itself_a_run_is_listed(ended: Path) -> None:
    assert [line.name for line in lines_of(ended)] == ["."]


def test_runs_are_found_some_levels_down_and_hidden_ones_are_not(
    ended: Path, tmp_path: Path
) -> None:
    for name in ("a/b/c/d", "a/b/c/d2/e", ".hidden/run", "x/.hidden"):
        shutil.copytree(ended, tmp_path / name)
    shutil.copytree(ended, tmp_path / "y")
    shutil.copytree(ended, tmp_path / "y" / "within")
    folders = RunFolders(tmp_path)
    assert sorted(folders.names()) == ["a/b/c/d", "y"]
    assert [name for name in ("a/b/c/d2/e", "y/within", "x/.hidden") if folders.path_of(name)] == []


def test_links_in_a_circle_have_an_end(ended: Path, tmp_path: Path) -> None:
    shutil.copytree(ended, tmp_path / "run")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "back").symlink_to(tmp_path)
    (tmp_path / "folder" / "run").symlink_to(tmp_path / "run")
    assert sorted(RunFolders(tmp_path).names()) == ["folder/run", "run"]


def test_a_thousand_runs_are_listed_within_two_seconds(ended: Path, tmp_path: Path) -> None:
    """Of CPU, the first time; then in a fraction of it."""
    for number in range(1000):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        for name in ("run.json", "summary.json", "spent.json", "judgments.jsonl"):
            # Of one file: the disk is no part of what is measured.
            os.link(ended / name, folder / name)
    lines = Lines(RunFolders(tmp_path), Writers())
    began = time.process_time()
    assert len(lines.all()) == 1000
    first = time.process_time() - began
    lines.all()
    again = time.process_time() - began - first
    assert (first < 2.0, again < first / 2) == (True, True), (first, again)
