"""What a user sees when a command cannot go on: every reason, and exit status 2;
where a run was under way, 1."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click

from panel.errors import Fault, InputError, PanelError, RunStopped

P = ParamSpec("P")
R = TypeVar("R")

STOPPED = 1
BAD_INPUT = 2


def refusals(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a PanelError into its message on standard error and exit status 2."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except InputError as error:
            click.echo(str(error), err=True)
            n = len(error.faults)
            click.echo(f"{n:,} fault{'s' if n != 1 else ''} found; nothing was called.", err=True)
        except RunStopped as error:
            click.echo(f"Stopped: {error}", err=True)
            sys.exit(STOPPED)
        except PanelError as error:
            click.echo(f"{error}\nNothing was called.", err=True)
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
