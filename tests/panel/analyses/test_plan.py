"""`persona-panel plan` as a user runs it: a run's folder or a file, tables, JSON, refusals."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from persona_panel.analyses.plan_result import plan_result
from persona_panel.cli.main import command as main
from persona_panel.files.ratings import load_ratings
from persona_panel.runs.design import DesignReport, PrecisionTarget
from persona_panel.statistics import design_studies
from persona_panel.statistics.designs import DesignStudy
from persona_panel.statistics.generalizability import DStudy, VarianceComponents, d_study
from persona_panel.testing import serving
from tests.helpers.results import concluded_in

Command = Callable[..., CompletedProcess[str]]


def rated(path: Path, *, sources: bool = True, raters: int = 6) -> None:
    """Ratings of 4 systems on 8 prompts by `raters` of 6 raters who differ in severity."""
    rng = np.random.default_rng(3)
    system, prompt, rater = (grid.ravel() for grid in np.indices((4, 8, 6)))
    scores = 5 + rng.normal(size=4)[system] + rng.normal(size=8)[prompt]
    scores = scores + 0.5 * rng.normal(size=6)[rater] + rng.normal(size=scores.size)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "score", "prompt", *(["source"] if sources else [])])
        for s, t, r, score in zip(system, prompt, rater, scores, strict=True):
            if r >= raters:
                continue
            row = [f"i{s}-{t}", f"r{r}", f"{score:.1f}", f"p{t}"]
            writer.writerow([*row, *([f"s{s}"] if sources else [])])


def tables(document: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(document)["tables"]
    return found


def present(found: dict[str, list[dict[str, Any]]], of: str) -> dict[str, Any]:
    """The row of the present design of the first dimension, `of` systems or responses."""
    return next(row for row in found[f"{of}_designs"] if row["kind"] == "present design")


def test_a_file_of_ratings(command: Command, tmp_path: Path) -> None:
    """The design that was asked for is said first, then the precision of means; tables fit 80
    columns; without
    a run costs are in ratings, and nothing is said of replicates."""
    rated(tmp_path / "in.csv")
    done = command("plan", "--from", "in.csv", "--half-width", "0.75", "--full", COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert concluded_in(done.stdout).startswith("An interval of a system's mean of ±0.75 points")
    assert max(map(len, lines)) <= 80
    said = " ".join(done.stdout.split())
    for expected in (
        "with 8 prompts and 6 raters, and a 95 % interval over prompts and raters of about ±",
        "A response's mean",
        "the cheapest of the designs tried. This assumes that these variance components",
        "ratings for 4 systems",
        "Variance components of systems' scores",
        "residual includes system:prompt:rater; what replicates would bring is not known",
        "rest on 4 systems, 8 prompts, 6 raters",
    ):
        assert expected in said
    for never in ("dollars", "composite", "--full has", "rough: they rest"):
        assert never not in said


def test_json_has_components_designs_and_the_cheapest(command: Command, tmp_path: Path) -> None:
    """As lists of objects with levels as numbers; the width that was wanted is reached."""
    rated(tmp_path / "in.csv")
    found = tables(command("plan", "--from", "in.csv", "--json", "--half-width", "0.75").stdout)
    components = {row["component"]: row for row in found["system_components"]}
    assert components["system:prompt:rater"]["variance"] is None
    assert "residual" in components["system:prompt:rater"]["reason"]
    assert components["system"]["error_share"] is None
    response, system = present(found, "item"), present(found, "system")
    assert (response["rater"], response["n_ratings"], response["calls"]) == (6, 6, 6)
    assert (system["prompt"], system["rater"]) == (8, 6)
    assert (system["n_ratings"], system["calls"], system["usd"]) == (48, 4 * 48, None)
    [cheapest] = [row for row in found["target"] if row["design"] == "cheapest"]
    assert cheapest["half_width"] <= cheapest["wanted"] == 0.75
    assert cheapest["n_ratings"] == cheapest["prompt"] * cheapest["rater"]
    assert found["ratings"] == [{"n_systems": 4, "deliberated": False, "warnings": []}]


def test_the_precision_can_be_required(command: Command, tmp_path: Path) -> None:
    """Of the present design, of the means that are named."""
    rated(tmp_path / "in.csv")
    given = "plan", "--from", "in.csv", "--require"
    assert command(*given, "generalizability[item] >= 0.9").returncode == 0
    assert command(*given, "half_width[system] <= 0.5").returncode == 3
    done = command(*given, "half_width[item] <= 0.5")
    assert "it is of systems alone" in done.stderr


def test_raters_who_took_turns(command: Command, tmp_path: Path) -> None:
    """Of six raters two rated each response, which is said first and in JSON; the standard error is
    that of the systems as they were rated, beside that of two who rate everything."""
    rated(tmp_path / "all.csv")
    heading, *rows = (tmp_path / "all.csv").read_text().splitlines()
    kept = [row for n, row in enumerate(rows) if (n % 6 - n // 6) % 6 < 2]
    (tmp_path / "in.csv").write_text("\n".join([heading, *kept]) + "\n")
    said = concluded_in(command("plan", "--from", "in.csv").stdout)
    assert said.startswith("A response was rated by 2 of 6 raters.")
    found = tables(command("plan", "--from", "in.csv", "--json").stdout)
    design = present(found, "system")
    [as_rated] = [r["error_as_rated"] for r in found["precision"] if r["measured"] == "system"]
    assert (design["prompt"], design["rater"]) == (8, 2)
    assert as_rated < design["absolute_error"]
    assert (
        f"{as_rated:.2f} points as it was rated, by 6 raters in turn; with 8 "
        f"prompts and 2 raters who rate every response it would have one of "
        f"{design['absolute_error']:.2f}"
    ) in said


def test_raters_of_a_group_count_as_one(command: Command, tmp_path: Path) -> None:
    """Where raters of a group may have a model in common, its mean is one rater's rating, which the
    first line says, as does JSON; ratings are counted one by one. One rater a group is a rater."""
    rated(tmp_path / "in.csv")
    rows = (tmp_path / "in.csv").read_text().splitlines()
    for name, n_groups in (("groups.csv", 3), ("alone.csv", 6)):
        lines = [f"{row},m{int(row.split(',')[1][1:]) % n_groups}" for row in rows[1:]]
        (tmp_path / name).write_text("\n".join([f"{rows[0]},group", *lines]) + "\n")
    done = command("plan", "--from", "groups.csv", "--full")
    printed = " ".join(done.stdout.split())
    assert concluded_in(done.stdout).startswith("Raters are of 3 groups")
    assert "8 prompts and 3 groups" in printed
    assert "interval over prompts and groups" in printed
    assert "(fewer than five groups; a difference that" in printed
    found = tables(command("plan", "--from", "groups.csv", "--json").stdout)
    assert "each group's mean counts as one rater" in found["ratings"][0]["warnings"][0]
    response, system = present(found, "item"), present(found, "system")
    assert (response["group"], response["n_ratings"]) == (3, 6)
    assert (system["prompt"], system["group"], system["n_ratings"]) == (8, 3, 48)
    alone = command("plan", "--from", "alone.csv", "--full").stdout
    assert concluded_in(alone).startswith("A system's mean")
    assert "8 prompts and 6 raters" in " ".join(alone.split())


def test_a_run_of_the_panel(command: Command, tmp_path: Path) -> None:
    """Judges are personas through models, and costs are the run's own: as many calls as it made, at
    what they cost; the standard errors are of the rubric's composite."""
    batch = [
        {"id": f"r{i}", "prompt": f"Question {i // 2}?", "response": f"Text {i}." + " so" * (i % 5),
         "system": ("alder", "birch")[i % 2]}
        for i in range(12)
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in batch))
    with serving() as server:
        models = ("--model", "openai:gpt-4o-mini", "--model", "openai:gpt-4o")
        scored = command(
            "score", "in.jsonl", *models, "--personas", "disciplinary", "--out", "run",
            OPENAI_BASE_URL=server.base_url,
        )  # fmt: skip
    assert scored.returncode == 0, scored.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    found = tables(command("plan", "--from", "run", "--json").stdout)
    design = present(found, "system")
    assert design["dimension"] == "composite"
    assert [design[name] for name in ("prompt", "persona", "model")] == [6, 5, 2]
    assert design["calls"] == summary["calls"]["made"] == 120
    assert design["usd"] == pytest.approx(summary["calls"]["usd"], abs=1e-5)
    # The composite of this rubric is the mean over its dimensions.
    studies = design_studies(load_ratings(tmp_path / "run"))
    study = next(one for one in studies if one.measured == "system")
    composite = {
        row["component"]: row["variance"]
        for row in found["system_components"]
        if row["dimension"] == "composite" and row["variance"] is not None
    }
    expected = {name: study.components.variances[name] for name in composite}
    assert composite == pytest.approx(expected, abs=1e-6)
    names = {row["component"] for row in found["item_components"]}
    assert {"item:persona", "item:model", "persona:model", "item:persona:model"} <= names
    assert found["target"] == []
    printed = command("plan", "--from", "run", COLUMNS="80").stdout
    assert "(composite)" in printed
    # From 2 models.
    assert concluded_in(printed).startswith("All figures are rough: they rest on 2 models.")
    assert max(map(len, printed.splitlines())) <= 80


