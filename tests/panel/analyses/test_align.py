"""`persona-panel people align` as a user runs it: held-out figures, scores in a file, refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from persona_panel import Panel, Persona, Response, load_ratings
from persona_panel.cli.main import command
from persona_panel.testing import ScriptedModel
from tests.helpers.aligned import learnt_alignment
from tests.helpers.results import concluded_in

N, RATED = 30, 20
FIELDS = [
    "method", "dimension", "before", "after", "difference", "verdict", "order_p", "n_items",
    "n_prompts", "n_left_out",
]  # fmt: skip


def written(path: Path, columns: list[str], rows: list[list[Any]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return str(path)


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    """Scores of three judges at the upper end of their scale `(texts, judges)`, three texts to a
    prompt, and of three people, who rated the first prompts."""
    rng = np.random.default_rng(0)
    truth = rng.normal(3, 1, 3 * N)
    judges = 10 - 6 * np.exp(-truth / 2)[:, None] + rng.normal(0, 0.3, (3 * N, 3))
    people = np.round(truth[:, None] + rng.normal(0, 0.6, (3 * N, 3)), 2)
    return np.round(judges, 2), people[: 3 * RATED]


@pytest.fixture(scope="module")
def files(
    table: tuple[np.ndarray, np.ndarray], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str]:
    folder, found = tmp_path_factory.mktemp("align"), []
    for name, scores in zip(("judge", "person"), table, strict=True):
        rows = [
            [f"t{text}", f"{name}{rater}", score, f"p{text // 3}", f"s{text % 3}"]
            for text, row in enumerate(scores.tolist())
            for rater, score in enumerate(row)
        ]
        columns = ["item", "rater", "score", "prompt", "source"]
        found.append(written(folder / f"{name}.csv", columns, rows))
    return found[0], found[1]


def run(*args: str, of: str = "align") -> Result:
    return CliRunner().invoke(command, ["people", of, *args])


def test_rows_have_the_promised_fields(
    files: tuple[str, str], table: tuple[np.ndarray, np.ndarray]
) -> None:
    """A row for each method and figure with the fields of the statistic, of the error with the
    claim; what was learnt, and how reliable people are."""
    done = run(files[0], "--human", files[1], "--seed", "3", "--json")
    assert done.exit_code == 0, done.output
    tables = json.loads(done.stdout)["tables"]
    assert list(tables) == ["errors", "figures", "people", "weights", "steps"]
    assert all(list(row) == FIELDS for row in tables["errors"])
    judges, people = table
    padded = np.full((3 * N, 3), np.nan)
    padded[: 3 * RATED] = people
    expected = learnt_alignment(judges, padded, np.arange(3 * N) // 3, seed=3)
    others = iter(tables["figures"])
    for row, method in zip(tables["errors"], expected.methods, strict=True):
        assert row["method"] == method.method
        moved = method.error.document() | {"p_adjusted": method.p_adjusted}
        assert row["difference"] == pytest.approx(moved)
        for figure in method.figures[1:]:
            other = next(others)
            assert (other["method"], other["figure"]) == (method.method, figure.figure)
            assert (other["before"], other["after"]) == pytest.approx((figure.before, figure.after))
            assert other["difference"] == pytest.approx(figure.document())
    first = tables["errors"][0]
    assert first["verdict"] == "lower error"
    assert first["order_p"] == pytest.approx(expected.methods[0].order_p)
    assert (first["n_items"], first["n_prompts"], first["n_left_out"]) == (3 * RATED, RATED, 0)
    [person] = tables["people"]
    assert person["reliability"] == pytest.approx(expected.reliability)
    for method in expected.methods:
        weights = {
            r["judge"]: r["weight"] for r in tables["weights"] if r["method"] == method.method
        }
        assert list(weights) == ["judge0", "judge1", "judge2"]
        assert sum(weights.values()) == pytest.approx(1)
    steps = [(row["method"], row["score"], row["value"]) for row in tables["steps"]]
    rule = expected.methods[0].rule
    assert steps == [("isotonic", *at) for at in zip(rule.scores, rule.values, strict=True)]


def test_the_terminal_ends_with_what_follows(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gain last, below the change of the error by method; with --full the figures with the
    verdict; no weights, which are no gain here."""
    monkeypatch.setenv("COLUMNS", "80")
    done = run(files[0], "--human", files[1])
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert concluded_in(done.stdout).startswith(
        "Isotonic recalibration lowers the error on held-out prompts by "
    )
    [row] = json.loads(run(files[0], "--human", files[1], "--json").stdout)["tables"]["errors"][:1]
    shown = [
        f"{row['difference'][name]:.2f}".replace("-", "−") for name in ("value", "low", "high")
    ]
    assert "{} [{}, {}]".format(*shown) in text
    assert "--full has the rest, --json every figure." in text
    assert "mean absolute error" not in text
    full = run(files[0], "--human", files[1], "--full")
    assert "lower error" in full.output
    assert "mean absolute error" in full.output
    assert "No gain is significant by judge weighting" in text or "raises the error" in text
    assert "Weights learnt" not in full.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    table = run(files[0], "--human", files[1], "--full", "--csv")
    cells = list(csv.DictReader(table.stdout.splitlines()))
    [cell] = [
        c for c in cells
        if (c["table"], c["column"], c["method"]) == ("errors", "difference", "isotonic")
    ]  # fmt: skip
    assert float(cell["low"]) < float(cell["value"]) < float(cell["high"]) < 0


