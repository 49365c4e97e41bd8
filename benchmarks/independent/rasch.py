"""The many-facet Rasch model: recovery of its parameters, coverage, false winners and power.

Ratings 1 to 5 are drawn from the model, with the severity of judges (SD 1), the difficulty of
prompts (SD 1) and, in part, a deviation of each response (SD 0.6), which the model knows nothing of
and which draws its locations together: the difference that an interval is to hold is then that of
many prompts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.independent import Row
from benchmarks.independent.judges import Reads, complete, means_of, rotated, some_anew
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.rasch import ManyFacetRasch, many_facet_rasch

THRESHOLDS = (-2.0, -0.7, 0.5, 1.8)


@dataclass(frozen=True)
class Study:
    """Systems at these locations in logits, read by judges; `deviation`: the SD of responses."""

    locations: tuple[float, ...]
    prompts: int
    judges: int
    reads: Reads = complete
    deviation: float = 0.6

    def drawn(self, rng: np.random.Generator, judges: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draw ratings `(prompts, systems, judges)` by judges of these severities."""
        shape = self.prompts, len(self.locations), self.judges
        texts = np.array(self.locations) + self.deviation * rng.normal(size=shape[:2])
        texts += rng.normal(size=(self.prompts, 1))
        texts = texts[:, :, None] - judges
        above = np.cumsum(texts[..., None] - np.array(THRESHOLDS), axis=-1)
        odds = np.concatenate([np.ones((*shape, 1)), np.exp(above)], axis=-1)
        shares = np.cumsum(odds / odds.sum(axis=-1, keepdims=True), axis=-1)
        ratings = 1.0 + (rng.random((*shape, 1)) > shares).sum(axis=-1)
        return np.where(self.reads(rng, ratings), ratings, np.nan)


def fitted(ratings: NDArray[np.float64]) -> ManyFacetRasch:
    """Fit the model to ratings `(prompts, systems, judges)`."""
    prompts, systems, judges = ratings.shape
    cells = [(p, s) for p in range(prompts) for s in range(systems)]
    names = tuple(f"j{n}" for n in range(judges))
    return many_facet_rasch(
        Ratings(
            ratings.reshape(-1, judges, 1), tuple(f"{p}/{s}" for p, s in cells), names, ("all",),
            names, tuple(f"p{p}" for p, _ in cells), tuple(f"s{s}" for _, s in cells),
        )
    )  # fmt: skip


@cache
def differences(study: Study) -> tuple[float, ...]:
    """Return how far the first system is above each other one, on many prompts."""
    if not study.deviation:
        return tuple(study.locations[0] - each for each in study.locations[1:])
    many = Study(study.locations, 300, study.judges, complete, study.deviation)
    rng, total = np.random.default_rng(7), np.zeros(len(study.locations))
    for _ in range(6):
        found = fitted(many.drawn(rng, rng.normal(size=study.judges)))
        values = {each.name: each.measure.value for each in found.measured.elements}
        total += [values[f"s{n}"] for n in range(len(total))]
    return tuple((total[0] - total[1:]) / 6)


class Counts(NamedTuple):
    """Shares of tables: intervals that hold the difference of the first system from another, and
    the severity of a judge (NaN where responses deviate); a right and a false winner, and the right
    one by paired t-tests of plain means; and the mean error of the differences, in logits."""

    systems: float
    judges: float
    named: float
    false: float
    by_t: float
    bias: float


def counted(study: Study, tables: int, seed: int = 0) -> Counts:
    """Return what is counted in so many tables."""
    rng = np.random.default_rng([seed, study.prompts, study.judges, len(study.locations)])
    truth, claims, errors = np.array(differences(study)), np.zeros(3), []
    covered: dict[str, list[bool]] = {"systems": [], "judges": []}
    lead = study.locations[0] > max(study.locations[1:])
    for _ in range(tables):
        severities = rng.normal(size=study.judges)
        ratings = study.drawn(rng, severities)
        found = fitted(ratings)
        for each in found.differences:
            if "s0" in (each.a, each.b):
                own = each if each.a == "s0" else -each
                value = truth[int(own.b[1:]) - 1]
                covered["systems"].append(own.low <= value <= own.high)
                errors.append(own.value - value)
        for judge in found.facets["judge"].elements if not study.deviation else ():
            severity = severities[int(judge.name[1:])] - severities.mean()
            covered["judges"].append(judge.measure.low <= severity <= judge.measure.high)
        named = "" if found.winner is None else found.winner.system
        means = means_of(ratings)
        first = int(np.nanargmax(np.nanmean(means, axis=0)))
        gaps = means[:, [first]] - np.delete(means, first, axis=1)
        p = np.max(stats.ttest_1samp(gaps, 0, nan_policy="omit").pvalue)
        right = lead and named == "s0"
        claims += right, bool(named) and not right, lead and first == 0 and p < 0.05
    shares = [np.mean(own) if own else np.nan for own in covered.values()]
    return Counts(*map(float, (*shares, *claims / tables, np.mean(errors))))


LEAD = (0.8, 0.0, 0.0, 0.0)
SIZES = ((12, 3), (24, 6))


def rows(tables: int) -> Iterator[Row]:
    """Yield the coverage of intervals, and how often a system is falsely and rightly the best."""
    for reads in (complete, rotated, some_anew):
        where = reads.__name__.replace("_", " ")
        exact, led = (
            [counted(Study(LEAD, *size, reads, deviation), tables) for size in SIZES]
            for deviation in (0.0, 0.6)
        )
        tied = [counted(Study((0.0, 0.0, -3.0, -3.0), *size, reads), tables) for size in SIZES]
        held = tuple(own.systems for own in (*exact, *led))
        yield Row("Rasch: difference of systems", where, held, tables)
        yield Row("Rasch: severity of a judge", where, tuple(own.judges for own in exact), tables)
        powers = tuple((own.named, own.by_t) for own in led)
        yield Row("Rasch: the best", where, tuple(own.false for own in tied), tables, powers)
