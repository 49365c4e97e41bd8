"""The judgments of a run as its file grows: read from where the last look ended, without a lock.

A line that is not whole yet is read at the next look. A file that was replaced or has become
shorter, as that of a run that is made again, is read from its beginning.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
import orjson

from persona_panel.files.limits import LONGEST_LINE, open_regular
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge
from persona_panel.rubrics import Rubric
from persona_panel.runs.ratings_so_far import NOT_YET, STATUS_CODE, STATUSES, RatingsSoFar

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
        at most.

        Raises:
            OSError: it cannot be read.
        """
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
