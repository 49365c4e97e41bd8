"""What commands print by default: the conclusion, one short table, a screen at most."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import click
import krippendorff
import numpy as np
import pytest
from scipy import stats

from persona_panel import Panel, Response
from persona_panel.cli.main import command
from persona_panel.testing import ScriptedModel
from tests.helpers.all_commands import commands_in
from tests.helpers.answered_runs import answered_run, translated_run
from tests.helpers.invoked import invoked
from tests.helpers.results import concluded_in, statistics_of

DIMENSIONS = ("clarity", "depth", "rigour")
QUICK = ("--resamples", "0")


def written(path: Path, n_raters: int, seed: int) -> np.ndarray:
    """Ratings of 24 items of 6 prompts on three dimensions, with a topic; one cell is a gap."""
    rng = np.random.default_rng(seed)
    quality = np.random.default_rng(9).normal(size=(24, 1, 3))
    scores = np.clip(np.round(3 + quality + rng.normal(size=(24, n_raters, 3))), 1, 5)
    scores[0, 0, 0] = np.nan
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "dimension", "score", "prompt", "topic"])
        for (item, rater, place), score in np.ndenumerate(scores):
            said = "" if np.isnan(score) else int(score)
            prompt, topic = f"p{item // 4}", "work" if item < 12 else "home"
            writer.writerow([f"i{item}", f"r{rater}", DIMENSIONS[place], said, prompt, topic])
    return scores


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, np.ndarray, np.ndarray]:
    """A panel's ratings and people's, and their scores."""
    folder = tmp_path_factory.mktemp("ratings")
    ours, theirs = written(folder / "panel.csv", 4, 1), written(folder / "people.csv", 3, 2)
    return folder / "panel.csv", folder / "people.csv", ours, theirs


def rows_of(text: str, statistic: str) -> list[dict[str, Any]]:
    return [row for row in statistics_of(text) if row["statistic"] == statistic]


def lines_of(text: str, names: tuple[str, ...]) -> list[str]:
    """The lines of tables that begin with one of these names, without what stands behind it."""
    firsts = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    return [name for name in firsts if name in names]


@pytest.mark.parametrize("width", [80, 120, 200])
def test_agree_shows_one_line_a_dimension(files: Any, width: int) -> None:
    """The composite, then dimensions as far as they fit, each once in every part of the one table,
    which fits the width; a screen at most, with where the rest is, and all with --full."""
    done = invoked("agree", files[0], *QUICK, COLUMNS=str(width))
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= width
    names = ("composite", *DIMENSIONS)
    found = lines_of(done.stdout, names)
    n = len(set(found))
    assert n >= 3
    assert found == [*names[:n]] * (len(found) // n)
    assert {*names} == {*lines_of(invoked("agree", files[0], *QUICK, "--full").stdout, names)}
    assert "--full has the rest, --json every figure." in " ".join(done.stdout.split())
    (alpha,) = (
        row
        for row in rows_of(
            invoked("agree", files[0], *QUICK, "--json").stdout, "krippendorff_alpha"
        )
        if row["dimension"] == "depth"
    )
    shown = f"{alpha['value']:.2f} [{alpha['low']:.2f}, {alpha['high']:.2f}]"
    assert shown in invoked("agree", files[0], *QUICK, "--format", "markdown").stdout.replace(
        "\\", ""
    )


def test_the_composite_is_the_mean_of_each_raters_dimensions(files: Any) -> None:
    """Its α is that of the krippendorff package on these means, missing where a dimension is, and
    its τ_b with people SciPy's; p-values of the dimensions are adjusted together, for three tests,
    and the composite's for none."""
    panel, people, ours, theirs = files
    done = invoked("agree", panel, "--resamples", "99", "--json")
    alpha = rows_of(done.stdout, "krippendorff_alpha")[0]
    expected = krippendorff.alpha(ours.mean(axis=2).T, level_of_measurement="ordinal")
    assert (alpha["dimension"], alpha["value"]) == ("composite", pytest.approx(expected))
    tests = {row["dimension"]: row["n_tests"] for row in rows_of(done.stdout, "kendall_w")}
    assert tests == {"composite": 1, "clarity": 3, "depth": 3, "rigour": 3}
    done = invoked("people", "correlate", panel, "--human", people, *QUICK, "--json")
    tau = next(row for row in rows_of(done.stdout, "tau_b") if row["group"] == "all")
    # Rounded: means that are equal are ties, whatever the order of what they are of.
    means = [np.nanmean(side.mean(axis=2), axis=1).round(9) for side in (ours, theirs)]
    expected = stats.kendalltau(*means).statistic
    assert (tau["dimension"], tau["value"]) == ("composite", pytest.approx(expected))


