"""A run's folder as ratings: judges rate, models are groups, only what is scored counts."""

from __future__ import annotations

import json
from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
import pytest

from persona_panel import load_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.runs.judgment_lines import line_of
from tests.helpers.judgment_files import RUN, folder_of, judgment


def faults_of(path: Path) -> tuple[Fault, ...]:
    with pytest.raises(InputError) as caught:
        load_ratings(path)
    return caught.value.faults


def test_a_run_as_ratings(tmp_path: Path) -> None:
    """Judges, models, personas, dimensions, prompts and systems each have their place; refused
    and abstained judgments are gaps, as is a dimension that a judge left out."""
    found = load_ratings(
        folder_of(
            tmp_path / "run",
            judgment("a"),
            judgment("a", "y", "n", status="refused", scores={}),
            judgment("b", status="abstained", scores={"clarity": 9, "depth": 9}),
            judgment("b", "y", "n", scores={"depth": 4}),
        )
    )
    assert found.items == ("p/a", "p/b")
    assert found.raters == ("x|m|dimensions|1", "y|n|dimensions|1")
    assert (found.groups, found.personas) == (("m", "n"), ("x", "y"))
    assert found.dimensions == ("clarity", "depth")
    assert (found.prompts, found.sources) == (("p", "p"), ("by a", "by b"))
    expected = [[[1, 2], [nan, nan]], [[nan, nan], [nan, 4]]]
    np.testing.assert_array_equal(found.scores, np.array(expected))


def test_scores_of_reasons_are_ratings_of_texts_by_each_person(tmp_path: Path) -> None:
    """By hand: of reasons that two persons gave for text t, and one for u, the scores are t's and
    u's, each person read by the judge a rater, so that t has the mean of 2 and 5; a column that a
    response lacks is named, as is a field other than both."""
    path = folder_of(
        tmp_path / "run",
        *(
            replace(judgment(name, scores={"clarity": n}), system="one")
            for name, n in (("a", 2), ("b", 5), ("c", 4))
        ),
    )
    lines = [
        {"prompt_id": "p", "id": name, "item": f"p/{text}", "rater": rater}
        for name, text, rater in (("a", "t", "ann"), ("b", "t", "bob"), ("c", "u", "ann"))
    ]
    (path / "responses.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    columns = {"item": "item", "rater": "rater"}
    found = load_ratings(path, mapping=columns)
    assert found.items == ("p/t", "p/u")
    assert found.raters == ("ann · x|m|dimensions|1", "bob · x|m|dimensions|1")
    clarity = found.scores[:, :, found.dimensions.index("clarity")]
    np.testing.assert_array_equal(clarity, [[2, 5], [4, nan]])
    np.testing.assert_array_equal(np.nanmean(clarity, axis=1), [3.5, 4])
    for wrong, said in (({"item": "text"}, "p/a without it"), ({"score": "s"}, "score for a run")):
        with pytest.raises(InputError, match=said):
            load_ratings(path, mapping=wrong)


def test_the_last_round_counts(tmp_path: Path) -> None:
    """After deliberation a judge's last reading stands, in whatever order they were written."""
    path = folder_of(
        tmp_path / "run",
        judgment("a", round=2, scores={"clarity": 5, "depth": 6}),
        judgment("a", round=1),
    )
    assert load_ratings(path).scores.ravel().tolist() == [5, 6]


def test_a_score_off_its_scale_is_none_that_a_run_writes(tmp_path: Path) -> None:
    """In any round, of any status: a file that somebody changed is refused, as `report` does."""
    path = folder_of(
        tmp_path / "run",
        judgment("a", scores={"clarity": 0, "depth": 99}),
        judgment("a", round=2, scores={"clarity": 4.5, "depth": 5}),
        judgment("b", status="abstained", scores={"clarity": 5.5}),
    )
    document = json.loads((path / "run.json").read_text())
    for dimension in document["rubric"]["dimensions"]:
        dimension["scale"] = {"min": 1, "max": 5}
    (path / "run.json").write_text(json.dumps(document))
    assert [(each.line, each.field, each.actual, each.expected) for each in faults_of(path)] == [
        (1, "scores.clarity", "0", "a number from 1 to 5"),
        (1, "scores.depth", "99", "a number from 1 to 5"),
        (3, "scores.clarity", "5.5", "a number from 1 to 5"),
    ]


@pytest.mark.parametrize(
    ("lines", "n"), [(b'{"prompt_id":"p","id":"%s"}\n', 2), (b'{"prompt_id":"p","id":"%s\n', None)]
)
def test_a_damaged_response_is_none_that_is_counted(
    tmp_path: Path, lines: bytes, n: int | None
) -> None:
    """Of two responses, one judged by one judge, one judgment is lacking; where a line of them
    cannot be read, how many there should be is not known."""
    path = folder_of(tmp_path / "run", judgment("a"))
    document = json.loads((path / "run.json").read_text())
    models = [{"id": "m", "elicitation": "dimensions"}]
    document |= {"models": models, "personas": [{"id": "x"}], "replicates": 1}
    document["plain_judge"] = False
    (path / "run.json").write_text(json.dumps(document))
    (path / "responses.jsonl").write_bytes(b"".join(lines % each for each in (b"a", b"b")))
    coverage = load_ratings(path).coverage
    assert (None if coverage is None else coverage.expected) == n


def test_a_judgment_twice_is_refused(tmp_path: Path) -> None:
    """The same judge on the same response in the same round is named with both lines."""
    faults = faults_of(folder_of(tmp_path / "run", judgment("a"), judgment("a")))
    assert {fault.line for fault in faults} == {2}
    assert all("first on line 1" in fault.actual for fault in faults)


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path: Path, kept: int) -> None:
    """A last line without its end is none, also where only the end is lacking; one within is a
    fault."""
    path = folder_of(tmp_path / "run", judgment("a"), judgment("b"))
    first, last = (path / "judgments.jsonl").read_bytes().splitlines(keepends=True)
    (path / "judgments.jsonl").write_bytes(first + last[:kept])
    assert load_ratings(path).items == ("p/a",)
    (path / "judgments.jsonl").write_bytes(last[:40] + b"\n" + first)
    assert faults_of(path)[0].file.endswith("judgments.jsonl")


