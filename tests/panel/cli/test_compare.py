"""`persona-panel compare` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from persona_panel import compare
from persona_panel.cli.main import command as persona_panel
from tests.helpers.command import Command
from tests.helpers.marked_texts import marked_model, marked_run
from tests.helpers.results import concluded_in

MODEL = marked_model()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs of one panel on other texts, and a third by another panel on the first's texts."""
    old = {f"p{i}": {"elm": f"[{3 + i % 3},{4 + i % 2}] {i}"} for i in range(6)}
    new = {f"p{i}": {"elm": f"[{5 + i % 2},{6 + i % 3}] {i} n"} for i in range(6)}
    marked_run(tmp_path / "old", old, MODEL)
    marked_run(tmp_path / "new", new, MODEL)
    marked_run(tmp_path / "one", old, MODEL, "ann")
    return tmp_path


def test_the_conclusion_comes_last_below_what_was_compared(command: Command, runs: Path) -> None:
    """The sentences of the Python result, below the differences in one part and what was compared,
    the responses that changed most and how to read it, in 80 columns; --full has the rest."""
    done = command("compare", "--full", "old", "new", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(done.stdout.split())
    (sentence, *_) = compare(runs / "old", runs / "new").conclusion
    assert concluded_in(done.stdout).startswith(sentence.replace(str(runs) + "/", ""))
    for expected in (
        "Other texts, same panel: new compared with old.",
        "6 prompts, 6 pairs of responses, 2 judges.",
        "Differences b − a", "new − old", "composite", "Clarity", "Depth",
        "Responses that changed most", "higher", "p3, elm, p3-elm",
        "adjusted by Holm's method over all dimensions and runs",
    ):  # fmt: skip
        assert expected in text
    # The table of differences is in one part.
    short = command("compare", "old", "new", COLUMNS="80").stdout.splitlines()
    heads = next(line.split() for line in short if line.strip().startswith("run "))
    assert heads == ["run", "a", "b", "b", "−", "a", "p,"]
    full = command("compare", "old", "new", "--full", COLUMNS="120").stdout.splitlines()
    [row, *_] = [line.split() for line in full if line.strip().startswith("composite")]
    # Of six pairs all are won.
    assert row[-4:] == ["6", "0", "0", "6"]


def test_columns_of_peoples_ratings_are_mapped_by_map_human(command: Command, runs: Path) -> None:
    """A column that is missing is told with the option of this file, which maps it, and is refused
    where there is no such file."""
    lines = [f"p{i}/p{i}-elm,{who},{i + 1}" for i in range(6) for who in "xy"]
    (runs / "named.csv").write_text("\n".join(["text_id,rater,score", *lines]) + "\n")
    given = ("compare", "--full", "old", "one", "--human", "named.csv")
    done = command(*given)
    assert done.returncode == 2
    assert "or use --map-human item=" in " ".join(done.stderr.split())
    done = command(*given, "--map-human", "item=text_id")
    assert done.returncode == 0, done.stderr
    assert "Which panel is closer to people" in done.stdout
    done = command("compare", "--full", "old", "one", "--map-human", "item=text_id")
    assert done.returncode == 2
    assert "--map-human works only with --human" in done.stderr


def test_two_panels_and_people_in_the_terminal(command: Command, runs: Path) -> None:
    """The same texts by another panel: agreement of the panels, and which is closer to people, with
    reasons where prompts are too few."""
    lines = [
        "item,rater,score",
        *(f"p{i}/p{i}-elm,{who},{i + 1}" for i in range(6) for who in "xy"),
    ]
    (runs / "people.csv").write_text("\n".join(lines) + "\n")
    done = command("compare", "--full", "old", "one", "--human", "people.csv")
    assert done.returncode == 0, done.stderr
    for expected in (
        "Same texts, other panel: one compared with old.",
        "The panels differ in: personas (only old has bob).",
        "Agreement of the two panels",
        "Undefined: τ_b within prompts: no prompt has two items.",
        "Which panel is closer to people (τ_b over all responses)",
        "lower is closer",
    ):
        assert expected in done.stdout


def test_an_address_without_a_run_is_shown_as_given(command: Command, runs: Path) -> None:
    """With all of its slashes and no password; a folder of this machine as given, too."""
    done = command("compare", "file:///nowhere/run", "memory://me:hunter2@x/run.csv", "gone/")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    expected = "found no such file; expected a run's folder"
    for name in ("file:///nowhere/run", "memory://me:[secret]@x/run.csv", "gone/"):
        assert f"{name}: {expected}" in said
    assert "hunter2" not in said


def test_json_has_the_differences(command: Command, runs: Path) -> None:
    """Of two runs compared with the first a row for each dimension, the composite first, b − a as
    an estimate that leaves out what is undefined; and what was compared."""
    done = command("compare", "old", "new", "one", "--json")
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)["tables"]
    rows = tables["differences"]
    assert [(row["compared"], row["n_judges_b"]) for row in tables["runs"]] == [
        ("texts", 2), ("panels", 1)
    ]  # fmt: skip
    names = ["composite", "clarity", "depth"]
    assert [(row["b"], row["dimension"]) for row in rows] == [
        (name, dimension) for name in ("new", "one") for dimension in names
    ]
    assert {row["a"] for row in rows} == {"old"}
    found = compare(runs / "old", runs / "new", runs / "one")["differences"].rows
    assert [row["difference"]["value"] for row in rows] == [
        row["difference"].value for row in found
    ]
    assert rows[0]["difference"]["value"] > 0
    # The second panel is a part of the first: all differences are 0.
    same = rows[3]["difference"]
    assert (same["value"], same.keys() & {"p", "low"}, bool(same["reason"])) == (0, set(), True)