def test_a_gain_may_be_required(files: tuple[str, str]) -> None:
    """The verdict and the change of each figure by method; of ratings without dimensions none is
    named."""
    given = (files[0], "--human", files[1], "--require")
    assert run(*given, "alignment[isotonic] == lower error").exit_code == 0
    assert run(*given, "rmse_change[isotonic] < 0").exit_code == 0
    assert run(*given, "mae_change[isotonic, all] < 0").exit_code == 0
    assert run(*given, "alignment[subset] == lower error").exit_code == 3
    assert run(*given, "alignment_p[isotonic] > 0.05").exit_code == 3


def test_weights_are_printed_and_scores_written_without_warning_where_they_gain(
    files: tuple[str, str], table: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    """Of a judge who rates as people do and two who guess, the weights are a gain and are printed,
    and the file comes without a warning; of those who guess, the file comes with one."""
    rng = np.random.default_rng(1)
    people = table[1].mean(axis=1)
    judges = [people + rng.normal(0, 0.2, len(people)), *rng.normal(3, 1, (2, len(people)))]
    rows = [
        [f"t{text}", f"j{judge}", round(score, 2), f"p{text // 3}"]
        for judge, scores in enumerate(judges)
        for text, score in enumerate(scores.tolist())
    ]
    panel = written(tmp_path / "panel.csv", ["item", "rater", "score", "prompt"], rows)
    given = ("--human", files[1], "--method", "weights", "--full", "--out")
    done = run(panel, *given, str(tmp_path / "gain.csv"))
    assert "Weights learnt from all rated prompts" in done.stdout
    assert "Warning" not in done.stderr
    guesses = [row for row in rows if row[1] != "j0"]
    panel = written(tmp_path / "guesses.csv", ["item", "rater", "score", "prompt"], guesses)
    done = run(panel, *given, str(tmp_path / "none.csv"))
    assert (done.exit_code, (tmp_path / "none.csv").exists()) == (0, True)
    assert "Weights learnt" not in done.stdout
    assert "Warning: no gain is significant: these scores are not shown" in done.stderr


def test_aligned_scores_are_ratings_for_other_commands(
    files: tuple[str, str], tmp_path: Path
) -> None:
    """A score for each text, with what it was learnt from; `people calibrate` takes the file, as
    all that read ratings, and another result does not replace it."""
    out = str(tmp_path / "aligned.csv")
    done = run(files[0], "--human", files[1], "--method", "isotonic", "--out", out)
    assert done.exit_code == 0, done.output
    assert f"{3 * N} aligned scores are in {out}." in " ".join(done.stderr.split())
    with Path(out).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["learnt_from"] for row in rows] == (
        ["other prompts"] * 3 * RATED + ["all rated prompts"] * 3 * (N - RATED)
    )
    first = {name: rows[0][name] for name in ("item", "rater", "dimension", "prompt", "source")}
    assert first == {
        "item": "t0", "rater": "panel", "dimension": "all", "prompt": "p0", "source": "s0"
    }  # fmt: skip
    again = run(out, "--human", files[1], "--json", of="calibrate")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["tables"]["rows"][0]["n_items"] == N
    ratings = load_ratings(out)
    assert (ratings.scores.shape, ratings.raters) == ((3 * N, 1, 1), ("panel",))
    other = run(files[0], "--human", files[1], "--method", "subset", "--out", out)
    assert (other.exit_code, "a file that is there already" in other.stderr) == (2, True)


