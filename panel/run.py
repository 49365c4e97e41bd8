"""What a run has brought: ratings with the reason of every gap, verdicts, rankings.

Filled judgment by judgment while the panel reads; holds no texts. Files are written
from it by `panel.files.run_folder`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from graphs import Judge, Judgment, Verdict
from graphs.aggregate import aggregate
from graphs.deliberation import step
from panel.batch import Batch, Item
from panel.calls.caller import Tally
from panel.models.catalogue import Price, cost
from panel.statistics.ranking import SystemRank, competition_ranks, rank_systems
from rubrics import CategoryScale, Dimension, Rubric, Status, Usage

if TYPE_CHECKING:
    from panel.deliberation import DeliberationReport
    from panel.statistics.table import Ratings

_STATUSES: tuple[Status, ...] = get_args(Status)
_CODE = {status: code for code, status in enumerate(_STATUSES)}
_NOT_YET = 255


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many judgments there should be, and how many there are.

    `expected` is `scored` + `abstained` + the sum of `missing`, which counts by reason.
    An abstention is an answer, though no rating. `partial` of those that scored rest on
    fewer comparisons than were asked for. `kept` counts by reason the revisions that failed
    in a deliberation, and left the judgment before; `unexplained`, judges that changed a
    rating and could not be asked why.
    """

    expected: int
    scored: int
    abstained: int
    missing: dict[str, int]
    partial: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    unexplained: int = 0

    @property
    def complete(self) -> bool:
        """Whether every judgment is there, whole, and so is every revision."""
        return not (self.missing or self.partial or self.kept or self.unexplained)


