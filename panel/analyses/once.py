"""What terminal, summary and page of a run all ask for, computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from persona_panel.runs.run import Run

_Computed = TypeVar("_Computed")


def once_per_run(function: Callable[[Run], _Computed]) -> Callable[[Run], _Computed]:
    """Make a function that for a run is called once, until a judgment is added or `random` set."""

    @wraps(function)
    def computed(run: Run) -> _Computed:
        key = function.__module__, function.__qualname__, run.random
        if key not in run.computed:
            run.computed[key] = function(run)
        result: _Computed = run.computed[key]
        return result

    return computed
