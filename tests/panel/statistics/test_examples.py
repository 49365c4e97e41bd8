"""The examples in docstrings say what is so."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest

import persona_panel.statistics

MODULES = [
    module.name
    for module in walk_packages(persona_panel.statistics.__path__, "persona_panel.statistics.")
]
FUNCTIONS = sorted(
    name
    for name in persona_panel.statistics.__all__
    if inspect.isfunction(getattr(persona_panel.statistics, name))
    and not name.startswith("resampled_")
)
OF_ROWS = {
    "agree", "agreement_differences", "correlate", "correlation_differences", "panel_quality",
    "many_facet_rasch", "ordinal_mixed_model",
}  # fmt: skip
"""These give every statistic, each of which has an example of its own, their data frame, and a
model of whole ratings, whose example is that of its command."""


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    """Every `>>>` in the statistics gives what is written under it, with the public names."""
    names = {
        public: getattr(persona_panel.statistics, public)
        for public in persona_panel.statistics.__all__
    }
    failed, _ = doctest.testmod(import_module(name), extraglobs={**names, "np": np})
    assert failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_has_an_example(name: str) -> None:
    """Whoever reads about a statistic sees a call of it and what it gives."""
    assert name in OF_ROWS or ">>> " in (getattr(persona_panel.statistics, name).__doc__ or "")
