"""What every run of a panel from the command line has: a first line, its progress, Ctrl-C."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from panel.cli.main import INTERRUPTED
from panel.cli.progress import ScoreProgress
from panel.panel import Panel


@contextmanager
def watched(panel: Panel, what: str, total: int, folder: Path) -> Iterator[ScoreProgress]:
    """Show how `total` judgments come in; what is yielded takes each of them.

    Ctrl-C ends the process at once, with what is done and how to go on.
    """
    said = Console(stderr=True, highlight=False)
    said.print(
        f"{what} × {counted(len(panel.judges), 'judge')} ({', '.join(panel.models)})",
        markup=False,
        soft_wrap=True,
    )
    # What the imports made stays for good: the collector need not look at it again.
    gc.freeze()
    progress = ScoreProgress(total, panel.prices)
    try:
        with progress:
            yield progress
    except KeyboardInterrupt:
        said.print(
            f"Interrupted: {progress.done:,} of {progress.total:,} judgments are done and kept, "
            f"and written to {folder}. The same command goes on from there.",
            markup=False,
            soft_wrap=True,
        )
        # A model in this process may be in the middle of a text: it is not waited for.
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 response", "2,000 responses"."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"
