"""One word, one meaning: names of classes and types over the whole package."""

from __future__ import annotations

import ast
import pkgutil
from collections import defaultdict
from pathlib import Path

import persona_panel
import persona_panel.statistics
from tests.stub import STUB, stub_with_analyses

ROOT = Path(__file__).parent.parent
PACKAGES = ("panel", "graphs", "rubrics", "personas")


def names_of_types(path: Path) -> set[str]:
    """The classes of a module, and the type aliases and other names written as types are."""
    tree = ast.parse(path.read_text("utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        for target in targets:
            name = target.id if isinstance(target, ast.Name) else ""
            if name[:1].isupper() and not name.isupper():
                names.add(name)
    return names


def test_no_type_has_another_ones_name() -> None:
    """Every class and type alias has a name of its own, so that a reader who has met one is not
    misled by another."""
    found: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in names_of_types(path):
                found[name].append(str(path.relative_to(ROOT)))
    assert len(found) > 100
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_every_analysis_is_a_public_name() -> None:
    """The stub that names them is as its command writes it; it adds a line that is not there."""
    text = STUB.read_text("utf-8")
    assert stub_with_analyses(text) == text, "run python -m tests.stub, which writes the stub"
    line = "from persona_panel.analyses.votes import votes as votes\n"
    assert stub_with_analyses(text.replace(line, "")) == text


def test_no_module_hides_a_public_name() -> None:
    """No module or folder has the name of a public name of the package that it is in: imported, it
    would take the name's place."""
    for package in (persona_panel, persona_panel.statistics):
        inside = {module.name for module in pkgutil.iter_modules(package.__path__)}
        assert len(inside) >= 5
        assert inside & set(dir(package)) == set()
