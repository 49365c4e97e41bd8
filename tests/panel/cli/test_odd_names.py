"""Names that look like the parts of a table, of markup or of a path stay what they are."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.command import Command, told
from tests.helpers.results import statistics_of

GROUPS = ("GPT-4 / turbo", "[bold]modèle[/] «β»")
SOURCES = ("a / b", "[red]α", "ничего; undefined: x")
PROMPTS = ("p / 1", "p: [2]", "第三 / 題", "4 / without r")
DIMENSIONS = ("clarity / depth", "[link]")


def raters(n: int) -> list[str]:
    return [f"r / {place} [b] é" for place in range(n)]


def write(path: Path, *, groups: tuple[str, ...], n_raters: int, seed: int) -> None:
    """Ratings of 12 items on two dimensions."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["item", "rater", "group", "score", "prompt", "source", "dimension"])
        for dimension in DIMENSIONS:
            quality = np.random.default_rng(7).normal(size=(12, 1))
            scores = np.clip(np.round(3 + quality + rng.normal(size=(12, n_raters))), 1, 5)
            for item, row in enumerate(scores):
                labels = [PROMPTS[item // 3], SOURCES[item % 3], dimension]
                for place, score in enumerate(row):
                    group = groups[place % len(groups)]
                    out.writerow([f"i / {item}", raters(n_raters)[place], group, score, *labels])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "panel.csv", groups=GROUPS, n_raters=6, seed=1)
    write(tmp_path / "human.csv", groups=("people / all",), n_raters=4, seed=2)
    return tmp_path


def test_agree_has_the_rows_of_every_name(command: Command, folder: Path) -> None:
    """Group, dimension and what a row is broken down by come whole, each in its own field."""
    rows = statistics_of(command("agree", "panel.csv", "--json").stdout)
    assert {row["group"] for row in rows} == {*GROUPS, "all"}
    assert {row["dimension"] for row in rows} == {*DIMENSIONS, "composite"}
    by: dict[str | None, set[str]] = {}
    for row in rows:
        by.setdefault(row["by"], set()).add(row["by_value"])
    assert by["judge left out"] == {*raters(6), None}
    assert by["judges"] == {"1", "2", "3", "4", "6", "12"}
    assert by["component"] == {"item", "rater", "residual"}
    for option, names in (("source", SOURCES), ("prompt", PROMPTS)):
        rows = statistics_of(command("agree", "panel.csv", "--json", "--by", option).stdout)
        kinds = (option, f"{option}, less the mean of the others")
        expected = {(kind, name) for kind in kinds for name in names}
        assert {(row["by"], row["by_value"]) for row in rows} == expected


def test_agree_prints_every_table(command: Command, folder: Path) -> None:
    """No table is lost, and every name is in it as it was given."""
    done = command("agree", "panel.csv", "--full")
    assert (done.returncode, told(done.stderr)) == (0, [])
    for title in (
        "Agreement", "Further agreement statistics", "Reliability of the mean",
        "Variance components", "without a rater", "Smallest subset",
    ):  # fmt: skip
        assert title in done.stdout
    for name in (*GROUPS, *DIMENSIONS, *raters(6)):
        assert name in done.stdout
    done = command("agree", "panel.csv", "--by", "prompt")
    for name in PROMPTS:
        assert name in done.stdout


def test_correlate_with_such_names(command: Command, folder: Path) -> None:
    """Sources and groups are distinguished, in rows and in tables, beside the humans."""
    done = command("people", "correlate", "panel.csv", "--human", "human.csv", "--json")
    rows = statistics_of(done.stdout)
    assert {row["group"] for row in rows} == {*GROUPS, "all", "humans"}
    wins = [row for row in rows if row["statistic"] == "win_rate"]
    assert {(row["by"], row["by_value"]) for row in wins} == {("source", name) for name in SOURCES}
    assert len(wins) == 4 * len(SOURCES) * len(DIMENSIONS)
    done = command("people", "correlate", "panel.csv", "--human", "human.csv", "--full")
    assert (done.returncode, told(done.stderr)) == (0, [])
    for name in (*GROUPS, *DIMENSIONS, *SOURCES):
        assert name in done.stdout


def test_a_name_that_says_undefined_is_no_reason(command: Command, folder: Path) -> None:
    """A reason is a field of its own: a source called so has its values."""
    rows = statistics_of(command("agree", "panel.csv", "--json", "--by", "source").stdout)
    alphas = [
        row
        for row in rows
        if (row["statistic"], row["by"], row["by_value"])
        == ("krippendorff_alpha", "source", SOURCES[2])
    ]
    # And of their composite.
    assert len(alphas) == 3 * (len(DIMENSIONS) + 1)
    assert all(row["value"] is not None for row in alphas)


def test_names_that_the_results_use_are_refused(command: Command, tmp_path: Path) -> None:
    """A group called as all raters are, or as the humans are, is refused with its file; before,
    its rows were lost."""
    write(tmp_path / "panel.csv", groups=("all", "m2"), n_raters=4, seed=1)
    done = command("agree", "panel.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "panel.csv: found a group called 'all'" in done.stderr
    write(tmp_path / "panel.csv", groups=("humans",), n_raters=4, seed=1)
    write(tmp_path / "human.csv", groups=("humans",), n_raters=4, seed=2)
    done = command("people", "correlate", "panel.csv", "--human", "human.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "panel.csv: found a group called 'humans'" in done.stderr
    assert command("agree", "panel.csv").returncode == 0
