"""Published data of papers, in small files of the same layout: what they become, that every command
reads it, and what is said of files and columns that are missing."""

from __future__ import annotations

import csv
import json
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from persona_panel import load_ratings, load_responses
from persona_panel.cli.main import command
from persona_panel.cli.published import _NAMES
from persona_panel.files.published import _DIMENSIONS, PUBLISHED
from tests.helpers.scrub_data import scrub_data, write


def imported(name: str, path: Path, out: Path, *more: str) -> Result:
    words = ["people", "import", name, str(path), "--out", str(out), *more]
    return CliRunner().invoke(command, words)


@pytest.fixture
def scrub(tmp_path: Path) -> Path:
    """SCRuB's data in small."""
    return scrub_data(tmp_path)


def test_scrub_becomes_texts_scores_ranks_and_checks_apart(scrub: Path, tmp_path: Path) -> None:
    """Standard items are in ratings.csv and rankings.csv, the others in calibration-*.csv; texts
    have their prompts; items are called as those of a run on the texts; the licence and the digests
    are written; nothing is written over."""
    out = tmp_path / "out"
    done = imported("scrub", scrub, out)
    assert done.exit_code == 0, done.output
    assert "CC BY-NC-SA 4.0" in done.stdout
    assert sorted(file.name for file in out.iterdir()) == [
        "calibration-rankings.csv", "calibration-ratings.csv", "rankings.csv", "ratings.csv",
        "responses.jsonl", "source.json",
    ]  # fmt: skip
    scores, ranks = load_ratings(out / "ratings.csv"), load_ratings(out / "rankings.csv")
    assert (len(scores.items), scores.raters, scores.dimensions) == (12, ("J0", "J1"), _DIMENSIONS)
    assert scores.scores[scores.items.index("MSC_02/MSC_02_r0"), 1, 0] == 4
    assert ranks.lower_is_better
    assert ranks.sources is not None
    assert ranks.sources[:4] == ("claude", "gpt", "gemini", "human")
    responses = list(load_responses(out / "responses.jsonl"))
    assert {f"{each.prompt_id}/{each.id}" for each in responses} >= set(scores.items)
    first = responses[0]
    assert (first.prompt, first.system) == ("What of BBQ_01?", "claude")
    assert first.text == "Essay 0 on BBQ_01, with =1+1."
    source = json.loads((out / "source.json").read_text())
    file = scrub / "SCRuBAnnotations" / "task2_human_judgments.csv"
    assert source["sha256"][file.name] == sha256(file.read_bytes()).hexdigest()
    assert len(source["sha256"]) == 3
    again = imported("scrub", scrub, out)
    assert (again.exit_code, "a folder that is not empty" in again.stderr) == (2, True)


def test_scrub_without_texts_is_ratings_alone(scrub: Path, tmp_path: Path) -> None:
    """Of the judgments alone there are no responses, and that is said."""
    alone = tmp_path / "judgments.csv"
    (scrub / "SCRuBAnnotations" / "task2_human_judgments.csv").rename(alone)
    done = imported("scrub", alone, tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "There are no texts with the ratings" in done.stdout
    assert not (tmp_path / "out" / "responses.jsonl").exists()
    agreed = CliRunner().invoke(
        command, ["agree", str(tmp_path / "out" / "rankings.csv"), "--json"]
    )
    assert agreed.exit_code == 0, agreed.output


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"judge_id": "who"}, "'judge_id' or 'annotator_id'"),
        ({"rank": "place"}, "rank"),
        ({"evidential_grounding": "evidence"}, "evidential_grounding"),
    ],
)
def test_a_missing_column_is_one_line_with_the_remedy(
    scrub: Path, tmp_path: Path, change: dict[str, str], found: str
) -> None:
    """What is missing, in which file, and --map, which is then taken."""
    file = scrub / "SCRuBAnnotations" / "task2_human_judgments.csv"
    [(old, new)] = change.items()
    head, _, body = file.read_text().partition("\n")
    file.write_text(head.replace(old, new) + "\n" + body)
    done = imported("scrub", scrub, tmp_path / "out")
    assert done.exit_code == 2
    [line] = [line for line in done.stderr.splitlines() if str(file) in line]
    assert found in line
    assert "--map" in line
    mapped = imported("scrub", scrub, tmp_path / "out", "--map", f"{old}={new}")
    assert mapped.exit_code == 0, mapped.output
    unknown = imported("scrub", scrub, tmp_path / "other", "--map", "rating=score")
    assert (unknown.exit_code, "rating: found an unknown field" in unknown.stderr) == (2, True)


