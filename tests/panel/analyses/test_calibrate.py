"""`persona-panel people calibrate` as a user runs it: a panel corrected by people, or why not."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from persona_panel import InputError
from persona_panel.analyses.calibrate import calibrate
from persona_panel.cli.main import command
from persona_panel.files.ratings import load_ratings
from tests.helpers.results import concluded_in
from tests.panel.statistics.corrected import corrected_difference, corrected_mean

FIELDS = [
    "system", "dimension", "panel", "human_only", "corrected", "lambda", "n_human", "n_items",
    "notes",
]  # fmt: skip
QUALITY = {"alder": 6.0, "birch": 5.0, "cedar": 4.8}
N, RATED = 40, 16


def written(path: Path, columns: list[str], rows: list[list[Any]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return str(path)


@pytest.fixture(scope="module")
def table() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of each system the panel's two judges `(prompts, judges)` and two people, NaN unrated."""
    rng = np.random.default_rng(0)
    prompts, found = rng.normal(0, 0.7, (N, 1)), {}
    for system, quality in QUALITY.items():
        truth = quality + prompts + rng.normal(0, 1, (N, 1))
        people = np.round(truth + rng.normal(0, 0.7, (N, 2)), 1)
        people[RATED:] = np.nan
        found[system] = np.round(truth + 2 + rng.normal(0, 0.5, (N, 2)), 1), people
    return found


