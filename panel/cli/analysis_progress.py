"""The progress of an analysis on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from persona_panel.results.console import notices

_ANALYSIS_LINE_EVERY_S = 5.0


class AnalysisProgress:
    """Shows how much of several parts of an analysis is done, and how long the rest may take.

    Nothing is printed off a terminal by an analysis that is done within five seconds.
    """

    def __init__(self, n_parts: int) -> None:
        self._n_parts = n_parts
        self._part = 0
        self._console = notices()
        self._started = self._shown = time.monotonic()
        self._bar: Progress | None = None
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("statistics"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=1.0)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def take(self, share: float) -> None:
        """Take note of the share of the present part that is done; 1 ends it."""
        done = (self._part + share) / self._n_parts
        self._part += share >= 1
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
            return
        now = time.monotonic()
        if now - self._shown >= _ANALYSIS_LINE_EVERY_S and done < 1:
            self._shown = now
            left = (now - self._started) * (1 - done) / done
            self._console.print(f"{100 * done:.0f} % of the statistics, about {left:,.0f} s left")
