"""`persona-panel select` as a user runs it, and `people calibrate` with what it wrote."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from persona_panel import Panel, Response
from persona_panel.cli.main import command
from persona_panel.study.collection import answers_by, sealed
from persona_panel.study.exports import packet_in
from persona_panel.study.packet import read_key
from persona_panel.testing import ScriptedModel
from tests.helpers.results import concluded_in

N = 30


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(command, list(map(str, args)))


@pytest.fixture
def panel(tmp_path: Path) -> Path:
    """Ratings of two systems by three judges."""
    rng = np.random.default_rng(0)
    path = tmp_path / "panel.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["item", "rater", "score", "prompt", "source"])
        for prompt in range(N):
            for system in "xy":
                for judge in "abc":
                    score = rng.integers(1, 10)
                    table.writerow([f"{prompt}{system}", judge, score, f"p{prompt}", system])
    return path


def selected(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="") as file:
        return {row["item"]: row for row in csv.DictReader(file)}


def test_a_spreadsheet_with_decimal_commas_comes_and_goes(panel: Path, tmp_path: Path) -> None:
    """`select` writes the same numbers with decimal commas, which `people calibrate` takes, with
    ratings in such a file; what `--csv` prints are those of --json, which stays as it is."""
    points, commas = tmp_path / "points.csv", tmp_path / "commas.csv"
    for out, option in ((points, ()), (commas, ("--decimal", "comma"))):
        assert run("select", panel, "--n", "24", "--out", out, *option).exit_code == 0
    assert pd.read_csv(commas, sep=";", decimal=",").equals(pd.read_csv(points))
    people = tmp_path / "people.csv"
    lines = [f"{item};ann;{n % 9},{n % 7 + 1}" for n, item in enumerate(selected(points))]
    people.write_text("item;rater;score\n" + "\r\n".join(lines))
    words = ("people", "calibrate", panel, "--human", people, "--selected")
    first, second = (run(*words, each, "--json") for each in (points, commas))
    assert (first.exit_code, second.exit_code) == (0, 0), first.output + second.output
    documents = [json.loads(each.stdout)["tables"] for each in (first, second)]
    assert documents[0] == documents[1]
    assert run(*words, commas, "--json", "--decimal", "comma").stdout == second.stdout
    printed = pd.read_csv(
        io.StringIO(run(*words, commas, "--csv", "--decimal", "comma").stdout), sep=";", decimal=","
    )
    usual = pd.read_csv(io.StringIO(run(*words, commas, "--csv").stdout))
    assert printed.equals(usual)
    assert usual["value"].notna().any()


def test_a_comma_that_may_be_either_is_refused_with_the_option(tmp_path: Path) -> None:
    """The option decides it for this command alone."""
    path = tmp_path / "ratings.csv"
    path.write_text('item,rater,score\na,x,"1,234"\na,y,2\nb,x,"2,345"\nb,y,1\n')
    for sign, status in (("", 2), ("comma", 0), ("", 2), ("point", 0)):
        done = run("agree", path, "--resamples", "0", *(["--decimal", sign] if sign else []))
        assert done.exit_code == status, done.output
        assert ("--decimal comma for 1.234" in " ".join(done.output.split())) == (status == 2)


def test_the_file_is_taken_by_calibrate(panel: Path, tmp_path: Path) -> None:
    """The probabilities that `select` writes weigh people's ratings in `people calibrate`, given as
    --selected or as a column of people's ratings."""
    out = tmp_path / "items.csv"
    done = run("select", panel, "--n", "24", "--seed", "5", "--out", out)
    assert done.exit_code == 0, done.output
    assert concluded_in(done.stdout).startswith("24 items of 2 systems in ")
    chosen = selected(out)
    assert len(chosen) == 24
    assert f"people make RESPONSES --items {out} --raters 3 --per-rater 24" in done.stderr
    assert (
        "(RESPONSES is the file of the texts, RUBRIC is what the panel rated them by):"
        in " ".join(done.stderr.split())
    )
    rng = np.random.default_rng(1)
    ratings = {item: float(rng.integers(1, 10)) for item in chosen}
    people, joined = tmp_path / "people.csv", tmp_path / "joined.csv"
    with people.open("w") as one, joined.open("w") as other:
        one.write("item,rater,score\n")
        other.write("item,rater,score,inclusion_probability\n")
        for item, score in ratings.items():
            one.write(f"{item},ada,{score}\n")
            other.write(f"{item},ada,{score},{chosen[item]['inclusion_probability']}\n")
    given = run("people", "calibrate", panel, "--human", people, "--selected", out, "--json")
    column = run("people", "calibrate", panel, "--human", joined, "--json")
    assert given.exit_code == column.exit_code == 0, given.output
    without = run("people", "calibrate", panel, "--human", people, "--json")
    of_file, of_column, of_none = (
        json.loads(each.stdout)["tables"] for each in (given, column, without)
    )
    assert of_file == of_column != of_none
    [row] = [row for row in of_file["rows"] if row["system"] == "x"]
    names = [item for item in ratings if item.endswith("x")]
    chances = [float(chosen[item]["inclusion_probability"]) for item in names]
    expected = np.average([ratings[item] for item in names], weights=1 / np.array(chances))
    assert row["human_only"]["value"] == pytest.approx(expected)
    assert row["human_only"]["value"] != pytest.approx(np.mean([ratings[item] for item in names]))


