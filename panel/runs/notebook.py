"""The progress of a run in a notebook: one line below the cell, brought up to date in its place.

Only what every notebook shows is used, text and HTML, and no widget, which some do not have.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from persona_panel.graphs import Judgment
from persona_panel.statistics.core.display import clock

_EVERY_S = 0.5
_TIME_LEFT_AFTER_S = 3.0


def notebook_progress(total: int) -> Callable[[object], None]:
    """Takes what a run tells of, and shows how many judgments of `total` there are; outside of a
    notebook it shows nothing."""
    # Where nobody has imported IPython there is no notebook.
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return lambda event: None
    return _NotebookProgress(total, shell).take


class _NotebookProgress:
    def __init__(self, total: int, shell: Any) -> None:
        self._total = total
        self._publish = shell.display_pub.publish
        self._done = self._missing = 0
        self._started = self._shown = time.monotonic()
        self._place = {"display_id": f"persona-panel-{uuid4().hex}"}
        self._show(self._started, update=False)

    def take(self, event: object) -> None:
        """Count one more judgment; ratings after a deliberation are none more."""
        if not isinstance(event, Judgment) or event.round > 1:
            return
        self._done += 1
        self._missing += event.status not in ("scored", "abstained")
        now = time.monotonic()
        if now - self._shown >= _EVERY_S or self._done == self._total:
            self._show(now, update=True)

    def _show(self, now: float, *, update: bool) -> None:
        self._shown = now
        elapsed = now - self._started
        parts = [f"{self._done:,}/{self._total:,} judgments"]
        if self._missing:
            parts.append(f"{self._missing:,} missing")
        if self._done == self._total:
            parts.append(f"in {clock(round(elapsed))}")
        elif self._done and elapsed > _TIME_LEFT_AFTER_S:
            left = elapsed * (self._total - self._done) / self._done
            parts += [f"{self._done / elapsed:,.1f}/s", f"about {clock(round(left))} left"]
        told = ", ".join(parts)
        bar = f'<progress value="{self._done}" max="{self._total}"></progress>'
        data = {"text/plain": told, "text/html": f"<div>{bar} {told}</div>"}
        self._publish(data=data, metadata={}, transient=self._place, update=update)
