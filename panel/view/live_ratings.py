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
from typing import Any, get_args

import numpy as np
import orjson
from numpy.typing import NDArray

from persona_panel.files.limits import LONGEST_LINE, open_regular
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge
from persona_panel.graphs.records import controls_among
from persona_panel.rubrics import Rubric, Status
from persona_panel.runs.collected import composite_terms
from persona_panel.runs.scale_limits import composite_limits
from persona_panel.statistics.core.arrays import mean_there
from persona_panel.statistics.core.ranking import Leaderboard, rank_systems

_STATUSES: tuple[Status, ...] = get_args(Status)
_CODE = {status: code for code, status in enumerate(_STATUSES)}
_NOT_YET = 255
_CHUNK = 1 << 20
_LAST = 256
"""So many bytes before the place where a look ended show at the next that the file is the same."""
_LONGEST_LOOK_S = 0.5


class LiveRatings:
    """The ratings of a run so far.

    Attributes:
        total: how many judgments there are to be.
        n_lines: that were read.
        n_unreadable: those of them that are no judgment of this run.
        is_behind: whether the file has more than was read at the last look.
    """

    def __init__(self, items: Sequence[Item], judges: Sequence[Judge], rubric: Rubric) -> None:
        self.items, self.judges, self.rubric = tuple(items), tuple(judges), rubric
        self.total = len(self.items) * len(self.judges)
        self._dimensions = [dimension.id for dimension in rubric.dimensions]
        self._places = {
            name: {label: float(place) for place, label in enumerate(labels)}
            for name, labels in rubric.categories.items()
        }
        self._row = {item[:2]: row for row, item in enumerate(self.items)}
        self._column = {judge.id: column for column, judge in enumerate(self.judges)}
        prompts = {item.prompt_id: None for item in self.items}
        number = {prompt: place for place, prompt in enumerate(prompts)}
        self._prompt = np.array([number[item.prompt_id] for item in self.items], dtype=np.intp)
        self.n_prompts = len(prompts)
        self._begin_anew()

    def _begin_anew(self) -> None:
        shape = len(self.items), len(self.judges)
        self._codes = np.full(shape, _NOT_YET, dtype=np.uint8)
        self._ratings = np.full((*shape, len(self._dimensions)), np.nan)
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
            code = _CODE[status]
            rated = self._rated(line) if status == "scored" else math.nan
            error = line["error"]
        except (ValueError, LookupError, TypeError, AttributeError):
            self.n_unreadable += 1
            return
        self._codes[row, column] = code
        self._ratings[row, column] = rated
        if error is not None and status != "scored":
            reasons = self._errors.setdefault((self.judges[column].model, status), Counter())
            reasons[str(error)] += 1

    def _rated(self, line: Mapping[str, Any]) -> list[float]:
        scores = line["scores"]
        if not self._places:
            return [float(scores.get(name, math.nan)) for name in self._dimensions]
        labels = line["labels"]
        return [
            self._places[name][labels[name]]
            if name in labels
            else float(scores.get(name, math.nan))
            for name in self._dimensions
        ]

    @property
    def n_done(self) -> int:
        """Return how many judgments have come, whatever became of them."""
        return int((self._codes != _NOT_YET).sum())

    def missing(self) -> list[tuple[str, str, int, str]]:
        """Return what came without a result: model, status, how many, and the commonest error;
        the most first."""
        models = [judge.model for judge in self.judges]
        missing = []
        for model in dict.fromkeys(models):
            columns = [column for column, name in enumerate(models) if name == model]
            counts = np.bincount(self._codes[:, columns].ravel(), minlength=len(_STATUSES))
            for status, code in _CODE.items():
                if status in ("scored", "abstained") or not counts[code]:
                    continue
                errors = self._errors.get((model, status))
                error = errors.most_common(1)[0][0] if errors else ""
                missing.append((model, status, int(counts[code]), error))
        return sorted(missing, key=lambda entry: -entry[2])

    def whole_prompts(self) -> NDArray[np.bool_]:
        """Return which prompts have all of their judgments, shape (prompts,)."""
        lacking = (self._codes == _NOT_YET).any(axis=1)
        whole = np.ones(self.n_prompts, dtype=bool)
        whole[self._prompt[lacking]] = False
        return whole

    def leaderboard(self) -> Leaderboard | None:
        """Return the systems by the prompts that have all of their judgments; None where there is
        none, or the rubric has no overall score.

        Means and their intervals are those that `Run.leaderboard` gives of the same ratings.
        """
        rows = np.flatnonzero(self.whole_prompts()[self._prompt])
        controls = controls_among(self.judges)
        columns = [place for place, judge in enumerate(self.judges) if judge not in controls]
        ratings = self._ratings[rows][:, columns]
        terms = composite_terms(ratings, self.rubric, self._dimensions, self.rubric.categories)
        if terms is None or not len(rows):
            return None
        codes = self._codes[rows][:, columns]
        abstained = (codes == _CODE["abstained"]).sum(axis=1)
        rated = (codes == _CODE["scored"]).sum(axis=1)
        of = [self.items[row] for row in rows]
        return rank_systems(
            [item.system for item in of],
            [item.prompt_id for item in of],
            mean_there(terms, 1).mean(axis=1),
            np.empty((len(rows), 0)),
            [],
            limits=composite_limits(self.rubric),
            abstentions=np.stack([abstained, abstained + rated], axis=1),
        )