def test_correlate_shows_one_line_a_dimension(files: Any) -> None:
    """Correlations and the panel less one human; the long tables, and each side's own figures,
    with --full alone; the conclusion is of the composite first."""
    short, full = (
        invoked(
            "people", "correlate", files[0], "--human", files[1], *QUICK, *option, COLUMNS="80"
        ).stdout
        for option in ([], ["--full"])
    )
    names = ("composite", *DIMENSIONS)
    assert len(short.splitlines()) <= 24
    found = lines_of(short, names)
    n = len(set(found))
    assert found == [*names[:n]] * 2
    assert "Score distributions" not in short
    assert "Score distributions" in full
    assert len(full.splitlines()) > 4 * len(short.splitlines())
    assert "the composite:" in concluded_in(short)
    assert concluded_in(full).startswith(concluded_in(short))


def test_strata_have_a_line_of_the_composite_each(files: Any) -> None:
    """By a column the table has its values, of the composite; with one dimension, of that."""
    text = invoked("agree", files[0], "--by", "topic", *QUICK, COLUMNS="200").stdout
    assert lines_of(text, ("work", "home", *DIMENSIONS)) == ["work", "home"]
    assert "Agreement: composite" in text


def test_json_is_the_same_in_full(files: Any) -> None:
    """--full adds nothing to it, as it has everything."""
    short, full = (
        invoked("agree", files[0], *QUICK, "--json", *option).stdout for option in ([], ["--full"])
    )
    assert short == full


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run by a rubric whose dimensions have labels, and people's ratings of its texts by id."""
    folder = tmp_path_factory.mktemp("labelled")
    texts = [
        Response(id=f"r{p}{system}", prompt=f"Why {p}?", text=f"Text {p}{system}.", system=system)
        for p in range(12)
        for system in "xy"
    ]
    run = Panel("disciplinary", ScriptedModel(), "scrub").score(texts, out=folder / "run")
    lines, drawn = ["item,rater,dimension,score"], np.random.default_rng(0)
    for place, item in enumerate(run.items):
        for d, dimension in enumerate(run.dimensions):
            quality = np.nanmean(run.ratings[place, :, d])
            lines += [
                f"{item.id},{human},{dimension},{round(quality) + drawn.integers(-1, 2)}"
                for human in "ab"
            ]
    (folder / "people.csv").write_text("\n".join(lines))
    return folder / "run", folder / "people.csv"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("agree", [*QUICK, "--no-intervals"]),
        ("correlate", [*QUICK, "--no-intervals"]),
        ("align", ["--method", "isotonic", "--full"]),
        ("calibrate", ["--full"]),
    ],
)
def test_people_read_labels_and_programs_ids(
    labelled: tuple[Path, Path], name: str, options: list[str]
) -> None:
    """Sentences and tables have the labels of the rubric's dimensions, the tables of --csv their
    ids."""
    run, people = labelled
    human = [] if name == "agree" else ["--human", people]
    words = [name] if name == "agree" else ["people", name]
    text = invoked(*words, run, *human, *options, COLUMNS="80").stdout
    assert "Evidential grounding" in text
    assert "evidential_grounding" not in text
    if name != "correlate":  # as agree, and takes longest
        table = invoked(*words, run, *human, *options, "--csv").stdout
        assert "evidential_grounding" in table
        assert "Evidential" not in table


