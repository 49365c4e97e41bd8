"""The examples in docstrings outside the statistics, whose own tests run theirs, say what is so."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RUN_ELSEWHERE = ("panel/statistics/", "panel/testing/")
MODULES = [
    "persona_panel."
    + name.removeprefix("panel/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for package in ("graphs", "panel", "personas", "rubrics")
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