def test_what_is_no_judgment(tmp_path: Path) -> None:
    """Cells of the wrong kind, unknown dimensions and scores that are no numbers, all at once."""
    good = line_of(judgment("a"))
    faults = faults_of(
        folder_of(
            tmp_path / "run",
            good | {"id": 3},
            good | {"scores": [1]},
            good | {"round": "first"},
            good | {"scores": {"clarity": "high", "wit": 1}},
            {key: value for key, value in good.items() if key != "judge"},
        )
    )
    assert [(fault.line, fault.field) for fault in faults] == [
        (1, "id"),
        (2, "scores"),
        (3, "round"),
        (4, "scores"),
        (4, "scores.clarity"),
        (5, "judge"),
    ]
    assert all(fault.file.endswith("judgments.jsonl") for fault in faults)


def test_what_is_no_run_folder(tmp_path: Path) -> None:
    """A folder without the two files, or with a run.json of something else, is named as such."""
    (fault,) = faults_of(tmp_path)
    assert fault.file.endswith("run.json")
    assert fault.actual == "no such file"
    path = folder_of(tmp_path / "run", judgment("a"))
    (path / "run.json").write_text("[]")
    (fault,) = faults_of(path)
    assert fault.actual == "no rubric with dimensions"
    (path / "run.json").write_text(json.dumps(RUN))
    (path / "judgments.jsonl").unlink()
    (fault,) = faults_of(path)
    assert fault.file.endswith("judgments.jsonl")


def test_nothing_scored(tmp_path: Path) -> None:
    """A run in which every judgment failed has no ratings."""
    (fault,) = faults_of(folder_of(tmp_path / "run", judgment("a", status="failed", scores={})))
    assert fault.actual == "gaps only"


CATEGORIES = {
    "rubric": {
        "dimensions": [
            {"id": "clarity", "scale": {"kind": "integer", "min": 1, "max": 5}},
            {"id": "use", "scale": {"kind": "category", "values": {"useful": "u", "no": "n"}}},
        ]
    }
}


def test_categories_of_a_run(tmp_path: Path) -> None:
    """A category is its place in the scale, a judge that names none leaves a gap, and the
    ratings know which of their dimensions are categories, and the others' scales."""
    folder = folder_of(
        tmp_path / "run",
        judgment("a", scores={"clarity": 3}, labels={"use": "no"}),
        judgment("b", scores={"clarity": 4}, labels={"use": "useful"}),
        judgment("c", scores={"clarity": 5}),
    )
    (folder / "run.json").write_text(json.dumps(CATEGORIES))
    found = load_ratings(folder)
    assert found.categories == {"use": ("useful", "no")}
    assert found.scales == {"clarity": (1.0, 5.0)}
    np.testing.assert_array_equal(found.scores[:, 0], [[3, 1], [4, 0], [5, nan]])
    np.testing.assert_array_equal(found.composite().scores[:, 0, 0], [3, 4, 5])


def test_a_category_that_the_scale_lacks(tmp_path: Path) -> None:
    """It is refused with its line and what it could be."""
    folder = folder_of(tmp_path / "run", judgment("a", scores={}, labels={"use": "maybe"}))
    (folder / "run.json").write_text(json.dumps(CATEGORIES))
    (fault,) = faults_of(folder)
    assert (fault.line, fault.field, fault.actual) == (1, "labels.use", "'maybe'")
    assert fault.expected == "one of useful, no"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (None, None),
        ({"mean_of": ["depth", "clarity"], "product_of": None}, ("depth", "clarity")),
        ({"mean_of": None, "product_of": ["clarity", "depth"]}, ()),
        ({"mean_of": ["clarity"], "reliable_where": {"dimension": "depth", "at_least": 2}}, ()),
    ],
)
def test_the_dimensions_of_the_composite(
    tmp_path: Path, rule: dict[str, object] | None, expected: tuple[str, ...] | None
) -> None:
    """The rubric's, where its composite is a mean; all without a rule, none by another one."""
    path = folder_of(tmp_path / "run", judgment("a"))
    document = json.loads((path / "run.json").read_bytes())
    (document.get("output_rubric") or document["rubric"])["composite"] = rule
    (path / "run.json").write_text(json.dumps(document))
    assert load_ratings(path).composite_of == expected
