"""The checks for whoever changes a line, in less than a minute: `python -m tests --quick`.

Lint, format, floors, a core of tests, and the tests of each changed file; those that are marked
as slow are left out.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
CORE = (
    "tests/test_docstrings.py", "tests/test_fences.py", "tests/test_floors.py",
    "tests/test_names.py", "tests/graphs/test_judging.py", "tests/panel/test_panel.py",
)  # fmt: skip
"""Run whatever was changed."""
WALK = "tests/test_documents.py::test_a_page_can_be_walked_from_top_to_bottom"
MOST_FILES = 6
"""Of tests for a module that has no test file of its own."""


def quick_tests() -> list[str]:
    """Return what pytest is to run: the core, and the tests of the files that git calls changed."""
    chosen = dict.fromkeys(CORE)
    for path in changed_files(ROOT):
        chosen |= dict.fromkeys(matching_tests(path))
    return [*chosen]


def changed_files(root: Path) -> list[Path]:
    """Return the files that differ from the last commit, new ones too, relative to `root`; where
    none does, those of the last commit."""
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    different = [*_git(root, "diff", "--name-only", "--relative", "HEAD"), *new]
    last = ("diff-tree", "--no-commit-id", "--name-only", "--relative", "-r", "HEAD")
    return [Path(name) for name in different or _git(root, *last)]


def _git(root: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


def matching_tests(path: Path) -> list[str]:
    """Return the tests of a file: itself, a page's walk, or the test files that bear its name in
    the folder of `tests` that mirrors its own; for a module without one, the nearest of those that
    import it, and else those of that folder."""
    if path.parts[0] == "tests":
        is_test = path.match("test_*.py") and (ROOT / path).exists()
        return [path.as_posix()] if is_test else []
    if path.suffix == ".md":
        return [f"{WALK}[{path.as_posix()}]"] if ROOT / path in PAGES else []
    if path.suffix != ".py":
        return []
    folder = ROOT / "tests" / path.parent
    stem = path.stem.strip("_")
    own = [*folder.glob(f"test_{stem}.py"), *folder.glob(f"test_{stem}_*.py")]
    files = own or (_importing(path) or sorted(folder.glob("test_*.py")))[:MOST_FILES]
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


def _importing(path: Path) -> list[Path]:
    """Return the test files that import a module, those of its own folder first."""
    parts = [*path.parent.parts, *([] if path.stem == "__init__" else [path.stem])]
    parts = parts[1:] if parts[0] == "panel" else parts
    if not parts:
        return []
    within, last = ".".join(["persona_panel", *parts[:-1]]), parts[-1]
    module = re.escape(f"{within}.{last}")
    ways = rf"(?:from {module} |import {module}\b|from {re.escape(within)} import .*\b{last}\b)"
    name = re.compile(rf"^\s*{ways}", re.MULTILINE)
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    importing = [test for test in tests if name.search(test.read_text("utf-8"))]
    folder = ROOT / "tests" / path.parent
    return sorted(importing, key=lambda test: test.parent != folder)
