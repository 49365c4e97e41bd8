"""The ratings of a run, judgment by judgment, with the reason of every gap; its comparisons; and
its judges as a sample.

The ratings of a run while it goes on, and the ranking of the prompts that are judged whole.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import composite_rule
from persona_panel.graphs.records import controls_among
from persona_panel.rubrics import Rubric, Status, Usage
from persona_panel.rubrics.comparison import Outcome
from persona_panel.runs.scale_limits import composite_limits, composite_terms
from persona_panel.statistics.core.arrays import Array, Random, Reason, mean_there
from persona_panel.statistics.core.display import ends
from persona_panel.statistics.core.ranking import Leaderboard, SystemRank, rank_systems
from persona_panel.statistics.core.sampled_mean import JudgeSample
from persona_panel.statistics.core.table import (
    Coverage,
    Ratings,
    on_composite,
    with_several_levels,
)

if TYPE_CHECKING:
    from persona_panel.statistics.core.strengths import Strengths

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

    def ranking_columns(self) -> tuple[list[int], list[int]]:
        """Return the columns of the judges that rank, and of the controls beside them."""
        controls = controls_among(self.judges)
        columns: tuple[list[int], list[int]] = [], []
        for column, judge in enumerate(self.judges):
            columns[judge in controls].append(column)
        return columns

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
        columns, _ = self.ranking_columns()
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
    return ends(*entry.composite.ends) if entry.composite.has_interval else ""


_OUTCOME_CODE: dict[str, int] = {name: code for code, name in enumerate(get_args(Outcome), start=1)}


class Unscored:
    """The judgments that came without ratings: those whose answers were taken back come again."""

    def __init__(self) -> None:
        self._statuses: dict[tuple[str, str, Judge], Status] = {}

    def take(self, judgment: Judgment) -> Status | None:
        """Take in a judgment; return the status with which it came before, where it was without
        ratings then."""
        key = judgment.prompt_id, judgment.id, judgment.judge
        before = self._statuses.pop(key, None)
        if judgment.status not in ("scored", "abstained"):
            self._statuses[key] = judgment.status
        return before

    def __len__(self) -> int:
        return len(self._statuses)


class CollectedComparisons:
    """The judgments so far of judges that compare; a judgment that comes again replaces the earlier
    one."""

    def __init__(self, items: Sequence[Item], judges: Sequence[Judge]) -> None:
        self._items, self._judges = items, judges
        self._of_prompt: dict[str, list[Item]] = {}
        self._place: dict[tuple[str, str], int] = {}
        # By prompt `(judges, responses, responses)`: how the comparison ended in which the one of
        # the line stood first. Small, as a run may have millions.
        self._outcomes: dict[str, NDArray[np.uint8]] = {}

    def add(self, judgment: Judgment, column: int) -> None:
        """Take in what the judge in this column says of a response and those after it."""
        if not judgment.comparisons and judgment.prompt_id not in self._outcomes:
            return
        if not self._place:
            self._number()
        prompt = judgment.prompt_id
        if prompt not in self._outcomes:
            n = len(self._of_prompt[prompt])
            self._outcomes[prompt] = np.zeros((len(self._judges), n, n), dtype=np.uint8)
        line = self._outcomes[prompt][column, self._place[prompt, judgment.id]]
        line[:] = 0
        # What was skipped has no ratings either: which answers a stopped run has is no accident.
        if judgment.status == "scored":
            for other, outcome in judgment.comparisons.items():
                line[self._place[prompt, other]] = _OUTCOME_CODE[outcome]

    def _number(self) -> None:
        """Number the responses of each prompt, which most runs need not."""
        for item in self._items:
            those = self._of_prompt.setdefault(item.prompt_id, [])
            self._place[item.prompt_id, item.id] = len(those)
            those.append(item)

    def strengths(
        self, prompts: Collection[str], columns: Sequence[int], random: Random
    ) -> Strengths | None:
        """Return the strengths of the systems, by these judges on these prompts; None where no
        judge compared."""
        there = [prompt for prompt in self._of_prompt if prompt in self._outcomes]
        if not there:
            return None
        # Of panels that compare, which most do not.
        from persona_panel.statistics.core.strengths import (
            MOST_SYSTEMS,
            WinCounts,
            bradley_terry,
            without_strengths,
        )

        systems = sorted({item.system for item in self._items})
        if len(systems) > MOST_SYSTEMS:
            return without_strengths(systems, Reason.MANY_SYSTEMS, random)
        place = {system: at for at, system in enumerate(systems)}
        shape = (len(systems), len(systems))
        by_prompt = WinCounts(*np.zeros((2, len(there), *shape)))
        by_judge = WinCounts(*np.zeros((2, len(columns), *shape)))
        for row, prompt in enumerate(there):
            if prompt not in prompts:
                continue
            member = np.zeros((len(self._of_prompt[prompt]), len(systems)))
            for line, item in enumerate(self._of_prompt[prompt]):
                member[line, place[item.system]] = 1
            for result, counts in zip(
                _counted(self._outcomes[prompt][columns]),
                ((by_prompt.wins, by_judge.wins), (by_prompt.ties, by_judge.ties)),
                strict=True,
            ):
                of_systems = member.T @ result @ member
                counts[0][row] = of_systems.sum(axis=0)
                counts[1][:] += of_systems
        if random == "prompts":
            return bradley_terry(systems, by_prompt)
        judges = [self._judges[column] for column in columns]
        factors = {
            "persona": [judge.persona for judge in judges],
            "model": [judge.model for judge in judges],
        }
        return bradley_terry(systems, by_prompt, by_judge=by_judge, factors=factors)


def _counted(outcomes: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the wins of the response of the line over that of the column, and ties `(judges,
    responses, responses)`.

    Where a judge was asked in both orders, a pair counts only with both answers, as it does in
    `preferred`: in one alone, the place would count as if it were merit.
    """
    there = outcomes > 0
    both = there & there.swapaxes(1, 2)
    counts = np.where(both.any(axis=(1, 2), keepdims=True), both, there)
    first, second, tie = (counts & (outcomes == code) for code in _OUTCOME_CODE.values())
    wins = first.astype(np.float64) + second.swapaxes(1, 2)
    ties = tie.astype(np.float64) + tie.swapaxes(1, 2)
    return wins, ties


