"""`persona-panel init`: a panel file that runs, whatever the columns are called."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from persona_panel.planning.settings import PanelFile
from persona_panel.testing import serving
from tests.helpers.command import COMMAND
from tests.helpers.invoked import invoked
from tests.helpers.printed_commands import parse, whole_commands

ROWS = [("Why?", "So it is.", "a", "4"), ("Why?", "Since it is.", "b", "2"),
        ("How?", "By hand.", "a", "5"), ("How?", "By heart.", "b", "1")]  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(header: str, name: str = "texts.csv") -> str:
    Path(name).write_text("\n".join([header, *map(",".join, ROWS)]) + "\n")
    return name


@pytest.mark.parametrize(
    ("header", "mapped"),
    [
        ("prompt,response,system,year", None),
        ("Question,answer,model,year", "prompt=Question,response=answer,system=model"),
        ("prompt_text,text,author,year", "system=author"),
        ("Frage,Antwort,Modell,Jahr", "prompt=Frage,response=Antwort,system=Modell"),
    ],
)
def test_the_file_runs(header: str, mapped: str | None) -> None:
    """What init prints last scores the responses by the panel that it wrote, which names their
    columns, with all judgments."""
    done = invoked(
        "init", written(header), "--model", "openai:stub", "--personas", "disciplinary",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "texts.csv: 4 responses by 2 systems to 2 prompts." in done.stderr
    panel = PanelFile.model_validate(yaml.safe_load(Path("panel.yaml").read_text()))
    assert (panel.personas, panel.rubric) == ("disciplinary", "scrub")
    assert [model.model for model in panel.models] == ["openai:stub"]
    [score] = whole_commands(done.stderr)
    assert done.stderr.endswith(f"  {score}\n")
    assert panel.columns == dict(pair.split("=") for pair in (mapped or "").split(",") if pair)
    assert not parse(score).params["mapping"]
    assert f"# Score them:  {score}\n" in Path("panel.yaml").read_text()
    with serving() as server:
        run = invoked(*shlex.split(score)[1:], OPENAI_BASE_URL=server.base_url)
    assert run.returncode == 0, run.stderr
    assert len(Path("runs/texts/judgments.jsonl").read_text().splitlines()) == 4 * 5


def test_columns_of_another_file_are_refused_by_the_panel_file() -> None:
    """Where a file lacks a column that the panel file names, the fault says which file names it."""
    invoked("init", written("Question,answer,model,year"), "--model", "openai:stub")
    score = ("score", written("Query,answer,model,year", "other.csv"), "--panel", "panel.yaml")
    done = invoked(*score, "--dry-run")
    assert done.returncode == 2
    assert "columns in panel.yaml: prompt=Question: found no such field" in done.stderr


def test_map_replaces_the_columns_of_the_panel_file_field_by_field() -> None:
    """A field that --map names, by either of its names, is read from its column alone, the others
    from the panel file's; a fault says for each where its column was named."""
    texts = written("Question,answer,model,year", "first.csv")
    invoked("init", texts, "--model", "openai:stub")
    assert "response: answer" in Path("panel.yaml").read_text()
    other = written("Question,essay,model,year", "second.csv")
    score = ("score", other, "--panel", "panel.yaml", "--dry-run")
    assert invoked(*score, "--map", "response=essay").returncode == 0
    assert invoked(*score, "--map", "response_text=essay").returncode == 0
    done = invoked("score", texts, *score[2:], "--map", "response=essay,system=Modell")
    assert done.returncode == 2
    assert "mapping response=essay: found no such field" in done.stderr
    assert "mapping system=Modell: found no such field" in done.stderr
    assert "prompt=Question" not in done.stderr
    done = invoked(
        "score", written("Q,answer,M,year", "third.csv"), *score[2:], "--map", "system=M"
    )
    assert "columns in panel.yaml: prompt=Question: found no such field" in done.stderr
    assert "system=M" not in done.stderr


def test_all_faults_of_a_file_are_listed() -> None:
    """What no cell may have is listed with the fields that are empty."""
    Path("gaps.csv").write_text("prompt,answer,model\nWhy?,,a\nWhy?,x,\nHow?,z\0z,b\n")
    done = invoked("init", "gaps.csv")
    assert done.returncode == 2
    for place in (
        "gaps.csv:2: answer: found an empty value",
        "gaps.csv:3: model: found an empty value",
        "gaps.csv:4: found a NUL",
    ):
        assert place in done.stderr
    assert "3 faults found." in done.stderr


