"""What docs/how-to/extend.md calls one file is one file in this project, too.

A new analysis is added in tests/panel/analyses/test_analysis.py, a new setting of a panel in
tests/panel/planning/test_settings.py.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import persona_panel

ROOT = Path(__file__).parent.parent
ADDED = {
    "near": "statistics/registered",
    "asciidoc": "results/formats",
    "echo": "models/providers",
    "grade": "rubrics/elicitations",
    "processes": "runs",
}
WITH_ALL = """
from click.testing import CliRunner
from persona_panel import ModelConfig, Rubric, load_definition, rubrics, run_summary, testing
from persona_panel.cli.main import command
from persona_panel.models.providers import load_provider
from persona_panel.results.result import load_format
from persona_panel.runs import processes

if __name__ == "__main__":
    testing.check_statistic("near_agreement")
    testing.check_renderer(load_format("asciidoc"))
    testing.check_provider(load_provider("echo"), ModelConfig(model="echo:any"))
    rubric = load_definition(rubrics.shipped()["scrub"], Rubric)
    testing.check_elicitation(rubrics.load_elicitation("grade"), rubric)
    testing.check_executor(lambda *run: processes.score(*run, 2, run_summary))
    help_of = lambda *words: CliRunner().invoke(command, words).output
    print("asciidoc" in help_of("agree", "--help"), "grade" in help_of("score", "--help-all"),
          "echo:" in help_of("models"))
"""


@pytest.mark.slow("a copy of the package, whose imports are read, and two processes more")
def test_an_addition_is_one_file_that_touches_no_other(tmp_path: Path) -> None:
    """With the file of a recipe in its folder a statistic, a format, a provider, an elicitation and
    an executor are there, pass their checks, and import what their floor may."""
    package = Path(persona_panel.__file__).parent
    copy = tmp_path / "persona_panel"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, folder in ADDED.items():
        recipe = ROOT / "examples" / "extensions" / f"{name}.py"
        # The import linter cannot see which floor a public name is of.
        assert "from persona_panel import" not in recipe.read_text("utf-8"), name
        shutil.copy(recipe, copy / folder)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    script = tmp_path / "with_all.py"
    script.write_text(WITH_ALL, "utf-8")
    environment = {"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path), "PATH": ""}
    linter = Path(sys.executable).with_name("lint-imports")
    for words, expected in (
        ([script], "True True True"),
        ([linter, "--no-cache"], "Contracts: 2 kept, 0 broken."),
    ):
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.strip().splitlines()[-1] == expected