class CollectedRatings(RatingsSoFar):
    """The judgments of a batch so far; `persona_panel.runs.run.Run` describes the attributes."""

    def __init__(
        self, items: Sequence[Item], judges: Sequence[Judge], rubric: Rubric, *, deliberating: bool
    ) -> None:
        super().__init__(items, judges, rubric)
        self.usage: dict[str, Usage] = {}
        self.before = self.ratings.copy() if deliberating else None
        self.deliberated = np.zeros(len(self.items), dtype=bool)
        self.stated = np.zeros(self._codes.shape if deliberating else (0, 0), dtype=bool)
        self.n_revisions_failed: Counter[str] = Counter()
        self.n_reasons_missing = 0
        self.is_edited = False
        self._comparisons = CollectedComparisons(self.items, self.judges)
        self._off_scale: dict[str, tuple[float, int]] = {}
        self._reasons: Counter[tuple[str, str]] = Counter()
        self._column = {judge: j for j, judge in enumerate(self.judges)}

    def add(self, judgment: Judgment) -> None:
        """Take a judgment in; one of a later round takes the place of the one before."""
        i = self._row[judgment.prompt_id, judgment.id]
        j = self._column[judgment.judge]
        is_scored = judgment.status == "scored"
        self._put(i, j, judgment.status, self._ratings_in(judgment) if is_scored else math.nan)
        self._comparisons.add(judgment, j)
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

    def take(self, other: CollectedRatings, rows: Sequence[int]) -> None:
        """Take in the ratings of another batch by judges that both have, of its `rows`, which are
        these responses in their order."""
        own = [j for j, judge in enumerate(self.judges) if judge in other._column]
        columns = [other._column[self.judges[j]] for j in own]
        self.ratings[:, own] = other.ratings[np.ix_(rows, columns)]
        self._codes[:, own] = other._codes[np.ix_(rows, columns)]

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
        """Return the ratings of dimensions with numbers: shape (n, j, dimensions without
        categories)."""
        numeric = [d for d, name in enumerate(self.dimensions) if name not in self.categories]
        return self.ratings[:, :, numeric]

    @property
    def reasons(self) -> list[tuple[str, str, int]]:
        """Return why judgments are missing or odd: status, error, and how many there are."""
        return [(status, error, n) for (status, error), n in sorted(self._reasons.items())]

    @property
    def off_scale(self) -> dict[str, float]:
        """Return by model the mean share, 0 to 1, of the probability that lay on no value of the
        scale, of the models whose scores come from probabilities."""
        return {model: total / n for model, (total, n) in sorted(self._off_scale.items())}

    @property
    def statuses(self) -> list[list[Status]]:
        """Return for each response each judge's status: why its rating is there or missing."""
        return [
            ["skipped" if code == NOT_YET else STATUSES[code] for code in row]
            for row in self._codes.tolist()
        ]

    @property
    def coverage(self) -> Coverage:
        """Return how many judgments there are, and why the others are missing."""
        codes, numbers = np.unique(self._codes, return_counts=True)
        counts = Counter[str]()
        for code, n in zip(codes.tolist(), numbers.tolist(), strict=True):
            # A judgment that has not come yet is skipped.
            counts["skipped" if code == NOT_YET else STATUSES[code]] += n
        return Coverage.of(
            counts,
            partial=sum(n for (status, _), n in self._reasons.items() if status == "scored"),
            revisions_failed=self.n_revisions_failed,
            reasons_missing=self.n_reasons_missing,
            edited=self.is_edited,
        )

    def commonest_reason(self, status: str) -> tuple[str, int] | None:
        """Return the commonest reason that judgments of this status give, and how many give it;
        None where none gives any."""
        counts = [(error, n) for (of, error), n in self._reasons.items() if of == status and error]
        return max(counts, key=lambda each: each[1], default=None)


