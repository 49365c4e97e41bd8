"""`score --plain-judge`, then `agree` and `people correlate`: what personas add, as a user runs
it."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from persona_panel.testing import ok, serving
from tests.helpers.command import Command
from tests.helpers.results import statistics_of

SCORE = (
    "score", "--full", "in.jsonl", "--rubric", "debate-speech", "--personas", "disciplinary",
    "--model", "openai:stub", "--out", "run", "--plain-judge",
)  # fmt: skip


def ratings_of(path: Path) -> dict[bool, np.ndarray]:
    """The ratings `(items, judges)` of those with and of those without a persona."""
    found: dict[bool, dict[str, dict[str, float]]] = {True: {}, False: {}}
    for line in (path / "run" / "judgments.jsonl").read_text().splitlines():
        one = json.loads(line)
        side = found[one["persona"] != "none"]
        item = f"{one['prompt_id']}/{one['id']}"
        side.setdefault(item, {})[one["judge"]] = one["scores"]["good_opening"]
    return {
        side: np.array([list(of[item].values()) for item in sorted(of)])
        for side, of in found.items()
    }


@pytest.fixture
def scored(tmp_path: Path, command: Command) -> Path:
    """A run of five personas and five replicates without, on 24 texts, whose ratings vary."""
    rows = [
        {"id": f"r{i}", "prompt_id": f"p{p}", "prompt": f"Question {p}?", "system": f"s{i}",
         "response": f"Text {p} {i} " + "good " * ((3 * i + p) % 5)}
        for p in range(6) for i in range(4)
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rng = random.Random(3)

    def script(n: int, payload: Any) -> Any:
        asked = payload["messages"][-1]["content"]
        noise = rng.gauss(0, 1.5 if "as this reader" in asked else 0.5)
        return ok(json.dumps({"good_opening": max(1, min(5, round(2 + asked.count("good ") / 2
                                                                 + noise)))}))  # fmt: skip

    with serving(script) as server:
        done = command(*SCORE, OPENAI_BASE_URL=server.base_url)
    assert done.returncode == 0, done.stderr
    assert "Systems, by judges without a persona" in done.stdout
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "score"])
        for row in rows:
            for human in "abc":
                quality = 2 + str(row["response"]).count("good ") / 2 + rng.gauss(0, 0.7)
                writer.writerow(
                    [f"{row['prompt_id']}/{row['id']}", human, round(min(max(quality, 1), 5), 2)]
                )
    return tmp_path


def rows_of(text: str, group: str) -> dict[str, dict[str, Any]]:
    return {row["statistic"]: row for row in statistics_of(text) if row["group"] == group}


def test_agree_compares_variances(scored: Path, command: Command) -> None:
    """The disagreement among personas and among replicates is numpy's variance, the two groups
    have rows of their own, and only the panel's judges are among all."""
    done = command("agree", "--full", "run", "--json")
    assert done.returncode == 0, done.stderr
    ours, theirs = (ratings_of(scored)[side].var(axis=1, ddof=1).mean() for side in (True, False))
    found = rows_of(done.stdout, "openai:stub")
    assert found["persona_disagreement"]["value"] == pytest.approx(ours)
    assert found["replicate_disagreement"]["value"] == pytest.approx(theirs)
    added = found["disagreement_added"]
    assert added["value"] == pytest.approx(ours - theirs)
    assert 0 < added["low"] < added["value"] < added["high"]
    assert added["note"] == "5 judges with a persona, 5 replicates without"
    assert found["krippendorff_alpha"]["n_raters"] == 5
    assert not rows_of(done.stdout, "all")
    printed = " ".join(command("agree", "run", "--format", "markdown").stdout.split())
    assert "this cannot show that they change ratings for the better" in printed


def test_correlate_gives_the_difference(scored: Path, command: Command) -> None:
    """The gain is the difference of scipy's correlations with the mean of the people, with an
    interval, and what it cannot show is printed."""
    done = command("people", "correlate", "--full", "run", "--human", "people.csv", "--json")
    assert done.returncode == 0, done.stderr
    people: dict[str, list[float]] = {}
    with (scored / "people.csv").open() as file:
        for row in csv.DictReader(file):
            people.setdefault(row["item"], []).append(float(row["score"]))
    target = [np.mean(people[item]) for item in sorted(people)]
    means = {side: table.mean(axis=1) for side, table in ratings_of(scored).items()}
    found = rows_of(done.stdout, "openai:stub")
    ours, theirs = (stats.kendalltau(means[side], target).statistic for side in (True, False))
    row = found["persona_gain_tau_b"]
    assert row["value"] == pytest.approx(ours - theirs)
    assert row["low"] < row["value"] < row["high"]
    assert "persona_gain_tau_b_within_prompts" in found
    printed = " ".join(
        command("people", "correlate", "--full", "run", "--human", "people.csv").stdout.split()
    )
    assert "shows neither that personas add nor that they take away" in printed


def test_an_audit_is_of_the_panel_alone(scored: Path, command: Command) -> None:
    """`audit bias` has rows of the five judges with a persona, and of no replicate without."""
    done = command("audit", "bias", "--full", "run", "--json")
    assert done.returncode == 0, done.stderr
    judges = {row["group"] for row in statistics_of(done.stdout) if "|" in row["group"]}
    assert len(judges) == 5
    assert not any(judge.startswith("none|") for judge in judges)


def test_identical_replicates_are_no_comparison(tmp_path: Path, command: Command) -> None:
    """A server that answers alike each time leaves the difference undefined, and says why."""
    rows = [
        {"id": f"r{i}", "prompt": f"Q{i // 2}?", "system": "s", "response": f"Text {i}."}
        for i in range(6)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving() as server:
        assert command(*SCORE, OPENAI_BASE_URL=server.base_url).returncode == 0
    found = rows_of(command("agree", "run", "--json").stdout, "openai:stub")
    reason = "all replicates without a persona gave the same ratings, so they count as one"
    assert found["disagreement_added"]["reason"].startswith(reason)
    assert found["replicate_disagreement"]["value"] == 0
    # The answer says whose ratings are alike: personas' are not.
    answers = json.loads((tmp_path / "run/summary.json").read_text())["answers"]
    assert f"Not known: {reason}" in answers[2]["sentence"]
