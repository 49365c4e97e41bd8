"""Docstrings: how they begin, and that the examples outside the statistics, whose own tests run
theirs, say what is so."""

from __future__ import annotations

import ast
import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("graphs", "panel", "personas", "rubrics")
RUN_ELSEWHERE = ("panel/statistics/", "panel/testing/")
MODULES = [
    "persona_panel."
    + name.removeprefix("panel/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if not (name := path.relative_to(ROOT).as_posix()).startswith(RUN_ELSEWHERE)
    and ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    """Every `>>>` gives what is written under it."""
    failed, tried = doctest.testmod(import_module(name))
    assert tried
    assert not failed


def beginnings(tree: ast.AST) -> set[str]:
    """Return the first words of the docstrings of a module, its classes, functions and names."""
    expressions = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    texts = (each.value for each in expressions if isinstance(each, ast.Constant))
    return {text.split()[0] for text in texts if isinstance(text, str)}


def test_docstrings_begin_with_what_is_done_or_is_there() -> None:
    """None begins with a clause such as "Whether it is so": a verb or a noun says it outright."""
    clauses = {"What", "Whether", "How", "As", "Those", "That"}
    assert beginnings(ast.parse('"""What."""\ndef f():\n    """How so."""\nA = 1\n"""As."""')) == {
        "What.", "How", "As.",
    }  # fmt: skip
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 300
    for path in files:
        words = beginnings(ast.parse(path.read_text("utf-8")))
        assert clauses.isdisjoint(words), path.relative_to(ROOT)
