"""Judges who did not read all: how often severity alone, or what is missing, makes a claim.

Four systems are read by judges whose severities differ by as much as prompts do (SD 1). Counted are
the runs with a false claim: a system is named that is not the best, a pair is said to differ that
does not. `unpaired` is the same tests of each response's mean over whoever read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.independent import Row
from benchmarks.independent.winner import board_of, claims_of, lead, tied
from persona_panel.statistics.core.sampled_mean import JudgeSample
from persona_panel.statistics.missing import missing_ratings

Ratings = NDArray[np.float64]
"""`(prompts, systems, judges)`, NaN where a judge gave none."""
Reads = Callable[[np.random.Generator, Ratings], NDArray[np.bool_]]
"""Which of the ratings there are."""


def complete(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    return np.ones(ratings.shape, dtype=bool)


def some_systems(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Each judge reads half of the systems, drawn once; each system has a judge."""
    _, systems, judges = ratings.shape
    reads = np.argsort(rng.random((systems, judges)), axis=0) < systems // 2
    reads[np.arange(systems), rng.integers(judges, size=systems)] = True
    return np.broadcast_to(reads, ratings.shape)


def some_anew(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Each judge reads half of the systems, drawn anew for each prompt."""
    return np.argsort(rng.random(ratings.shape), axis=1) < ratings.shape[1] // 2


def rotated(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Each judge reads half of the systems, those after the ones of the judge before."""
    prompts, systems, judges = (np.arange(n) for n in ratings.shape)
    place = systems[None, :, None] - judges[None, None, :] - prompts[:, None, None]
    return place % ratings.shape[1] < ratings.shape[1] // 2


def one_lacks(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """The first judge rates nothing of the last system."""
    reads = np.ones(ratings.shape, dtype=bool)
    reads[:, -1, 0] = False
    return reads


def two_lack(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """A judge rates nothing of the first system, another nothing of the second."""
    reads = np.ones(ratings.shape, dtype=bool)
    reads[:, 0, 0] = reads[:, 1, 1] = False
    return reads


def at_random(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """A fifth of the ratings is missing."""
    return rng.random(ratings.shape) > 0.2


def one_side(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Of the first system the lower ratings are missing: half of those below the average."""
    below = ratings < ratings.mean(axis=(0, 1))
    below[:, 1:] = False
    return ~below | (rng.random(ratings.shape) > 0.5)


def weak_texts(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Judges abstain the more often the weaker they find a text, whosever it is."""
    away = ratings - ratings.mean(axis=(0, 1))
    return rng.random(ratings.shape) > 1 / (1 + np.exp(1.5 + 1.5 * away))


PLANNED = (some_systems, some_anew, rotated, one_lacks, two_lack, at_random)


@dataclass(frozen=True)
class Panel:
    """Systems with these means, read by judges; `ordinal`: cut into whole numbers 1 to 10."""

    means: tuple[float, ...]
    prompts: int
    judges: int
    reads: Reads
    ordinal: bool = False

    def drawn(self, rng: np.random.Generator) -> Ratings:
        """Draw ratings; NaN where there is none."""
        shape = self.prompts, len(self.means), self.judges
        texts = np.array(self.means) + 0.6 * rng.normal(size=shape[:2])
        texts += rng.normal(size=(self.prompts, 1))
        ratings = texts[:, :, None] + rng.normal(size=self.judges) + 0.7 * rng.normal(size=shape)
        if self.ordinal:
            ratings = np.clip(np.round(1.5 * ratings + 5.5), 1, 10)
        return np.where(self.reads(rng, ratings), ratings, np.nan)


def means_of(ratings: Ratings) -> Ratings:
    """Return the means over whoever read; NaN where nobody did."""
    with np.errstate(invalid="ignore"):
        total: Ratings = np.nansum(ratings, axis=2) / (~np.isnan(ratings)).sum(axis=2)
    return total


def shares(panel: Panel, runs: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """The share of runs in which each claim is made as it is true, and falsely."""
    rng = np.random.default_rng([seed, panel.prompts, panel.judges, len(panel.reads.__name__)])
    means, total = np.array(panel.means), dict[str, np.ndarray]()
    for _ in range(runs):
        ratings = panel.drawn(rng)
        scores = means_of(ratings)
        terms = ratings.reshape(-1, panel.judges)[:, :, None]
        sides = {"": JudgeSample(terms, {}), "unpaired ": None}
        for name, judges in sides.items():
            claims = claims_of(board_of(scores, judges), means)
            for claim in ("named", "pairs"):
                own = total.setdefault(name + claim, np.zeros(2))
                own += claims[claim]
    return {name: tuple(sums / runs) for name, sums in total.items()}


SIZES = ((3, 3), (5, 3), (12, 3), (12, 6), (30, 6))
"""Numbers of prompts and judges."""


def rows(runs: int) -> Iterator[Row]:
    """Yield the false claims by design, with those of means over whoever read in its own line, and
    the power; the best valid test is that of all ratings, where none is missing."""
    whole = [shares(Panel(lead(4, 0.8), *size, complete), runs)["pairs"][0] for size in SIZES]
    unpaired: tuple[float, ...] = ()
    for reads in PLANNED:
        false = [shares(Panel(tied(4), *size, reads), runs) for size in SIZES]
        true = [shares(Panel(lead(4, 0.8), *size, reads), runs)["pairs"][0] for size in SIZES]
        errors, where = tuple(own["pairs"][1] for own in false), reads.__name__.replace("_", " ")
        yield Row("two systems differ", where, errors, runs, tuple(zip(true, whole, strict=True)))
        unpaired += tuple(own["unpaired pairs"][1] for own in false)
    yield Row("the same, unpaired", "all of these", unpaired, runs)


def missing_rows(runs: int) -> Iterator[Row]:
    """Yield how often what is missing is said to depend on something when it does not, and when it
    does, beside Friedman's test; and how often a difference that is not there is said to hold."""
    depends = [missing(Panel((0,) * 4, *size, one_side, True), runs) for size in SIZES]
    weak = [missing(Panel((0,) * 4, *size, weak_texts, True), runs) for size in SIZES]
    chance = [missing(Panel((0,) * 4, *size, at_random, True), runs) for size in SIZES]
    for place, (what, where) in enumerate(
        (("missing by system", depends), ("missing by score", weak))
    ):
        powers = tuple((own[place], own[3] if place == 0 else np.nan) for own in where)
        yield Row(what, "missing at random", tuple(own[place] for own in chance), runs, powers)
    holds = tuple(own[2] for own in (*depends, *weak, *chance))
    yield Row("holds however the missing were", "equal systems, (not) at random", holds, runs)


ALIKE = ((0, 0, 1, 2, 3), (0, 0, 0, 1, 2), (0, 0, 1, 1, 2, 2), (*range(5), *range(5)),
         (0, 0, 0, 0, 0, 1, 2, 3, 4, 5))  # fmt: skip
"""Of which of several kinds each judge is: those of a kind have its severity and favours."""


def alike(kinds: Sequence[int], prompts: int, shared: float, runs: int) -> NDArray[np.float64]:
    """Return in which share of runs intervals over prompts and judges hold a system's mean, and a
    difference. `shared`: the share of the variance of noise that is the kind's."""
    rng, total = np.random.default_rng([prompts, len(kinds), len(set(kinds))]), np.zeros(2)
    of, n = list(kinds), len(set(kinds))
    names = {"judge": [f"j{place}" for place in range(len(of))]}
    over: dict[str, Any] = {"random": "prompts-and-judges", "limits": (1, 10)}
    for _ in range(runs):
        shape = prompts, 4
        texts = rng.normal(size=(prompts, 1)) + 0.6 * rng.normal(size=shape)
        own = 0.7 * rng.normal(size=n) + 0.4 * rng.normal(size=(4, n))
        width, spread = (np.exp(0.35 * rng.normal(size=n)) for _ in range(2))
        noise = np.sqrt(shared) * rng.normal(size=(*shape, n))[..., of]
        noise += np.sqrt(1 - shared) * rng.normal(size=(*shape, len(of)))
        read = width[of] * texts[:, :, None] + own[:, of] + 0.8 * (width * spread)[of] * noise
        ratings = np.clip(np.round(1.4 * read + 5.5), 1, 10)
        terms = ratings.reshape(-1, len(of))
        board = board_of(means_of(ratings), JudgeSample(terms[:, :, None], names), **over)
        [first] = [each for each in board.systems if each.system == "s00"]
        [pair] = [each for each in board.differences if {each.a, each.b} == {"s00", "s01"}]
        total += first.with_judges.low <= 5.5 <= first.with_judges.high, pair.low <= 0 <= pair.high
    return total / runs


def alike_rows(runs: int) -> Iterator[Row]:
    """Yield the coverage where judges are a sample and some rate alike."""
    sizes = 5, 12, 30
    found = [alike(kinds, n, share, runs) for kinds in ALIKE for n in sizes for share in (0.9, 1.0)]
    held = tuple(share for own in found for share in own)
    yield Row("over prompts and judges", "judges rate alike", held, runs)


def missing(panel: Panel, runs: int) -> NDArray[np.float64]:
    """Return in which share of runs ratings are shown to be missing by system and by score, at 5 %,
    in which the difference of the first two systems is said to hold, and in which they are missing
    by system according to Friedman's test."""
    rng, total = np.random.default_rng([panel.prompts, panel.judges]), np.zeros(4)
    systems = [f"s{i:02}" for i in range(len(panel.means))] * panel.prompts
    prompts = [f"p{i:04}" for i in range(panel.prompts) for _ in panel.means]
    for _ in range(runs):
        ratings = panel.drawn(rng)
        terms = ratings.reshape(-1, panel.judges)[:, :, None]
        board = board_of(means_of(ratings), JudgeSample(terms, {}))
        pairs = [each for each in board.differences if {each.a, each.b} == {"s00", "s01"}]
        found = missing_ratings(terms, systems, prompts, pairs, (1, 10))
        if found is not None:
            holds = any(each.holds for each in found.bounds)
            friedman = stats.friedmanchisquare(*np.isnan(ratings).sum(axis=2).T).pvalue
            total += (found.p_system < 0.05, found.p_scores < 0.05, holds, friedman < 0.05)
    return total / runs
