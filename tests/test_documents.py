"""What the README and docs/ have a reader type, typed; what they show, compared."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

import persona_panel
from persona_panel.cli.main import OLD_NAMES, command, declared_analyses
from persona_panel.testing import serving
from tests.documents import (
    PAGES,
    ROOT,
    Block,
    alike,
    blocks_of,
    current,
    scripted,
    walked,
    why_not,
)

SKIPPED = [
    block
    for page in PAGES
    for block in blocks_of(page)
    if block.language == "sh" and (block.needs_a_key or block.installs)
]


SLOW = {
    "README.md": "the embedded model judges 40 speeches",
    "docs/how-to/extend.md": "an extension of each kind is written, checked and used",
}
"""Pages whose walk takes more than five seconds of a core, and why."""


def names(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


def walks() -> list[Any]:
    return [
        pytest.param(page, id=name, marks=[pytest.mark.slow(SLOW[name])] if name in SLOW else [])
        for page, name in zip(PAGES, names(PAGES), strict=True)
    ]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", walks())
def test_a_page_can_be_walked_from_top_to_bottom(
    page: Path, tmp_path: Path, demo_cache: Path
) -> None:
    """Every block of a page runs, one after the other in one folder, and prints what is shown."""
    if (reason := why_not(page)) is not None:
        pytest.skip(reason)
    with serving(scripted) as server:
        for block, printed in walked(page, tmp_path / "page", server.base_url):
            if "output" in block.marks and not block.is_left_out:
                now = current(block.text, printed)
                pairs = zip(block.text.splitlines(), now.splitlines(), strict=True)
                other = [pair for pair in pairs if not alike(*pair)]
                assert not other, f"{block.place}: `python -m tests.documents` writes it\n{other}"
    if page.name == "README.md":
        # Renamed once it is whole: another worker may look for it.
        (tmp_path / "page" / ".cache").rename(demo_cache)


@pytest.mark.parametrize("block", SKIPPED, ids=[block.place for block in SKIPPED])
def test_a_command_that_is_not_run_is_a_command(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs a key or public data, or installs packages, is named among the skipped tests, and
    its options are ones that the command has."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["persona-panel"]:
            parse(words[1:])
    reason = "it needs public data" if block.needs_data else "needs a key"
    reason = reason if block.needs_a_key else "it installs packages"
    pytest.skip(f"{block.text.splitlines()[0][:60]}: {reason}")


def parse(words: list[str]) -> None:
    """Read a command line as click does, without running the command."""
    context = command.make_context("persona-panel", words)
    here: click.Command = command
    while isinstance(here, click.Group):
        name, found, rest = here.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None, name
        here, context = found, found.make_context(name, rest, parent=context)


def test_an_output_that_is_not_printed_is_a_fault() -> None:
    """Other words differ, and numbers further off than a twentieth; widths do not."""
    assert alike("  cedar   4.07  ───", "  cedar 4.05 ─────────")
    assert not alike("cedar 4.07", "cedar 5.07")
    assert not alike("cedar 4.07", "birch 4.07")
    with pytest.raises(AssertionError, match="not printed"):
        current("a\n…\nc\n", "a\nb\n")


def test_every_public_name_is_in_the_reference() -> None:
    """The pages on Python and on results describe each name that the package has, once, and no
    other."""
    pages = (ROOT / "docs/reference/python.md", ROOT / "docs/reference/results.md")
    with_analyses = runpy.run_path(str(ROOT / "docs/settings.py"))["with_analyses"]
    text = "".join(with_analyses(page.read_text("utf-8")) for page in pages)
    described = re.findall(r"^::: persona_panel\.(\w+)$", text, re.M)
    assert sorted(described) == sorted([*persona_panel.__all__, "testing"])


@pytest.mark.parametrize("page", names(PAGES))
def test_paths_of_this_project_are_there(page: str) -> None:
    """Each path of a file or folder of the project that a page has in backticks is one."""
    text = (ROOT / page).read_text("utf-8")
    paths = re.findall(r"`((?:panel|tests|graphs|rubrics|personas|benchmarks)/[^`\s]+)`", text)
    assert [path for path in paths if not list(ROOT.glob(path.rstrip("/")))] == []


def test_paths_that_the_code_names_are_there() -> None:
    """So is each path of a file in a docstring or a comment; X stands for a name."""
    folders = ("panel", "graphs", "rubrics", "personas", "benchmarks")
    wanted = re.compile(rf"\b(?:{'|'.join(folders)}|tests)/[\w/]+\.(?:pyi?|ya?ml|md)\b")
    named = {
        path
        for folder in folders
        for file in (ROOT / folder).rglob("*")
        if file.suffix in (".py", ".yaml")
        for path in wanted.findall(file.read_text("utf-8"))
    }
    assert {"panel/results/formats/json.py", "panel/__init__.pyi"} <= named
    gone = {path for path in named if not (ROOT / path).is_file()}
    assert gone == {"panel/analyses/X.py", "tests/panel/analyses/test_X.py"}


@pytest.mark.parametrize("page", names(PAGES))
def test_commands_have_their_new_names(page: str) -> None:
    """No page has a reader type a name that a command had once."""
    typed = re.findall(r"\bpersona-panel ([a-z-]+)", (ROOT / page).read_text("utf-8"))
    assert OLD_NAMES.keys().isdisjoint(typed)


def test_names_in_the_table_of_what_has_no_entry_point_are_there() -> None:
    """What is to be extended, and where it is named, is in the code under that name."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    code = "".join(path.read_text("utf-8") for path in (ROOT / "panel").rglob("*.py"))
    wanted = re.findall(r"`(\w+)`", page.partition("## Additions without an entry point")[2])
    assert {"AlignmentRule", "_FORMATS"} <= set(wanted)
    assert [name for name in wanted if not re.search(rf"\b{name}\b", code)] == []


