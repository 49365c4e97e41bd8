"""Answers read, refused, unblinded and measured."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from persona_panel import Response, Rubric, load_ratings, load_responses
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.rubrics import Scale
from persona_panel.study.collection import (
    CollectedStudy,
    TextRating,
    collect_study,
    read_answers,
    sealed,
    write_tables,
)
from persona_panel.study.design import StudySettings
from persona_panel.study.exports import packet_in, write_pages
from persona_panel.study.kit import Study, make_study
from persona_panel.study.study_result import calibration_agreement, repeat_reliability
from tests.helpers.study import answer, unsealed

PAGES = [f"rater-0{n}.html" for n in range(1, 5)]


def by_length(text: str, dimension: str) -> int:
    """A score that the text's length decides: 1 to 4 as the fixture's texts are numbered."""
    return text.count("And more.") + 1


@pytest.fixture(scope="module")
def files(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Answers of all four raters."""
    to = tmp_path_factory.mktemp("answers")
    return [answer(folder / "packets" / name, to / f"{name}.json", by_length) for name in PAGES]


@pytest.fixture(scope="module")
def collected(study: Study, files: list[Path]) -> CollectedStudy:
    return collect_study(study.key, read_answers(files, study.key))


def test_ratings_are_of_the_texts_that_were_shown(
    study: Study, collected: CollectedStudy, tmp_path: Path
) -> None:
    """Each score and rank is filed under the text that it was given to, as its length shows; each
    rater has a text once, and checks of attention are left out; what is written can be read as
    ratings of the responses' ids."""
    texts = {(one.prompt_id, one.id): one for one in study.responses}
    assert collected.ratings
    for one in collected.ratings:
        own = texts[one.prompt_id, one.response]
        assert one.system == own.system
        assert set(one.scores.values()) == {by_length(own.text, "")}
    out = tmp_path / "ratings.csv"
    written = write_tables(study.key, collected.ratings, out)
    scores, ranks = load_ratings(out), load_ratings(tmp_path / "ratings-rankings.csv")
    assert set(scores.items) == {f"{one.prompt_id}/{one.id}" for one in study.responses}
    assert scores.dimensions == tuple(one.id for one in study.key.rubric.dimensions)
    assert scores.raters == ranks.raters == ("rater-01", "rater-02", "rater-03", "rater-04")
    assert len(written) == 5


def test_reasons_are_responses_to_infer_scores_from(
    study: Study, collected: CollectedStudy, tmp_path: Path
) -> None:
    """A line for each text and rater with the reason as the response, a rubric of the same
    dimensions whose question is about the reader, and the raters' own scores of these items."""
    write_tables(study.key, collected.ratings, tmp_path / "ratings.csv")
    below = tmp_path / "ratings-justifications"
    responses = load_responses(below / "responses.jsonl")
    rubric = Rubric.model_validate(yaml.safe_load((below / "rubric.yaml").read_text("utf-8")))
    assert [one.id for one in rubric.dimensions] == [one.id for one in study.key.rubric.dimensions]
    assert rubric.not_assessable
    assert "Infer" in rubric.question
    assert {one.text for one in responses} <= {f"Text {label} gives reasons." for label in "ABCD"}
    own = load_ratings(below / "ratings.csv")
    assert set(own.items) == {f"{one.prompt_id}/{one.id}" for one in responses}


