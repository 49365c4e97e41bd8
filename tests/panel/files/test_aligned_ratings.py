"""A panel and humans under the same names, or why they cannot be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from persona_panel import load_aligned_ratings
from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.ratings import load_ratings
from persona_panel.results.conclusions.rows import whole_label
from persona_panel.runs.judgment_lines import line_of
from tests.helpers.judgment_files import folder_of, judgment


def text(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def faults_of(panel: Path, humans: Path) -> tuple[Fault, ...]:
    with pytest.raises(InputError) as caught:
        load_aligned_ratings(panel, humans)
    return caught.value.faults


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run on two responses to one prompt."""
    other = judgment("b", scores={"clarity": 3, "depth": 4})
    return folder_of(tmp_path / "run", judgment("a"), other)


@pytest.mark.parametrize("names", [("p/a", "p/b"), ("a", "b")])
def test_a_runs_items_by_their_whole_name_or_their_id(
    run: Path, tmp_path: Path, names: tuple[str, str]
) -> None:
    """Humans may say prompt_id/id, or id where ids come once in the run."""
    human = text(tmp_path / "h.csv", "item,rater,score", f"{names[0]},r,1", f"{names[1]},r,2")
    ours, theirs = load_aligned_ratings(run, human)
    assert ours.items == theirs.items == names


def test_humans_of_a_run_beside_a_panel_of_ids(run: Path, tmp_path: Path) -> None:
    """The side with prompts in its names may also be the humans'."""
    panel = text(tmp_path / "p.csv", "item,rater,score,dimension", "b,j,1,clarity", "a,j,2,clarity")
    ours, theirs = load_aligned_ratings(panel, run)
    assert (ours.items, theirs.items) == (("b", "a"), ("a", "b"))


def test_ratings_of_the_whole_meet_the_mean_of_dimensions(run: Path, tmp_path: Path) -> None:
    """People who name no dimension are compared with each judge's mean, (1 + 2) / 2 and so on,
    as the dimension `composite`; a mean that is not the rubric's composite, and one dimension
    alone, stay `all`, under their labels."""
    human = text(tmp_path / "h.csv", "item,rater,rank", "p/a,r,1", "p/b,r,2")
    ours, theirs = load_aligned_ratings(run, human)
    assert ours.dimensions == theirs.dimensions == ("composite",)
    assert ours.scores.ravel().tolist() == [1.5, 3.5]
    assert theirs.lower_is_better
    other = replace(load_ratings(run), composite_of=("clarity",))
    assert whole_label(*align_ratings(other, load_ratings(human), "p", "h")) == "mean of dimensions"
    alone = replace(other, scores=other.scores[:, :, :1], dimensions=("clarity",))
    named = replace(alone, labels={"clarity": "Clarity"})
    assert whole_label(*align_ratings(named, load_ratings(human), "p", "h")) == "Clarity"


def test_ids_that_come_twice_are_no_names(tmp_path: Path) -> None:
    """Where two prompts have a response `a`, the id alone matches nothing, and both sides'
    names are shown."""
    twice = judgment("a")
    run = folder_of(tmp_path / "run", judgment("a"))
    with (run / "judgments.jsonl").open("a") as file:
        file.write(json.dumps(line_of(twice) | {"prompt_id": "q"}) + "\n")
    human = text(tmp_path / "h.csv", "item,rater,score", "a,r,1")
    (fault,) = faults_of(run, human)
    assert fault.file == str(human)
    assert fault.actual == f"only items that {run} does not have: 'a'"
    assert fault.expected == f"items of {run}: 'p/a', 'q/a'"


def test_ids_that_were_made_are_said_to_be(tmp_path: Path) -> None:
    """Where a run's texts had no ids, people's names match nothing: the remedy maps the column."""
    run = folder_of(tmp_path / "run", judgment("r-0123456789ab"))
    human = text(tmp_path / "h.csv", "item,rater,score", "sp01,r,1")
    (fault,) = faults_of(run, human)
    assert fault.expected.endswith("score them again with --map id=COLUMN")


def test_no_dimension_in_common(run: Path, tmp_path: Path) -> None:
    """Dimensions of other names are refused with what there is on both sides."""
    human = text(tmp_path / "h.csv", "item,rater,score,dimension", "a,r,1,wit", "b,r,2,wit")
    (fault,) = faults_of(run, human)
    assert "'wit'" in fault.actual
    assert "'clarity', 'depth'" in fault.expected


def test_the_faults_of_both_files_at_once(tmp_path: Path) -> None:
    """A bad panel does not hide what is wrong with the humans' file."""
    panel = text(tmp_path / "p.csv", "item,rater,score", "a,j,x")
    human = text(tmp_path / "h.csv", "item,rater,score", "a,r,inf")
    assert [fault.file for fault in faults_of(panel, human)] == [str(panel), str(human)]


@pytest.mark.parametrize(("column", "n_remarks"), [("score", 1), ("rank", 0)])
def test_scores_that_keep_to_the_lower_half_are_remarked_and_ranks_are_not(
    run: Path, tmp_path: Path, column: str, n_remarks: int
) -> None:
    """Twenty ratings of 1 and 2 on a scale to 10 may be on another; ranks are on none."""
    lines = [f"p/{item},r{rater},{value}" for rater in range(10) for item, value in ("a1", "b2")]
    human = text(tmp_path / "h.csv", f"item,rater,{column}", *lines)
    panel = load_ratings(run)
    panel = replace(panel, scales=dict.fromkeys(panel.dimensions, (1.0, 10.0)))
    origin = align_ratings(panel, load_ratings(human), "run", "h.csv")[1].origin
    assert origin is not None
    assert len(origin.remarks) == n_remarks


def test_a_remark_on_people_s_scale_is_made_once(tmp_path: Path) -> None:
    """However often the same ratings are aligned: nobody goes above 2 of 5."""
    lines = [f"p/{item},r{n},{1 + n % 2}" for item in "ab" for n in range(20)]
    human = load_ratings(text(tmp_path / "h.csv", "item,rater,score", *lines))
    panel = text(tmp_path / "p.csv", "item,rater,score", "p/a,j,1", "p/b,j,5")
    ours, theirs = align_ratings(load_ratings(panel, scale=(1, 5)), human, "the panel", "people")
    _, again = align_ratings(ours, replace(theirs, scales={}), "the panel", "people")
    for ratings in (theirs, again):
        assert ratings.origin is not None
        assert [remark[:26] for remark in ratings.origin.remarks] == ["No rating is above 2 on a "]
