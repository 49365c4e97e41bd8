"""The format of a printed result: by name, of ours or of another distribution."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from persona_panel.testing import serving
from tests.helpers.distributions import installed

Command = Callable[..., CompletedProcess[str]]

PANEL = ("--personas", "disciplinary", "--model", "openai:stub", "--rubric", "debate-speech")


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    rows = [
        {"id": f"r{n}", "prompt": "Why?", "response": f"Because {n}.", "system": "alder"}
        for n in range(2)
    ]
    path = tmp_path / "batch.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def others(tmp_path: Path) -> str:
    """A folder with another distribution, which brings the format `count`; on the import path."""
    folder = tmp_path / "others"
    info = folder / "others-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[persona_panel.renderers]\ncount = others_count\n")
    (folder / "others_count.py").write_text(
        "def render(result, to, *, full):\n"
        "    print(f'{len(result.tables[0].rows)} {result.tables[0].name}', file=to)\n"
    )
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_the_format_of_another_distribution_prints_results(
    command: Command, batch: Path, others: str
) -> None:
    """One that is installed is offered by name, and prints an estimate and a run."""
    with serving() as server:
        surroundings = {"OPENAI_BASE_URL": server.base_url, "PYTHONPATH": others}
        arguments = ("score", batch, *PANEL, "--format", "count")
        foreseen = command(*arguments, "--dry-run", **surroundings)
        done = command(*arguments, **surroundings)
    assert (foreseen.returncode, foreseen.stdout) == (0, "1 models\n")
    assert (done.returncode, done.stdout) == (0, "1 systems\n")


HOSTILE = "al\x1b[31mder\u202egnp\n"
KEY = "sk-9fTq2LmXw7Rz4KdV"


@pytest.mark.parametrize("name", ["score", "agree"])
def test_what_a_format_of_others_prints_is_made_visible(
    command: Command, tmp_path: Path, name: str
) -> None:
    """A key, an escape sequence and a bidirectional control that a format of another distribution
    prints as they come, a key in two parts, arrive masked and escaped."""
    source = (
        "def render(result, to, *, full):\n"
        f"    print('name', {HOSTILE!r}, file=to)\n"
        f"    to.write('key ' + {KEY[:9]!r})\n"
        f"    to.write({KEY[9:]!r})\n"
    )
    site = os.pathsep.join([str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    installed(tmp_path / "site", "renderers", "raw = others_raw", "others_raw", source)
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("item,rater,score\na,ann,1\na,bob,2\nb,ann,3\nb,bob,3\n")
    row = {"id": "r", "prompt": "Why?", "response": "Because.", "system": "alder"}
    (tmp_path / "batch.jsonl").write_text(json.dumps(row) + "\n")
    score = ("score", tmp_path / "batch.jsonl", *PANEL)
    arguments = {"score": score, "agree": ("agree", ratings)}[name]
    with serving() as server:
        done = command(
            *arguments, "--format", "raw", OPENAI_BASE_URL=server.base_url,
            OPENAI_API_KEY=KEY, PYTHONPATH=site,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "name al\\x1b[31mder\\u202egnp\n" in done.stdout
    # `agree` calls no model, and so knows no key.
    assert done.stdout.endswith(f"key {KEY if name == 'agree' else '[secret]'}")


def test_json_is_a_format(command: Command, batch: Path) -> None:
    """`--json` and `--format json` print the same document, and no table."""
    with serving() as server:
        arguments = ("score", batch, *PANEL, "--out", "run")
        # Not the first, which calls models.
        _, *done = [
            command(*arguments, *option, OPENAI_BASE_URL=server.base_url)
            for option in ([], ["--json"], ["--format", "json"])
        ]
    documents = [json.loads(one.stdout)["tables"] for one in done]
    for tables in documents:
        del tables["run"][0]["elapsed_s"]
    assert documents[0] == documents[1]


def test_tables_are_printed_for_a_paper_and_for_a_spreadsheet(
    command: Command, tmp_path: Path
) -> None:
    """`--csv` and `--latex` are short for formats by name, of a command that calls no model."""
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("item,rater,score\na,ann,1\na,bob,2\nb,ann,3\nb,bob,3\n")
    for name, begins in (
        ("csv", "table,statistic,dimension,group,by,by_value,column"),
        ("latex", "% \\usepackage{booktabs}"),
    ):
        done = command("agree", ratings, f"--{name}", "--format", name, "--resamples", "0")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(begins)
        assert "rippendorff" in done.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--format", "papyrus"],
            "'papyrus' is not one of 'csv', 'html', 'json', 'latex'",
        ),
        (["--json", "--format", "terminal"], "--json and --format terminal exclude each other"),
        (["--latex", "--csv"], "--csv and --latex exclude each other"),
    ],
)
def test_an_unknown_or_contradicted_format_is_refused(
    command: Command, batch: Path, options: list[str], says: str
) -> None:
    """A format that is not there, and two at once, end with exit status 2 before any call."""
    with serving() as server:
        done = command("score", batch, *PANEL, *options, OPENAI_BASE_URL=server.base_url)
        assert not server.calls
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
