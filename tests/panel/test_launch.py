"""Where HoloViz Panel is installed too, one clear sentence says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from persona_panel._launch import CLASH
from tests.helpers.command import COMMAND


@pytest.fixture
def beside_holoviz(tmp_path: Path) -> dict[str, str]:
    """An environment in which a distribution called `panel` is installed."""
    folder = tmp_path / "panel-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: panel\nVersion: 1.0\n")
    return os.environ | {"PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize("arguments", [["--help"], ["score", "nothing.jsonl"], ["models"]])
def test_the_command_says_so_and_nothing_else(
    beside_holoviz: dict[str, str], arguments: list[str]
) -> None:
    """Whatever is asked of it, the command ends with the sentence and no traceback."""
    done = subprocess.run(
        [COMMAND, *arguments], env=beside_holoviz, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert done.stderr.strip() == CLASH
    assert done.stdout == ""


def test_the_import_says_so(beside_holoviz: dict[str, str]) -> None:
    """`import panel` is an ImportError with the sentence."""
    done = subprocess.run(
        [sys.executable, "-c", "import persona_panel"],
        env=beside_holoviz,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == f"ImportError: {CLASH}"


def test_alone_there_is_no_clash() -> None:
    """Without that distribution the import is silent."""
    done = subprocess.run(
        [sys.executable, "-c", "import persona_panel"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