def test_only_what_the_packet_asked_is_taken(
    study: Study, folder: Path, files: list[Path], tmp_path: Path
) -> None:
    """Each odd file is refused alone and named with what is wrong: changed after it was saved,
    another packet's version, another study's, without consent, a value that the scale has not, a
    text that was not shown, no JSON, another document, no file; the others are read."""
    page = folder / "packets" / PAGES[0]
    document = unsealed(packet_in(page), by_length)

    def odd(name: str, **changes: Any) -> Path:
        return answer(page, tmp_path / name, by_length, **changes)

    def other_rating(**changes: Any) -> list[dict[str, Any]]:
        return [document["ratings"][0] | changes, *document["ratings"][1:]]

    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(sealed(document) | {"consented": False}))
    part, another = tmp_path / "part.json", tmp_path / "another.json"
    part.write_text('{"schema": "persona')
    another.write_text("[1]")
    expected = {
        changed: "not those of its digest",
        odd("version.json", packet_sha256="0" * 64): "another version of the packet",
        odd("study.json", study="0" * 16): "study",
        odd("consent.json", consented=False): "no consent",
        odd("scale.json", ratings=other_rating(scores={"conceptual_clarity": 11})): "value of the",
        odd("text.json", ratings=other_rating(text="0" * 16)): "ids of another packet",
        odd("field.json", rankings=[{"set": "x"}]): "rankings.0",
        part: "no JSON",
        another: "study-answers/1",
        tmp_path / "absent.json": "no such file",
    }
    read = read_answers([*expected, *files[1:]], study.key)
    assert len(read.answered) == 3
    assert [fault.file for fault in read.faults] == list(map(str, expected))
    for fault, said in zip(read.faults, expected.values(), strict=True):
        assert said in str(fault)


def test_the_later_file_of_a_packet_counts(
    study: Study, folder: Path, files: list[Path], tmp_path: Path
) -> None:
    """A rater who sends a copy and then all answers is read once, whichever comes first."""
    page = folder / "packets" / PAGES[0]
    early = answer(
        page, tmp_path / "copy.json", by_length, exported="2026-01-05T09:30:00.000Z", ratings=[]
    )
    for order in ([early, files[0]], [files[0], early]):
        read = read_answers(order, study.key)
        assert [name for _, _, name in read.answered] == [str(files[0])]
        assert read.replaced == (str(early),)


def test_what_is_missing_stays_missing_and_is_counted(
    study: Study, folder: Path, tmp_path: Path
) -> None:
    """Scores, ranks and reasons that were not given are counted and in no file; a rater who sent
    nothing misses all; an attention set that was answered otherwise than it asks is counted."""
    page = folder / "packets" / PAGES[0]
    document = unsealed(packet_in(page), by_length)
    ratings, rankings = document["ratings"], document["rankings"]
    del ratings[0]["scores"]["conceptual_clarity"]
    ratings[1]["reason"] = " "
    rankings[0]["ranks"].popitem()
    file = answer(page, tmp_path / "a.json", by_length, ratings=ratings, rankings=rankings)
    found = collect_study(study.key, read_answers([file], study.key))
    first, second = found.progress[:2]
    assert (first.missing, first.reasons_expected - first.reasons) == (2, 1)
    assert (first.attention, first.attention_failed) == (1, 1)
    assert second.given == 0
    assert second.missing == second.expected
    assert sum(len(one.scores) for one in found.ratings) == 5 * len(found.ratings) - 1
    # Half a minute a set and a minute a text, as the helper answers.
    assert first.minutes == len(rankings) * 0.5 + len(ratings)


def test_attention_is_passed_by_doing_what_is_asked(
    study: Study, folder: Path, tmp_path: Path
) -> None:
    """A rater who gives the attention texts the ranks and scores that they ask for fails none."""
    page = folder / "packets" / PAGES[0]
    asked = {text.id: text for _, _, text in study.key.texts() if text.scores is not None}
    document = unsealed(packet_in(page), by_length)
    for one in document["ratings"]:
        if one["text"] in asked:
            one["scores"] = asked[one["text"]].scores
    for one in document["rankings"]:
        if set(one["ranks"]) <= set(asked):
            one["ranks"] = {name: asked[name].rank for name in one["ranks"]}
    file = answer(page, tmp_path / "a.json", by_length, **document)
    found = collect_study(study.key, read_answers([file], study.key))
    assert (found.progress[0].attention, found.progress[0].attention_failed) == (1, 0)


