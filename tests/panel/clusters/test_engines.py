"""Which engine is meant: `panel.clusters.engines`."""

from __future__ import annotations

import sys

import pytest

from panel import ConfigurationError
from panel.clusters.engines import opened_engine
from rubrics.extensions import load_extension
from tests.helpers.invoked import invoked


def test_an_engine_whose_package_is_absent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray, a sentence says what to install."""
    load_extension.cache_clear()
    monkeypatch.delitem(sys.modules, "panel.clusters.engines.ray", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    needs = "the engine ray needs the package ray, .* pip install 'persona-panel\\[ray\\]'"
    with pytest.raises(ConfigurationError, match=needs), opened_engine("ray"):
        pass


def test_options_that_do_not_fit_are_refused() -> None:
    """Workers without an engine, batches with one, and an engine that there is not."""
    for options, said in (
        (("--workers", "2"), "--workers works only with --engine"),
        (("--engine", "ray", "--batch-in", "there"), "--engine calls models"),
        (("--engine", "spark", "--personas", "none"), "no engine is called 'spark'"),
        (("--engine", "spark", "--personas", "none", "--dry-run"), "no engine is called 'spark'"),
    ):
        done = invoked("score", "examples/responses.jsonl", *options)
        assert done.returncode == 2
        assert said in done.stderr