@pytest.mark.parametrize(("column", "value", "problem"), [
    ("argumentative_soundness", "12", ":2: argumentative_soundness: found 12; expected a score"),
    ("item_type", "normal", "item_type: found no item that is standard"),
])  # fmt: skip
def test_what_is_not_of_the_data_set_is_named(
    scrub: Path, tmp_path: Path, column: str, value: str, problem: str
) -> None:
    """A score off the scale; items of a kind that SCRuB does not have, so that none is rated."""
    file = scrub / "SCRuBAnnotations" / "task2_human_judgments.csv"
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows if column == "item_type" else rows[:1]:
        row[column] = value
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    done = imported("scrub", scrub, tmp_path / "out")
    assert done.exit_code == 2
    assert problem in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_file_and_an_odd_score_are_named(scrub: Path, tmp_path: Path) -> None:
    """With where the file is to be had, and the line of the score."""
    done = imported("scrub", tmp_path / "SCRuB-dataset" / "SCRuBSample", tmp_path / "out")
    assert done.exit_code == 2
    assert "found no task2_human_judgments.csv; expected" in done.stderr
    assert "huggingface.co/datasets/facebook/SCRuB-dataset" in done.stderr
    file = scrub / "SCRuBAnnotations" / "task2_human_judgments.csv"
    lines = file.read_text().splitlines()
    cells = lines[1].split(",")
    cells[-1] = "high"
    file.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")
    done = imported("scrub", scrub, tmp_path / "out")
    assert (done.exit_code, ":2: argumentative_soundness: found 'high'" in done.stderr) == (
        2,
        True,
    )
    assert not (tmp_path / "out").exists()


def test_debate_speeches_are_unrolled(tmp_path: Path) -> None:
    """A line for each person's score, and the judge's beside them; lists of two lengths are a
    fault."""
    row = {"id": "s1", "topic_id": "7", "topic": "Ban it", "source": "Summit", "text": "We ban.",
           "goodopeningspeech": "[4, 2]", "#labelers": 2, "labeler_ids": "[11, 12]"}  # fmt: skip
    other = {"id": "s2", "text": "We do not", "goodopeningspeech": "[3]", "labeler_ids": "[11]"}
    write(tmp_path / "data" / "data.csv", [row, row | other])
    write(
        tmp_path / "data" / "judge_small.csv", [{"id": "s1", "score": 3}, {"id": "s9", "score": 1}]
    )
    done = imported("debate-speeches", tmp_path / "data", tmp_path / "out")
    assert done.exit_code == 0, done.output
    counts = "2 texts to 1 prompt, 2.0 a prompt; 2.5 words a text; 1.5 raters a rated text."
    assert counts in " ".join(done.stdout.split())
    people = load_ratings(tmp_path / "out" / "ratings.csv")
    assert (people.items, people.dimensions) == (("7/s1", "7/s2"), ("good_opening",))
    assert people.scores[0, :, 0].tolist() == [4, 2]
    assert load_ratings(tmp_path / "out" / "judges.csv").scores[0, 0, 0] == 3
    write(tmp_path / "data" / "data.csv", [row | {"labeler_ids": "[11]"}])
    done = imported("debate-speeches", tmp_path / "data", tmp_path / "other")
    assert "data.csv:2: goodopeningspeech: found no two lists of one length" in done.stderr


def test_argument_quality_and_critical_questions(tmp_path: Path) -> None:
    """ "?" is no rating, dimensions are called as the rubric's; labels are those of the rubric."""
    argument = {"arg": "a1", "debate": "ban-it_yes", "text": "So.", "rank_score": "0.1",
                "ratings": {"local-relevance": {"m1": "3", "m2": "?"}}}  # fmt: skip
    (tmp_path / "novice_ratings_with_text.json").write_text(json.dumps([argument]))
    done = imported("argument-quality", tmp_path, tmp_path / "a")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "a" / "ratings.csv").read_text().splitlines()[1:] == [
        "ban-it_yes/a1,m1,local_relevance,3,ban-it_yes"
    ]
    asked = [("q1", "Who?", "Useful"), ("q2", "Why?", "Invalid")]
    questions = [dict(zip(("id", "cq", "label"), each, strict=True)) for each in asked]
    place = {"intervention_id": "i1", "intervention": "They said so.", "cqs": questions}
    (tmp_path / "validation.json").write_text(json.dumps({"i1": place}))
    done = imported("critical-questions", tmp_path, tmp_path / "c")
    assert done.exit_code == 0, done.output
    rows = (tmp_path / "c" / "ratings.csv").read_text().splitlines()
    assert rows[1:] == ["i1/q1,people,useful,usefulness,i1", "i1/q2,people,invalid,usefulness,i1"]
    [first, _] = load_responses(tmp_path / "c" / "responses.jsonl")
    assert (first.context, first.text) == ("They said so.", "Who?")
    place["cqs"] = [questions[0] | {"label": "good"}]
    for document, problem in (
        ([1], ": found no object in JSON"),
        ({}, ": found no interventions"),
        ({"i1": place}, ":1: label: found 'good'; expected 'useful', 'unhelpful', 'invalid'"),
    ):
        (tmp_path / "validation.json").write_text(json.dumps(document))
        done = imported("critical-questions", tmp_path, tmp_path / "d")
        assert (done.exit_code, f"validation.json{problem}" in done.stderr) == (2, True)


def test_the_command_names_all_that_is_there() -> None:
    """The names in the help are those that can be read."""
    assert set(_NAMES) == set(PUBLISHED)
