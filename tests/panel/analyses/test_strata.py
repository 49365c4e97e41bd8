"""The systems of a run within strata of judges, texts and the rubric."""

from __future__ import annotations

import json
from math import nan
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from persona_panel import InputError, Panel, Persona, load_run
from persona_panel.analyses.contested import most_contested
from persona_panel.analyses.run_summary import run_summary
from persona_panel.analyses.strata import (
    SystemsBy,
    column_of,
    systems_by,
    systems_by_result,
)
from persona_panel.analyses.who_differs import who_differs
from persona_panel.files.outputs import as_json
from persona_panel.graphs import Response
from persona_panel.graphs.aggregate import aggregate
from persona_panel.runs.collected import judgment_of_row
from persona_panel.runs.run import Run
from persona_panel.statistics.core.means import FAR_OFF
from persona_panel.statistics.core.significance import holm
from persona_panel.statistics.personas import GroupDifference
from persona_panel.testing import ScriptedModel
from tests.helpers.gate_runs import run_of

PERSONAS = [
    Persona(id=name, label=name.title(), axis=axis, description=f"You are {name}.")
    for name, axis in (("ann", "x"), ("bob", "x"), ("cat", "y"))
]
TOPICS = ["work", "work", "home", "home", None, None]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Six prompts with a text by each of two systems, four of the prompts with a topic; ann and bob
    see the first system 2 points higher, and two ratings are missing."""
    batch = [
        Response(
            id=system, prompt=f"Prompt {i}", prompt_id=f"p{i}", text=f"{system} {i}", system=system,
            metadata={} if topic is None else {"topic": topic},
        )
        for i, topic in enumerate(TOPICS)
        for system in ("old", "new")
    ]  # fmt: skip
    panel = Panel(PERSONAS, [ScriptedModel(model=name) for name in "mn"], "scrub")
    run = panel.score(batch, out=tmp_path_factory.mktemp("strata") / "run")
    scores = 5 + 0.1 * np.random.default_rng(1).normal(size=run.ratings.shape)
    of_x = [judge.persona != "cat" for judge in run.judges]
    scores[::2, of_x] += 2
    scores[0, 0] = scores[3, 2, 1] = nan
    for item, row in zip(run.items, scores, strict=True):
        judgments = [
            judgment_of_row(item, judge, one.tolist(), run.rubric)
            for judge, one in zip(run.judges, row, strict=True)
        ]
        for judgment in judgments:
            run.add(judgment)
        run.conclude(aggregate(judgments, run.rubric))
    return run


def test_a_mean_that_intervals_may_not_cover_is_named_where_it_stands() -> None:
    """In one of two strata a prompt of six falls from 9 to 3 on a scale from 1 to 10."""
    scores = np.array([[9, 9, 8, 9, 9, 3, 5, 6, 5, 7, 6, 5]]).T[:, :, None]
    fallen = run_of(scores, ["ash"])
    by_half = systems_by(fallen, "half", ["first"] * 6 + ["second"] * 6)
    (remark,) = systems_by_result(by_half, fallen)["systems"].remarks
    assert remark.startswith(f"ash (first): {FAR_OFF}. Coverage of such 95 % intervals may be")


def means(found: SystemsBy) -> dict[tuple[str, str], float]:
    return {(stratum, one.system): one.composite.value for stratum, one in found.systems}


def test_one_stratum_is_the_leaderboard(run: Run) -> None:
    """With one value for all responses each figure is that of the leaderboard, gaps included."""
    found = systems_by(run, "whole", ["all"] * 12)
    board = {one.system: one for one in run.leaderboard().systems}
    for _, one in found.systems:
        whole = board[one.system]
        assert one.composite.value == pytest.approx(whole.composite.value)
        assert one.composite.ends == pytest.approx(whole.composite.ends)
    difference = run.leaderboard().differences[0]
    assert found.differences[0][1].p == pytest.approx(difference.p)


def test_axes_and_personas_have_their_own_judges(run: Run) -> None:
    """x sees the first system 2 points higher, y does not; that they see systems differently is in
    the interactions."""
    found = means(systems_by(run, "axis"))
    assert found["x", "old"] == pytest.approx(7, abs=0.1)
    assert found["y", "old"] == pytest.approx(5, abs=0.1)
    assert all(one.shown for one in systems_by(run, "axis").interactions)
    by_persona = means(systems_by(run, "persona"))
    assert by_persona["bob", "new"] == pytest.approx(5, abs=0.1)
    assert {stratum for stratum, _ in by_persona} == {"ann", "bob", "cat"}
    of_models = {stratum for stratum, _ in means(systems_by(run, "model"))}
    assert of_models == {"scriptedmodel:m", "scriptedmodel:n"}


def test_dimensions_are_those_of_the_leaderboard(run: Run) -> None:
    """By dimension a system has the mean that the leaderboard has of it."""
    found = means(systems_by(run, "dimension"))
    for one in run.leaderboard().systems:
        for dimension, mean in one.dimensions.items():
            assert found[dimension, one.system] == pytest.approx(mean.value)


def test_p_values_are_adjusted_over_all_strata(run: Run) -> None:
    """Holm's correction is over the pairs of all personas together, not of each."""
    found = [each for _, each in systems_by(run, "persona").differences]
    assert len(found) == 3
    assert [one.p_adjusted for one in found] == pytest.approx(holm([one.p for one in found]))


