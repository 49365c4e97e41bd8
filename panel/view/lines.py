"""Runs below a folder: which there are, who writes them now, and a line for each, read again only
where its files have changed.

A name is the path of a run's folder below the root; `.` is the root itself. A run's folder in which
a file is a link is not read: it could be any file of this machine. A run holds a lock on
judgments.jsonl as long as its process lives; taking it could refuse a run that starts at this
moment, so it is looked up in Linux's list of locks. Where that cannot tell, a run goes on as long
as its files change.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import floor
from pathlib import Path
from stat import S_ISREG
from typing import Any, Literal
from urllib.parse import quote, unquote_to_bytes

from persona_panel.files.errors import PanelError
from persona_panel.files.judgments import (
    GOING_ON,
    JUDGMENTS,
    is_being_written,
    is_edited,
    locked_inodes,
)
from persona_panel.files.outputs import RUN_FILES
from persona_panel.graphs.records import judges_in
from persona_panel.models.config import Price, cost, with_batches
from persona_panel.results.conclusions.wording import EDITED, spent
from persona_panel.results.result import AnswerTo
from persona_panel.runs.kept import SUMMARY, kept_manifest, object_if_there, summary_at_end
from persona_panel.runs.output import SPENT
from persona_panel.runs.spending import spent_in
from persona_panel.statistics.core.display import number

_CHANGING = (JUDGMENTS, GOING_ON, "spent.json", "run.json")
QUIET_S = 30.0
"""After so long without a change a run whose lock cannot be seen counts as stopped."""
ENDING_S = 10.0
"""The same of a run whose lock was seen and is gone: what it came to is worked out without it."""


class Writers:
    """The processes that write runs, as of the last look."""

    def __init__(self) -> None:
        self._held = locked_inodes()
        self._seen: set[Path] = set()

    def refresh(self) -> None:
        """Look at the locks again."""
        self._held = locked_inodes()

    def lock(self, folder: Path) -> bool:
        """Return whether one is seen to hold the lock of this folder."""
        held = is_being_written(folder, self._held)
        if held:
            self._seen.add(folder)
        return held

    def may_write(self, folder: Path) -> bool:
        """Return whether one may write to this folder, though its lock is not seen."""
        quiet_s = ENDING_S if folder in self._seen else QUIET_S
        # Nobody has written in the future: a copy, or another machine's clock.
        return abs(time.time() - last_change(folder)) < quiet_s


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


MANIFEST = "run.json"
PAGE = "report.html"
_READ = (*sorted(RUN_FILES), PAGE, GOING_ON)
_DEEPEST = 4
"""Levels below the root at which runs are looked for."""


class RunFolders:
    """The run folders below a folder. `root`: the folder, which is there."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        """Return the names of the runs, in no order. Hidden folders and those within a run's are
        left out."""
        return [*self._below(self.root, ())]

    def _below(self, folder: Path, parts: tuple[str, ...]) -> Iterator[str]:
        if _is_run(folder):
            yield "/".join(parts) or "."
            return
        if len(parts) >= _DEEPEST:
            return
        try:
            with os.scandir(folder) as entries:
                names = [entry for entry in entries if entry.is_dir() and entry.name[0] != "."]
        except OSError:
            return
        for entry in names:
            below, inner = Path(entry.path), (*parts, entry.name)
            if not entry.is_symlink():
                yield from self._below(below, inner)
            elif _is_run(below):
                yield "/".join(inner)

    def path_of(self, name: str) -> Path | None:
        """Return the folder of the run of this name; None where there is none."""
        if name == ".":
            return self.root if _is_run(self.root) else None
        parts = name.split("/")
        if len(parts) > _DEEPEST or any(part[:1] in ("", ".") or "\0" in part for part in parts):
            return None
        path = self.root
        for part in parts[:-1]:
            path /= part
            if path.is_symlink() or _is_run(path):
                return None
        path /= parts[-1]
        return path if os.sep not in parts[-1] and _is_run(path) else None


def quoted(name: str) -> str:
    """Return a name as a part of an address; bytes that are no UTF-8 are kept."""
    return quote(os.fsencode(name), safe="")


def unquoted(part: str) -> str:
    """Return the name that a part of an address is."""
    return os.fsdecode(unquote_to_bytes(part))


def linked_file(folder: Path) -> str | None:
    """Return the first file of a run's folder that is a link or no file; None where none is."""
    for name in _READ:
        try:
            mode = (folder / name).lstat().st_mode
        except OSError:
            continue
        if not S_ISREG(mode):
            return name
    return None


def _is_run(folder: Path) -> bool:
    try:
        return S_ISREG((folder / MANIFEST).lstat().st_mode)
    except OSError:
        return False


