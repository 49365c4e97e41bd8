"""The ratings of a run while it goes on, and the ranking of the prompts that are judged whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isnan
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from persona_panel.files.responses import Item
from persona_panel.graphs import Judge
from persona_panel.graphs.aggregate import composite_rule
from persona_panel.graphs.records import controls_among
from persona_panel.rubrics import Rubric, Status
from persona_panel.runs.composites import composite_terms
from persona_panel.runs.scale_limits import composite_limits
from persona_panel.statistics.core.arrays import mean_there
from persona_panel.statistics.core.display import ends
from persona_panel.statistics.core.ranking import Leaderboard, SystemRank, rank_systems

STATUSES: tuple[Status, ...] = get_args(Status)
STATUS_CODE = {status: code for code, status in enumerate(STATUSES)}
NOT_YET = 255
"""The code of a judgment that has not come."""


class RatingsSoFar:
    """The ratings of a batch, `(responses, judges, dimensions)`, with NaN where there is none.

    Attributes:
        items: which responses there are, in the order of the input.
        judges: in the panel's order.
        rubric: as the ratings come.
        dimensions: the rubric's dimension ids.
        categories: of each dimension that has them; a rating is the place among them.
        ratings: as the class says.
    """

    def __init__(self, items: Sequence[Item], judges: Sequence[Judge], rubric: Rubric) -> None:
        self.items = tuple(items)
        self.judges = tuple(judges)
        self.rubric = rubric
        self.dimensions = tuple(dimension.id for dimension in rubric.dimensions)
        self.categories: Mapping[str, Sequence[str]] = rubric.categories
        self._row = {(item.prompt_id, item.id): row for row, item in enumerate(self.items)}
        self._clear()

    def _clear(self) -> None:
        """Take all judgments back."""
        shape = len(self.items), len(self.judges)
        self.ratings: NDArray[np.float64] = np.full((*shape, len(self.dimensions)), np.nan)
        self._codes = np.full(shape, NOT_YET, dtype=np.uint8)
        self._is_changed = np.ones(len(self.items), dtype=bool)
        self._composites = np.full(len(self.items), np.nan)
        self._abstentions = np.zeros((len(self.items), 2), dtype=np.intp)

    def _put(self, row: int, column: int, status: Status, ratings: Sequence[float] | float) -> None:
        """Take in a judgment, with its ratings, or NaN, by dimension."""
        self._codes[row, column] = STATUS_CODE[status]
        self.ratings[row, column] = ratings
        self._is_changed[row] = True

    @cached_property
    def _prompt(self) -> NDArray[np.intp]:
        """The number of each response's prompt."""
        prompts = {item.prompt_id: None for item in self.items}
        number = {prompt: place for place, prompt in enumerate(prompts)}
        return np.array([number[item.prompt_id] for item in self.items], dtype=np.intp)

    @property
    def n_prompts(self) -> int:
        """Return the number of prompts."""
        return int(self._prompt.max(initial=-1)) + 1

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Return for each response whether every judge has been heard, shape (n,)."""
        heard: NDArray[np.bool_] = (self._codes != NOT_YET).all(axis=1)
        return heard

    def whole_prompts(self) -> NDArray[np.bool_]:
        """Return which prompts have all of their judgments, shape (prompts,), in the order in which
        they first appear."""
        whole = np.ones(self.n_prompts, dtype=bool)
        whole[self._prompt[~self.whole]] = False
        return whole

    def abstentions(self, rows: Sequence[int], judges: Sequence[int]) -> NDArray[np.intp]:
        """Count for each response the judges that say it declines to answer, and those that say so
        or rated it; shape (rows, 2)."""
        codes = self._codes[np.ix_(rows, judges)]
        abstained = (codes == STATUS_CODE["abstained"]).sum(axis=1)
        return np.stack(
            [abstained, abstained + (codes == STATUS_CODE["scored"]).sum(axis=1)], axis=1
        )

    def leaderboard_so_far(self) -> Leaderboard | None:
        """Return the systems by the prompts that have all of their judgments; None where there is
        no such prompt, or the rubric has no overall score.

        Means and their intervals are those that `Run.leaderboard` gives of the same ratings.
        Differences are not tested: how many prompts there are is no plan, and a test that is made
        again and again as they come claims too much. What has not changed since the last call is
        not computed again.
        """
        is_whole = self.whole_prompts()[self._prompt]
        if composite_rule(self.rubric) is None or not is_whole.any():
            return None
        self._rate(np.flatnonzero(is_whole & self._is_changed))
        rows = np.flatnonzero(is_whole)
        of = [self.items[row] for row in rows.tolist()]
        return rank_systems(
            [item.system for item in of],
            [item.prompt_id for item in of],
            self._composites[rows],
            np.empty((len(rows), 0)),
            [],
            limits=composite_limits(self.rubric),
            abstentions=self._abstentions[rows],
            compared=False,
        )

    def _rate(self, rows: NDArray[np.intp]) -> None:
        """Compute what the ranking takes of these responses."""
        controls = controls_among(self.judges)
        columns = [place for place, judge in enumerate(self.judges) if judge not in controls]
        ratings = self.ratings[rows][:, columns]
        terms = composite_terms(ratings, self.rubric, self.dimensions, self.categories)
        assert terms is not None  # noqa: S101
        self._composites[rows] = mean_there(terms, 1).mean(axis=1)
        self._abstentions[rows] = self.abstentions(rows.tolist(), columns)
        self._is_changed[rows] = False


def interval_so_far(entry: SystemRank) -> str:
    """Return the 95 % interval of a system over the prompts so far, in words; empty where there is
    none yet."""
    if entry.declines:
        return "mostly abstentions"
    return "" if isnan(entry.ci_low) else ends(entry.ci_low, entry.ci_high)
