"""The ratings by people that come with the examples, used as their README says."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.helpers.invoked import invoked

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "argument_ratings"
DATA = Path(os.environ.get("PERSONA_PANEL_DATA", ROOT.parent / "shared" / "data"))
SOURCE = DATA / "argument_quality" / "novice_ratings_with_text.json"


def test_a_panel_beside_people_without_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of the README ends with the five answers, of which the first is people's; it
    takes the recorded replies and asks no model."""
    block = re.search(r"```sh\n(.*?)```", (FOLDER / "README.md").read_text(), re.S)
    assert block is not None
    load, score = block[1].replace("\\\n", "").splitlines()
    shutil.copytree(FOLDER, tmp_path / "examples" / "argument_ratings")
    monkeypatch.chdir(tmp_path)
    assert invoked(*shlex.split(load)[1:]).returncode == 0
    done = invoked(*shlex.split(score)[1:])
    assert done.returncode == 0, done.stderr
    assert re.search(r"480/480 judgments, .*, 0 tokens, 0 missing", done.stderr)
    run = tmp_path / "runs" / "arguments"
    assert "Which system is best? By the ratings of 80 people:" in done.stdout
    answers = json.loads((run / "summary.json").read_text())["answers"]
    assert len(answers) == 5
    (people,) = (each["sentence"] for each in answers if each["question"] == "people")
    assert re.search(r" Correlation with people within prompts r [−\d]", people)


@pytest.mark.skipif(not SOURCE.exists(), reason="the public file is not here")
def test_texts_and_ratings_are_those_of_the_source() -> None:
    """Each rating is the public file's; each text differs by its marks of line breaks alone."""
    public = {row["arg"]: row for row in json.loads(SOURCE.read_text())}
    texts = [json.loads(line) for line in (FOLDER / "arguments.jsonl").read_text().splitlines()]
    assert len(texts) == 48
    for row in texts:
        words = re.sub(r"<br/?>", " ", public[row["id"]]["text"]).split()
        assert row["response"].split() == words
    with (FOLDER / "ratings.csv").open() as lines:
        ratings = list(csv.DictReader(lines))
    assert len(ratings) == 664
    assert len({row["rater"] for row in ratings}) == 80
    for row in ratings:
        value = public[row["item"]]["ratings"][row["dimension"].replace("_", "-")][row["rater"]]
        assert row["score"] == value.replace("?", "")