class Run:
    """The outcome of a panel's reading of a batch.

    Attributes:
        items: which responses there are, in the order of the input, n of them.
        titles: the beginning of each prompt, by its id.
        judges: in the panel's order, j of them.
        dimensions: the rubric's dimension ids, d of them.
        categories: for each dimension that has them, the names of its categories.
        ratings: shape (n, j, d), NaN where missing. A category stands there as its place
            in `categories`, from 0: nominal, to be compared and never averaged.
        before: the ratings before any deliberation, None where the panel did not deliberate.
        deliberated: shape (n,), on which responses at least one judge read again.
        stated: shape (n, j), which judges said what changed their mind.
        n_kept: how many revisions failed, by how they ended; see `Coverage`.
        n_unexplained: how many judges could not be asked what changed their mind.
        humans: what people say of the responses, where a deliberation is held against it.
        reliability: which judges the rubric's composite leaves out, None if none.
        verdicts: in the order of the input.
        folder: where the run was written, if it was.
    """

    def __init__(
        self,
        batch: Batch,
        judges: Sequence[Judge],
        rubric: Rubric,
        *,
        prices: Mapping[str, Price | None],
        seed: int,
        deliberating: bool = False,
    ) -> None:
        self.items = tuple(batch.items)
        self.titles = batch.titles
        self.judges = tuple(judges)
        self.dimensions = tuple(dimension.id for dimension in rubric.dimensions)
        self.categories = rubric.categories
        self.reliability = rubric.composite.reliable_where if rubric.composite else None
        self.seed = seed
        self.prices = dict(prices)
        self.folder: Path | None = None
        self.tally = Tally()
        self.elapsed_s = 0.0
        self.usage: dict[str, Usage] = {}
        shape = (len(self.items), len(self.judges))
        self.ratings: NDArray[np.float64] = np.full((*shape, len(self.dimensions)), np.nan)
        self.before = self.ratings.copy() if deliberating else None
        self.deliberated = np.zeros(len(self.items), dtype=bool)
        self.stated = np.zeros(shape if deliberating else (0, 0), dtype=bool)
        self.n_kept: Counter[str] = Counter()
        self.n_unexplained = 0
        self.humans: Ratings | None = None
        self._report: tuple[Ratings | None, DeliberationReport] | None = None
        self._rubric = rubric
        self._codes = np.full(shape, _NOT_YET, dtype=np.uint8)
        self._verdicts: list[Verdict | None] = [None] * len(self.items)
        self._reasons: Counter[tuple[str, str]] = Counter()
        self._row = {(item.prompt_id, item.id): i for i, item in enumerate(self.items)}
        self._column = {judge: j for j, judge in enumerate(self.judges)}

    def add(self, judgment: Judgment) -> None:
        """Take a judgment in; one of a later round takes the place of the one before."""
        self._report = None
        i = self._row[judgment.prompt_id, judgment.id]
        j = self._column[judgment.judge]
        self._codes[i, j] = _CODE[judgment.status]
        if judgment.status == "scored":
            for d, dimension in enumerate(self.dimensions):
                self.ratings[i, j, d] = self._rating(judgment, dimension)
        else:
            self.ratings[i, j] = math.nan
        if judgment.error is not None:
            self._reasons[judgment.kept or judgment.status, judgment.error] += 1
        if judgment.round > 1:
            self.deliberated[i] |= judgment.kept is None
            self.n_unexplained += judgment.unexplained is not None
            self.stated[i, j] |= judgment.changed_because is not None
            self.n_kept.update([judgment.kept] if judgment.kept else [])
        elif self.before is not None:
            self.before[i, j] = self.ratings[i, j]
        model = judgment.judge.model
        self.usage[model] = self.usage.get(model, Usage()) + judgment.usage

    def _rating(self, judgment: Judgment, dimension: str) -> float:
        if dimension not in self.categories:
            return judgment.scores.get(dimension, math.nan)
        label = judgment.labels.get(dimension)
        return math.nan if label is None else float(self.categories[dimension].index(label))

    @property
    def scores(self) -> NDArray[np.float64]:
        """The ratings by number alone: shape (n, j, dimensions without categories)."""
        return self.ratings[:, :, self._numeric]

    @property
    def _numeric(self) -> list[int]:
        return [d for d, name in enumerate(self.dimensions) if name not in self.categories]

    def deliberation(self) -> DeliberationReport | None:
        """What deliberation did, to the ratings by number; None where there was none.

        Raises:
            InputError: `humans` shares no response or no dimension with the run.
        """
        if self.before is None:
            return None
        # Summary and tables ask for the same, and with people's ratings it takes seconds.
        if self._report is None or self._report[0] is not self.humans:
            self._report = self.humans, self._deliberation_of(self.before)
        return self._report[1]

    def _deliberation_of(self, before: NDArray[np.float64]) -> DeliberationReport:
        # Where nobody deliberates, its statistics need not be loaded.
        from panel.deliberation import deliberation_of

        rated = self._rubric.numeric
        return deliberation_of(
            before[:, :, self._numeric],
            self.scores,
            self.stated,
            self.deliberated,
            self.judges,
            self.items,
            [dimension.id for dimension in rated],
            [step(dimension) for dimension in rated],
            self.seed,
            self.humans,
            same_scale=self.humans is not None and _on_scales(self.humans, rated),
            composites=None
            if self._rubric.composite is None
            else (self._composites(before), self._composites(self.ratings)),
        )

    def _composites(self, ratings: NDArray[np.float64]) -> list[float]:
        """What the rubric's own rule makes of ratings, response by response."""
        return [
            aggregate(
                [
                    self._judgment(item, judge, row)
                    for judge, row in zip(self.judges, rows, strict=True)
                ],
                self._rubric,
            ).composite
            for item, rows in zip(self.items, ratings.tolist(), strict=True)
        ]

    def _judgment(self, item: Item, judge: Judge, row: Sequence[float]) -> Judgment:
        """A row of ratings as the judgment that it came from, as far as it counts."""
        there = [pair for pair in zip(self.dimensions, row, strict=True) if not math.isnan(pair[1])]
        return Judgment(
            *item,
            judge=judge,
            status="scored",
            scores={name: score for name, score in there if name not in self.categories},
            labels={
                name: self.categories[name][int(place)]
                for name, place in there
                if name in self.categories
            },
        )

    def conclude(self, verdict: Verdict) -> None:
        """Take a response's verdict in."""
        self._verdicts[self._row[verdict.prompt_id, verdict.id]] = verdict

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts there are, in the order of the input."""
        return [verdict for verdict in self._verdicts if verdict is not None]

    @property
    def statuses(self) -> list[list[str]]:
        """Why each rating is there or not: for each response, each judge's status."""
        return [
            ["skipped" if code == _NOT_YET else _STATUSES[code] for code in row]
            for row in self._codes.tolist()
        ]

    @property
    def coverage(self) -> Coverage:
        """How many judgments are there, and why the others are not."""
        counts = Counter(status for row in self.statuses for status in row)
        scored, abstained = counts.pop("scored", 0), counts.pop("abstained", 0)
        missing = dict(sorted(counts.items()))
        partial = sum(n for (status, _), n in self._reasons.items() if status == "scored")
        kept = dict(sorted(self.n_kept.items()))
        return Coverage(
            self._codes.size, scored, abstained, missing, partial, kept, self.n_unexplained
        )

    def commonest_reason(self, status: str) -> str | None:
        """What most judgments of this status say of why, None where none says anything."""
        counts = {error: n for (of, error), n in self._reasons.items() if of == status}
        return max(counts, key=lambda error: counts[error], default=None)

    def _spent(self) -> float | None:
        """What the calls made in this run cost; None where a price is not known."""
        costs = [cost(self.prices[model], usage) for model, usage in self.tally.spent.items()]
        known = [usd for usd in costs if usd is not None]
        return _dollars(math.fsum(known)) if len(known) == len(costs) else None

    def ranking(self) -> list[SystemRank]:
        """The systems, best first, with 95 % intervals over prompts.

        Among an entry's dimensions is each category's share of the judges, under
        `dimension:category`.
        """
        verdicts = self.verdicts
        values = [
            {name: summary.mean for name, summary in verdict.dimensions.items()}
            | {
                share_name(name, label): share
                for name, summary in verdict.labels.items()
                for label, share in summary.shares.items()
            }
            for verdict in verdicts
        ]
        names = list(values[0]) if values else []
        return rank_systems(
            [verdict.system for verdict in verdicts],
            [verdict.prompt_id for verdict in verdicts],
            np.array([verdict.composite for verdict in verdicts]),
            np.array([list(each.values()) for each in values]).reshape(len(values), len(names)),
            names,
            seed=self.seed,
        )

    def prompt_rankings(self) -> dict[str, list[tuple[int | None, Verdict]]]:
        """For each prompt its responses with their ranks, best first, the unranked last."""
        by_prompt: dict[str, list[Verdict]] = {}
        for verdict in self.verdicts:
            by_prompt.setdefault(verdict.prompt_id, []).append(verdict)
        rankings = {}
        for prompt_id, verdicts in by_prompt.items():
            ranks = competition_ranks(np.array([verdict.composite for verdict in verdicts]))
            pairs = [
                (None if math.isnan(rank) else int(rank), verdict)
                for rank, verdict in zip(ranks, verdicts, strict=True)
            ]
            rankings[prompt_id] = sorted(pairs, key=lambda pair: (pair[0] is None, pair[0] or 0))
        return rankings

    def summary(self) -> dict[str, Any]:
        """What summary.json holds."""
        coverage, deliberation = self.coverage, self.deliberation()
        report = None
        if deliberation is not None:
            report = deliberation.summary()
        return {
            "ranking": [_entry(entry) for entry in self.ranking()],
            "coverage": {
                "expected": coverage.expected,
                "scored": coverage.scored,
                "abstained": coverage.abstained,
                "missing": coverage.missing,
                "partial": coverage.partial,
                "kept": coverage.kept,
                "unexplained": coverage.unexplained,
            },
            "reasons": [
                {"status": status, "error": error, "n": n}
                for (status, error), n in sorted(self._reasons.items())
            ],
            "calls": {
                "made": self.tally.made,
                "cached": self.tally.cached,
                "usd": self._spent(),
                "faults": dict(sorted(self.tally.faults.items())),
            },
            "usage": {
                model: {
                    "input": usage.input,
                    "cached_input": usage.cached,
                    "output": usage.output,
                    "usd": _dollars(cost(self.prices[model], usage)),
                }
                for model, usage in sorted(self.usage.items())
            },
            **({} if report is None else {"deliberation": report}),
            "seed": self.seed,
            "version": version("persona-panel"),
            "elapsed_s": round(self.elapsed_s, 3),
        }


