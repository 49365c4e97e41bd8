"""What the lower floors may not do, beyond what the import linter sees."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
IO = re.compile(
    r"^\s*(?:from|import) (?:aiohttp|pycurl|socket|sqlite3|diskcache|httpx|requests)\b", re.M
)


def test_graphs_rubrics_and_personas_open_no_socket_and_no_cache() -> None:
    """No module below `panel` imports a library that talks to a network or a database."""
    below = [
        path for floor in ("graphs", "rubrics", "personas") for path in (ROOT / floor).rglob("*.py")
    ]
    assert len(below) > 10
    assert [path.name for path in below if IO.search(path.read_text("utf-8"))] == []


def test_statistics_import_arrays_and_nothing_else() -> None:
    """The statistics import the standard library, numpy, scipy and themselves: nothing of a panel
    can change a number. Public names are imported when used; what draws, in a folder of its own,
    has Matplotlib, too."""
    allowed = {*sys.stdlib_module_names, "numpy", "scipy"}
    files = sorted((ROOT / "panel" / "statistics").rglob("*.py"))
    assert len(files) > 30
    found = []
    for path in files:
        tree = ast.parse(path.read_text("utf-8"))
        drawing = {"matplotlib"} if path.parent.name == "figures" else set()
        for node in ast.walk(tree):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [f"{'.' * node.level}{node.module or ''}"]
            if modules == ["persona_panel._names"] and path == files[0]:
                assert [alias.name for alias in node.names] == ["lazy_names"]
                continue
            found += [
                f"{path.relative_to(ROOT)}: {module}"
                for module in modules
                if module.partition(".")[0] not in allowed | drawing
                and not f"{module}.".startswith("persona_panel.statistics.")
            ]
    assert found == []


def test_no_test_file_imports_another() -> None:
    """What several test files need is in `tests.helpers` or a fixture: a file of tests can be moved
    or deleted without a look at the others."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert len(files) > 80
    found = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [
                f"{path.relative_to(ROOT)}: {module}"
                for module in modules
                if re.search(r"^tests\..*\b(?:test_\w+|conftest)\b", module)
            ]
    assert found == []