def test_the_readme_is_one_page() -> None:
    """The README has at most 150 lines, and the two commands that a reader begins with."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 150
    for mark in ("<!-- first command -->", "<!-- test command -->"):
        assert lines[lines.index(mark) + 1] == "```sh"


PROMISES = {
    "README.md": r"No answer is paid for twice.*calls in flight",
    "docs/how-to/cost.md": r"## Pay once.*calls in flight again",
    "docs/how-to/generate.md": r"continues with the same\scommand; only calls in flight",
    "docs/how-to/prompts.md": r"makes only calls in flight again",
    "docs/reference/errors.md": r"stopped by Ctrl-C[^|]*calls in flight are given up",
}


@pytest.mark.parametrize("page", PROMISES)
def test_what_is_paid_for_again_is_said(page: str) -> None:
    """Where a page promises that a run goes on, it says that calls in flight are made again; none
    promises that nothing at all is, but that on batches, whose ids are kept."""
    assert re.search(PROMISES[page], (ROOT / page).read_text("utf-8"), re.S)
    promising = [one for one in PAGES if re.search(r"othing is paid for twice", one.read_text())]
    assert names(promising) == ["docs/how-to/batch.md"]


PROVIDERS = {
    "azure.yaml": ("langchain_openai", "AZURE_OPENAI_API_KEY"),
    "gemini.yaml": ("langchain_google_genai", "GOOGLE_API_KEY"),
    "vertex.yaml": ("langchain_google_genai", None),
    "openrouter.yaml": ("pycurl", "OPENROUTER_API_KEY"),
}


@pytest.mark.parametrize("title", PROVIDERS)
def test_panel_files_of_providers_can_be_had(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The panel files for Azure, Google and OpenRouter make a panel, with nothing but the key that
    they name; no call is made."""
    module, variable = PROVIDERS[title]
    pytest.importorskip("langchain")
    pytest.importorskip(module)
    for name in ("AZURE_OPENAI_API_KEY", "OPENROUTER_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, "canary-4f9e-0123456789")
    [block] = [block for block in blocks_of(ROOT / "docs/how-to/models.md") if block.title == title]
    (tmp_path / title).write_text(block.text)
    [model] = persona_panel.Panel.from_file(tmp_path / title).plan.models
    options = model.config.options
    assert options
    assert all(value in str(dict(model.client.parameters)) for value in _words(options))


def _words(options: object) -> list[str]:
    """The texts among options but for those of headers, of which there is a digest."""
    if isinstance(options, dict):
        return [word for name, one in options.items() if name != "headers" for word in _words(one)]
    if isinstance(options, list):
        return [word for one in options for word in _words(one)]
    return [options] if isinstance(options, str) else []


def test_every_analysis_is_among_those_that_claim_or_claim_nothing() -> None:
    """The page of methods has a line of each, with its test and its measured errors."""
    page = (ROOT / "docs/explanation/statistics.md").read_text("utf-8")
    claims = page[page.index("## Conclusions") : page.index("**Prompts needed**")]
    names = [name for group in declared_analyses().values() for name in group]
    assert len(names) > 10
    assert [name for name in names if f"`{name}`" not in claims] == []
