"""The line of a run in the list: what it is, what it came to, and whether it goes on.

A run that has ended is read once, and again when its files have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import floor
from pathlib import Path
from typing import Any, Literal

from persona_panel.files.errors import PanelError
from persona_panel.graphs.records import judges_in
from persona_panel.models.config import Price, cost, with_batches
from persona_panel.results.answer import AnswerTo
from persona_panel.results.conclusions.money import spent
from persona_panel.runs.kept import kept_manifest, object_if_there
from persona_panel.runs.output import SPENT
from persona_panel.runs.spending import spent_in
from persona_panel.statistics.core.display import number
from persona_panel.view.run_folders import MANIFEST, PAGE, RunFolders, linked_file
from persona_panel.view.writers import JUDGMENTS, Writers, last_change

State = Literal["running", "stopped", "ended", "unreadable"]
SUMMARY = "summary.json"
_STAMPED = (MANIFEST, SUMMARY, SPENT, JUDGMENTS, PAGE)
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run in the list.

    Attributes:
        name: as `RunFolders` has it.
        state: `running`; `stopped`, by a kill or a loss of power, before it could say what it came
            to; `ended`; or `unreadable`.
        began: its last start.
        texts, judges: how many it has; None where that is not known.
        answer: what it came to in a sentence; why it cannot be read, where that is so.
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
        order = {"running": 0, "stopped": 1, "ended": 1, "unreadable": 2}
        return sorted(lines, key=lambda line: (order[line.state], _age(line), line.name))

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
            return RunLine(name, "unreadable", answer=f"{linked} is a link, which is not followed.")
        document, kept = kept_manifest(folder / MANIFEST)
        start = document["starts"][-1]
        began = datetime.fromisoformat(start["at"])
        summary = _summary(folder, began)
        state: State = "ended"
        if is_locked or (summary is None and self._writers.may_write(folder)):
            state = "running"
        elif summary is None:
            state = "stopped"
        texts = document["texts"].get("lines")
        ended = summary if summary is not None and state == "ended" else {}
        return RunLine(
            name,
            state,
            began.astimezone(),
            texts if isinstance(texts, int) else None,
            len(judges_in(document)),
            _answer(ended),
            _agreement(ended),
            _complete(ended),
            cost_of(folder, kept.prices),
            start["command"],
        )


def cost_of(folder: Path, prices: Mapping[str, Price | None]) -> str:
    """Return what all starts of a run cost, in words; empty where that is nothing.

    Raises:
        RunFolderError: the record cannot be read.
    """
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


def _summary(folder: Path, began: datetime) -> dict[str, Any] | None:
    """Return what a run came to; None where its last start has not come to its end."""
    path = folder / SUMMARY
    try:
        # A start is recorded in whole seconds.
        if path.stat().st_mtime < began.timestamp():
            return None
    except OSError:
        return None
    return object_if_there(path)


def _answer(summary: Mapping[str, Any]) -> str:
    """Return the answer to which system is best; of what has no answers, such as a sweep or a run
    of an earlier version, the first sentence of its conclusion."""
    if (best := _answer_to("best", summary)) is not None:
        return str(best["sentence"])
    return str((summary.get("conclusion") or [""])[0])


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
