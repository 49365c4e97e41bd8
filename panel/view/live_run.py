"""A run that goes on, or was stopped, as its page shows it, made anew at each look.

Its judgments are read from where the last look ended, without a lock; a line that is not whole yet
at the next look, a file that was replaced or has become shorter from its beginning.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite, isnan
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
import orjson

from persona_panel.files.judgments import GOING_ON, JUDGMENTS
from persona_panel.files.limits import LONGEST_LINE, open_regular
from persona_panel.files.pages import shown
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge
from persona_panel.graphs.records import judges_in
from persona_panel.results.axis import Axis
from persona_panel.results.conclusions.wording import dollars
from persona_panel.rubrics import Rubric
from persona_panel.runs.collected import (
    NOT_YET,
    STATUS_CODE,
    STATUSES,
    RatingsSoFar,
    interval_so_far,
)
from persona_panel.runs.kept import RESPONSES, kept_lines, kept_manifest
from persona_panel.runs.scale_limits import composite_limits
from persona_panel.runs.spending import spent_in
from persona_panel.statistics.core.display import clock, counted, number
from persona_panel.statistics.core.ranking import SystemRank
from persona_panel.view.lines import MANIFEST, State, cost_of, stopped_at

_CHUNK = 1 << 20
_LAST = 256
"""So many bytes before the place where a look ended show at the next that the file is the same."""
_LONGEST_LOOK_S = 0.5


class LiveRatings(RatingsSoFar):
    """The ratings of a run so far, from its file.

    Attributes:
        total: how many judgments there are to be.
        n_lines: that were read.
        n_unreadable: those of them that are no judgment of this run.
        is_behind: whether the file has more than was read at the last look.
    """

    def __init__(self, items: Sequence[Item], judges: Sequence[Judge], rubric: Rubric) -> None:
        super().__init__(items, judges, rubric)
        self.total = len(self.items) * len(self.judges)
        self._places = {
            name: {label: float(place) for place, label in enumerate(labels)}
            for name, labels in rubric.categories.items()
        }
        self._column = {judge.id: column for column, judge in enumerate(self.judges)}
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._clear()
        self._errors: dict[tuple[str, str], Counter[str]] = {}
        self._inode = self._offset = self.n_lines = 0
        self._last = b""
        self.n_unreadable = 0
        self.is_behind = False

    def read(self, path: Path) -> None:
        """Take in what a file of judgments holds that was not read yet; for half a second of work
        at most. Raises OSError: it cannot be read."""
        began = thread_time()
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            file.seek(self._offset - len(self._last))
            # One that was emptied may have grown beyond its old end since.
            if status.st_ino != self._inode or file.read(len(self._last)) != self._last:
                self._begin_anew()
                self._inode = status.st_ino
                file.seek(0)
            self.is_behind = False
            while chunk := file.read(_CHUNK):
                if (end := chunk.rfind(b"\n") + 1) == 0:
                    chunk += file.read(LONGEST_LINE)
                    end = chunk.rfind(b"\n") + 1
                if end == 0 and len(chunk) < LONGEST_LINE:
                    return
                # Longer than any line that a run writes: not a line of one.
                end = end or len(chunk)
                for text in chunk[: end - 1].split(b"\n"):
                    self._take(text)
                self._offset += end
                self._last = chunk[max(0, end - _LAST) : end]
                file.seek(self._offset)
                if thread_time() - began > _LONGEST_LOOK_S:
                    self.is_behind = self._offset < status.st_size
                    return

    def _take(self, text: bytes) -> None:
        self.n_lines += 1
        try:
            line = orjson.loads(text)
            row = self._row[line["prompt_id"], line["id"]]
            column = self._column[line["judge"]]
            status = line["status"]
            rated = self._rated(line) if status == "scored" else math.nan
            error = line["error"]
            self._put(row, column, status, rated)
        except (ValueError, LookupError, TypeError, AttributeError):
            self.n_unreadable += 1
            return
        if error is not None and status != "scored":
            reasons = self._errors.setdefault((self.judges[column].model, status), Counter())
            reasons[str(error)] += 1

    def _rated(self, line: Mapping[str, Any]) -> list[float]:
        scores = line["scores"]
        if not self._places:
            return [float(scores.get(name, math.nan)) for name in self.dimensions]
        labels = line["labels"]
        return [
            self._places[name][labels[name]]
            if name in labels
            else float(scores.get(name, math.nan))
            for name in self.dimensions
        ]

    @property
    def n_done(self) -> int:
        """Return how many judgments have come, whatever became of them."""
        return int((self._codes != NOT_YET).sum())

    def missing(self) -> list[tuple[str, str, int, str]]:
        """Return what came without a result: model, status, how many, and the commonest error;
        the most first."""
        models = [judge.model for judge in self.judges]
        missing = []
        for model in dict.fromkeys(models):
            columns = [column for column, name in enumerate(models) if name == model]
            counts = np.bincount(self._codes[:, columns].ravel(), minlength=len(STATUSES))
            for status, code in STATUS_CODE.items():
                if status in ("scored", "abstained") or not counts[code]:
                    continue
                errors = self._errors.get((model, status))
                error = errors.most_common(1)[0][0] if errors else ""
                missing.append((model, status, int(counts[code]), error))
        return sorted(missing, key=lambda entry: -entry[2])


MOST_SYSTEMS = 30
MOST_REASONS = 6
_RATE_OVER_S = 30.0
_LEAST_RATE_S = 3.0


class LiveRun:
    """A run that is looked at while it goes on. Raises InputError: its run.json or responses.jsonl
    cannot be read; LookupError, TypeError: they hold something else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        document, self._kept = kept_manifest(folder / MANIFEST)
        self._start: Mapping[str, Any] = document["starts"][-1]
        items: list[Item] = []
        # The answers of a sweep are not known before they are judged.
        if self._kept.texts.file == RESPONSES and self._kept.sweep is None:
            items = [
                Item(line["prompt_id"], line["id"], line["system"])
                for _, _, line in kept_lines(folder / RESPONSES)
            ]
        rubric = self._kept.output_rubric or self._kept.rubric
        self._ratings = LiveRatings(items, judges_in(document), rubric)
        self._limits = composite_limits(rubric)
        self._counts: deque[tuple[float, int]] = deque()
        self.n_systems = min(len({item.system for item in items}), MOST_SYSTEMS)

    def update(self, state: State) -> dict[str, Any]:
        """Read what has come since the last look, and return what is shown: texts by the fields of
        the page, the number of judgments `done` of `total`, `systems` and `reasons`. Raises
        OSError, PanelError: a file cannot be read."""
        file = self._judgments(state)
        if file is not None:
            self._ratings.read(file)
        ratings = self._ratings
        done = ratings.n_done if ratings.items else ratings.n_lines
        total = ratings.total
        rate = self._rate(done) if state == "running" else None
        fields = {
            "progress": f"{done:,} of {counted(total, 'judgment')}"
            if total
            else counted(done, "judgment"),
            "rate": "" if rate is None else f"{number(rate, 0 if rate >= 10 else 1)} a second",
            "left": f"{clock((total - done) / rate)} left" if rate and done < total else "",
            "cost": self._cost(),
            "looked": f"Read at {datetime.now().astimezone():%H:%M:%S}."
            + (" Not all of it was read yet." if ratings.is_behind else ""),
            "stopped": self._stopped() if state == "stopped" else "",
            **self._missing(),
        }
        return {
            "state": state,
            "done": done,
            "total": total,
            "fields": {name: shown(text) for name, text in fields.items()},
            **self._systems(),
        }

    @property
    def command(self) -> str:
        """Return the command of the last start."""
        return str(self._start["command"])

    def ticks(self) -> list[tuple[str, str]]:
        """Return places and labels of the systems' axis; none where the rubric has no bounds."""
        return Axis.of(self._limits, []).ticks if isfinite(sum(self._limits)) else []

    def _judgments(self, state: State) -> Path | None:
        """Return the file that has the judgments: what goes on gathers its own in another one."""
        files = [self._folder / JUDGMENTS]
        if state == "running":
            files.append(self._folder / GOING_ON)
        there = [file for file in files if file.exists()]
        return max(there, key=lambda file: file.stat().st_mtime_ns, default=None)

    def _rate(self, done: int) -> float | None:
        """Return the judgments a second over the last half minute; None at the beginning."""
        now = time.monotonic()
        if self._counts and done < self._counts[-1][1]:
            self._counts.clear()
        self._counts.append((now, done))
        while now - self._counts[0][0] > _RATE_OVER_S and len(self._counts) > 2:
            self._counts.popleft()
        since, before = self._counts[0]
        return (done - before) / (now - since) if now - since >= _LEAST_RATE_S else None

    def _cost(self) -> str:
        caps: Mapping[str, Any] = self._start.get("caps") or {}
        spent = spent_in(self._folder)
        texts = [cost_of(self._folder, self._kept.prices) or "$0"]
        if "usd" in caps:
            texts[0] += f" of at most {dollars(caps['usd'])}"
        if "calls" in caps:
            texts.append(f"{spent.calls:,} of at most {counted(caps['calls'], 'call')}")
        if "tokens" in caps:
            texts.append(f"{spent.tokens:,} of at most {counted(caps['tokens'], 'token')}")
        return ", ".join(texts)

    def _stopped(self) -> str:
        when = f"{stopped_at(self._folder):%Y-%m-%d %H:%M:%S}"
        return (
            f"Nothing has been written since {when}, and no process is seen to go on with it: it "
            "was killed, or its machine was. What it has paid for is kept. In the folder where it "
            "was started, this command goes on with it:"
        )

    def _missing(self) -> dict[str, str]:
        reasons = self._ratings.missing()
        n = sum(count for _, _, count, _ in reasons)
        fields = {"missing": f"{n:,} missing" if n else ""}
        for place in range(MOST_REASONS):
            model = count = error = ""
            if place < len(reasons):
                model, status, number_of, error = reasons[place]
                count = f"{number_of:,} {status}"
            fields |= {
                f"reason-{place}-model": model,
                f"reason-{place}-count": count,
                f"reason-{place}-error": error,
            }
        return fields

    def _systems(self) -> dict[str, Any]:
        ratings = self._ratings
        if not ratings.items:
            return {"prompts": "Systems are ranked when the run has ended.", "systems": []}
        board = ratings.leaderboard_so_far()
        whole = int(ratings.whole_prompts().sum())
        prompts = (
            f"{whole:,} of {counted(ratings.n_prompts, 'prompt')} have all of their judgments."
        )
        if board is None:
            return {"prompts": prompts, "systems": []}
        axis = Axis.of(self._limits, [entry.composite.value for entry in board.systems])
        return {
            "prompts": prompts,
            "systems": [_system(entry, axis) for entry in board.systems[:MOST_SYSTEMS]],
        }


def _system(entry: SystemRank, axis: Axis) -> dict[str, str]:
    """Return a system's line: its texts, and places on the axis."""
    mean = entry.composite
    return {
        "name": shown(entry.system),
        "mean": mean.number(),
        "interval": interval_so_far(entry),
        "at": "" if isnan(mean.value) else axis.at(mean.value),
        "low": axis.at(mean.low) if mean.has_interval else "",
        "high": axis.at(mean.high) if mean.has_interval else "",
    }
