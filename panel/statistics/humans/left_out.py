"""Who was left out of a test, as a row's note has it: with their names, and without."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WHO = r"[\d,]+ of [\d,]+ people left out with [^:;]*"
_NAMED = re.compile(rf"(?P<who>{_WHO}): .*?(?=; {_WHO}: |\Z)", re.DOTALL)


def left_out(names: Sequence[str], of: int, what: str) -> str:
    """Return how many of all people were left out, by what, and their names.

    >>> left_out(["ada", "bo"], 1200, "fewer than 5 prompts")
    '2 of 1,200 people left out with fewer than 5 prompts: ada, bo'
    """
    return f"{len(names):,} of {of:,} people left out with {what}: {', '.join(names)}"


def without_names(note: str) -> str:
    """A note without the names of those who were left out.

    >>> without_names(f"epsilon 0.2; {left_out(['a; b', 'c'], 4, 'fewer than 5 prompts')}")
    'epsilon 0.2; 2 of 4 people left out with fewer than 5 prompts'
    """
    return _NAMED.sub(r"\g<who>", note)
