"""Errors that reach a user or a driver come out of another process as they went in."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest

from persona_panel import InputError, PanelError
from persona_panel.clusters.parts import WorkerLost
from persona_panel.files.errors import Fault
from persona_panel.graphs.context import Abort
from persona_panel.models.client import CallError
from persona_panel.rubrics import Usage

FAULT = Fault("a.csv", "nothing", "a number", line=3, field="score")


def kinds() -> list[type[Exception]]:
    """All of ours that a user, a driver or a caller of a model can meet."""
    for package in (graphs, panel):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            try:
                import_module(module.name)
            except ModuleNotFoundError as error:
                # Of an extra that is not installed.
                assert not (error.name or "").startswith(("graphs", "panel"))
    found = {kind for base in (PanelError, Abort, CallError) for kind in with_subclasses(base)}
    ours = [kind for kind in found if kind.__module__.startswith(("graphs.", "panel."))]
    return sorted({*ours, WorkerLost}, key=lambda kind: kind.__name__)


def with_subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for other in kind.__subclasses__():
        yield from with_subclasses(other)


def example(kind: type[Exception]) -> Exception:
    if issubclass(kind, CallError):
        return kind(
            "busy",
            kind="transient",
            status=429,
            retry_after=2.5,
            used=Usage(input=3),
            no_descriptor=True,
        )
    error = kind([FAULT]) if issubclass(kind, InputError) else kind("it is so")
    if isinstance(error, PanelError):
        error.n_calls = 7
    return error


@pytest.mark.parametrize("kind", kinds())
def test_an_error_survives_pickling(kind: type[Exception]) -> None:
    """With its class, its message and all attributes, and when it is copied."""
    error = example(kind)
    error.add_note("where it came from")
    again = [
        pickle.loads(pickle.dumps(error, protocol))
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    ]
    for other in (*again, copy.copy(error)):
        assert type(other) is kind
        assert str(other) == str(error)
        assert other.args == error.args
        assert vars(other) == vars(error)