def test_columns_that_may_be_ratings_are_named() -> None:
    """The panel file says how people's ratings are compared with the panel; one without such a
    column has no word on it."""
    invoked("init", written("prompt,response,system,human_score"))
    assert "# human_score: if these are people's ratings, " in Path("panel.yaml").read_text()
    rows = ["id,prompt,response,system,human_score,rater two"]
    rows += [f"{n},Why {n % 2}?,Text {n}.,{'ab'[n // 2]},{n + 1},3" for n in range(4)]
    Path("rated.csv").write_text("\n".join(rows) + "\n")
    invoked("init", "rated.csv", "--model", "local:smollm2-135m", "--force")
    (compared,) = re.findall(
        "^# (persona-panel .* --human .*)$", Path("panel.yaml").read_text(), re.M
    )
    words = shlex.split(compared)
    assert words[-1] == "item=id,raters=human_score,rater two"
    done = invoked(*words[1:], "--dry-run")
    assert done.returncode == 0, done.stderr
    without_id = [row.partition(",")[2] for row in rows]
    Path("rated.csv").write_text("\n".join(without_id) + "\n")
    refused = invoked(*words[1:], "--dry-run")
    assert "mapping item=id: found no such field" in refused.stderr
    invoked("init", written("prompt,response,system,year"), "--out", "other.yaml")
    assert "ratings" not in Path("other.yaml").read_text()


def test_nothing_is_overwritten_without_force() -> None:
    """A panel file that is there stays as it is; with --force it is replaced."""
    Path("panel.yaml").write_text("mine\n")
    refused = invoked("init", written("prompt,response,system,year"))
    assert refused.returncode == 2
    assert "panel.yaml is there; choose another, or replace it by --force" in refused.stderr
    assert Path("panel.yaml").read_text() == "mine\n"
    assert invoked("init", "texts.csv", "--force").returncode == 0
    assert "personas: perspectives\n" in Path("panel.yaml").read_text()


@pytest.mark.parametrize(
    ("header", "options", "said"),
    [
        ("words,answer,model,year", (), "use --map prompt=COLUMN"),
        ("prompt,response,system,year", ("--rubric", "scrb"), "did you mean 'scrub'?"),
        ("prompt,response,system,year", ("--personas", "nobody"), "no persona set of this name"),
        ("prompt,response,system,year", ("--model", "gpt"), "'gpt' is not a model"),
        ("prompt,response,system,year", ("--model", "opnai:x"), "there is no such provider"),
        ("prompt,response,system,year", ("--out", "texts.csv", "--force"), "texts.csv"),
        ("prompt,response,system,year", ("--map", "response=answr"), "answr"),
    ],
)
def test_what_would_not_run_is_refused(header: str, options: tuple[str, ...], said: str) -> None:
    """Exit status 2, and no file is written."""
    before = Path(written(header)).read_text()
    refused = invoked("init", "texts.csv", *options)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert not Path("panel.yaml").exists()
    assert Path("texts.csv").read_text() == before


def test_files_are_found_from_the_panel_files_folder() -> None:
    """A rubric in a file is named as the panel file's reader looks for it, with its variant."""
    Path("deep").mkdir()
    shown = Path(__file__).parents[3] / "rubrics/library/argument-quality.yaml"
    Path("own.yaml").write_text(shown.read_text())
    done = invoked(
        "init", written("prompt,response,system,year"), "--rubric", "own.yaml:novice",
        "--out", "deep/panel.yaml", "--model", "openai:stub",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "rubric: ../own.yaml:novice\n" in Path("deep/panel.yaml").read_text() or (
        'rubric: "../own.yaml:novice"\n' in Path("deep/panel.yaml").read_text()
    )
    [score] = whole_commands(done.stderr)
    dry = invoked(*shlex.split(score)[1:], "--dry-run")
    assert dry.returncode == 0, dry.stderr


def test_a_terminal_is_asked_at_most_four_questions() -> None:
    """Columns, models, rubric and personas, in this order; what an option says is not asked, and an
    empty answer takes the default."""
    written("question,words,model,year")
    asked = on_a_terminal(
        ["init", "texts.csv"],
        ["prompt=question,response=words,system=model", "openai:x, openai:y", "", "political"],
    )
    questions = (
        "Which columns are prompt, response, system?",
        "Models, ",
        "Rubric: ",
        "Personas: ",
    )
    places = [asked.find(question) for question in questions]
    assert -1 not in places
    assert places == sorted(places)
    panel = PanelFile.model_validate(yaml.safe_load(Path("panel.yaml").read_text()))
    assert [model.model for model in panel.models] == ["openai:x", "openai:y"]
    assert (panel.personas, panel.rubric) == ("political", "scrub")
    given = on_a_terminal(
        ["init", "texts.csv", "--map", "prompt=question,response=words,system=model", "--rubric",
         "scrub", "--personas", "none", "--model", "openai:z", "--force"],
        [],
    )  # fmt: skip
    assert "openai:z" in Path("panel.yaml").read_text()
    assert "[scrub]" not in given


def on_a_terminal(words: list[str], answers: list[str]) -> str:
    """What the command prints on a terminal where these answers are typed; it ends without more."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [COMMAND, *words],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
        out, err = process.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert process.returncode == 0, err
    return out + err