def test_json_has_ids(labelled: tuple[Path, Path]) -> None:
    """Of a run whose rubric has labels, too."""
    text = invoked("people", "calibrate", labelled[0], "--human", labelled[1], "--json").stdout
    assert "evidential_grounding" in {
        row["dimension"] for row in json.loads(text)["tables"]["rows"]
    }


_MODEL = ("--model", "openai:stub@http://127.0.0.1:9/v1", "--dry-run")
PRINTED: dict[str, tuple[str, ...]] = {
    "agree": ("run", *QUICK),
    "contested": ("run",),
    "robustness": ("run",),
    "rasch": ("run",),
    "plan": ("--from", "run"),
    "select": ("run", "--n", "5", "--out", "items.csv"),
    "compare": ("run", "other"),
    "report": ("run",),
    "audit bias": ("run",),
    "audit language": ("translated",),
    "audit translation": ("de", *_MODEL),
    "people correlate": ("run", "--human", "people.csv", *QUICK),
    "people calibrate": ("run", "--human", "people.csv"),
    "people align": ("run", "--human", "people.csv"),
    "people votes": ("run", "--human", "people.csv"),
    "people make": ("run/responses.jsonl", "--raters", "3", "--per-rater", "30", "--out", "study"),
    "people status": ("study",),
    "score": ("run/responses.jsonl", *_MODEL),
    "audit injection": ("run/responses.jsonl", "--limit", "9", *_MODEL),
    "ablate": ("run/responses.jsonl", "--vary", "personas", *_MODEL),
    "sweep": ("prompts.jsonl", "--target", "openai:target@http://127.0.0.1:9/v1", *_MODEL),
    "init": ("run/responses.jsonl", "--model", "openai:stub", "--out", "panel.yaml"),
    "cache stats": (),
    "cache export": ("answers.jsonl",),
    "cache import": ("answers.jsonl",),
    "cache prune": ("--older-than", "1"),
    "library personas": (),
    "library rubrics": (),
    "library framings": (),
    "library languages": (),
    "models": (),
}
"""Each command that calls no model, or foresees what it would call, with its arguments, in an order
in which each finds its inputs."""
ELSEWHERE = {
    "demo": "test_demo", "view": "prints an address", "generate": "test_generate",
    "keypoints": "test_command_sentences", "prompts build": "test_prompts",
    "prompts pairs": "test_prompts", "questions ask": "test_questions",
    "questions match": "test_command_sentences", "people collect": "test_command_sentences",
    "people fidelity": "test_command_sentences", "batch status": "test_batch",
    "batch wait": "test_batch", "batch cancel": "test_batch", "people import": "test_published",
}  # fmt: skip
"""Where the others print."""


def test_every_command_prints_a_screen_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """24 lines of 80 columns at most, on a run of three systems with people's ratings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "cache"))
    answered_run("biased", tmp_path / "run")
    translated_run(tmp_path / "translated", 0.5)
    shutil.copytree("run", "other")
    Path("run.people.csv").rename("people.csv")
    prompts = [json.dumps({"id": f"p{n}", "prompt": f"Is measure {n} just?"}) for n in range(3)]
    Path("prompts.jsonl").write_text("\n".join(prompts))
    printed = {}
    for name, arguments in PRINTED.items():
        done = invoked(*name.split(), *arguments, COLUMNS="80")
        # Of a study that nobody has answered the status is 1.
        assert done.returncode == (name == "people status"), (name, done.stderr)
        shown = done.stdout.replace(str(tmp_path), ".").splitlines()
        printed[name] = len(shown)
        assert max(map(len, shown), default=0) <= 80, name
    assert max(printed.values()) <= 24, printed
    names = {" ".join(words) for words, each in commands_in(command)
             if not isinstance(each, click.Group)}  # fmt: skip
    assert names == {*PRINTED, *ELSEWHERE}
