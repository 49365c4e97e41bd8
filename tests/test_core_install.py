"""An installation without extras: it scores and shows, and says in one line what an extra is
needed for."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import (
    PackageNotFoundError,
    distribution,
    packages_distributions,
    requires,
)
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from persona_panel.testing import ScriptedServer, serving

ROOT = Path(__file__).parents[1]
ROWS = [
    {"prompt": f"Question {i // 2}?", "response": f"Text {i}.", "system": ("alder", "birch")[i % 2]}
    for i in range(6)
]
CORE_ONLY = """
import sys
class CoreOnly:
    def find_spec(self, name, path=None, target=None):
        if name in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, CoreOnly())
"""
"""Hides what an installation without extras lacks."""
COMMAND = "from persona_panel.cli.main import main\nmain()"
ARROW = "which is not installed; get it with: pip install 'persona-panel[arrow]'"


def core_distributions() -> set[str]:
    """What the core requires, at whatever distance, and the project."""
    # What is installed may be older than the file.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    core, waiting = {"persona-panel"}, [_named(line) for line in project["dependencies"]]
    while waiting:
        if (name := waiting.pop()) in core:
            continue
        core.add(name)
        try:
            needed = requires(name) or []
        except PackageNotFoundError:
            # For another system or Python.
            continue
        waiting += [_named(line) for line in needed if "extra ==" not in line]
    return core


def absent_modules() -> set[str]:
    """The modules installed here that no requirement of the core brings."""
    core = core_distributions()
    return {
        module
        for module, distributions in packages_distributions().items()
        if not core & set(map(_named, distributions))
    }


def installed_bytes(name: str) -> int:
    """The bytes of an installed distribution, with byte code; 0 where it is for another system."""
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return 0
    return sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).exists())


def _named(requirement: str) -> str:
    """The distribution of a requirement, as packages are compared by name."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


@pytest.fixture(scope="module")
def core_only() -> str:
    return CORE_ONLY.format(absent=absent_modules())


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with serving() as server:
        yield server


def run(code: str, *arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | env, capture_output=True, text=True, check=False
    )


def score(
    core_only: str, server: ScriptedServer, responses: Path, out: Path
) -> subprocess.CompletedProcess[str]:
    arguments = ("score", str(responses), "--personas", "disciplinary", "--model", "openai:stub")
    env = {"OPENAI_BASE_URL": server.base_url, "PERSONA_PANEL_CACHE": str(out.with_suffix(".c"))}
    return run(core_only + COMMAND, *arguments, "--out", str(out), env=env)


def test_what_is_hidden_is_the_packages_of_extras() -> None:
    """What extras bring is hidden, and what the core requires, at whatever distance, is not."""
    absent = absent_modules()
    assert {"pyarrow", "matplotlib", "redis", "pytest"} <= absent
    assert not {"persona_panel", "numpy", "scipy", "langgraph", "pycurl", "yaml"} & absent


def test_an_installation_weighs_at_most_385_mb() -> None:
    """What the core requires, and the project with its byte code, which pip writes, is small."""
    others = sum(map(installed_bytes, core_distributions() - {"persona-panel"}))
    folders = (ROOT / name for name in ("panel", "graphs", "rubrics", "personas"))
    own = sum(path.stat().st_size for folder in folders for path in folder.rglob("*.*"))
    assert 300e6 < others + own < 385e6 - installed_bytes("pip")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_batch_is_scored(
    core_only: str, server: ScriptedServer, tmp_path: Path, suffix: str
) -> None:
    """The core scores a CSV and a JSONL file, answers the five questions and writes the page."""
    responses = tmp_path / f"in.{suffix}"
    with responses.open("w", newline="") as file:
        if suffix == "csv":
            table = csv.DictWriter(file, ROWS[0])
            table.writeheader()
            table.writerows(ROWS)
        else:
            file.writelines(json.dumps(row) + "\n" for row in ROWS)
    done = score(core_only, server, responses, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    for question in ("Which system is best?", "Can the panel be trusted?", "What would settle"):
        assert question in done.stdout
    assert "Krippendorff" in (tmp_path / "run" / "report.html").read_text("utf-8")
    again = run(core_only + COMMAND, "agree", str(tmp_path / "run"), env={})
    assert again.returncode == 0, again.stderr


def test_parquet_is_refused_before_the_first_call(
    core_only: str, server: ScriptedServer, tmp_path: Path
) -> None:
    """A folder of Parquet files is refused in one line, which says what to install."""
    for name in ("a", "b"):
        pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / f"{name}.parquet")
    before = len(server.calls)
    done = score(core_only, server, tmp_path, tmp_path / "run")
    assert done.returncode == 2
    refused = [f"Parquet files need pyarrow, {ARROW}", "No model was called."]
    assert done.stderr.splitlines() == refused
    assert len(server.calls) == before
    assert not (tmp_path / "run").exists()


def test_a_data_frame_is_refused(core_only: str) -> None:
    """So is a data frame, by the same exception as whatever a panel lacks."""
    code = (
        "import persona_panel\n"
        "class Frame:\n"
        "    def __arrow_c_stream__(self, requested_schema=None): ...\n"
        "try:\n"
        "    persona_panel.load_responses(Frame())\n"
        "except persona_panel.ConfigurationError as error:\n"
        "    print(error)"
    )
    done = run(core_only + code, env={})
    assert done.stdout == f"Data frames need pyarrow, {ARROW}\n", done.stderr


DAMAGED = """
import sys
class Damaged:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise ImportError("libarrow.so: undefined symbol")
sys.meta_path.insert(0, Damaged())
"""


@pytest.mark.parametrize("module", ["pyarrow", "pyarrow.lib", "pyarrow.parquet"])
def test_a_damaged_pyarrow_is_refused(server: ScriptedServer, tmp_path: Path, module: str) -> None:
    """One that is installed and cannot be imported is named in one line, with what mends it."""
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    done = score(DAMAGED.format(module=module), server, tmp_path / "a.parquet", tmp_path / "run")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "Parquet files need pyarrow, which is installed and cannot be imported "
        "(ImportError: libarrow.so: undefined symbol); get it with: "
        "pip install --force-reinstall pyarrow",
        "No model was called.",
    ]
