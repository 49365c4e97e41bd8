"""`robustness`: a run whose winner one model makes, its sentences, tables and picture."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from persona_panel import Panel, Persona, Response, load_run, rasch, robustness
from persona_panel.cli.main import command
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedModel
from tests.helpers.results import concluded_in

PERSONAS = [
    Persona(id=name, label=name.title(), axis="all", description=f"You are {name}.")
    for name in ("ann", "bob", "cat")
]


def answers(favours: str, by: int) -> Callable[[ModelRequest], str]:
    """2 for the text of one system, for the other's `by` more; ann gives more than one point only
    every second time."""

    def answer(request: ModelRequest) -> str:
        asked = str(request)
        own = f"An essay by {favours}" in asked
        return json.dumps(
            {
                "good_opening": 2
                + own * (by - (by > 1 and "number 1" in asked and "You are ann" in asked))
            }
        )

    return answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight prompts answered by elm and oak; the model `fair` gives elm one point more,
    `biased` gives oak two, as ann one."""
    out = tmp_path_factory.mktemp("robustness") / "run"
    models = [
        ScriptedModel(answers("elm", 1), model="fair"),
        ScriptedModel(answers("oak", 2), model="biased"),
    ]
    batch = [
        Response(id=f"{name}{i}", prompt=f"Why {i}?", system=name,
                 text=f"An essay by {name}, number {i % 2}.")
        for i in range(8)
        for name in ("elm", "oak")
    ]  # fmt: skip
    Panel(PERSONAS, models, "debate-speech").score(batch, out=out)
    return out