def test_few_prompts_and_raters_are_said_first(command: Command, tmp_path: Path) -> None:
    """Facets of fewer than five levels are named with their number; from 2 prompts there is no
    forecast of a width that anyone could use."""
    rated(tmp_path / "in.csv")
    rows = (tmp_path / "in.csv").read_text().splitlines()
    few = [row for row in rows if row.split(",")[3] in ("prompt", "p0", "p1")]
    (tmp_path / "few.csv").write_text("\n".join(few) + "\n")
    printed = command("plan", "--from", "few.csv").stdout
    assert concluded_in(printed).startswith("All figures are rough: they rest on 2 prompts.")
    found = tables(command("plan", "--from", "few.csv", "--json").stdout)
    assert present(found, "system")["half_width"] is None
    # Where a question is asked, its answer is before all of that.
    for asked, begins in (
        (("--difference", "3"), "Detecting a difference of 3 points"),
        (("--half-width", "2"), "An interval of a system's mean of ±2 points"),
    ):
        printed = command("plan", "--from", "few.csv", *asked).stdout
        assert concluded_in(printed).startswith(begins)
        full = command("plan", "--from", "few.csv", *asked, "--full").stdout
        assert "All figures are rough: they rest on 2 prompts." in " ".join(full.split())


def test_without_systems_there_are_responses(command: Command, tmp_path: Path) -> None:
    """Without sources there are responses alone, and no width of systems' means."""
    rated(tmp_path / "in.csv", sources=False)
    done = command("plan", "--from", "in.csv")
    assert done.returncode == 0
    assert "system" not in done.stdout
    refused = command("plan", "--from", "in.csv", "--half-width", "1")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "in.csv: found no sources and prompts; expected systems" in refused.stderr


