"""The judgments of a file that grows, and the ranking of them: what the run itself would say."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path

import pytest

from persona_panel import Panel, Run, load_run
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedModel
from persona_panel.testing.scripted_model import stable_hash
from persona_panel.view import live_run
from persona_panel.view.live_run import LiveRatings
from tests.helpers.viewed import JUDGES, JUDGMENTS, PROMPTS, SYSTEMS, responses, scored


def ratings_of(run: Run) -> LiveRatings:
    """Those of its folder, before any is read."""
    return LiveRatings(run.items, run.judges, run.rubric)


def file_of(run: Run) -> Path:
    assert run.folder is not None
    return run.folder / "judgments.jsonl"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run that has ended."""
    return scored(tmp_path / "run")


def test_a_file_is_read_as_it_grows_and_torn_lines_once_they_are_whole(
    run: Run, tmp_path: Path
) -> None:
    """However the lines are cut, each counts once."""
    content, growing = file_of(run).read_bytes(), tmp_path / "growing.jsonl"
    ratings = ratings_of(run)
    for end in range(0, len(content) + 700, 700):
        growing.write_bytes(content[:end])
        # The same file, that has grown: writing it anew keeps its inode.
        ratings.read(growing)
        assert ratings.n_done == content[:end].count(b"\n")
    assert (ratings.n_done, ratings.n_unreadable, ratings.n_lines) == (JUDGMENTS, 0, JUDGMENTS)


@pytest.mark.parametrize("how", ["shorter", "replaced", "longer"])
def test_a_file_that_is_made_anew_is_read_from_its_beginning(
    run: Run, tmp_path: Path, how: str
) -> None:
    """Also where it was emptied and has grown beyond its old end since the last look."""
    lines = file_of(run).read_bytes().splitlines(keepends=True)
    file, ratings = tmp_path / "made-again.jsonl", ratings_of(run)
    file.write_bytes(b"".join(lines[:40]))
    ratings.read(file)
    assert ratings.n_done == 40
    if how == "replaced":
        file.rename(tmp_path / "old.jsonl")
    again = lines[60:] if how == "longer" else lines[60:80]
    file.write_bytes(b"".join(again))
    ratings.read(file)
    assert ratings.n_done == len(again)


def test_lines_of_something_else_are_left_out(run: Run, tmp_path: Path) -> None:
    """They count as unreadable, and end nothing."""
    whole = json.loads(file_of(run).read_bytes().splitlines()[0])
    odd = [
        b"", b"{", b"[]", b"null", b'"a"', b"\xff", b"{}",
        *(json.dumps(whole | change).encode() for change in (
            {"id": "another"}, {"judge": "another"}, {"status": "another"}, {"scores": None},
            {"scores": {"conceptual_clarity": "high"}}, {"prompt_id": ["p"]},
        )),
    ]  # fmt: skip
    file, ratings = tmp_path / "odd.jsonl", ratings_of(run)
    file.write_bytes(b"\n".join([*odd, json.dumps(whole).encode(), b""]))
    ratings.read(file)
    assert (ratings.n_done, ratings.n_unreadable) == (1, len(odd))


def test_a_line_without_an_end_is_passed_over(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is longer than any line of a run is no line of one; what follows is read."""
    monkeypatch.setattr(live_run, "LONGEST_LINE", 3000)
    monkeypatch.setattr(live_run, "_CHUNK", 100)
    content, file = file_of(run).read_bytes(), tmp_path / "long.jsonl"
    file.write_bytes(b"x" * 5000 + b"\n" + content)
    ratings = ratings_of(run)
    ratings.read(file)
    assert ratings.n_done == JUDGMENTS


def test_the_ranking_is_of_prompts_that_have_all_judgments(run: Run, tmp_path: Path) -> None:
    """A prompt of which one judgment has not come counts for no system."""
    lines = file_of(run).read_bytes().splitlines(keepends=True)
    of_first = [line for line in lines if json.loads(line)["prompt_id"] == run.items[0].prompt_id]
    assert len(of_first) == SYSTEMS * JUDGES
    file, ratings = tmp_path / "some.jsonl", ratings_of(run)
    file.write_bytes(b"".join(of_first[:-1]))
    ratings.read(file)
    assert ratings.leaderboard_so_far() is None
    file.write_bytes(b"".join(of_first))
    ratings.read(file)
    board = ratings.leaderboard_so_far()
    assert board is not None
    assert [entry.n_prompts for entry in board.systems] == [1] * SYSTEMS
    assert all(isnan(entry.composite.low) for entry in board.systems)
    assert int(ratings.whole_prompts().sum()) == 1
    assert len(ratings.whole_prompts()) == PROMPTS


def _declining(request: ModelRequest) -> str:
    """One system mostly declines; others are rated."""
    asked = "".join(request.blocks)
    seed = stable_hash([request.system, asked])
    declines = "0 3" in asked or "1 3" in asked or (" 3" in asked and seed % 3 > 0)
    schema = request.schema or {}
    names = [name for name in schema.get("properties", {}) if name != "abstained"]
    scores = {name: 1 + (seed >> place) % 5 for place, name in enumerate(names)}
    return json.dumps(scores | {"abstained": declines})


@pytest.mark.parametrize("kind", ["numbers", "categories", "abstentions", "controls"])
def test_at_the_end_means_and_intervals_are_those_of_the_run(tmp_path: Path, kind: str) -> None:
    """Of a rubric of numbers or categories, with abstentions and with judges without a persona."""
    rubric = "critical-question" if kind == "categories" else "scrub"
    model = ScriptedModel(_declining) if kind == "abstentions" else ScriptedModel()
    panel = Panel("disciplinary", model, rubric, plain_judge=kind == "controls")
    panel.score(responses(), out=tmp_path / "run")
    run = load_run(tmp_path / "run")
    ratings = ratings_of(run)
    ratings.read(file_of(run))
    board, of_run = ratings.leaderboard_so_far(), run.leaderboard()
    assert board is not None

    def shown(entry: object) -> tuple[object, ...]:
        names = ("system", "rank", "n_prompts", "n_abstained", "n_judged", "declines")
        return tuple(getattr(entry, name) for name in names)

    assert [*map(shown, board.systems)] == [*map(shown, of_run.systems)]
    for entry, other in zip(board.systems, of_run.systems, strict=True):
        for name in ("value", "low", "high"):
            expected = pytest.approx(getattr(other.composite, name), abs=1e-9, nan_ok=True)
            assert getattr(entry.composite, name) == expected
    if kind == "abstentions":
        assert any(entry.declines for entry in board.systems)
