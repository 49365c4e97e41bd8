"""A run of a panel from the command line: its first line, its progress, and its end."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from panel.cli.progress import ScoreProgress
from panel.cli.signals import end, run_to_end
from panel.conclusions.wording import counted
from panel.panel import Panel

T = TypeVar("T")


def run_shown(
    panel: Panel,
    what: str,
    total: int,
    folder: Path,
    start: Callable[[ScoreProgress], Coroutine[Any, Any, T]],
) -> T:
    """What a run returns, with its progress on standard error from its beginning on: of a run that
    is refused nothing is shown but why.

    A signal ends the process once the run's files are written, with what is done and how to
    continue.

    Args:
        what: the texts that the panel judges, for the first line.
        total: how many judgments there are to be.
        folder: where the run is written.
        start: makes the run, which is to begin the progress and to pass each judgment on to it.
    """
    heading = f"{what} × {counted(len(panel.judges), 'judge')} ({', '.join(panel.models)})"
    n_judges = Counter(judge.model for judge in panel.judges)
    progress = ScoreProgress(heading, total, n_judges)
    return shown(
        progress,
        start,
        lambda: (
            f"{progress.done:,} of {progress.total:,} judgments are done and written to {folder}. "
            "The same command continues the run."
        ),
    )


def shown(
    progress: ScoreProgress,
    start: Callable[[ScoreProgress], Coroutine[Any, Any, T]],
    stopped: Callable[[], str],
) -> T:
    """What `start` returns, with its progress; `stopped` gives what is said where a signal ends
    it."""
    # What the imports made stays for good: the collector need not look at it again.
    gc.freeze()
    # A call lets go of all it makes: looking for cycles as often as Python does costs a seventh.
    gc.set_threshold(50_000, 20, 50)
    try:
        with progress:
            return run_to_end(start(progress))
    except KeyboardInterrupt:
        if not progress.begun:
            end()
        end(stopped())