def test_a_difference_to_detect_and_people_beside(command: Command, tmp_path: Path) -> None:
    """A design that detects the difference, by judges and by people, who need no systems and
    prompts of their own: those of the panel's ratings count. Two goals at once are refused."""
    rated(tmp_path / "in.csv")
    rows = (tmp_path / "in.csv").read_text().splitlines()
    people = [",".join(row.split(",")[:3]) for row in rows if row.split(",")[1] != "r5"]
    (tmp_path / "people.csv").write_text("\n".join(people) + "\n")
    given = ("plan", "--from", "in.csv", "--difference", "1.5", "--human", "people.csv")
    found = tables(command(*given, "--json").stdout)
    cheapest = {
        before: next(row for row in found[f"{before}target"] if row["design"] == "cheapest")
        for before in ("", "people_")
    }
    for row in cheapest.values():
        assert row["kind"] == "difference"
        assert row["detectable_difference"] <= 1.5
    assert present(found, "people_item")["rater"] == 5
    assert [present(found, "people_system")[name] for name in ("prompt", "rater")] == [8, 5]
    asked = "Detecting a difference of 1.5 points between two systems (80 % power) takes about "
    short = command(*given).stdout
    assert len(short.splitlines()) <= 24
    assert concluded_in(short).startswith(asked)
    assert f" People: {asked}8 prompts and 5 raters: 160 ratings" in " ".join(short.split())
    said = " ".join(command(*given, "--full").stdout.split())
    assert said.count("This assumes that these variance components, and the difference, are ") == 1
    assert "People: A system's mean has a standard error" in said
    assert "it takes 8 prompts of each system that people rated (`people calibrate`)" in said
    # What people are asked for is not refused by `people calibrate`.
    assert cheapest["people_"]["prompt"] >= 8
    assert "judge" not in said.partition("Human ratings")[2]
    refused = command(*given, "--half-width", "1")
    assert refused.returncode == 2
    assert "exclude each other" in refused.stderr