@pytest.fixture(scope="module")
def files(
    table: dict[str, tuple[np.ndarray, np.ndarray]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str]:
    """The panel's ratings and people's, as files."""
    folder, sides = tmp_path_factory.mktemp("calibrate"), []
    for name, side in (("panel", 0), ("people", 1)):
        rows = [
            [f"p{p}-{system}", f"{name}{r}", score, f"p{p}", system]
            for system, of in table.items()
            for p, scores in enumerate(of[side])
            for r, score in enumerate(scores)
            if not np.isnan(score)
        ]
        columns = ["item", "rater", "score", "prompt", "source"]
        sides.append(written(folder / f"{name}.csv", columns, rows))
    return sides[0], sides[1]


def run(*args: str) -> Result:
    return CliRunner().invoke(command, ["people", "calibrate", *args])


def test_rows_have_the_promised_fields(
    files: tuple[str, str], table: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    """`rows` has one for each system and dimension with exactly these fields, and `differences` one
    for each pair: the figures are those of the statistics of the judges' and people's means."""
    done = run(files[0], "--human", files[1], "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    document = document["tables"]
    assert list(document) == ["rows", "differences", "labels_to_halve"]
    assert all(list(row) == FIELDS for row in document["rows"])
    assert [row["system"] for row in document["rows"]] == list(QUALITY)
    sides = {name: (of[0].mean(axis=1), of[1].mean(axis=1), range(N)) for name, of in table.items()}
    for row in document["rows"]:
        expected = corrected_mean(*sides[row["system"]])
        corrected = expected.corrected.document()
        del corrected["p"]
        assert row["corrected"] == pytest.approx(corrected)
        assert row["human_only"] == pytest.approx(expected.human_only.document())
        assert row["lambda"] == pytest.approx(expected.tuning)
        assert (row["dimension"], row["n_human"], row["n_items"]) == ("all", RATED, N)
        # The panel is two points too high, and its correction is not.
        assert row["panel"] > row["corrected"]["high"]
    pairs = {(row["a"], row["b"]): row for row in document["differences"]}
    expected = corrected_difference(sides["alder"], sides["birch"])
    found = pairs["alder", "birch"]
    assert found["corrected"]["value"] == pytest.approx(expected.corrected.value)
    assert found["corrected"]["p"] == pytest.approx(expected.corrected.p)
    assert found["corrected"]["p_adjusted"] >= found["corrected"]["p"]
    assert "lambda" not in found


def test_the_terminal_ends_with_what_follows(files: tuple[str, str]) -> None:
    """Who is ahead, what the correction gains and what would halve the interval, below the means,
    a line each, and with --full every table, which CSV has, too."""
    short = run(files[0], "--human", files[1])
    assert short.exit_code == 0, short.output
    text = " ".join(short.stdout.split())
    assert "--full has the rest, --json every figure." in text
    assert "alder − birch" not in text
    lines = [line.split() for line in short.stdout.splitlines() if line.endswith(f"{RATED}/{N} ")]
    assert [line[0] for line in lines] == list(QUALITY)
    done = run(files[0], "--human", files[1], "--full")
    text = " ".join(done.stdout.split())
    assert (
        "alder is significantly ahead: " in concluded_in(done.stdout).split(" above birch (95 %")[0]
    )
    assert "times as wide as with people's ratings alone." in text
    assert "To halve the widest interval" in text or "would halve the widest interval" in text
    assert f"{RATED}/{N}" in text
    assert "alder − birch" in text
    table = run(files[0], "--human", files[1], "--csv")
    cells = list(csv.DictReader(table.stdout.splitlines()))
    [cell] = [c for c in cells if c["system"] == "alder" and c["column"] == "corrected"]
    assert float(cell["low"]) < float(cell["value"]) < float(cell["high"])


def test_the_terminal_says_how_what_people_rated_was_drawn(
    files: tuple[str, str], tmp_path: Path
) -> None:
    """At random, with the remedy; by the probabilities that the ratings have, without; and nothing
    where they rated everything."""

    def text(panel: str, human: str) -> str:
        done = run(panel, "--human", human)
        assert done.exit_code == 0, done.output
        return " ".join(done.stdout.split())

    assert "drawn at random: where `select` drew it, give its file as --selected" in text(*files)
    with Path(files[1]).open() as file:
        columns, *rows = csv.reader(file)
    chances = [*columns, "inclusion_probability"]
    weighted = text(files[0], written(tmp_path / "w.csv", chances, [[*r, 0.4] for r in rows]))
    assert "by the inverse of the probability with which they were asked" in weighted
    assert "--selected" not in weighted
    with Path(files[0]).open() as file:
        columns, *scored = csv.reader(file)
    part = [row for row in scored if int(row[3][1:]) < RATED]
    every = text(written(tmp_path / "part.csv", columns, part), files[1])
    assert "Which system is best? By the ratings of 2 people: " in every
    assert ("People rated everything that the panel scored: these are people's") in every
    assert "--selected" not in every
    assert "times as wide as with" not in every


def test_labels_are_corrected_as_shares(tmp_path: Path) -> None:
    """Of labels each one's share is estimated, that of the judges and people who gave it."""
    rng = np.random.default_rng(1)
    useful = rng.random(40) < 0.6
    panel = [[f"i{n}", "j", "useful" if one else "other"] for n, one in enumerate(useful)]
    people = [[f"i{n}", "h", "useful" if useful[n] or n % 5 == 0 else "other"] for n in range(20)]
    columns = ["item", "rater", "label"]
    sides = [written(tmp_path / f"{k}.csv", columns, s) for k, s in enumerate((panel, people))]
    done = run(sides[0], "--human", sides[1], "--json")
    assert done.exit_code == 0, done.output
    rows = {row["dimension"]: row for row in json.loads(done.stdout)["tables"]["rows"]}
    assert set(rows) == {"all:useful", "all:other"}
    assert rows["all:useful"]["panel"] == pytest.approx(useful.mean())
    assert rows["all:useful"]["human_only"]["value"] == np.mean(
        [row[2] == "useful" for row in people]
    )
    shares = [rows[name]["corrected"]["value"] for name in rows]
    assert sum(shares) == pytest.approx(1)


def test_intervals_of_shares_end_at_0_and_1(tmp_path: Path) -> None:
    """Of a label that most texts of one system have, and few of another: means between 0 and 1 and
    differences between −1 and 1, each inside of its interval, in JSON and in what is printed."""
    rng, rows = np.random.default_rng(5), {"panel": [], "people": []}
    for system, share in (("alder", 0.93), ("birch", 0.08)):
        for n, useful in enumerate(rng.random(60) < share):
            called = useful if rng.random() < 0.86 else not useful
            of = [f"p{n}", system]
            rows["panel"].append([f"{system}{n}", "j", "useful" if called else "other", *of])
            if n < 20:
                rows["people"].append([f"{system}{n}", "h", "useful" if useful else "other", *of])
    columns = ["item", "rater", "label", "prompt", "source"]
    panel, people = (written(tmp_path / f"{name}.csv", columns, of) for name, of in rows.items())
    document = json.loads(run(panel, "--human", people, "--json").stdout)["tables"]
    ends = []
    for kind, low, high in (("rows", 0, 1), ("differences", -1, 1)):
        assert document[kind]
        for row in document[kind]:
            for of in (row["corrected"], row["human_only"]):
                assert low <= of["low"] <= of["value"] <= of["high"] <= high
            ends += [row["corrected"]["low"], row["corrected"]["high"]]
    # Without limits some differences reach farther: these are cut.
    assert {-1, 1} <= {*ends}
    text = run(panel, "--human", people, "--full").stdout
    printed = re.findall(r"\[−?(\d\.\d\d), −?(\d\.\d\d)\]", text)
    assert len(printed) == 2 * (len(document["rows"]) + len(document["differences"]))
    assert max(float(end) for both in printed for end in both) == 1


def test_people_who_name_no_dimension_rated_the_composite(
    files: tuple[str, str], tmp_path: Path
) -> None:
    """Beside a panel of two dimensions their ratings, and what is said of them, are of the
    `composite`, as everywhere: with the figures of a panel's file of the means alone."""
    with Path(files[0]).open() as file:
        columns, *rows = csv.reader(file)
    both = [
        [*row[:2], float(row[2]) + shift, *row[3:], dimension]
        for row in rows
        for dimension, shift in (("clarity", 1), ("depth", -1))
    ]
    panel = written(tmp_path / "panel.csv", [*columns, "dimension"], both)
    require = "--require", "corrected[alder] >= 0", "--require", "corrected[alder, composite] >= 0"
    done = run(panel, "--human", files[1], "--json", *require)
    assert done.exit_code == 0, done.output
    found, of_means = (
        json.loads(each)
        for each in (done.stdout, run(*files[:1], "--human", files[1], "--json").stdout)
    )
    for kind in ("rows", "differences", "labels_to_halve"):
        rows, others = found["tables"][kind], of_means["tables"][kind]
        assert {row.pop("dimension") for row in rows} == {"composite"}
        assert {row.pop("dimension") for row in others} == {"all"}
        for row, other in zip(rows, others, strict=True):
            for name, cell in row.items():
                assert cell == pytest.approx(other[name])
    assert "alder is significantly ahead: " in found["conclusion"][0]


def test_few_ratings_by_people_are_refused_with_the_reason(
    files: tuple[str, str], tmp_path: Path
) -> None:
    """With seven rated prompts there is people's mean and no correction; what it takes is said."""
    with Path(files[1]).open() as file:
        columns, *rows = csv.reader(file)
    few = written(tmp_path / "few.csv", columns, [row for row in rows if int(row[3][1:]) < 7])
    done = run(files[0], "--human", few, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    few = "people rated fewer than eight prompts, too few for a correction"
    for row in document["tables"]["rows"]:
        assert row["corrected"] == {"value": None, "n": 7, "reason": few}
        assert row["lambda"] is None
        assert row["human_only"]["low"] < row["human_only"]["value"]
    [said] = document["conclusion"]
    assert said == (
        "No correction of alder, birch and cedar: people rated fewer than eight prompts, too few "
        "for a correction. With ratings by people in 8 prompts there is one."
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c, rows: (c[:3], [r[:3] for r in rows]), "no sources; expected a column 'source'"),
        (lambda c, rows: (["item", "rater", "rank"], [[*r[:2], 1] for r in rows]), "found ranks"),
    ],
)
def test_bad_input(
    files: tuple[str, str], tmp_path: Path, change: Callable[..., Any], expected: str
) -> None:
    """A panel's file that names no systems where people's does, and ranks, are refused by a
    sentence with the remedy."""
    with Path(files[0]).open() as file:
        columns, *rows = csv.reader(file)
    panel = written(tmp_path / "panel.csv", *change(columns, rows))
    done = run(panel, "--human", files[1])
    assert done.exit_code == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_files_and_options(files: tuple[str, str]) -> None:
    """A file that is not there and a missing --human end with status 2."""
    assert run(files[0], "--human", "nothing.csv").exit_code == 2
    assert run(files[0]).exit_code == 2


def test_requirements_are_decided_by_the_corrected_interval(files: tuple[str, str]) -> None:
    """A bound just below the interval's low end is met and one just above it is not (exit status
    3, with what was found); a difference is the same from either side; unknown names are refused
    with those that there are."""
    document = json.loads(run(files[0], "--human", files[1], "--json").stdout)["tables"]
    [alder] = [row for row in document["rows"] if row["system"] == "alder"]
    [pair] = [
        row["corrected"]
        for row in document["differences"]
        if (row["a"], row["b"]) == ("alder", "birch")
    ]
    alder = alder["corrected"]
    low = alder["low"]

    def required(*expressions: str) -> Result:
        return run(files[0], "--human", files[1], *(f"--require={one}" for one in expressions))

    met = required(
        f"corrected[alder] >= {low - 0.01:.6f}",
        f"corrected_difference[birch, alder] < {0.01 - pair['low']:.6f}",
        f"corrected_p[birch, alder] <= {pair['p_adjusted']:.9f}",
    )
    assert met.exit_code == 0, met.output
    unmet = required(f"corrected[alder] >= {low + 0.01:.6f}")
    assert unmet.exit_code == 3
    told = " ".join(unmet.stderr.split())
    assert f"is not met: {alder['value']:.2f} (95 % interval over prompts {low:.2f} to" in told
    turned = required("corrected_difference[birch, alder] > 0")
    assert f"is not met: −{pair['value']:.2f} (" in " ".join(turned.stderr.split())
    # People's own interval is wider: what it leaves open is not decided by the corrected one.
    assert required(f"human_only[alder] >= {low - 0.01:.6f}").exit_code == 3
    wrong = required("corrected[oak] >= 6")
    assert wrong.exit_code == 2
    assert "one of corrected[" in wrong.stderr


def test_the_composite_is_what_a_requirement_means(files: tuple[str, str], tmp_path: Path) -> None:
    """With two dimensions their mean is the first row, here with the figures of a file of the means
    alone, and a requirement without a dimension is on it."""
    several = []
    for name, source in zip(("panel", "people"), files, strict=True):
        with Path(source).open() as file:
            columns, *rows = csv.reader(file)
        both = [
            [*row[:2], float(row[2]) + shift, *row[3:], dimension]
            for row in rows
            for dimension, shift in (("clarity", 1), ("depth", -1))
        ]
        several.append(written(tmp_path / f"{name}.csv", [*columns, "dimension"], both))
    [low] = [
        row["corrected"]["low"]
        for row in json.loads(run(files[0], "--human", files[1], "--json").stdout)["tables"]["rows"]
        if row["system"] == "alder"
    ]
    done = run(
        several[0], "--human", several[1], "--full",
        "--require", f"corrected[alder] >= {low - 1e-6:.9f}",
        "--require", "corrected_difference[alder, birch] > 0",
        "--require", f"corrected[alder, clarity] >= {low + 1 - 1e-6:.9f}",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines.index("composite") < lines.index("clarity") < lines.index("depth")
    assert "alder is significantly ahead: " in " ".join(done.stdout.split())
    short = run(several[0], "--human", several[1]).stdout
    assert "corrected by people's ratings: composite" in short
    assert short.count("alder  ") == 1
    over = "--require", f"corrected[alder] >= {low + 1e-6:.9f}"
    assert run(several[0], "--human", several[1], *over).exit_code == 3


def test_ratings_of_an_open_stream(files: tuple[str, str]) -> None:
    """They are corrected as those of a file are; a stream with probabilities, which cannot be read
    a second time, is refused with what to do."""

    def lines(file: str, **more: float) -> io.StringIO:
        with Path(file).open() as opened:
            rows = [dict(row, score=float(row["score"])) for row in csv.DictReader(opened)]
        return io.StringIO("".join(json.dumps(row | more) + "\n" for row in rows))

    ours, theirs = (load_ratings(lines(file)) for file in files)
    expected = calibrate(*files)
    for result in (calibrate(ours, theirs), calibrate(files[0], lines(files[1]))):
        assert result["rows"].rows == expected["rows"].rows
    for human in (load_ratings(lines(files[1], inclusion_probability=0.4)),
                  lines(files[1], inclusion_probability=0.4)):  # fmt: skip
        with pytest.raises(InputError, match=r"inclusion_probability: found a stream.*`selected`"):
            calibrate(files[0], human)