State = Literal["running", "stopped", "ended", "damaged", "unreadable"]
_STAMPED = (MANIFEST, SUMMARY, SPENT, JUDGMENTS, PAGE)
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run in the list.

    Attributes:
        name: as `RunFolders` has it.
        state: `running`; `stopped`, by a kill or a loss of power, before it could say what it came
            to; `ended`; `damaged`, its judgments were changed since its end; or `unreadable`.
        began: its last start.
        texts, judges: how many it has; None where that is not known.
        answer: what it came to in a sentence; where it is so, why it was stopped or cannot be read,
            or what was changed.
        agreement: Krippendorff's α of its judges; empty where its summary has none.
        complete: the percentage of judgments that have a result, rounded down; empty before the
            end.
        cost: of all starts; empty where it cost nothing.
        command: that goes on with it.
    """

    name: str
    state: State
    began: datetime | None = None
    texts: int | None = None
    judges: int | None = None
    answer: str = ""
    agreement: str = ""
    complete: str = ""
    cost: str = ""
    command: str = ""


class Lines:
    """The lines of all runs below a folder."""

    def __init__(self, folders: RunFolders, writers: Writers) -> None:
        self._folders, self._writers = folders, writers
        self._kept: dict[str, tuple[tuple[object, ...], RunLine]] = {}

    def all(self) -> list[RunLine]:
        """Return them: those that go on first, then the latest first, unreadable ones last."""
        self._writers.refresh()
        names = self._folders.names()
        lines = [line for name in names if (line := self.of(name)) is not None]
        self._kept = {name: self._kept[name] for name in names if name in self._kept}
        order = {"running": 0, "unreadable": 2}
        return sorted(lines, key=lambda line: (order.get(line.state, 1), _age(line), line.name))

    def of(self, name: str) -> RunLine | None:
        """Return that of a run, by the last look at who writes; None where there is no such run."""
        folder = self._folders.path_of(name)
        if folder is None:
            return None
        is_locked = self._writers.lock(folder)
        stamps = (is_locked, *(_stamp(folder / each) for each in _STAMPED))
        known, line = self._kept.get(name, ((), None))
        if line is None or known != stamps or line.state == "running":
            line = self._read(name, folder, is_locked)
            self._kept[name] = stamps, line
        return line

    def _read(self, name: str, folder: Path, is_locked: bool) -> RunLine:
        try:
            return self._line(name, folder, is_locked)
        except PanelError as error:
            return RunLine(name, "unreadable", answer=str(error))
        except (OSError, *_UNREADABLE):
            return RunLine(name, "unreadable", answer="Its files are none that a run writes.")

    def _line(self, name: str, folder: Path, is_locked: bool) -> RunLine:
        if (linked := linked_file(folder)) is not None:
            return RunLine(
                name, "unreadable", answer=f"{linked} is a link or no file; it is not read."
            )
        document, kept = kept_manifest(folder / MANIFEST)
        start = document["starts"][-1]
        began = datetime.fromisoformat(start["at"])
        summary = summary_at_end(folder, start)
        state: State = "ended"
        changed = ""
        if is_locked or (summary is None and self._writers.may_write(folder)):
            state = "running"
        elif summary is None:
            state = "stopped"
        elif changed := _changed_since(folder, document):
            state = "damaged"
        texts = document["texts"].get("lines")
        ended = summary if summary is not None and state == "ended" else {}
        return RunLine(
            name,
            state,
            began.astimezone(),
            texts if isinstance(texts, int) else None,
            len(judges_in(document)),
            changed or (_why_stopped(folder) if state == "stopped" else _answer(folder, ended)),
            _agreement(ended),
            _complete(ended),
            cost_of(folder, kept.prices),
            start["command"],
        )


def cost_of(folder: Path, prices: Mapping[str, Price | None]) -> str:
    """Return what all starts of a run cost, in words; empty where that is nothing. Raises
    RunFolderError: the record cannot be read."""
    known = with_batches(prices)
    usage = spent_in(folder).usage
    return spent(cost(known.get(model), used) for model, used in usage.items()) or ""


def stopped_at(folder: Path) -> datetime:
    """Return when a run last wrote to its folder."""
    return datetime.fromtimestamp(last_change(folder), UTC).astimezone()


def _age(line: RunLine) -> float:
    return 0.0 if line.began is None else -line.began.timestamp()


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _why_stopped(folder: Path) -> str:
    """Return why a run that no process writes counts as stopped."""
    if not (folder / JUDGMENTS).exists() and not (folder / GOING_ON).exists():
        return f"it has no {JUDGMENTS}"
    if (folder / SUMMARY).exists() and object_if_there(folder / SUMMARY) is None:
        return f"{SUMMARY} cannot be read"
    return "no process writes it, and it has not come to its end"


def _changed_since(folder: Path, document: Mapping[str, Any]) -> str:
    """Return that the judgments of a run that had ended were changed; empty where they were not."""
    status, ended = _stamp(folder / JUDGMENTS), _stamp(folder / SUMMARY)
    if not status:
        return f"{JUDGMENTS} was deleted after the run ended."
    # Only a file that was written after the summary need be read, or one that is empty.
    may_be = status[2] > ended[2] or not status[1]
    return f"{EDITED}." if may_be and is_edited(folder, document) else ""


def _answer(folder: Path, summary: Mapping[str, Any]) -> str:
    """Return which system is best; of a sweep or an audit what that concludes."""
    audit = summary and object_if_there(folder / "injection.json")
    best = None if audit or "sweep" in summary else _answer_to("best", summary)
    return str(best["sentence"] if best else ((audit or summary).get("conclusion") or [""])[0])


def _agreement(summary: Mapping[str, Any]) -> str:
    trust = _answer_to("trust", summary)
    value = None if trust is None else trust["estimate"].get("value")
    return number(value) if isinstance(value, float) else ""


def _answer_to(question: AnswerTo, summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    answers: Sequence[Mapping[str, Any]] = summary.get("answers") or ()
    return next((answer for answer in answers if answer["question"] == question), None)


def _complete(summary: Mapping[str, Any]) -> str:
    coverage = summary.get("coverage")
    if not coverage or not coverage["expected"]:
        return ""
    share = (coverage["scored"] + coverage["abstained"]) / coverage["expected"]
    return f"{floor(share * 1000) / 10:g} %"