def test_bad_input_is_refused_in_words(files: tuple[str, str], tmp_path: Path) -> None:
    """Several methods for one file, a missing folder, ranks, and a file that is not there: status 2
    and the remedy."""
    out = str(tmp_path / "out.csv")
    several = run(files[0], "--human", files[1], "--out", out)
    assert (several.exit_code, "for instance --method isotonic" in several.stderr) == (2, True)
    given = (files[0], "--human", files[1], "--method", "weights", "--out")
    nowhere = run(*given, str(tmp_path / "no" / "out.csv"))
    assert (nowhere.exit_code, "no such folder" in nowhere.stderr) == (2, True)
    ranks = written(
        tmp_path / "r.csv", ["item", "rater", "rank"], [[f"t{n}", "a", n + 1] for n in range(60)]
    )
    refused = run(ranks, "--human", files[1])
    assert (refused.exit_code, "scores are needed" in refused.stderr) == (2, True)
    assert run(files[0], "--human", "nothing.csv").exit_code == 2


def test_people_who_do_not_agree_teach_nothing(files: tuple[str, str], tmp_path: Path) -> None:
    """The reason is the conclusion; no table, and no file of scores."""
    rng = np.random.default_rng(0)
    rows = [[f"t{t}", f"h{h}", int(rng.integers(1, 6))] for t in range(60) for h in range(3)]
    people = written(tmp_path / "people.csv", ["item", "rater", "score"], rows)
    done = run(files[0], "--human", people)
    assert done.exit_code == 0, done.output
    assert concluded_in(done.stdout).startswith("Nothing is learnt from people: the reliability")
    assert "RMSE" not in done.stdout
    assert json.loads(run(files[0], "--human", people, "--json").stdout)["tables"]["errors"] == []
    out = tmp_path / "out.csv"
    refused = run(files[0], "--human", people, "--method", "weights", "--out", str(out))
    assert (refused.exit_code, out.exists()) == (2, False)
    assert "no aligned scores to write: Nothing is learnt from people: the rel" in refused.stderr


def test_missing_judgments_of_a_run_are_said(tmp_path: Path) -> None:
    """On standard error, as by other commands: of a run of eight judgments one is not there."""
    personas = [
        Persona(id=name, label=name, axis="own", description=f"You are {name}.")
        for name in ("ann", "bob")
    ]
    texts = [Response(id=f"r{n}", prompt=f"p{n}", text=f"Text {n}.", system="s") for n in range(4)]
    Panel(personas, ScriptedModel()).score(texts, out=tmp_path / "run")
    judgments = tmp_path / "run" / "judgments.jsonl"
    judgments.write_text("".join(judgments.read_text().splitlines(keepends=True)[:-1]))
    rows = [[f"r{n}", name, n + 1, f"p{n}"] for n in range(4) for name in ("x", "y")]
    people = written(tmp_path / "people.csv", ["item", "rater", "score", "prompt"], rows)
    done = run(str(tmp_path / "run"), "--human", people)
    assert done.exit_code == 0, done.output
    assert "1 of 8 judgments" in done.stderr


def test_scores_are_written_as_csv_alone(files: tuple[str, str], tmp_path: Path) -> None:
    """Another ending is refused before anything is learnt, and no file is made."""
    done = run(
        files[0], "--human", files[1], "--method", "weights", "--out", str(tmp_path / "a.xlsx")
    )
    assert done.exit_code == 2
    assert "a name that ends in '.xlsx'; expected one that ends in .csv" in done.stderr
    assert list(tmp_path.iterdir()) == []