def share_name(dimension: str, category: str) -> str:
    """What the share of a category is called in tables; no dimension's id has a colon."""
    return f"{dimension}:{category}"


def _on_scales(humans: Ratings, dimensions: Sequence[Dimension]) -> bool:
    """Whether people's scores lie on the scales of the dimensions that they share."""
    for dimension in dimensions:
        if dimension.id in humans.dimensions and not isinstance(dimension.scale, CategoryScale):
            scores = humans.scores[:, :, humans.dimensions.index(dimension.id)]
            if np.nanmin(scores) < dimension.scale.min or np.nanmax(scores) > dimension.scale.max:
                return False
    return True


def number(value: float) -> float | None:
    """A float as JSON has it: null for NaN."""
    return None if math.isnan(value) else round(value, 6)


def _dollars(usd: float | None) -> float | None:
    """Null in JSON where a price is not known, which is not to say that it is nothing."""
    return None if usd is None else round(usd, 6)


def _entry(entry: SystemRank) -> dict[str, Any]:
    return {
        "system": entry.system,
        "composite": number(entry.composite),
        "ci_low": number(entry.ci_low),
        "ci_high": number(entry.ci_high),
        "rank": entry.rank,
        "rank_low": entry.rank_low,
        "rank_high": entry.rank_high,
        "n_prompts": entry.n_prompts,
        "dimensions": {name: number(mean) for name, mean in entry.dimensions.items()},
    }
