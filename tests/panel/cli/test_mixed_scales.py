"""Dimensions of several scales, and judges without a persona beside a panel, in every command."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from persona_panel import load_ratings, load_run
from persona_panel.cli.main import command
from persona_panel.testing import ok, serving
from tests.helpers.results import statistics_of

RUBRIC = """
id: mixed
label: Mixed
question: How good is it?
dimensions:
  - {id: biased, label: Biased, definition: So., guiding_question: So it is,
     scale: {min: 0, max: 1, low: least, high: most}}
  - {id: depth, label: Depth, definition: So., guiding_question: So it is,
     scale: {min: 1, max: 5, low: least, high: most}}
  - {id: right, label: Right, definition: So., guiding_question: So it is,
     scale: {kind: real, min: 0, max: 100, low: least, high: most}}
"""
ENDS = {"biased": (0, 1), "depth": (1, 5), "right": (0, 100)}
SAID = "each rating counts as the share of its scale's width"


def run(*args: object, **env: str) -> Result:
    done = CliRunner().invoke(command, [*map(str, args)], env={"COLUMNS": "300", **env})
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of five personas and of a judge without one, as often, on three scales."""
    base = tmp_path_factory.mktemp("mixed")
    rows = [
        {"id": f"r{p}{s}", "prompt_id": f"p{p}", "prompt": f"Q {p}?", "system": s,
         "response": f"Text {p} {s}"}
        for p in range(10) for s in ("alder", "birch")
    ]  # fmt: skip
    (base / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (base / "mixed.yaml").write_text(RUBRIC)
    draw = random.Random(3)

    def script(number: int, request: Any) -> Any:
        one, two, three = (draw.random() for _ in range(3))
        ratings = {"biased": int(2 * one), "depth": 1 + int(5 * two), "right": round(100 * three)}
        return ok(json.dumps(ratings))

    with serving(script) as server:
        done = run(
            "score", "--full", base / "in.jsonl",
            "--rubric", base / "mixed.yaml", "--model", "openai:stub",
            "--personas", "disciplinary", "--plain-judge", "--out", base / "run",
            OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="x",
        )  # fmt: skip
    assert "which are on different scales: each as a share of the width of its own" in done.stdout
    assert "5 judges with a persona and 5 without" in done.stderr
    return base / "run"


def _shares(folder: Path) -> np.ndarray:
    """Every rating as the share of its scale, `(items, raters, dimensions)`."""
    ratings = load_ratings(folder)
    lows, highs = np.array([ENDS[name] for name in ratings.dimensions]).T
    found: np.ndarray = (ratings.scores - lows) / (highs - lows)
    return found


def _panel(folder: Path) -> list[int]:
    ratings = load_ratings(folder)
    return [n for n, name in enumerate(ratings.raters) if name not in ratings.controls]


def test_the_composite_is_of_shares_everywhere(folder: Path) -> None:
    """In verdicts, the ranking and the ratings it is the mean of the five judges' shares; the mean
    of raw points would be up to 35."""
    whole = _shares(folder)[:, _panel(folder)].mean(axis=(1, 2))
    with (folder / "verdicts.csv").open() as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_allclose([float(row["composite"]) for row in rows], whole, atol=1e-6)
    assert {row["n_judges"] for row in rows} == {"5"}
    ratings = load_ratings(folder)
    np.testing.assert_allclose(ratings.composite().scores[:, :, 0], _shares(folder).mean(axis=2))
    assert ratings.composite().scales == {"all": (0.0, 1.0)}
    board = load_run(folder).leaderboard()
    for entry in board.systems:
        own = [n for n, name in enumerate(ratings.sources or ()) if name == entry.system]
        assert entry.composite.value == pytest.approx(whole[own].mean())


def test_agree_says_how_and_counts_the_panel(folder: Path) -> None:
    """Five judges and five without a persona; the composite is of shares, and so is α of all
    dimensions together, which does not depend on the unit of one of them."""
    done = run("agree", "--full", folder, "--no-intervals", "--resamples", 0)
    assert SAID in done.stderr
    assert "20 items, 5 judges with a persona and 5 without." in done.stdout
    quick = "--no-intervals", "--resamples", 0
    rows = statistics_of(run("agree", "--full", folder, *quick, "--json").stdout)
    assert any(row["dimension"] == "composite" for row in rows)
    together = run(
        "agree", "--full", folder, "--by", "group", "--level", "interval", "--no-intervals",
        "--resamples", 0, "--json",
    )  # fmt: skip
    [alpha] = [
        row["value"]
        for row in statistics_of(together.stdout)
        if row["statistic"] == "krippendorff_alpha" and row["group"] == "openai:stub"
    ]
    stacked = _shares(folder)[:, _panel(folder)].transpose(2, 0, 1).reshape(-1, 5)
    within = stacked.var(axis=1, ddof=1).mean()
    assert alpha == pytest.approx(1 - within / stacked.var(ddof=1))


def test_other_commands_take_the_same_composite(folder: Path, tmp_path: Path) -> None:
    """`plan`, `people votes`, `people correlate`, `people calibrate` and `people align` are on the
    scale from 0 to 1, or say that people's is another."""
    planned = run("plan", "--from", folder)
    assert SAID in " ".join(planned.stdout.split())
    items, shares = load_ratings(folder).items, _shares(folder)[:, _panel(folder)].mean(axis=(1, 2))
    (tmp_path / "people.csv").write_text(
        "item,rater,score\n"
        + "".join(
            f"{item},{rater},{share + n / 50:.3f}\n"
            for item, share in zip(items, shares, strict=True)
            for n, rater in enumerate("abc")
        )
    )
    human = "--human", tmp_path / "people.csv"
    votes = json.loads(run("people", "votes", folder, *human, "--json").stdout)
    assert votes["tables"]["people"][0]["ensemble"] == pytest.approx(0.02, abs=1e-3)
    for name in ("correlate", "calibrate", "align"):
        assert "share of its scale's width" in run("people", name, folder, *human).stderr
    done = CliRunner().invoke(
        command, ["people", "correlate", str(folder), *map(str, human), "--human-scale", "1-5"]
    )
    assert done.exit_code == 2
    assert "expected 1 to 5, the scale that --human-scale gives" in done.stderr


def test_the_page_counts_judges_and_personas(folder: Path, tmp_path: Path) -> None:
    """Five judges of five personas; a judge without one is no persona."""
    run("report", folder, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "5 judges with a persona and 5 without: 5 personas, " in page
    assert "6 personas" not in page
