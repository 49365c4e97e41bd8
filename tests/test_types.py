"""The types of what the pages and the examples have a reader write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import PAGES, ROOT, blocks_of

SCRIPTS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every Python block of the pages and every example, each a module."""
    folder = tmp_path_factory.mktemp("typed")
    for page in PAGES:
        for block in blocks_of(page):
            if block.language == "python":
                path = folder / (block.title or f"{page.stem}_{block.first}.py".replace("-", "_"))
                assert not path.exists(), f"{block.place}: another page has a file of this name"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, "utf-8")
    for example in (ROOT / "examples").glob("*.py"):
        # The others import it by its name.
        prefix = "" if example.name == "shared.py" else "example_"
        shutil.copy(example, folder / f"{prefix}{example.name}")
    # The pages copy these into the package that they build.
    for extension in (ROOT / "examples" / "extensions").glob("*.py"):
        shutil.copy(extension, folder / "my_panel" / extension.name)
    return folder


def checked(folder: Path, *command: str | Path, **env: str) -> None:
    """Run a type checker in this folder; fails with all that it prints where it finds a fault."""
    done = subprocess.run(
        [SCRIPTS / command[0], *command[1:]], cwd=folder, env=os.environ | env,
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.slow("mypy reads all that the pages import")
def test_pages_and_examples_pass_mypy_strict(typed: Path) -> None:
    """Every Python block of the documentation and every example is right by mypy's strict rules."""
    # As the project's own check, strict, and here: what that has read of the packages is not read
    # again.
    checked(ROOT, "mypy", "--explicit-package-bases", typed, MYPYPATH=str(typed))


@pytest.mark.slow("pyright reads all that the pages import")
def test_pages_and_examples_pass_pyright(typed: Path) -> None:
    """Every Python block of the documentation and every example is right by pyright's rules."""
    settings = {
        "include": ["."],
        "extraPaths": [str(ROOT)],
        "venvPath": str(SCRIPTS.parent.parent),
        "venv": SCRIPTS.parent.name,
        "reportMissingModuleSource": False,
    }
    (typed / "pyrightconfig.json").write_text(json.dumps(settings))
    checked(typed, "pyright", "--warnings")