def test_the_page_is_a_format(command: Command, runs: Path) -> None:
    """`--format html` prints a page with the conclusion."""
    page = command("compare", "old", "new", "--format", "html").stdout
    assert page.startswith("<!doctype html>")
    assert compare(runs / "old", runs / "new").conclusion[0].replace(f"{runs}/", "") in page


def test_bad_input_ends_with_every_fault(command: Command, runs: Path) -> None:
    """A missing folder and a file, both named, with exit status 2 and nothing on standard output;
    a single run is too few."""
    (runs / "file.txt").write_text("")
    done = command("compare", "old", "missing", "file.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing: found no such file; expected a run's folder" in done.stderr
    assert "file.txt: found a file" in done.stderr
    assert "2 faults found." in done.stderr
    assert command("compare", "old").returncode == 2


def test_a_name_from_anywhere_is_printed_as_a_name(command: Command, runs: Path) -> None:
    """A folder whose name is in another script, and one with an escape sequence, are shown whole,
    the latter escaped."""
    (runs / "new").rename(runs / "новый-日本")
    done = command("compare", "old", "новый-日本")
    assert "новый-日本 − old" in done.stdout
    (runs / "новый-日本").rename(runs / "re\x1b[31md")
    done = command("compare", "old", "re\x1b[31md")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout


def test_a_comparison_can_be_required_to_show_no_loss(command: Command, runs: Path) -> None:
    """`--require` decides by the interval's unfavourable end: new is above old for sure, and old is
    not above new, which is exit status 3; standard output stays what it is."""
    new, old = "difference[new, old, clarity]", "difference[old, new, clarity]"
    done = command("compare", "old", "new", "--json", "--require", f"{new} > -0.2")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tables"]["differences"]) == 3
    assert "1 of 1 requirement met" in done.stderr
    lost = command("compare", "old", "new", "--require", f"{old} > -0.2")
    assert lost.returncode == 3
    assert f"{old} > -0.2 is not met" in lost.stderr


def test_requirements_name_runs_by_their_folders_last_names(runs: Path) -> None:
    """The last name of a folder is the run's, where no other run has it; a wrong name is refused
    before anything is printed or written."""
    (runs / "b").mkdir()
    (runs / "new").rename(runs / "b" / "new")

    def required(expression: str, b: Path) -> Result:
        paths = [str(runs / "old"), str(b), "--markdown", str(runs / "found.md")]
        return CliRunner().invoke(persona_panel, ["compare", *paths, "--require", expression])

    wrong = required("difference[newer, old] > 0", runs / "b" / "new")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "difference[newer, old]; expected one of difference[" in wrong.stderr
    assert not (runs / "found.md").exists()
    met = required("difference[new, old, clarity] > -0.2", runs / "b" / "new")
    assert met.exit_code == 0, met.output
    assert (runs / "found.md").is_file()
    (runs / "b" / "new").rename(runs / "b" / "old")
    both = required("difference[old, old] > 0", runs / "b" / "old")
    assert (both.exit_code, both.stdout) == (2, "")