def test_the_composite_has_its_name(command: Command, tmp_path: Path) -> None:
    """Of two dimensions the mean is the `composite`, and so is what people rated who name none; of
    one dimension, named or not, there is no composite and nothing else to look for."""
    rated(tmp_path / "people.csv")
    heading, *rows = (tmp_path / "people.csv").read_text().splitlines()
    for name, dimensions in (("two", ("clarity", "depth")), ("one", ("clarity",))):
        lines = [f"{row},{dimension}" for row in rows for dimension in dimensions]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"{heading},dimension", *lines]) + "\n")

    def names(document: str, before: str = "") -> list[str]:
        rows = tables(document)[f"{before}system_designs"]
        return list(dict.fromkeys(row["dimension"] for row in rows))

    given = "plan", "--from", "two.csv", "--human", "people.csv"
    document = command(*given, "--json").stdout
    assert names(document) == ["composite", "clarity", "depth"]
    assert names(document, "people_") == ["composite"]
    printed = command(*given, "--full").stdout
    assert "People: A system's mean (composite) has" in printed
    assert command(*given).stdout.count("--full has the rest") == 1
    assert names(command("plan", "--from", "people.csv", "--json").stdout) == ["all"]
    printed = command("plan", "--from", "one.csv", "--full").stdout
    assert concluded_in(printed).startswith("A system's mean (clarity) has")
    assert "--full has" not in printed


def test_a_present_design_with_two_models_may_cost_less_than_the_cheapest() -> None:
    """Designs of fewer than three models are not tried: the sentence says of which designs the
    cheapest is one, and how many models the present design has."""
    variances = {"system": 1.0, "system:prompt": 0.5, "system:persona": 0.2, "residual": 2.0}
    components = VarianceComponents(
        variances, dict.fromkeys(variances, 0.25),
        {"system": 4, "prompt": 9, "persona": 10, "model": 2},
    )  # fmt: skip

    def of(prompts: int, models: int) -> DStudy:
        levels = {"prompt": prompts, "persona": 10, "model": models}
        return replace(d_study(components, "system", levels), width=1.0, detectable=1.0)

    study = DesignStudy("system", "all", components, (of(9, 2),))
    target = PrecisionTarget("difference", 1.0)
    report = DesignReport((study,), 4, None, target, of(18, 2), of(16, 3))
    said = " ".join(plan_result(report).text(full=True).split())
    assert (
        "takes about 16 prompts, 10 personas and 3 models: 1,920 ratings for 4 systems, the "
        "cheapest with at least 3 models. This assumes" in said
    )
    assert "With the present judges (2 models) it takes about 18 prompts" in said
    assert "Fewer than 3 models are not tried" in said
    assert "Detecting a difference of 1 points between" in said
    mixed = " ".join(plan_result(replace(report, rescaled=True)).text(full=True).split())
    assert "Detecting a difference of 1 of the scale's width between" in mixed


def test_few_judges_are_why_no_number_of_prompts_is_enough() -> None:
    """Three judges have no interval over judges, however small their error is, which is said; of
    five it is not."""
    for n, says in (
        (3, "no number of prompts reaches it: its interval is over judges, too, of whom it needs "
            "at least 5."),
        (5, "no number of prompts reaches it: its interval is over judges, too."),
    ):  # fmt: skip
        variances = {"system": 1.0, "system:prompt": 0.5, "residual": 0.1}
        levels = {"prompt": 40, "rater": n}
        components = VarianceComponents(
            variances, dict.fromkeys(variances, 0.25), {"system": 2, **levels}
        )
        present = d_study(components, "system", levels)
        study = DesignStudy("system", "all", components, (present,))
        target = PrecisionTarget("half_width", 1.0)
        report = DesignReport((study,), 2, None, target, None, present)
        assert says in " ".join(plan_result(report).text(full=True).split())


