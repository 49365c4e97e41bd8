"""The ratings of a run, judgment by judgment, with the reason of every gap. Holds no texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from persona_panel.files.response_batch import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.rubrics import Rubric, Status, Usage
from persona_panel.runs.comparisons import CollectedComparisons
from persona_panel.statistics.core.table import Coverage

_STATUSES: tuple[Status, ...] = get_args(Status)
_STATUS_CODE = {status: code for code, status in enumerate(_STATUSES)}
_NOT_YET = 255


class CollectedRatings:
    """The judgments of a batch so far; `persona_panel.runs.run.Run` describes the attributes."""

    def __init__(
        self, items: Sequence[Item], judges: Sequence[Judge], rubric: Rubric, *, deliberating: bool
    ) -> None:
        self.items = tuple(items)
        self.judges = tuple(judges)
        self.rubric = rubric
        self.dimensions = tuple(dimension.id for dimension in rubric.dimensions)
        self.categories: Mapping[str, Sequence[str]] = rubric.categories
        self.usage: dict[str, Usage] = {}
        shape = (len(self.items), len(self.judges))
        self.ratings: NDArray[np.float64] = np.full((*shape, len(self.dimensions)), np.nan)
        self.before = self.ratings.copy() if deliberating else None
        self.deliberated = np.zeros(len(self.items), dtype=bool)
        self.stated = np.zeros(shape if deliberating else (0, 0), dtype=bool)
        self.n_revisions_failed: Counter[str] = Counter()
        self.n_reasons_missing = 0
        self._comparisons = CollectedComparisons(self.items, self.judges)
        self._off_scale: dict[str, tuple[float, int]] = {}
        self._codes = np.full(shape, _NOT_YET, dtype=np.uint8)
        self._reasons: Counter[tuple[str, str]] = Counter()
        self._row = {(item.prompt_id, item.id): i for i, item in enumerate(self.items)}
        self._column = {judge: j for j, judge in enumerate(self.judges)}

    def add(self, judgment: Judgment) -> None:
        """Take a judgment in; one of a later round takes the place of the one before."""
        i = self._row[judgment.prompt_id, judgment.id]
        j = self._column[judgment.judge]
        self._codes[i, j] = _STATUS_CODE[judgment.status]
        self._comparisons.add(judgment, j)
        if judgment.status == "scored":
            self.ratings[i, j] = self._ratings_in(judgment)
        else:
            self.ratings[i, j] = math.nan
        if judgment.error is not None:
            self._reasons[judgment.revision_failed or judgment.status, judgment.error] += 1
        if judgment.round > 1:
            self.deliberated[i] |= judgment.revision_failed is None
            self.n_reasons_missing += judgment.reason_missing is not None
            self.stated[i, j] |= judgment.changed_because is not None
            self.n_revisions_failed.update(
                [judgment.revision_failed] if judgment.revision_failed else []
            )
        elif self.before is not None:
            self.before[i, j] = self.ratings[i, j]
        model = judgment.judge.model
        if judgment.off_scale:
            total, n = self._off_scale.get(model, (0.0, 0))
            shares = judgment.off_scale.values()
            self._off_scale[model] = total + sum(shares) / len(shares), n + 1
        used = self.usage.get(model)
        self.usage[model] = judgment.usage if used is None else used + judgment.usage

    def _ratings_in(self, judgment: Judgment) -> list[float]:
        scores = judgment.scores
        if not self.categories:
            return [scores.get(dimension, math.nan) for dimension in self.dimensions]
        return [
            float(self.categories[dimension].index(judgment.labels[dimension]))
            if dimension in judgment.labels
            else scores.get(dimension, math.nan)
            for dimension in self.dimensions
        ]

    @property
    def scores(self) -> NDArray[np.float64]:
        """The ratings by number alone: shape (n, j, dimensions without categories)."""
        numeric = [d for d, name in enumerate(self.dimensions) if name not in self.categories]
        return self.ratings[:, :, numeric]

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Shape (n,), of which responses every judge has been heard."""
        heard: NDArray[np.bool_] = (self._codes != _NOT_YET).all(axis=1)
        return heard

    @property
    def reasons(self) -> list[tuple[str, str, int]]:
        """Why judgments are missing or odd: status, error, and how many there are."""
        return [(status, error, n) for (status, error), n in sorted(self._reasons.items())]

    @property
    def off_scale(self) -> dict[str, float]:
        """By model, the mean share, 0 to 1, of the probability that lay on no value of the scale,
        of the models whose scores come from probabilities."""
        return {model: total / n for model, (total, n) in sorted(self._off_scale.items())}

    @property
    def statuses(self) -> list[list[Status]]:
        """Why each rating is there or not: for each response, each judge's status."""
        return [
            ["skipped" if code == _NOT_YET else _STATUSES[code] for code in row]
            for row in self._codes.tolist()
        ]

    def abstentions(self, rows: Sequence[int], judges: Sequence[int]) -> NDArray[np.intp]:
        """Shape (rows, 2): how many of these judges found that a response declines to answer, and
        how many did or rated it."""
        codes = self._codes[np.ix_(rows, judges)]
        abstained = (codes == _STATUS_CODE["abstained"]).sum(axis=1)
        return np.stack(
            [abstained, abstained + (codes == _STATUS_CODE["scored"]).sum(axis=1)], axis=1
        )

    @property
    def coverage(self) -> Coverage:
        """How many judgments are there, and why the others are not."""
        codes, numbers = np.unique(self._codes, return_counts=True)
        counts = Counter[str]()
        for code, n in zip(codes.tolist(), numbers.tolist(), strict=True):
            # A judgment that has not come yet is skipped.
            counts["skipped" if code == _NOT_YET else _STATUSES[code]] += n
        return Coverage.of(
            counts,
            partial=sum(n for (status, _), n in self._reasons.items() if status == "scored"),
            revisions_failed=self.n_revisions_failed,
            reasons_missing=self.n_reasons_missing,
        )

    def commonest_reason(self, status: str) -> str | None:
        """What most judgments of this status say of why, None where none says anything."""
        counts = {error: n for (of, error), n in self._reasons.items() if of == status}
        return max(counts, key=lambda error: counts[error], default=None)


def judgment_of_row(
    item: Item,
    judge: Judge,
    row: Sequence[float],
    rubric: Rubric,
    *,
    status: Status = "scored",
    abstained: bool | None = None,
) -> Judgment:
    """A row of ratings (one value a dimension, NaN where missing) as the judgment that it came
    from, as far as a verdict is made of it."""
    categories = rubric.categories
    names = [dimension.id for dimension in rubric.dimensions]
    there = [pair for pair in zip(names, row, strict=True) if not math.isnan(pair[1])]
    return Judgment(
        *item,
        judge=judge,
        status=status,
        scores={name: score for name, score in there if name not in categories},
        labels={name: categories[name][int(place)] for name, place in there if name in categories},
        abstained=abstained,
    )
