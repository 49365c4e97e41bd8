"""Labels by people: `agree` among them, and `people correlate` with a panel's verdicts by
category."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from persona_panel import load_ratings
from persona_panel.testing import ok, serving
from tests.helpers.command import Command
from tests.helpers.results import statistics_of

NAMES = ["useful", "unhelpful", "invalid"]
PEOPLE = ("ann", "bob", "cid")
Labels = dict[str, dict[str, str]]


def first_most(labels: list[str]) -> str | None:
    """The label that stands alone in the first place."""
    counts = sorted(((labels.count(name), name) for name in set(labels)), reverse=True)
    return None if len(counts) > 1 and counts[0][0] == counts[1][0] else counts[0][1]


def write(path: Path, labels: Labels, **columns: str) -> None:
    """Labels by item and rater, as a file; a key of `columns` is a further column."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "label", *columns])
        for item, by_rater in labels.items():
            for rater, label in by_rater.items():
                writer.writerow([item, rater, label, *columns.values()])


@pytest.fixture
def people() -> Labels:
    """What three people say of 30 questions, often the same."""
    rng = random.Random(2)
    truth = [rng.choice(NAMES) for _ in range(30)]
    return {
        f"i{place // 3}/q{place % 3}": {
            human: (label if rng.random() < 0.8 else rng.choice(NAMES)).title() for human in PEOPLE
        }
        for place, label in enumerate(truth)
    }


