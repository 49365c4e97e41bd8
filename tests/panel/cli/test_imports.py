"""What a command imports: all that it needs, whichever is the first, and nothing that it does not
need."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from persona_panel.testing import serving
from tests.helpers.command import COMMAND

ROOT = Path(__file__).parents[3]
# Other projects' packages are imported once, before the forks: they take most of the time.
CODE = """
import importlib, json, os, sys
from tests.helpers.fork_server import IMPORTED
for name in IMPORTED:
    importlib.import_module(name)
from persona_panel.cli.main import command
from tests.helpers.all_commands import modules_in
began = [name for name in sys.modules if name.startswith("persona_panel")]
failed = []
for module in sorted({module for _, module in modules_in(command)}):
    if not (child := os.fork()):
        importlib.import_module(module)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(module)
print(json.dumps([len(began), failed]))
"""


def test_any_command_may_be_the_first_that_is_imported() -> None:
    """Each command's module can be imported where nothing but the list of commands is: what it
    needs it imports itself, and no two modules wait for each other."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    began, failed = json.loads(done.stdout)
    assert began < 30
    assert failed == [], done.stderr


def test_a_run_imports_no_statistic_before_it_has_something_to_say() -> None:
    """Special functions are loaded by the first statistic that needs them."""
    code = (
        "import sys, persona_panel.cli.score, persona_panel.panel, persona_panel.runs.executor\n"
        "print([name for name in sys.modules if name.startswith('scipy.special')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


HELP = {"click"}
READING = HELP | {
    "annotated_types", "asyncio_throttle", "numpy", "orjson", "platformdirs", "pydantic",
    "pydantic_core", "rich", "scipy", "typing_extensions", "typing_inspection", "yaml",
}  # fmt: skip
VIEWING = READING | {"jinja2", "markupsafe"}
SCORING = VIEWING | {"diskcache", "uvloop"}
TRIED = {"charset_normalizer", "colorama"}
"""What numpy and rich import where it is installed."""
LEFT_OUT = {
    "numpy.ctypeslib",
    "numpy.f2py",
    "numpy.testing",
    "scipy._lib._docscrape",
    "scipy.stats",
}
"""Parts of these packages that take much, and that neither `score` nor `view` needs."""


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """The folder of a run of twenty answers, and the environment in which they are cached."""
    folder = tmp_path_factory.mktemp("scored")
    rows = [
        {"prompt": f"P{i // 2}?", "response": f"T{i}." * i + " Why?" * i**2, "system": f"s{i % 2}"}
        for i in range(1, 13)
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving() as server:
        env = {"OPENAI_BASE_URL": server.base_url, "PERSONA_PANEL_CACHE": str(folder / "cache")}
        subprocess.run(
            [COMMAND, *score(folder, "first")],
            env=os.environ | env,
            check=True,
            capture_output=True,
        )
        n_calls = len(server.calls)
        yield folder, env
        assert len(server.calls) == n_calls


def score(folder: Path, run: str) -> list[str]:
    model = ["--personas", "disciplinary", "--model", "openai:stub"]
    return ["score", str(folder / "in.jsonl"), *model, "--out", str(folder / "runs" / run)]


def imported(*arguments: str, env: Mapping[str, str] | None = None) -> set[str]:
    """The modules that a command imports; one that serves is then interrupted."""
    command = [sys.executable, "-X", "importtime", COMMAND, *arguments]
    with subprocess.Popen(
        command,
        env=os.environ | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        if arguments[0] == "view":
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    modules = set(re.findall(r"^import time:.*\| +([\w.]+)", said, re.MULTILINE))
    assert "persona_panel" in modules, said
    return modules


def packages(modules: set[str]) -> set[str]:
    """The packages of others that these modules are of."""
    names = {name.partition(".")[0] for name in modules}
    return names & set(packages_distributions()) - {"persona_panel"} - started() - TRIED


def test_help_imports_no_package_but_click() -> None:
    """`--help` needs no package but that of the commands."""
    assert packages(imported("--help")) == HELP


def test_a_run_from_its_cache_imports_no_langgraph(scored: tuple[Path, Mapping[str, str]]) -> None:
    """`score` of answers that are all cached needs no LangGraph, LangSmith, libcurl or pyarrow; nor
    do its answer, its summary and its page need what takes most of scipy's time."""
    folder, env = scored
    modules = imported(*score(folder, "again"), env=env)
    assert packages(modules) == SCORING
    assert not modules & LEFT_OUT


def test_a_summary_and_a_page_load_no_optimizer() -> None:
    """scipy.optimize takes a third of what the summary and the page of a long run take: no module
    that they need loads it."""
    code = (
        "import sys, persona_panel.analyses.run_summary, persona_panel.analyses.bias_result\n"
        "import persona_panel.reports.page.report\n"
        "print([name for name in sys.modules if name.startswith('scipy.optimize')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_agree_imports_no_model(scored: tuple[Path, Mapping[str, str]]) -> None:
    """`agree` needs what reads files and computes, and nothing that calls a model."""
    folder, _ = scored
    assert packages(imported("agree", str(folder / "runs" / "first"))) == READING


def test_view_imports_no_model(scored: tuple[Path, Mapping[str, str]]) -> None:
    """`view` needs what makes pages, and nothing that calls a model."""
    folder, _ = scored
    modules = imported("view", str(folder / "runs"))
    assert packages(modules) == VIEWING
    assert not modules & LEFT_OUT


def started() -> set[str]:
    """The packages that this Python imports by itself."""
    command = [sys.executable, "-X", "importtime", "-c", ""]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return set(re.findall(r"^import time:.*\| +(\w+)", said, re.MULTILINE))
