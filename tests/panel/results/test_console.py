"""Tables on narrow and wide terminals and in pipes, as the commands print them."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from persona_panel.results.console import legible, shortened
from persona_panel.results.shown import lacking
from persona_panel.results.statistic_tables import StatisticTables
from persona_panel.statistics import Reason, Row
from persona_panel.testing import serving
from tests.helpers.results import statistics_of

Command = Callable[..., CompletedProcess[str]]

SYSTEM = "meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo-fp8-of-the-second-round-of-July"
MODELS = (
    "openai:accounts/fireworks/models/qwen3-235b-a22b-instruct-2507",
    "openai:mistralai/Mixtral-8x22B-Instruct-v0.1-of-the-panel",
)
READERS = """\
id: readers
label: Readers
personas:
  - {id: county-librarian, label: Librarian, axis: own, description: You keep a library.}
  - {id: town-treasurer, label: Treasurer, axis: own, description: You keep the books.}
"""
INTERVAL = re.compile(r"\[[^\s,]+, [^\s\]]+\]")


def printed_whole(name: str, text: str) -> bool:
    """Whether a name is there, perhaps folded, but in a word nowhere."""
    ends = re.split(r"(?<=[\s/|:_-])(?=[^\s/|:_-])", name)
    return re.search(r"(?:[^\n]*\n\s*)?".join(map(re.escape, ends)), text) is not None


@pytest.fixture
def run(command: Command, tmp_path: Path) -> str:
    """The folder of a run by models with long names, of systems with long names; its stdout is
    beside it."""
    rows = [
        {"id": f"r{i}", "prompt": f"Question {i // 2}?", "response": f"Text {'so ' * i}.",
         "system": (SYSTEM, "birch")[i % 2]}
        for i in range(10)
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "readers.yaml").write_text(READERS)
    with serving() as server:
        done = command(
            "score", "in.jsonl", "--personas", "readers.yaml", "--out", "run",
            "--model", MODELS[0], "--model", MODELS[1], "--full",
            OPENAI_BASE_URL=server.base_url, COLUMNS="80",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (tmp_path / "run" / "stdout.txt").write_text(done.stdout)
    return "run"


def tables(command: Command, *arguments: str, width: int) -> str:
    """The tables of a command, whose every line is checked to fit."""
    text = command(*arguments, COLUMNS=str(width)).stdout
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    return text


def test_long_names_part_tables_and_cut_nothing(command: Command, run: str) -> None:
    """At 80 and 50 columns there is every interval of `agree` and `audit bias` that a wide terminal
    shows, the names of models in one piece over their figures, and those of judges, by what they
    differ in, folded between words."""
    for arguments in (("agree", run, "--full"), ("audit", "bias", run, "--full")):
        wide, middle, narrow = (tables(command, *arguments, width=w) for w in (500, 80, 50))
        assert set(INTERVAL.findall(wide))
        assert set(INTERVAL.findall(wide)) == set(INTERVAL.findall(middle))
        assert set(INTERVAL.findall(wide)) == set(INTERVAL.findall(narrow))
        assert printed_whole(f"county-librarian|{MODELS[0]}", middle)
        assert printed_whole(f"county-librarian|{MODELS[0]}", narrow)
        assert "dimensions|1" not in middle
        assert "all have elicitation dimensions, replicate 1." in " ".join(middle.split())
        if arguments[0] == "agree":
            assert {f"  {model}" for model in MODELS} <= set(middle.splitlines())


def test_a_leaderboard_of_long_names(run: str, tmp_path: Path) -> None:
    """At 80 columns `score` folds the name of a system between its words, and shortens it in
    no table."""
    text = (tmp_path / run / "stdout.txt").read_text()
    systems, _, rest = text.partition("Means by dimension")
    means, _, prompts = rest.partition("Responses by prompt")
    for table in (systems, means, prompts):
        assert max(map(len, table.splitlines())) <= 80
    assert printed_whole(SYSTEM, systems)
    assert printed_whole(f"{SYSTEM}/r0", prompts)
    assert "…" not in text


def test_a_pipe_has_no_width(command: Command, run: str) -> None:
    """Where there is neither a terminal nor COLUMNS, each table is one and each name in one
    piece beside its figures."""
    text = command("agree", run, "--full", COLUMNS="").stdout
    assert text.count("Krippendorff α without a judge\n") == 1
    assert text.count("left out") == 1
    assert re.search(re.escape(f"  county-librarian|{MODELS[0]}  ") + r" +-?\d\.\d{3}", text)


def test_a_name_of_one_word_wider_than_the_terminal(command: Command, tmp_path: Path) -> None:
    """A name without a place to fold it at is folded in the word, and none of it is lost; a line
    break in a name is shown as one would write it."""
    names = ("x" * 100, "two\nlines", "c")
    with (tmp_path / "in.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "score"])
        writer.writerows([f"i{i}", name, (i * 7) % 5] for i in range(8) for name in names)
    text = command("agree", "in.csv", "--full", COLUMNS="60").stdout
    judges = text.partition("without a rater")[2].partition("Smallest subset")[0]
    assert judges.count("x") == 100
    assert "two\\nlines" in judges


def test_what_is_undefined_everywhere_is_said_once(command: Command, run: str) -> None:
    """A bias that no row has a value of is a line with its reason, not a column of it."""
    text = " ".join(command("audit", "bias", run, "--full", COLUMNS="80").stdout.split())
    assert "Undefined: position bias: no comparison in both orders." in text
    assert text.count("both orders") == 1


def test_names_of_what_is_undefined_are_told_apart() -> None:
    """Headings hold commas: two that have no value, for one reason, are parted by a semicolon."""
    cells = [
        (head, ("all",), Row("some", "all", "all", value=math.nan, reason=Reason.NO_PAIRS))
        for head in ("W, corrected", "ICC(2,1)")
    ]
    table = StatisticTables().table("Some", cells, ("group",))
    assert lacking(table, full=True) == [f"Undefined: W, corrected; ICC(2,1): {Reason.NO_PAIRS}."]


@pytest.mark.parametrize("by", ["prompt", "source"])
def test_prompts_and_sources_have_the_main_figures(command: Command, run: str, by: str) -> None:
    """--by prompt and --by source print one table, in full, too; --json has the further figures."""
    text = command("agree", run, "--by", by, "--full").stdout
    assert "Krippendorff" in text
    assert "Further agreement statistics" not in text
    assert "Fleiss" not in text
    rows = statistics_of(command("agree", run, "--by", by, "--json").stdout)
    assert "fleiss_kappa" in {row["statistic"] for row in rows}


def test_a_dry_run_of_long_names(command: Command, run: str) -> None:
    """At 80 columns a dry run shows names and numbers whole, a known price, and whose price is
    unknown and where to say it; what is unknown alone is no sum of dollars."""

    def told(*models: str) -> str:
        names = [part for model in models for part in ("--model", model)]
        address = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        done = command(
            "score",
            "in.jsonl",
            "--personas",
            "readers.yaml",
            "--dry-run",
            *names,
            COLUMNS="80",
            **address,
        )
        assert done.returncode == 0, done.stderr
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert "…" not in done.stdout
        return done.stdout

    mixed = told("openai:gpt-4o-mini", *MODELS)
    assert all(printed_whole(model, mixed) for model in MODELS)
    said = " ".join(mixed.split())
    assert re.search(
        r"60 calls, \$0\.\d{4} by prices as of [\d-]+, plus the models whose price is unknown", said
    )
    assert f"The price of {MODELS[0]}, {MODELS[1]} is unknown; set it in a panel file" in said
    unknown = told(MODELS[0])
    assert "20 calls, cost unknown." in unknown
    assert "$" not in unknown
    assert "unknown" not in told("openai:gpt-4o-mini")


def test_only_prices_of_the_table_have_a_date(command: Command, run: str, tmp_path: Path) -> None:
    """Where the panel file gives the prices of all models the sum has no date; where the table has
    one of them, its date."""
    given = "price: {input: 1.5, output: 6.0}"
    models = [f"{{model: 'openai:mine', {given}}}", f"{{model: 'openai:gpt-4o-mini', {given}}}"]

    def total(*models: str) -> str:
        lines = "".join(f"  - {model}\n" for model in models)
        (tmp_path / "panel.yaml").write_text(f"personas: readers.yaml\nmodels:\n{lines}")
        done = command("score", "in.jsonl", "--panel", "panel.yaml", "--dry-run")
        assert done.returncode == 0, done.stderr
        [line] = re.findall(r"Total: .*?\. Retries", " ".join(done.stdout.split()))
        return line

    assert re.fullmatch(r"Total: 40 calls, \$0\.\d{4}\. Retries", total(*models))
    assert " by prices as of 20" in total(models[0], "openai:gpt-4o-mini")


def test_no_name_speaks_to_the_terminal(command: Command, tmp_path: Path) -> None:
    """A name with an escape sequence is shown as one would write it, in lines and over columns."""
    rows = [
        {"id": f"r{i}", "prompt": f"Question {i}?", "response": "Text.", "system": "al\x1b[31mder"}
        for i in range(2)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving() as server:
        for columns in ("40", "80", ""):
            done = command(
                "score", "in.jsonl", "--personas", "disciplinary", "--model", "openai:stub",
                "--out", f"run{columns}", OPENAI_BASE_URL=server.base_url, COLUMNS=columns,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert "\x1b[31m" not in done.stdout
            assert "\\x1b[31m" in done.stdout


@pytest.mark.parametrize(
    ("name", "width", "drawn"),
    [
        ("漢字漢字漢字", 5, "漢字…"),
        ("🇩🇪🇫🇷🇮🇹", 4, "🇩🇪…"),
        ("النظام الأول", 6, "النظا…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("漢字", 4, "漢字"),
    ],
)
def test_a_name_is_shortened_between_characters(name: str, width: int, drawn: str) -> None:
    """By the columns that it takes: a wide letter takes two, an accent none, a flag is whole."""
    assert shortened(name, width) == drawn


def test_joiners_of_scripts_that_need_them_are_kept() -> None:
    """Persian and emoji are shown as written; a joiner in a Latin name is written out, as is what
    turns the direction."""
    assert legible("می\u200cخواهم 👩\u200d💻") == "می\u200cخواهم 👩\u200d💻"
    assert legible("山田\u3000太郎") == "山田\u3000太郎"
    assert "\u200d" not in legible("a\u200db")
    assert "\u202e" not in legible("ا\u202eب")