def test_one_model_reverses_the_winner(folder: Path) -> None:
    """Oak leads by the mean of both models; without the biased one elm does, which is named
    first."""
    result = CliRunner().invoke(command, ["robustness", str(folder)], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    said = concluded_in(result.stdout)
    of = robustness(str(folder))
    [row] = [row for row in of["choices"].rows if row["choice"] == "model scriptedmodel:biased"]
    assert row["n_ahead"] == 0
    n, rows = len(of["analyses"].rows), {row["system"]: row for row in of["systems"].rows}
    assert said.startswith(
        f"oak is ahead in {rows['oak']['n_ahead']} of {n} analyses, significantly in "
    )
    assert (
        "One choice is enough to put another system first: z-scores by judge (elm); without model "
        "scriptedmodel:biased (elm)."
    ) in said
    assert len(result.stdout.splitlines()) <= 24


def rated_by_pia(folder: Path, score: Callable[[str, int], int], **columns: str) -> str:
    """A file of one person's ratings of eight texts of either system, with the same in other
    columns of every row."""
    rows = [
        ",".join([f"{name}{i}", "pia", str(score(name, i)), *columns.values()])
        for i in range(8)
        for name in ("elm", "oak")
    ]
    file = folder / "people.csv"
    file.write_text("\n".join([",".join(["item", "rater", "score", *columns]), *rows]), "utf-8")
    return str(file)


def test_people_correct_the_means_of_one_analysis(folder: Path, tmp_path: Path) -> None:
    """People, who read all, have elm a point behind once and ahead four times of eight: in the
    analysis corrected by them it leads by 3/8, in their standard deviation of √((5 − 9/8)/7); the
    first sentence says whose ranking the others are."""
    file = rated_by_pia(tmp_path, lambda name, i: 3 + (i % 2 if name == "elm" else i == 0))
    of = robustness(str(folder), file)
    assert of.conclusion[0].startswith("By the panel alone and, in one ")
    [row] = [row for row in of["analyses"].rows if row["aggregation"] == "corrected by people"]
    assert (row["first"], row["changes"]) == ("elm", "corrected by people")
    assert row["lead"].value == pytest.approx(-3 / 8 / np.sqrt((5 - 9 / 8) / 7))
    alone = robustness(str(folder))
    assert len(of["analyses"].rows) == len(alone["analyses"].rows) + 1


def test_what_is_corrected_is_what_people_rated(tmp_path: Path) -> None:
    """Of five dimensions people rated rigour, of eight of ten prompts: the corrected analysis is of
    that dimension and of eight prompts, the main one of the composite and ten."""
    rubric = resolve_rubric("scrub")
    names = [dimension.id for dimension in rubric.dimensions]

    def answer(request: ModelRequest) -> str:
        own = "An essay by elm" in str(request)
        scores = dict.fromkeys(names, 5 + own * ("number 1" in str(request)))
        return json.dumps(scores | {"abstained": False})

    batch = [
        Response(id=f"{name}{i}", prompt=f"Why {i}?", system=name,
                 text=f"An essay by {name}, number {i % 2}.")
        for i in range(10)
        for name in ("elm", "oak")
    ]  # fmt: skip
    Panel(PERSONAS, [ScriptedModel(answer, model="m")], "scrub").score(batch, out=tmp_path / "run")
    file = rated_by_pia(
        tmp_path, lambda name, i: 3 + (i % 3) + (name == "elm"), dimension=names[-1]
    )
    rows = robustness(str(tmp_path / "run"), file)["analyses"].rows
    [row] = [row for row in rows if row["aggregation"] == "corrected by people"]
    [main] = [row for row in rows if row["main"]]
    assert (row["dimension"], row["n_prompts"]) == (names[-1], 8)
    assert (main["dimension"], main["n_prompts"]) == ("composite", 10)
    assert row["changes"] == f"corrected by people, {rubric.dimensions[-1].label} alone"


def test_one_analysis_is_the_ordinal_model(folder: Path) -> None:
    """It says what `rasch --model ordinal` says of the same ratings."""
    [row] = [
        row for row in robustness(str(folder))["analyses"].rows
        if row["aggregation"] == "ordinal model"
    ]  # fmt: skip
    [of] = rasch(str(folder), model="ordinal")["differences"].rows
    assert row["first"] == of["a"]
    assert row["lead"].p == pytest.approx(of["difference"].p)
    assert row["lead"].sign == (1 if of["a"] == "oak" else -1) * of["difference"].sign


def test_counts_are_those_of_the_analyses(folder: Path) -> None:
    """Every count is that of rows of the table of analyses, and leads fall from row to row."""
    of = robustness(str(folder))
    rows = of["analyses"].rows
    for choice in of["choices"].rows:
        own = [row for row in rows if row[choice["kind"]] == choice["choice"]]
        assert choice["n"] == len(own)
        assert choice["n_ahead"] == sum(row["first"] == "oak" for row in own)
        assert choice["n_significant"] == sum(row["winner"] == "oak" for row in own)
    [claim] = of["claims"].rows
    assert (claim["a"], claim["b"], claim["n"]) == ("oak", "elm", len(rows))
    assert claim["n_ahead"] == sum(row["first"] == "oak" for row in rows)
    leads = [row["lead"].value for row in rows if not np.isnan(row["lead"].value)]
    assert leads == pytest.approx(sorted(leads, reverse=True), abs=1e-9)
    assert sum(row["main"] for row in rows) == 1


def test_the_main_analysis_is_the_runs_own(folder: Path) -> None:
    """Its lead has the p-value of the leaderboard's difference."""
    run = load_run(folder)
    [difference] = run.leaderboard().differences
    [main] = [row for row in robustness(run)["analyses"].rows if row["main"]]
    assert main["lead"].p == pytest.approx(difference.p)
    assert main["lead"].value == pytest.approx(difference.effect_size)


def test_a_share_can_be_required(folder: Path) -> None:
    """The share of analyses in which the first system is ahead decides the exit status."""
    share = robustness(str(folder))["systems"].rows[0]["ahead"].value
    for bound, status in ((share - 0.01, 0), (share + 0.01, 3)):
        words = ["robustness", str(folder), "--require", f"analyses_ahead >= {bound}"]
        assert CliRunner().invoke(command, words).exit_code == status


def test_the_curve_is_drawn(folder: Path, tmp_path: Path) -> None:
    """Below as many intervals as there are analyses, each choice has a row of marks."""
    of = robustness(str(folder))
    figure = of.plot()
    above, below = figure.axes
    there = sum(row["lead"].has_interval for row in of["analyses"].rows)
    values = [row for row in of["analyses"].rows if not np.isnan(row["lead"].value)]
    assert len(above.collections) == len(values) == there
    names = [label.get_text() for label in below.get_yticklabels()]
    assert {"mean", "median", "without one judge", "without model scriptedmodel:…"} <= {*names}
    assert f"of {len(values)} analyses" in figure.caption
    figure.savefig(tmp_path / "curve.svg")
    page = of.text("html", full=True)
    assert page.count("<circle") == len(values) - 1
    assert page.count('<path class="theirs"') == 1
    assert '<th scope="row" class="name foreign">without model scriptedmodel:fair</th>' in page