def rating(role: Any, response: str, score: int, rater: str = "r") -> TextRating:
    return TextRating(rater, "s", role, "p", response, "x", {"clarity": score}, None, "", "A")


def test_repeat_reliability_and_calibration_by_hand(study: Study) -> None:
    """Of the pairs (1, 1), (3, 4), (6, 9), (8, 8): half are equal, three quarters within one, and
    τ_b is that of (1, 3, 6, 8) and (1, 4, 9, 8), 4 of 6 pairs net: 0.667. Two raters with the same
    scores of two calibration texts have α 1, and nothing is said of what nobody rated."""
    dimension = study.key.rubric.dimensions[0].model_copy(
        update={"id": "clarity", "scale": Scale(min=1, max=10, low="low", high="high")}
    )
    rubric = study.key.rubric.model_copy(update={"dimensions": (dimension,)})
    pairs = {"a": (1, 1), "b": (3, 4), "c": (6, 9), "d": (8, 8)}
    ratings = [
        rating(role, name, pair[place])
        for place, role in enumerate(("main", "repeat"))
        for name, pair in pairs.items()
    ]
    (by_question,), (by_rater,) = repeat_reliability(ratings, rubric)
    assert (by_question.of, by_question.n, by_question.exact) == ("clarity", 4, 0.5)
    assert by_question.within_one == 0.75
    assert by_question.correlation is not None
    assert by_question.correlation.value == pytest.approx(2 / 3)
    assert (by_rater.of, by_rater.n, by_rater.correlation) == ("r", 4, None)
    shared = [rating("calibration", name, n, rater) for name, n in (("a", 2), ("b", 5))
              for rater in ("r", "s")]  # fmt: skip
    key = study.key.model_copy(update={"rubric": rubric})
    (found,) = calibration_agreement(key, shared)
    assert (found["of"], found["texts"], found["raters"]) == ("clarity", 2, 2)
    assert found["alpha"].value == 1


def test_cells_that_a_spreadsheet_would_calculate_are_text(
    study: Study, collected: CollectedStudy, tmp_path: Path
) -> None:
    """A name that begins with = is written so that a spreadsheet takes it for text."""
    one = collected.ratings[0]
    odd = TextRating(one.rater, one.set, "main", "=p", "=r", "=s", one.scores, one.rank, "", "A")
    write_tables(study.key, [odd], tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert (row["item"], row["source"]) == ("'=p/=r", "'=s")


def test_a_rubric_of_categories_gives_labels(tmp_path: Path) -> None:
    """Where the rubric has categories alone they are collected as labels, of texts and of reasons,
    and reliability is the share of equal ones."""
    responses = [
        Response(id=str(n), prompt_id=p, prompt=f"{p}?", text=f"Question {n}?", system=f"s{n}")
        for p in "ab"
        for n in range(2)
    ]
    rubric = resolve_rubric("critical-question")
    settings = StudySettings(2, 2, tasks=("rate",), repeats=1)
    made = make_study(responses, rubric, settings)
    categories = rubric.categories
    files = []
    for page in write_pages(made, tmp_path / "study"):
        to = tmp_path / f"{page.stem}.json"
        files.append(answer(page, to, lambda text, name: categories[name]["1" in text]))
    found = collect_study(made.key, read_answers(files, made.key))
    write_tables(made.key, found.ratings, tmp_path / "r.csv")
    for name, n in (("r-labels.csv", 4), ("r-justifications/ratings.csv", 4)):
        labels = load_ratings(tmp_path / name)
        assert {one: set(labels.categories[one]) for one in categories} == {
            one: set(names[:2]) for one, names in categories.items()
        }
        assert len(labels.items) == n
    assert not (tmp_path / "r.csv").exists()
    by_question, by_rater = repeat_reliability(found.ratings, rubric)
    assert [(one.n, one.exact, one.within_one) for one in by_question] == [
        (4, 1, None) for _ in categories
    ]
    assert by_rater == ()
