"""Who differs, as a result: heat maps of personas, groups against groups, agreement."""

from __future__ import annotations

import pytest

from persona_panel.analyses.contested import by_disagreement, most_contested
from persona_panel.analyses.judge_groups import (
    axis_differences,
    labels_of_personas,
    persona_departures,
)
from persona_panel.analyses.who_differs import who_differs, who_differs_result
from persona_panel.results.result import Result
from persona_panel.runs.collected import ratings_of
from persona_panel.runs.run import Run
from persona_panel.statistics.agreement import agree
from persona_panel.statistics.core.arrays import AnalysisOptions
from tests.helpers.noise import a_run

SYSTEMS = ("system-0", "system-1")


@pytest.fixture(scope="module")
def run() -> Run:
    return a_run(12, 2, "ab", "perspectives")


@pytest.fixture(scope="module")
def found(run: Run) -> Result:
    return who_differs_result(run, SYSTEMS, {"p0": "Why?"})


def test_every_persona_stands_beside_the_panel(run: Run, found: Result) -> None:
    """The heat maps and the severities have the departures of each persona, in the panel's order
    and with its label; the sentences are those of the terminal."""
    departures = persona_departures(run)
    assert list(found.conclusion) == who_differs(run)
    table = found["personas_by_system"]
    assert [column.head for column in table.columns] == list(SYSTEMS)
    of = {(one.persona, one.on): one for one in departures.by_system}
    for row in table.rows:
        for column in table.columns:
            one = of[row["persona"], column.head]
            cell = row[column.name]
            assert (cell.value, cell.low, cell.p_adjusted) == (
                one.value, one.low, one.p_adjusted
            )  # fmt: skip
    severities = [row["departure"].value for row in found["severity"].rows]
    assert severities == pytest.approx([one.departure for one in departures.severities])
    names = labels_of_personas(run)
    assert [table.label(row, ["persona"]) for row in table.rows] == [
        names[one] for one in departures.personas
    ]


def test_the_heat_map_of_responses_has_the_most_contested(run: Run, found: Result) -> None:
    """Twenty of them, by system, each with every persona's departure and its p-value; the largest
    that is significant is named."""
    table, seen = found["personas_by_response"], persona_departures(run).by_response
    assert len(table.rows) == 20 < len(run.items)
    rows = {item[:2]: row for row, item in enumerate(run.items)}
    shown = [rows[row["prompt_id"], row["id"]] for row in table.rows]
    assert sorted(shown) == sorted(by_disagreement(run)[:20])
    assert [row["system"] for row in table.rows] == sorted(row["system"] for row in table.rows)
    for place, row in zip(shown, table.rows, strict=True):
        assert row["c0"].value == pytest.approx(seen.departures[place, 0])
        assert row["c0"].p == seen.p[place, 0]
    assert "others are not shown" in table.remarks[0]
    assert any("largest that are significant" in said for said in table.remarks) == seen.shown.any()


def test_groups_are_compared_over_all_systems_and_on_each(run: Run, found: Result) -> None:
    """What is over all systems is open, the rest folded; a verdict follows the adjusted p-value."""
    differences = axis_differences(run).differences
    table = found["axis"]
    assert {row["system"] for row in table.rows} == {"all"}
    assert len(table.rows) + len(found["axis_by"].rows) == len(differences)
    assert (table.when, found["axis_by"].when) == ("always", "full")
    for row in [*table.rows, *found["axis_by"].rows]:
        assert (row["verdict"] == "not significant") != row["difference"].shown


def test_without_noise_responses_are_in_the_order_of_their_spread() -> None:
    """One model: no cell is tested, and the most contested response is that whose ratings are
    furthest apart."""
    alone = a_run(3, 2, "a", "disciplinary")
    assert all(one.reason is not None for one in most_contested(alone))
    assert by_disagreement(alone)[0] == 0
    table = who_differs_result(alone, SYSTEMS, {})["personas_by_response"]
    assert {column.kind for column in table.columns} == {"number"}
    assert "What of this is noise is not known" in table.remarks[1]


def test_one_judge_has_nobody_to_differ_from() -> None:
    """There is no table, and it is said why."""
    alone = a_run(2, 2, "a", "none")
    result = who_differs_result(alone, SYSTEMS, {})
    assert (list(result.tables), list(result.conclusion)) == (
        [], ["One judge alone has nobody to differ from."]
    )  # fmt: skip


def test_agreement_has_the_intervals_of_agree(run: Run, found: Result) -> None:
    """The α of each dimension on the page is that of `agree`, with its interval."""
    ratings = ratings_of(run).numeric()
    *_, group = ratings.raters_by_group()
    rows = agree(ratings, AnalysisOptions(), only={"krippendorff_alpha"}, group=group)
    labels = {each.id: each.label for each in run.rubric.dimensions}
    ends = {labels[row.dimension]: row.estimate().ends for row in rows if row.dimension in labels}
    alphas = {row["dimension"]: row["alpha"].ends for row in found["alpha"].rows}
    assert len(ends) > 0
    assert {name: alphas[name] for name in ends} == ends