def test_within_a_prompt_there_is_no_interval(run: Run) -> None:
    """A prompt is one value: its means stand with the reason, and nothing is claimed."""
    found = systems_by(run, "prompt")
    assert len(found.systems) == 12
    means = [one.composite for _, one in found.systems]
    assert all(mean.reason and not mean.has_interval for mean in means)
    assert not any(one.shown for _, one in found.differences)


def test_a_column_is_read_from_the_folder(run: Run) -> None:
    """Topics are strata; the four responses without one are left out and counted."""
    assert run.folder is not None
    found = systems_by(run, "topic")
    assert list(dict.fromkeys(stratum for stratum, _ in found.systems)) == ["work", "home"]
    assert found.n_without == 4
    assert {one.composite.n for _, one in found.systems} == {2}
    assert systems_by(load_run(run.folder), "topic").n_without == 4


def test_a_column_that_is_not_there_is_refused(run: Run, tmp_path: Path) -> None:
    """The error names what one may go by."""
    with pytest.raises(InputError, match=r"no column 'tpoic'.*dimension, topic"):
        column_of(run.responses(), "tpoic", "file.jsonl")


def test_columns_are_compared_and_cross_systems(run: Run) -> None:
    """Of two topics the first's contrast is that of the prompts' means by Welch's test; the system
    that is ahead everywhere stands in no topic otherwise."""
    found = systems_by(run, "topic")
    [between] = found.between
    whole = np.array([verdict.composite for verdict in run.verdicts]).reshape(6, 2)
    work, home = whole[:2].mean(axis=1), whole[2:4].mean(axis=1)
    expected = ttest_ind(work, home, equal_var=False)
    assert (between.a, between.system) == ("work", "all")
    assert between.value == pytest.approx(work.mean() - home.mean())
    assert between.p == pytest.approx(expected.pvalue)
    ahead = whole[:, 0] - whole[:, 1]
    by_system = {one.system: one for one in found.interactions if isinstance(one, GroupDifference)}
    apart = ahead[:2].mean() - ahead[2:4].mean()
    assert by_system["old"].value == pytest.approx(apart)
    assert by_system["new"].value == pytest.approx(-apart)
    assert not any(one.shown for one in found.interactions)
    assert found.authors == ()


def test_kinds_of_authors_meet_in_each_prompt(run: Run) -> None:
    """Where each prompt has a text by either kind, the kind that is rated higher in all six wins
    all, and is significant to."""
    assert len(run.items) == 12
    found = systems_by(run, "author", ["human", "model"] * 6)
    each = next(one for one in found.authors if one.figure == "each")
    assert (each.a, each.b, each.value, each.n) == ("human", "model", 1.0, 6)
    assert each.p == pytest.approx(2 / 2**6)
    assert each.shown


def test_dimensions_interact_with_systems(run: Run) -> None:
    """Each system on each dimension against the others, paired by prompt."""
    found = systems_by(run, "dimension").interactions
    assert len(found) == 2 * len(run.dimensions)
    ratings = np.nanmean(run.ratings, axis=1)
    ahead = ratings[::2] - ratings[1::2]
    others = np.delete(ahead, 0, axis=1).mean(axis=1)
    first = next(one for one in found if isinstance(one, GroupDifference) and one.system == "old")
    assert first.p == pytest.approx(ttest_1samp(ahead[:, 0] - others, 0).pvalue)


def test_the_summary_says_who_differs(run: Run) -> None:
    """summary.json has the sentences of the terminal, which have personas' labels, and the
    responses on which personas are shown to differ, widest apart first; the axes do in this
    run."""
    assert run.folder is not None
    summary = json.loads(as_json(run_summary(load_run(run.folder))))
    assert summary["differs"] == who_differs(load_run(run.folder))
    again = run_summary(run)
    assert any(one.startswith("Axes: x rates") for one in again["differs"])
    assert any(" Ann rates old 0.33 points higher" in one for one in again["differs"])
    found = [one for one in most_contested(run) if one.established]
    told = again["contested"]
    assert [one["id"] for one in told["responses"]] == [one.id for one in found[:10]]
    assert told["responses"][0]["why"]
    assert f"{len(found)} of 12" in told["conclusion"][0]


def test_the_result_has_what_was_found(run: Run) -> None:
    """The conclusion counts what is significant and what is left out; strata have their means with
    the reason of a missing interval, and programs every figure."""
    found = systems_by(run, "topic")
    result = systems_by_result(found, run)
    assert result.conclusion[0].startswith("Differences between systems by topic: ")
    assert "4 responses without a value left out." in result.conclusion
    text = " ".join(result.text(full=True).split())
    assert "Systems by topic" in text
    assert "Composite by topic: above the mean of the others" in text
    [between] = result["between"].rows
    assert between["difference"].p == found.between[0].p
    assert [row["difference"].p for row in result["interactions"].rows] == pytest.approx(
        [one.p for one in found.interactions if isinstance(one, GroupDifference)],
        nan_ok=True,
    )
    assert result["counts"].rows == [{"by": "topic", "n_without": 4}]
    kinds = systems_by_result(systems_by(run, "author", ["human", "model"] * 6), run).text(
        full=True
    )
    assert "human above model" in kinds
    assert "each text" in kinds


def test_people_are_shown_a_part_of_many_strata(run: Run) -> None:
    """Of twelve lines the strata of the first three, and how many more there are; the table for
    programs has all."""
    result = systems_by_result(systems_by(run, "prompt"), run, lines=3)
    assert len(result["systems"].shown_rows(full=False)) == 4
    assert len(result["systems"].rows) == 12
    assert "8 more lines: --json." in result.text()
