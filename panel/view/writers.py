"""Whether a process is writing to a run's folder, seen without taking its lock.

A run holds a lock on judgments.jsonl as long as its process lives (`persona_panel.runs.output`).
Taking that lock to try it could refuse a run that starts at this moment, so it is looked up in
Linux's list of locks. Where that cannot tell (another system, another machine's run on a shared
disk, another container's), a run goes on as long as its files change.
"""

from __future__ import annotations

import time
from pathlib import Path

_LOCKS = Path("/proc/locks")
JUDGMENTS, GOING_ON = "judgments.jsonl", ".judgments.jsonl.new"
"""The judgments of a run, and where those of one that goes on gather until they are as many."""
_CHANGING = (JUDGMENTS, GOING_ON, "spent.json", "run.json")
QUIET_S = 30.0
"""After so long without a change a run whose lock cannot be seen counts as stopped."""
ENDING_S = 10.0
"""The same of a run whose lock was seen and is gone: what it came to is worked out without it."""


class Writers:
    """The processes that write runs, as of the last look."""

    def __init__(self) -> None:
        self._held = _locked_inodes()
        self._seen: set[Path] = set()

    def refresh(self) -> None:
        """Look at the locks again."""
        self._held = _locked_inodes()

    def lock(self, folder: Path) -> bool:
        """Return whether one is seen to hold the lock of this folder."""
        # The inode alone: on some file systems the list names another device than a file's status.
        held = any(_inode(folder / name) in self._held for name in (JUDGMENTS, GOING_ON))
        if held:
            self._seen.add(folder)
        return held

    def may_write(self, folder: Path) -> bool:
        """Return whether one may write to this folder, though its lock is not seen."""
        quiet_s = ENDING_S if folder in self._seen else QUIET_S
        return time.time() - last_change(folder) < quiet_s


def last_change(folder: Path) -> float:
    """Return when a file that a run writes to while it goes on last changed, in seconds since the
    epoch; 0 where there is none."""
    times = [0.0]
    for name in _CHANGING:
        try:
            times.append((folder / name).stat().st_mtime)
        except OSError:
            continue
    return max(times)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1


def _locked_inodes() -> frozenset[int]:
    """Return the inodes of the files that are locked as a run locks its own."""
    try:
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return frozenset()
    # As in "1: FLOCK  ADVISORY  WRITE 11204 fe:00:2146754 0 EOF".
    fields = [line.split() for line in lines]
    return frozenset(
        int(words[5].rpartition(":")[2])
        for words in fields
        if len(words) > 5 and words[1] == "FLOCK" and words[3] == "WRITE"
    )
