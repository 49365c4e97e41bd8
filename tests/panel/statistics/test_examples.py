"""The examples in docstrings say what is so."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import panel.statistics

MODULES = [module.name for module in iter_modules(panel.statistics.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    """Every `>>>` in the statistics gives what is written under it."""
    failed, _ = doctest.testmod(import_module(f"panel.statistics.{name}"))
    assert failed == 0