def texts(path: Path) -> Path:
    """The texts of the panel's items, their prompts called as there and their ids otherwise."""
    with path.open("w") as file:
        for prompt in range(N):
            for system in "xy":
                text = {"prompt_id": f"p{prompt}", "id": f"{prompt}{system}", "system": system}
                file.write(json.dumps(text | {"prompt": f"{prompt}?", "response": "Well."}) + "\n")
    return path


def test_a_study_of_the_items_reaches_calibrate(panel: Path, tmp_path: Path) -> None:
    """Packets have the items that were drawn and no others, and the ratings that are collected have
    their probabilities: `people calibrate` weighs by them as it does by --selected; an item that
    nobody rated is counted."""
    out, study, ratings = tmp_path / "items.csv", tmp_path / "study", tmp_path / "ratings.csv"
    assert run("select", panel, "--n", "24", "--out", out).exit_code == 0
    chosen = selected(out)
    done = run(
        "people", "make", texts(tmp_path / "texts.jsonl"), "--items", out, "--raters", "2",
        "--per-rater", "24", "--tasks", "rate", "--rubric", "debate-speech", "--out", study,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    drawn = read_key(study)
    assert {text.response for _, _, text in drawn.texts()} == set(chosen)
    ids = {text.id: str(text.response) for _, _, text in drawn.texts()}
    for number, page in enumerate(sorted((study / "packets").iterdir())):
        answers = answers_by(
            packet_in(page), lambda text, dimension: 1 + hash_of(ids[text.id]) % 5,
            lambda text: 0.0,
        )  # fmt: skip
        # Nobody rates the first item.
        answers.pop("sha256")
        kept = [one for one in answers["ratings"] if ids[one["text"]] != next(iter(chosen))]
        (tmp_path / f"{number}.json").write_text(json.dumps(sealed(answers | {"ratings": kept})))
    files = [tmp_path / "0.json", tmp_path / "1.json"]
    collected = run("people", "collect", study, *files, "--out", ratings)
    assert collected.exit_code == 1
    assert "1 of 24 selected items has no rating" in collected.stdout
    with ratings.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["item"].split("/")[1] for row in rows} == set(list(chosen)[1:])
    for row in rows:
        own = chosen[row["item"].split("/")[1]]["inclusion_probability"]
        assert row["inclusion_probability"] == own
    column = run("people", "calibrate", panel, "--human", ratings, "--json")
    given = run("people", "calibrate", panel, "--human", ratings, "--selected", out, "--json")
    assert column.exit_code == 0, column.output
    assert column.stdout == given.stdout
    plain = tmp_path / "plain.csv"
    plain.write_text(ratings.read_text().replace("inclusion_probability", "note"))
    assert run("people", "calibrate", panel, "--human", plain, "--json").stdout != column.stdout


def hash_of(name: str) -> int:
    return sum(map(ord, name))


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["p0/0x", "absent"], "1 item that no response, or more than one, has the name of: 'abs"),
        (["p0/0x", "0x"], "a response twice: '0x'; expected each once"),
        ([], "no items; expected one item or more"),
    ],
)
def test_items_that_are_no_responses_are_refused(
    tmp_path: Path, items: list[str], expected: str
) -> None:
    """An item that no response is called, one that is there under two names, and none at all."""
    out = tmp_path / "items.csv"
    out.write_text("item,inclusion_probability\n" + "".join(f"{name},0.5\n" for name in items))
    done = run(
        "people", "make", texts(tmp_path / "texts.jsonl"), "--items", out, "--raters", "2",
        "--per-rater", "1", "--tasks", "rate", "--out", tmp_path / "study",
    )  # fmt: skip
    assert done.exit_code == 2
    assert expected in done.stderr
    assert not (tmp_path / "study").exists()


