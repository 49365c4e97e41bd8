"""Compute once what terminal, summary and page of a run all ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from persona_panel.runs.run import Run

_Computed = TypeVar("_Computed")
_Args = ParamSpec("_Args")


def once_per_run(
    function: Callable[Concatenate[Run, _Args], _Computed],
) -> Callable[Concatenate[Run, _Args], _Computed]:
    """Make a function that for a run, and the same further arguments, is called once, until a
    judgment is added or `random` set."""

    @wraps(function)
    def computed(run: Run, /, *args: _Args.args, **kwargs: _Args.kwargs) -> _Computed:
        further = args, tuple(kwargs.items())
        key = function.__module__, function.__qualname__, run.random, further
        if key not in run.computed:
            run.computed[key] = function(run, *args, **kwargs)
        result: _Computed = run.computed[key]
        return result

    return computed
