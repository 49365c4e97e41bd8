"""What is looked at again and again: the list of runs, and those of them that go on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from persona_panel.files.errors import PanelError
from persona_panel.view.lines import Lines, RunLine
from persona_panel.view.live_run import LiveRun
from persona_panel.view.paced import Paced
from persona_panel.view.pages import LivePanel
from persona_panel.view.run_folders import MANIFEST, RunFolders
from persona_panel.view.writers import Writers

ON_LIST = 3
"""So many of the runs that go on are shown in full above the list."""
_KEPT = 32


@dataclass(frozen=True, slots=True)
class RunList:
    """The list as it was last looked at; `version` is another one where another line is there."""

    lines: Sequence[RunLine]
    version: str

    @property
    def running(self) -> list[RunLine]:
        """Return those that are shown in full."""
        return [line for line in self.lines if line.state == "running"][:ON_LIST]


class WatchedRuns:
    """The list of the runs below a folder, and what those that go on have come to.

    Nothing is read but when it is asked for.
    """

    def __init__(self, root: Path) -> None:
        self.folders = RunFolders(root)
        self._lines = Lines(self.folders, Writers())
        self._list = Paced(self._listed)
        self._live: dict[tuple[str, int, str], tuple[LiveRun, Paced[dict[str, Any]]]] = {}
        self._lock = threading.Lock()

    def list(self) -> RunList:
        """Return the list."""
        return self._list.value()

    def line(self, name: str) -> RunLine | None:
        """Return the line of a run; None where there is no such run."""
        return next((line for line in self.list().lines if line.name == name), None)

    def panel(self, line: RunLine) -> LivePanel | None:
        """Return what is shown of a run that goes on or was stopped; None where its files cannot be
        read at this moment."""
        try:
            live, paced = self._live_run(line)
            return LivePanel(line.name, paced.value(), live.ticks(), live.n_systems, live.command)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, PanelError):
            return None

    def _listed(self) -> RunList:
        lines = self._lines.all()
        # What goes on costs more all the time, and is no other line for that.
        known = [(line.name, line.state, "" if line.state == "running" else line) for line in lines]
        return RunList(lines, sha256(repr(known).encode("utf-8", "replace")).hexdigest()[:16])

    def _live_run(self, line: RunLine) -> tuple[LiveRun, Paced[dict[str, Any]]]:
        folder = self.folders.path_of(line.name)
        if folder is None:
            raise FileNotFoundError(line.name)
        key = line.name, (folder / MANIFEST).stat().st_mtime_ns, line.state
        with self._lock:
            if key not in self._live:
                live = LiveRun(folder)
                if len(self._live) >= _KEPT:
                    self._live.pop(next(iter(self._live)))
                self._live[key] = live, Paced(lambda: live.update(line.state))
            return self._live[key]