def test_the_command_that_it_prints_makes_the_packets(tmp_path: Path) -> None:
    """Of a run, as it stands; of other ratings with what only the user knows to fill in."""
    responses = [
        Response(id=f"r{n}{system}", prompt=f"Why {n}?", text=f"Text {n}.", system=system)
        for n in range(8)
        for system in "xy"
    ]
    Panel("disciplinary", ScriptedModel(), "media-bias").score(responses, out=tmp_path / "a run")
    out = tmp_path / "some items.csv"
    done = run("select", tmp_path / "a run", "--n", "8", "--out", out)
    [told] = [line for line in done.stderr.splitlines() if " people make " in line]
    name, *arguments = shlex.split(told)
    made = run(*arguments)
    assert (name, made.exit_code) == ("persona-panel", 0), made.output
    assert len(list((tmp_path / "some items-study" / "packets").iterdir())) == 3
    assert "RUBRIC" not in done.stderr


def test_the_items_are_printed_as_any_result(panel: Path, tmp_path: Path) -> None:
    """With what is too few; in JSON are those that the file has; how many there are may be
    required, and an unknown figure is refused before a file is written. There are no estimates
    to draw, which is said."""
    out = tmp_path / "items.csv"
    done = run("select", panel, "--n", "4")
    assert done.exit_code == 0
    assert "A correction takes 8 prompts of each system" in done.stdout
    done = run("select", panel, "--n", "4", "--out", out, "--json", "--require", "prompts >= 8")
    assert done.exit_code == 3
    tables = json.loads(done.stdout)["tables"]
    rows = {row["item"]: row for row in tables["items"]}
    assert tables["selection"][0]["items"] == len(rows) == 4
    for name, row in selected(out).items():
        assert rows[name]["inclusion_probability"] == float(row["inclusion_probability"])
        assert rows[name]["spread"] == pytest.approx(float(row["spread"]), abs=1e-4)
        assert (rows[name]["prompt"], rows[name]["source"]) == (row["prompt"], row["source"])
    plot = tmp_path / "plot.svg"
    undrawn = run("select", panel, "--n", "4", "--plot", plot)
    assert (undrawn.exit_code, plot.exists()) == (2, False)
    assert "no table of this result has estimates to draw" in undrawn.stderr
    other = tmp_path / "other.csv"
    refused = run("select", panel, "--n", "4", "--out", other, "--require", "item >= 8")
    assert (refused.exit_code, other.exists()) == (2, False)


def test_a_file_that_people_may_be_rating_is_kept(panel: Path, tmp_path: Path) -> None:
    """The same command again leaves the file as it is; another selection needs another name."""
    out = tmp_path / "items.csv"
    for _ in range(2):
        assert run("select", panel, "--n", "10", "--out", out).exit_code == 0
    before = out.read_bytes()
    done = run("select", panel, "--n", "11", "--out", out)
    assert (done.exit_code, out.read_bytes()) == (2, before)
    assert "there already; expected another name" in done.stderr


def test_wrong_numbers_are_refused(panel: Path) -> None:
    """No items and a seed below 0 end with status 2."""
    assert run("select", panel, "--n", "0").exit_code == 2
    assert run("select", panel, "--n", "3", "--seed", "-1").exit_code == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("item,p\n0x,1\n", "no such field, only 'item', 'p'"),
        ("item,inclusion_probability\n0x,0\n", "found '0'; expected a probability above 0"),
        ("item,inclusion_probability\n0x,1.5\n", "found '1.5'; expected a probability"),
        ("item,inclusion_probability\n0x,0.5\n0x,0.4\n", "expected 0.5, as on another line"),
        ("item,inclusion_probability\n1x,0.5\n", "no inclusion_probability of '0x', which people"),
    ],
)
def test_bad_selections(panel: Path, tmp_path: Path, content: str, expected: str) -> None:
    """A file without probabilities, with wrong ones, or without an item that people rated, is
    refused by a sentence that says what is wrong."""
    (tmp_path / "items.csv").write_text(content)
    (tmp_path / "people.csv").write_text("item,rater,score\n0x,ada,4\n")
    args = ("--human", tmp_path / "people.csv", "--selected", tmp_path / "items.csv")
    done = run("people", "calibrate", panel, *args)
    assert done.exit_code == 2
    assert expected in done.stderr


@pytest.mark.parametrize("name", ["items.parquet", "items"])
def test_items_are_written_as_csv_alone(panel: Path, tmp_path: Path, name: str) -> None:
    """A name that promises another format is refused, and no file is made."""
    done = run("select", panel, "--n", 4, "--out", tmp_path / name)
    ending = Path(name).suffix or "nothing"
    assert done.exit_code == 2
    assert done.stderr.splitlines()[0] == (
        f"--out {tmp_path / name}: found a name that ends in {ending!r}; expected one that ends in "
        ".csv"
    )
    assert not (tmp_path / name).exists()
