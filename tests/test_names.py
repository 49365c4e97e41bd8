"""One word, one meaning: names of classes and types over the whole package."""

from __future__ import annotations

import ast
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
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


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yield the name of each variable, parameter, function, class and attribute set."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name


def says_nothing(name: str) -> bool:
    """Return whether a name is, or ends with, the pronoun `one`, or has a participle in it that
    could be of anything."""
    words = name.strip("_").lower().split("_")
    return words[-1] == "one" or not {"found", "told", "given", "said"}.isdisjoint(words)


TERMS = {"given", "within_one", "NOT_FOUND", "UNDEFINED_WITHOUT_ONE"}
"""Two columns of a study's result, a status of HTTP, and a reason."""


def test_names_say_what_is_named() -> None:
    """No name is a pronoun or participle such as `one` or `given`; `one_line` has a number."""
    empty = ("one", "_found", "judge_one", "given_label", "said")
    assert all(map(says_nothing, empty))
    assert not any(map(says_nothing, ("one_line", "leave_one_judge_out", "bone", "unsaid")))
    named = {
        f"{path.relative_to(ROOT)}: {name}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in names_in(ast.parse(path.read_text("utf-8")))
        if name not in TERMS and says_nothing(name)
    }
    assert named == set()


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
