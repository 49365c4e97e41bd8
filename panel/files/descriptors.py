"""How many files and connections this process may have open, and what is left of it for calls.

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
"""For what opens while calls are made: the cache and its journal, a run's files, look-ups of
names, modules."""
_OUT_OF = frozenset({errno.EMFILE, errno.ENFILE})


def left_for_calls() -> int | None:
    """How many connections this process may open besides what it has open and will need, one at
    least; None, there is no limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(1, limit - sum(1 for _ in Path("/dev/fd").iterdir()) - KEPT_FREE)


def shared_out(wanted: Sequence[int], available: int | None) -> list[int]:
    """As much of `wanted` for each as there is, in fair shares, one at least.

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
    """A descriptor held to be closed where another is needed; None where there is none left."""
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None


def is_lack_of_descriptors(error: BaseException) -> bool:
    """Whether an error came about because no further file or connection could be opened."""
    return any(
        (isinstance(one, OSError) and one.errno in _OUT_OF)
        # SQLite does not say why it cannot open a file.
        or getattr(one, "sqlite_errorcode", None) == sqlite3.SQLITE_CANTOPEN
        for one in _with_causes(error)
    )


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came of; clients wrap what the system said in errors of their own."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__, getattr(one, "os_error", None)]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
