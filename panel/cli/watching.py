"""A run of a panel from the command line: its first line, its progress, and its end."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from persona_panel.cli.progress import ScoreProgress
from persona_panel.cli.signals import run_to_end
from persona_panel.files.named_files import shown_folder
from persona_panel.panel import Panel

T = TypeVar("T")


def run_with_progress(
    panel: Panel,
    what: str,
    total: int,
    folder: Path,
    start: Callable[[ScoreProgress], Coroutine[Any, Any, T]],
) -> T:
    """Run and return the result, with progress on standard error from the beginning on: of a run
    that is refused nothing is shown but why.

    Raises KeyboardInterrupt with what is done and how to continue where a signal stopped the run:
    its files are written.

    Args:
        what: the texts that the panel judges, for the first line.
        total: how many judgments there are to be.
        folder: where the run is written.
        start: makes the run, which is to begin the progress and to pass each judgment on to it.
    """
    from persona_panel.planning.panel_plan import counted_judges

    heading = f"{what} × {counted_judges(panel.judges)} ({', '.join(panel.models)})"
    n_judges = Counter(judge.model for judge in panel.judges)
    progress = ScoreProgress(heading, total, n_judges)
    return with_progress(
        progress,
        start,
        lambda: (
            f"{progress.done:,} of {progress.total:,} judgments are done and written to "
            f"{shown_folder(folder)}. The same command continues the run."
        ),
    )


def with_progress(
    progress: ScoreProgress,
    start: Callable[[ScoreProgress], Coroutine[Any, Any, T]],
    stopped: Callable[[], str],
) -> T:
    """Return what `start` returns, with its progress; `stopped` gives what is said where a signal
    ends it.

    Raises:
        KeyboardInterrupt: one did; with what is said.
    """
    # What the imports made stays for good: the collector need not look at it again.
    gc.freeze()
    # A call lets go of all it makes: looking for cycles as often as Python does costs a seventh.
    gc.set_threshold(50_000, 20, 50)
    try:
        with progress:
            return run_to_end(start(progress))
    except KeyboardInterrupt as signal:
        # What stands around a command is still to be done, such as to send a run to an address.
        raise KeyboardInterrupt(stopped()) if progress.begun else signal from None