def ratings_of(run: CollectedRatings) -> Ratings:
    """Return the ratings of a run under the names that `load_ratings` gives to those of its
    folder."""
    rubric, rule = run.rubric, run.rubric.composite
    controls = controls_among(run.judges)
    return Ratings(
        run.ratings,
        tuple(f"{item.prompt_id}/{item.id}" for item in run.items),
        tuple(judge.id for judge in run.judges),
        run.dimensions,
        tuple(judge.model for judge in run.judges),
        tuple(item.prompt_id for item in run.items),
        tuple(item.system for item in run.items),
        personas=tuple(judge.persona for judge in run.judges),
        categories={name: tuple(of) for name, of in run.categories.items()},
        controls=frozenset(judge.id for judge in controls),
        scales={
            name: (float(scale.min), float(scale.max))
            for name, scale in rubric.numeric_scales.items()
        },
        composite_of=None if rule is None else rule.mean_of or (),
        labels={dimension.id: dimension.label for dimension in rubric.dimensions},
        coverage=run.coverage,
    )


def main_ratings(run: CollectedRatings) -> Ratings | None:
    """Return the ratings on the composite, or the first dimension; None with one judge."""
    ratings = ratings_of(run)
    groups = list(ratings.raters_by_group().values())
    if not groups or len(groups[-1]) < 2:
        return None
    if (whole := on_composite(ratings)) is not None:
        return whole[0]
    numeric = ratings.numeric()
    kept = numeric if numeric.dimensions else ratings
    return replace(kept, scores=kept.scores[:, :, :1], dimensions=kept.dimensions[:1])


def judgment_of_row(
    item: Item,
    judge: Judge,
    row: Sequence[float],
    rubric: Rubric,
    *,
    status: Status = "scored",
    abstained: bool | None = None,
) -> Judgment:
    """Return the judgment that a row of ratings (one value a dimension, NaN where missing) came
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


def judge_sample(
    ratings: Array,
    judges: Sequence[Judge],
    rubric: Rubric,
    dimensions: Sequence[str],
    categories: Mapping[str, Sequence[str]],
) -> JudgeSample | None:
    """Return which sample a run's judges are; None where its rubric has no composite.

    Personas and models are crossed: each is a factor where there are several of it. `ratings`:
    `(responses, judges, dimensions)`; a category is its place among `categories`.
    """
    terms = composite_terms(ratings, rubric, dimensions, categories)
    if terms is None:
        return None
    return JudgeSample(terms, with_several_levels(judge_facets(judges)))


def judge_facets(judges: Iterable[Judge]) -> dict[str, list[str]]:
    """Return the facets of judges, a label a judge; as `Ratings.judge_facets`."""
    known = list(judges)
    return {
        "persona": [judge.persona for judge in known],
        "model": [judge.model for judge in known],
    }


T = TypeVar("T")

LEAST_S, MOST_S = 0.5, 10.0
_SHARE = 0.01


class Paced(Generic[T]):
    """A value that several threads ask for.

    It is worked out when it is asked for: at most twice a second, and so rarely that it takes a
    hundredth of a core; but it is never older than ten seconds. What it took once, such as to load
    modules or to read what has gathered, does not count before it takes as long again.
    """

    def __init__(self, work_out: Callable[[], T]) -> None:
        self._work_out = work_out
        self._lock = threading.Lock()
        self._due = self._used = 0.0
        self._value: T | None = None

    def value(self) -> T:
        """Return the value, worked out again where it is time."""
        with self._lock:
            if self._value is None or time.monotonic() >= self._due:
                began = time.thread_time()
                self._value = self._work_out()
                before, self._used = self._used, time.thread_time() - began
                wait_s = min(before, self._used) / _SHARE
                self._due = time.monotonic() + min(max(LEAST_S, wait_s), MOST_S)
            return self._value


def judge_composites(run: RatingsSoFar, ratings: Ratings) -> Array | None:
    """Return each judge's composite `(items, raters)`, in the order of the ratings; None where the
    rubric has none."""
    terms = composite_terms(run.ratings, run.rubric, run.dimensions, run.categories)
    if terms is None:
        return None
    row = _places(f"{item.prompt_id}/{item.id}" for item in run.items)
    column = _places(judge.id for judge in run.judges)
    composites: Array = terms.mean(axis=2)[
        np.ix_([row[name] for name in ratings.items], [column[name] for name in ratings.raters])
    ]
    return composites


def _places(names: Iterable[str]) -> Mapping[str, int]:
    return {name: place for place, name in enumerate(names)}
