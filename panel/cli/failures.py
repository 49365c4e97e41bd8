"""Errors as a user sees them: every fault found, and exit status 2; 1 where a run had begun."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click

from persona_panel.cli.exit_status import BAD_INPUT, INCOMPLETE
from persona_panel.cli.local_runs import local_runs
from persona_panel.cli.outputs import refuse_overwriting
from persona_panel.files.errors import Fault, InputError, PanelError, RunStopped, told_once
from persona_panel.files.secrets.visible import say, visible

P = ParamSpec("P")
R = TypeVar("R")


def refusals(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a PanelError into its message on standard error and exit status 2, and say that no
    model was called, or how many calls were made."""
    return _refusals(function, True)


def refusals_without_calls(function: Callable[P, R]) -> Callable[P, R]:
    """The same for what calls no model anyway, so that it goes without saying."""
    return _refusals(function, False)


def _refusals(function: Callable[P, R], calls_models: bool) -> Callable[P, R]:
    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if (ctx := click.get_current_context(silent=True)) is not None:
                refuse_overwriting(ctx)
                with local_runs(ctx, kwargs):
                    return function(*args, **kwargs)
            return function(*args, **kwargs)
        except InputError as error:
            told = told_once(error.faults)
            say("\n".join(map(visible, told)), err=True)
            n = len(told)
            calls = "; no model was called" if calls_models else ""
            say(f"{n:,} fault{'s' if n != 1 else ''} found{calls}.", err=True)
        except RunStopped as error:
            say(f"Stopped: {error}", err=True)
            sys.exit(INCOMPLETE)
        except PanelError as error:
            n = error.n_calls
            calls = f"Calls made to find this out: {n}." if n else "No model was called."
            say(f"{error}\n{calls}" if calls_models else str(error), err=True)
        sys.exit(BAD_INPUT)

    return guarded


@contextmanager
def gathered() -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Lets several inputs be read before any of them is refused.

    What is yielded calls a reader, and gives None in place of what it refuses.

    Raises:
        InputError: at the end, with the faults of all.
    """
    faults: list[Fault] = []

    def gather(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except InputError as error:
            faults.extend(error.faults)
            return None

    yield gather
    if faults:
        raise InputError(faults)
