"""No option has a command write over a file that it reads, or over one of a run."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from persona_panel.cli.failures import WRITTEN
from persona_panel.cli.main import command
from tests.helpers.marked_texts import marked_model, marked_run

READ = {
    "--instructions", "--selected", "--items", "--responses", "--attacks", "--consent", "--prompt",
    "--experts", "--panel", "file",
}  # fmt: skip
"""What is shown as FILE and is read; `cache export` refuses a file that is there by itself."""
PANEL = ("--personas", "personas.yaml", "--rubric", "rubric.yaml", "--model", "scripted")
HUMAN = ("--human", "people.csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    texts = {f"p{i}": {"elm": f"[{3 + i % 3},{4 + i % 2}] {i}"} for i in range(3)}
    marked_run(folder / "run", texts, marked_model())
    rows = [f"p{i}/p{i}-elm,{who},{i + 1}\n" for i in range(3) for who in "xy"]
    (folder / "people.csv").write_text("item,rater,score\n" + "".join(rows))
    (folder / "texts.jsonl").write_text('{"prompt_id":"p","id":"a","response":"x"}\n')
    (folder / "prompts.jsonl").write_text('{"prompt_id":"p","prompt":"Why?"}\n')
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    (copy / "link.csv").symlink_to("people.csv")
    (copy / "hard.csv").hardlink_to(copy / "people.csv")
    monkeypatch.chdir(copy)
    return copy


def run(*args: str) -> Result:
    return CliRunner().invoke(command, args)


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        (("report", "run", *HUMAN, "--out", "people.csv"), "people.csv"),
        (("report", "run", *HUMAN, "--out", "link.csv"), "people.csv"),
        (("report", "run", *HUMAN, "--out", "hard.csv"), "people.csv"),
        (("report", "run", "--out", "run/judgments.jsonl"), "run/judgments.jsonl"),
        (
            ("compare", "run", "run", "--require", "p > 0", "--junit", "run/judgments.jsonl"),
            "run/judgments.jsonl",
        ),
        (("select", "run", "--n", "2", "--out", "run/responses.jsonl"), "run/responses.jsonl"),
        (("select", "people.csv", "--n", "2", "--out", "people.csv"), "people.csv"),
        (
            (
                *("people", "correlate", "run", *HUMAN, "--require", "tau_c >= 0"),
                *("--junit", "people.csv"),
            ),
            "people.csv",
        ),
        (
            ("agree", "run", "--require", "coverage >= 0", "--markdown", "run/run.json"),
            "run/run.json",
        ),
        (
            ("score", "texts.jsonl", *PANEL, "--out", "new", "--require", "coverage >= 0",
             "--junit", "texts.jsonl"),
            "texts.jsonl",
        ),
        (
            ("people", "align", "run", *HUMAN, "--method", "weights", "--out", "people.csv"),
            "people.csv",
        ),
        (
            ("generate", "prompts.jsonl", "--target", "scripted", "--overwrite", "--out",
             "prompts.jsonl"),
            "prompts.jsonl",
        ),
    ],
)  # fmt: skip
def test_an_output_is_no_input(folder: Path, args: tuple[str, ...], kept: str) -> None:
    """Refused before anything is computed, through links as well; the file stays as it is, and no
    other is made."""
    before = (folder / kept).read_bytes()
    there = sorted(folder.rglob("*"))
    done = run(*args)
    assert done.exit_code == 2, done.output
    option = next(one for one in reversed(args) if one in WRITTEN)
    name = args[args.index(option) + 1]
    what = "a file of a run's folder" if name.startswith("run/") else "a file that is read"
    assert done.stderr.startswith(f"{option} {name}: found {what}; expected another one")
    assert (folder / kept).read_bytes() == before
    assert sorted(folder.rglob("*")) == there


def test_what_is_no_input_is_written_again(folder: Path) -> None:
    """A run's page, a summary in its folder, and a file called as one of a run's, elsewhere."""
    (folder / "summary.json").write_text("old")
    for out in ("run/report.html", "run/page.html", "summary.json"):
        for _ in range(2):
            done = run("report", "run", "--out", out)
            assert done.exit_code == 0, done.output
            assert (folder / out).read_text().startswith("<!")


def test_every_option_that_names_a_file_is_known() -> None:
    """What help shows as FILE is either written, and checked, or read."""

    def leaves(one: click.Command) -> list[click.Command]:
        if not isinstance(one, click.Group):
            return [one]
        ctx = click.Context(one)
        subs = [one.get_command(ctx, name) for name in one.list_commands(ctx)]
        return [leaf for sub in subs if sub is not None for leaf in leaves(sub)]

    found = {
        param.opts[0]
        for leaf in leaves(command)
        for param in leaf.params
        if param.metavar in ("FILE", "[FIGURE=]FILE", "RUN", "FOLDER")
        and param.opts[0] not in ("run", "folder")
    }
    assert found - {"--like", "--from"} == READ | set(WRITTEN) - {"--batch-out"}