def test_why_more_prompts_do_not_do_is_said(command: Command, tmp_path: Path) -> None:
    """With three raters no number of prompts reaches a width over raters, too: the reason stands in
    the sentence, as a leaderboard's number of prompts is for raters as they are."""
    rated(tmp_path / "in.csv", raters=3)
    done = command("plan", "--from", "in.csv", "--half-width", "0.75", "--full")
    said = " ".join(done.stdout.split())
    assert (
        "With the present raters no number of prompts reaches it: its interval is over raters, "
        "too, of whom it needs at least 5."
    ) in said


def test_what_lowers_the_error_most_may_not_narrow_the_interval_most() -> None:
    """With two models more prompts lower the standard error most, and more models the interval,
    which has few degrees of freedom: both are said, and that it is wider than twice the error. Of
    shares nothing is said in points."""
    variances = {"system": 1.0, "prompt": 0.4, "persona": 0.08, "model": 0.08, "residual": 0.6}
    components = VarianceComponents(
        variances, dict.fromkeys(variances, 0.25),
        {"system": 4, "prompt": 8, "persona": 5, "model": 2},
    )  # fmt: skip

    def of(prompts: int, personas: int, models: int) -> DStudy:
        levels = {"prompt": prompts, "persona": personas, "model": models}
        return replace(d_study(components, "system", levels), error_shares={})

    present, prompts, personas, models = of(8, 5, 2), of(16, 5, 2), of(8, 10, 2), of(8, 5, 4)
    study = DesignStudy("system", "all", components, (present, prompts, personas, models))
    result = plan_result(DesignReport((study,), 4, None, in_points=False))
    said = " ".join(result.text(full=True).split())
    error, half = present.absolute_error, present.width / 2
    assert half > 2 * error
    assert (
        f"a standard error of {error:.2f} with 8 prompts, 5 personas and 2 models, and a 95 % "
        f"interval over prompts and judges of about ±{half:.2f}. Twice the prompts would lower it "
        f"most, to {prompts.absolute_error:.2f}; twice the models would narrow the "
        f"interval most, to ±{models.width / 2:.2f}."
    ) in said
    assert "It is mostly more than twice the SE, most so with few models:" in said
    assert "(fewer than five judges, or one model where the run has several; a difference" in said
    assert "as often of two models, with which" in said
    assert "points" not in said


@pytest.mark.parametrize("width", ["0", "-1", "nan", "inf", "wide"])
def test_a_width_is_a_number_of_points_above_0(
    command: Command, tmp_path: Path, width: str
) -> None:
    """Anything else is refused, and nothing is read."""
    done = command("plan", "--from", "missing.csv", "--half-width", width)
    assert done.returncode == 2
    assert "--half-width" in done.stderr
    assert "missing.csv" not in done.stderr


def test_categories_alone_have_no_precision(command: Command, tmp_path: Path) -> None:
    """Labels are refused: their variance means nothing."""
    lines = [f"i{item},r{rater},{'ab'[item % 2]}" for item in range(4) for rater in range(2)]
    (tmp_path / "in.csv").write_text("\n".join(["item,rater,label", *lines]) + "\n")
    done = command("plan", "--from", "in.csv")
    assert done.returncode == 2
    assert "found categories only; expected a dimension that is rated by numbers" in done.stderr


def test_small_errors_keep_two_digits(tmp_path: Path) -> None:
    """On a scale from 0 to 1 errors and components are far below 0.01, and printed as what they
    are."""
    rated(tmp_path / "in.csv")
    with (tmp_path / "in.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "small.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"score": f"{float(row['score']) / 1000:.4f}"} for row in rows)

    def printed(*options: str) -> str:
        return (
            CliRunner()
            .invoke(main, ["plan", "--from", str(tmp_path / "small.csv"), *options])
            .stdout
        )

    found = tables(printed("--json"))
    said = " ".join(printed().split())
    for error in (present(found, of)["absolute_error"] for of in ("system", "item")):
        assert 0.0001 < error < 0.001
        assert f"has a standard error of {error:.5f} points" in said
    assert f"of about ±{present(found, 'system')['half_width']:.4f}" in said
    assert "0.00 " not in said


def test_a_run_without_its_option_is_told_where_it_stands() -> None:
    """A run's folder as an argument, as other commands take it, is refused with the command."""
    done = CliRunner().invoke(main, ["plan", "runs/first"])
    assert done.exit_code == 2
    assert "persona-panel plan --from RUN" in done.stderr
