"""Every command that is printed, by a command, a page, an error, a help text or a document, is one
that the parser takes; those with real names are run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from persona_panel import Panel, Response
from persona_panel.cli.help import ALL
from persona_panel.cli.main import command
from persona_panel.files.wording import command_line
from persona_panel.testing import ScriptedModel
from tests.documents import PAGES, ROOT
from tests.helpers.invoked import invoked
from tests.helpers.printed_commands import (
    NAMED,
    fault_of_a_name,
    parse,
    strings_in,
    whole_commands,
)

SOURCES = [
    path
    for folder in ("panel", "graphs", "rubrics", "personas")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".jinja", ".html", ".js", ".yaml")
    and path.parent.name != "__pycache__"
]
REWRITTEN = {ROOT / "docs/explanation/statistics.md", ROOT / "docs/reference/input-files.md"}
"""Pages that are being rewritten elsewhere, and have old names of commands until then."""
PLACEHOLDERS = {"RUN", "SPEC", "ANSWERS", "RESPONSES", "RUBRIC", "FILE", "X"}


def texts_of(path: Path) -> list[str]:
    return [*strings_in(path)] if path.suffix == ".py" else [path.read_text("utf-8")]


@pytest.mark.parametrize("folder", ["panel", "graphs", "rubrics", "personas", "docs"])
def test_commands_in_sources_and_documents_are_ones(folder: str) -> None:
    """Each command of a string, a template or a page is read by the parser; where it is named
    alone, it and its options are there."""
    paths = [path for path in SOURCES if path.is_relative_to(ROOT / folder)]
    if folder == "docs":
        paths = [path for path in PAGES if path not in REWRITTEN]
    faults = []
    for path in paths:
        for text in texts_of(path):
            where = path.relative_to(ROOT)
            for line in whole_commands(text) if path not in PAGES else ():
                try:
                    parse(re.sub(r" …| \.\.\.", " X", line))
                except click.ClickException as error:
                    faults.append(f"{where}: {line}: {error.format_message()}")
            for named in NAMED.findall(text):
                # In a page's sentences a command is named by its whole name, too.
                if (fault := fault_of_a_name(named.removeprefix("persona-panel "))) is not None:
                    faults.append(f"{where}: {fault}")
    assert not faults, "\n".join(faults)


def test_help_names_commands_that_there_are() -> None:
    """So does the help of every command."""
    faults = []

    def look(here: click.Command, words: Sequence[str]) -> None:
        context = click.Context(here, info_name=" ".join(words))
        context.meta[ALL] = True
        shown = here.get_help(context)
        flat = " ".join(shown.split())
        faults.extend(filter(None, map(fault_of_a_name, NAMED.findall(flat))))
        for line in re.findall(r"`(persona-panel [^`]+)`", flat):
            parse(line)
        if isinstance(here, click.Group):
            for name in here.list_commands(click.Context(here)):
                if (found := here.get_command(click.Context(here), name)) is not None:
                    look(found, [*words, name])

    look(command, ["persona-panel"])
    assert not faults


@pytest.mark.parametrize(
    "name", ["my run", "people's", '"quoted"', "-o", "--out", "läufe", "$HOME;x", "a\\b", "*"]
)
def test_a_command_takes_any_name(name: str) -> None:
    """Whatever a folder is called, the shell and the parser hand it on as it is."""
    context = parse(command_line("report", [name], {"--human": name}))
    assert Path(context.params["run"]) == Path(name)
    assert context.params["human"] == name


ODD = ["run a", "-run", "läufe's"]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("rubric", ["scrub", "own"])
@pytest.mark.parametrize("texts", [True, False])
def test_what_select_prints_makes_a_study(
    name: str, rubric: str, *, texts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that `select` prints makes packets, whatever the run is called and its judges
    rated by, also a second time; of a run without texts it has a word for their file."""
    monkeypatch.chdir(tmp_path)
    made_run(Path(name), rubric)
    if not texts:
        digests = Path(name, "responses.jsonl")
        lines = [json.loads(line) for line in digests.read_text().splitlines()]
        kept = [{k: v for k, v in one.items() if k not in ("prompt", "response")} for one in lines]
        whole = [{**one, "prompt_sha256": "0", "response_sha256": "0"} for one in kept]
        digests.write_text("".join(f"{json.dumps(one)}\n" for one in whole))
    for _ in range(2):
        done = invoked("select", f"./{name}", "--n", "6", "--out", f"{name} items.csv")
        assert done.returncode == 0, done.stderr
        [line] = [one for one in whole_commands(done.stderr) if "people make" in one]
        words = shlex.split(line)[1:]
        if not texts:
            assert "RESPONSES is the file of the texts" in done.stderr
            words = ["texts.jsonl" if word == "RESPONSES" else word for word in words]
        study = invoked(*words)
        assert study.returncode == 0, f"{line}\n{study.stderr}"
    [key, _] = sorted(Path().glob("*study*/key/*.json"))
    assert json.loads(key.read_text())["rubric"]["id"] == rubric