@pytest.fixture
def run(tmp_path: Path, command: Command, people: Labels) -> Labels:
    """A run of five judges on these questions, and what each judge said of `usefulness`."""
    rows = [
        {"id": item.split("/")[1], "prompt_id": item.split("/")[0], "system": "m",
         "prompt": f"Ask about {item.split('/')[0]}.", "context": "Something.",
         "response": f"Is {item} so?"}
        for item in people
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rng = random.Random(5)

    def script(n: int, payload: Any) -> Any:
        return ok(json.dumps({"usefulness": rng.choice(NAMES), "reason": "settled"}))

    with serving(script) as server:
        done = command(
            "score", "in.jsonl", "--rubric", "critical-question", "--personas", "disciplinary",
            "--model", "openai:stub", "--out", "run", OPENAI_BASE_URL=server.base_url,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said: Labels = {item: {} for item in people}
    for line in (tmp_path / "run" / "judgments.jsonl").read_text().splitlines():
        one = json.loads(line)
        said[f"{one['prompt_id']}/{one['id']}"][one["judge"]] = one["labels"]["usefulness"]
    return said


def rows_of(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = statistics_of(text)
    return found


def test_a_panel_meets_the_labels_of_people(
    run: Labels, people: Labels, command: Command, tmp_path: Path
) -> None:
    """By one command, with labels that name no dimension and are spelled otherwise: κ of the
    majorities and of each judge, the confusion table and κ of every two annotators are
    scikit-learn's."""
    write(tmp_path / "people.csv", people)
    done = command("people", "correlate", "run", "--human", "people.csv", "--json")
    assert done.returncode == 0, done.stderr
    rows = [row for row in rows_of(done.stdout) if row["group"] == "openai:stub"]
    assert {row["dimension"] for row in rows} == {"usefulness"}
    value = {(row["statistic"], row["by"], row["by_value"]): row["value"] for row in rows}
    items = list(people)
    theirs = [first_most([label.lower() for label in people[item].values()]) for item in items]
    ours = [first_most(list(run[item].values())) for item in items]
    both = [(x, y) for x, y in zip(theirs, ours, strict=True) if x and y]
    assert 0 < len(both) < 30
    human, panel = zip(*both, strict=True)
    assert value["label_kappa", None, None] == pytest.approx(cohen_kappa_score(human, panel))
    counts = confusion_matrix(human, panel, labels=NAMES)
    for x, name in enumerate(NAMES):
        for y, other in enumerate(NAMES):
            found = value["confusion", f"humans: {name}", f"panel: {other}"]
            assert found == counts[x, y]
    judge = next(iter(run["i0/q0"]))
    one = [(run[item][judge], x) for item, x in zip(items, theirs, strict=True) if x]
    expected = cohen_kappa_score(*zip(*one, strict=True))
    assert value["judge_label_kappa", "judge", judge] == pytest.approx(expected)
    pair = [(run[item][judge], people[item]["ann"].lower()) for item in items]
    expected = cohen_kappa_score(*zip(*pair, strict=True))
    assert value["kappa_of_two", judge, "ann"] == pytest.approx(expected)


def test_the_humans_have_their_own_figures(
    run: Labels, people: Labels, command: Command, tmp_path: Path
) -> None:
    """Of the humans it is the mean κ of each with the majority of the others, and of every two;
    the tables show them beside the panel's."""
    write(tmp_path / "people.csv", people, dimension="usefulness")
    done = command("people", "correlate", "run", "--human", "people.csv", "--json")
    assert done.returncode == 0, done.stderr
    value = {
        row["statistic"]: row["value"] for row in rows_of(done.stdout) if row["group"] == "humans"
    }
    each = []
    for human in PEOPLE:
        pairs = [
            (labels[human], first_most([labels[other] for other in PEOPLE if other != human]))
            for labels in people.values()
        ]
        each.append(cohen_kappa_score(*zip(*[pair for pair in pairs if pair[1]], strict=True)))
    assert value["human_label_kappa"] == pytest.approx(np.mean(each))
    shown = command("people", "correlate", "run", "--human", "people.csv", "--full").stdout
    for heading in ("Labels compared", "on each label (F1)", "of each judge", "every two"):
        assert heading in shown


def test_agree_on_labels(people: Labels, command: Command, tmp_path: Path) -> None:
    """Among annotators there are nominal statistics, agreement on each label, and κ of every
    two, which is scikit-learn's."""
    people["i0/q0"]["ann"] = "?"
    people["i0/q1"]["bob"] = "none"
    write(tmp_path / "people.csv", people)
    done = command("agree", "people.csv", "--json")
    assert done.returncode == 0, done.stderr
    found = {(row["statistic"], row["by"], row["by_value"]): row for row in rows_of(done.stdout)}
    pairs = [(one["ann"], one["cid"]) for one in people.values() if one["ann"] != "?"]
    kappa = cohen_kappa_score(*zip(*pairs, strict=True))
    assert found["kappa_of_two", "ann", "cid"]["value"] == pytest.approx(kappa)
    assert found["kappa_of_two", "ann", "cid"]["n_items"] == 29
    assert {key[2] for key in found if key[0] == "agreement_on_label"} == {
        *map(str.title, NAMES), "none",
    }  # fmt: skip
    assert ("mean_tau_b", None, None) not in found


@pytest.mark.parametrize(
    ("header", "cell", "expected"),
    [
        ("score", "3", "field_of_labels"),
        ("label", "splendid", "labels that name no dimension: 'splendid'"),
    ],
)
def test_what_cannot_be_compared(
    header: str, cell: str, expected: str, run: Labels, command: Command, tmp_path: Path
) -> None:
    """Scores for a dimension of categories, and labels of no scale of the run, are refused with
    what is expected."""
    if expected == "field_of_labels":
        text = f"item,rater,{header},dimension\ni0/q0,ann,{cell},usefulness\n"
        expected = "found scores on 'usefulness'; expected labels of categories, as in run"
    else:
        text = f"item,rater,{header}\ni0/q0,ann,{cell}\n"
    (tmp_path / "people.csv").write_text(text)
    done = command("people", "correlate", "run", "--human", "people.csv")
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_labels_as_they_are_read(tmp_path: Path) -> None:
    """A label's case and spaces make no new category, gaps are none, and what is no name, or one
    label too many, is a fault of its line."""
    lines = ["item,rater,label", "a,x,Not critical", "b,x, not_critical ", "c,x,NA", "d,x,other"]
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    ratings = load_ratings(tmp_path / "labels.csv")
    assert ratings.categories == {"all": ("Not critical", "other")}
    assert np.array_equal(ratings.scores[:, 0, 0], [0, 0, np.nan, 1], equal_nan=True)
    (tmp_path / "many.csv").write_text(
        "item,rater,label\n" + "".join(f"i{n},x,label {n}\n" for n in range(51))
    )
    with pytest.raises(Exception, match="one label more than 50"):
        load_ratings(tmp_path / "many.csv")
