"""The number of files and connections that this process may open, and how many are left for calls.

The limit is the user's (`ulimit -n`) and stays as it is: what this process starts would inherit
a higher one, and hundreds of calls in flight are within what is usual.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

KEPT_FREE = 24
"""Descriptors kept for all else that opens while calls are made: the cache and its journal, a run's
files, look-ups of names, modules."""
_OUT_OF = frozenset({errno.EMFILE, errno.ENFILE})


def left_for_calls() -> int | None:
    """Return how many connections this process may open besides what it has open and will need, 1
    or more; None where there is no limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(1, limit - sum(1 for _ in Path("/dev/fd").iterdir()) - KEPT_FREE)


def shared_out(wanted: Sequence[int], available: int | None) -> list[int]:
    """Divide `available` among those who want `wanted`, in fair shares of 1 or more.

    Who wants less than a share leaves the rest to the others.

    >>> shared_out([4, 100, 100], 60)
    [4, 28, 28]
    """
    if available is None or sum(wanted) <= available:
        return list(wanted)
    shares = [0] * len(wanted)
    left = available
    # The least wanted first: what it leaves is shared by those that come after.
    for done, place in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        shares[place] = max(1, min(wanted[place], left // (len(wanted) - done)))
        left -= shares[place]
    return shares


def spare_descriptor() -> int | None:
    """Open a descriptor that can be closed where another is needed; None where there is none
    left.
    """
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None


def is_lack_of_descriptors(error: BaseException) -> bool:
    """Return whether an error came about because no further file or connection could be opened."""
    return any(
        (isinstance(cause, OSError) and cause.errno in _OUT_OF)
        # SQLite does not say why it cannot open a file.
        or getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_CANTOPEN
        for cause in _with_causes(error)
    )


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and all its causes; clients wrap the system's errors in their own."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__, getattr(cause, "os_error", None)]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