def made_run(folder: Path, rubric: str) -> None:
    """A run of six texts on three prompts, in this folder; the texts in texts.jsonl, too."""
    responses = [
        Response(id=f"r-{i}", prompt=f"Why {i % 3}?", prompt_id=f"-p{i % 3}", text=f"So {i}.",
                 system="ab"[i % 2])
        for i in range(6)
    ]  # fmt: skip
    if rubric == "own":
        document = (ROOT / "rubrics/library/debate-speech.yaml").read_text()
        Path("own.yaml").write_text(document.replace("id: debate-speech", "id: own"))
    model = ScriptedModel()
    given = rubric if rubric == "scrub" else "own.yaml"
    Panel("disciplinary", model, given).score(responses, out=folder)
    Path("texts.jsonl").write_text(
        "".join(
            json.dumps({"id": one.id, "prompt": one.prompt, "prompt_id": one.prompt_id,
                        "response": one.text, "system": one.system}) + "\n"
            for one in responses
        )
    )  # fmt: skip


def test_commands_that_commands_print_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever commands print of a run with an odd name is parsed, and run where all of its words
    are real."""
    monkeypatch.chdir(tmp_path)
    made_run(Path("my run's"), "scrub")
    Path("my run's/report.html").unlink(missing_ok=True)
    people = "".join(f"-p{i % 3}/r-{i},{rater},{5 + i % 3}\n" for i in range(6) for rater in "uv")
    Path("people's.csv").write_text(f"item,rater,score\n{people}")
    given = [
        ["audit", "bias", "my run's"],
        ["agree", "my run's"],
        ["contested", "my run's"],
        ["people", "votes", "my run's"],
        ["plan", "--from", "my run's"],
        ["people", "correlate", "my run's", "--human", "people's.csv"],
        ["people", "calibrate", "my run's", "--human", "people's.csv"],
        ["people", "align", "my run's", "--human", "people's.csv"],
        ["select", "my run's", "--n", "4", "--out", "items 1.csv"],
        ["report", "my run's"],
        ["compare", "my run's", "my run's"],
        ["keypoints", "my run's"],
        ["score", "texts.jsonl", "--out", "my run's", "--model", "openai:x"],
        ["batch", "status", "my run's"],
        ["cache", "stats"],
        ["models"],
        ["repport", "my run's"],
    ]
    printed: dict[str, None] = {}
    for words in given:
        done = invoked(*words, OPENAI_API_KEY="")
        printed |= dict.fromkeys(whole_commands(f"{done.stdout}\n{done.stderr}"))
    assert len(printed) > 1
    for line in printed:
        words = shlex.split(line)
        parse(line)
        if PLACEHOLDERS.isdisjoint(words):
            done = invoked(*words[1:])
            assert done.returncode == 0, f"{line}\n{done.stderr}"
