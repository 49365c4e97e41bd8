"""The examples of a gate: a workflow whose commands exist, and a test of one's own that passes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from persona_panel.cli.main import command
from persona_panel.testing import serving

EXAMPLES = Path(__file__).parents[2] / "examples"


def steps() -> list[dict[str, Any]]:
    workflow = yaml.safe_load((EXAMPLES / "github" / "persona-panel.yml").read_text("utf-8"))
    found: list[dict[str, Any]] = workflow["jobs"]["judge"]["steps"]
    return found


def test_the_commands_of_the_workflow_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its persona-panel command scores a batch of the form that it names, decides the requirements
    and writes the files and the folder that later steps take; nothing from the event stands in a
    script."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"prompt": f"{p}?", "response": f"{system} {p}", "system": system}
        for p in range(5)
        for system in ("new", "old")
    ]
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scripts = [step["run"] for step in steps() if "run" in step]
    assert not [script for script in scripts if "${{" in script]
    (ours,) = [script for script in scripts if script.startswith("persona-panel ")]
    words = shlex.split(ours.replace("\\\n", " "))
    with serving() as server:
        done = CliRunner().invoke(
            command, words[1:], env={"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "x"}
        )
    assert done.exit_code in (0, 3), done.stderr
    assert done.stderr.count(" met: ") == 3 + 1
    kept = next(step["with"]["path"] for step in steps() if "upload" in step.get("uses", ""))
    for name in (*kept.split(), "requirements.md"):
        assert Path(name).exists(), name
        assert name in ours


@pytest.mark.slow("it runs pytest")
def test_the_example_of_a_test_passes(tmp_path: Path) -> None:
    """pytest passes examples/test_my_system.py as it stands."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
         f"--rootdir={tmp_path}", EXAMPLES / "test_my_system.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
