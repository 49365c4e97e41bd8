"""The example scripts as a reader runs them. Those that let the embedded model read for minutes
are only asked what they refuse."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from panel import Panel, load_responses
from tests.server import serving

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DATA = Path(os.environ.get("PERSONA_PANEL_DATA", ROOT.parent / "shared" / "data"))


def example(name: str, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"COLUMNS": "160", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("name", ["debate_speeches.py", "argument_quality.py", "dialogue_panel.py"])
def test_where_the_files_come_from_is_said(name: str, tmp_path: Path) -> None:
    """Without a path a script shows how it is called; with one that lacks the files, which it
    lacks and where they are to be had."""
    usage = example(name, tmp_path)
    assert usage.returncode == 1
    assert f"python examples/{name} PATH" in usage.stderr
    absent = example(name, tmp_path, tmp_path)
    assert absent.returncode == 1
    assert "github.com/" in absent.stdout
    assert f"{tmp_path} holds no" in absent.stderr


def test_dialogue_panel(tmp_path: Path) -> None:
    """On the real file: a table of every dimension and way of asking, and a plot."""
    path = DATA / "topical_chat"
    if not path.exists():
        pytest.skip(f"{path} is absent: set PERSONA_PANEL_DATA to where the data lie")
    done = example("dialogue_panel.py", tmp_path, path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("rate_explain_auto_cot") == 4
    assert (tmp_path / "dialogue_panel.png").read_bytes().startswith(b"\x89PNG")


def test_scrub_panel_on_simulated_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of two models on the example responses, beside ranks drawn at random here: τ, W of
    every prompt and a plot. Scores in place of ranks are refused."""
    batch = load_responses(EXAMPLES / "responses.jsonl")
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        panel = Panel("disciplinary", ["openai:a", "openai:b"], "scrub")
        panel.score(batch, out=tmp_path / "run")
    draw = random.Random(1)
    prompts: dict[str | None, list[str]] = {}
    for response in batch:
        prompts.setdefault(response.prompt_id, []).append(response.id)
    with (tmp_path / "simulated.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "rank", "prompt"])
        for rater in ("simulated-1", "simulated-2", "simulated-3"):
            for prompt, ids in prompts.items():
                for rank, id_ in enumerate(draw.sample(ids, len(ids)), 1):
                    writer.writerow([f"{prompt}/{id_}", rater, rank, prompt])
    done = example("scrub_panel.py", tmp_path, "run", "simulated.csv")
    assert done.returncode == 0, done.stderr
    assert "people, among themselves" in done.stdout
    for expected in ("ensemble", "openai:a", "openai:b", *map(str, prompts)):
        assert expected in done.stdout
    assert (tmp_path / "scrub_panel.png").read_bytes().startswith(b"\x89PNG")

    scores = (tmp_path / "simulated.csv").read_text().replace("rank", "score")
    (tmp_path / "scores.csv").write_text(scores)
    refused = example("scrub_panel.py", tmp_path, "run", "scores.csv")
    assert refused.returncode == 1
    assert "where ranks are needed" in refused.stderr
