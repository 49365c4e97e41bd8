"""The exit statuses of commands; docs/reference/errors.md says what each means."""

from __future__ import annotations

COMPLETE = 0
INCOMPLETE = 1
"""The command finished, but judgments, or texts, are missing."""
BAD_INPUT = 2
NOT_MET = 3
"""A requirement (`--require`) is not met."""
NOTHING_SCORED = 4
"""No judgment was scored, or whatever else the command is for: it has no result."""
LOST_OUTPUT = 5
"""All went well, but standard output could not take what was printed."""


def status_of(n: int, *, complete: bool) -> int:
    """Return how a command ends that calls models.

    Args:
        n: how many results it has; without any it is no success, even where nothing is missing
            (all judgments are abstentions, say).
        complete: whether everything is there.
    """
    if not n:
        return NOTHING_SCORED
    return COMPLETE if complete else INCOMPLETE
