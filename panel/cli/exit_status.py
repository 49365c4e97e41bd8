"""The exit statuses of commands; docs/reference/errors.md says what each means."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from panel.runs.run import Run

COMPLETE = 0
INCOMPLETE = 1
"""The run finished, but judgments are missing."""
BAD_INPUT = 2
NOT_MET = 3
"""A requirement (`--require`) is not met."""
NOTHING_SCORED = 4
"""No judgment was scored."""
LOST_OUTPUT = 5
"""All went well, but standard output could not take what was printed."""


def status_of(run: Run, *, complete: bool) -> int:
    """How the command that made a run ends.

    Args:
        complete: whether everything is there.
    """
    if complete:
        return COMPLETE
    return INCOMPLETE if run.coverage.scored else NOTHING_SCORED
