"""Systems, ranked by their means over prompts.

Rank intervals: M. Klein, T. Wright & J. Wieczorek (2020), "A joint confidence region for an overall
ranking of populations", from tests of all pairs as in M. Mogstad et al. (2024), "Inference for
ranks with applications to mobility across neighbourhoods and academic achievement across
countries"; the first places: K. Hung and W. Fithian (2019), "Rank verification for exponential
families".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, nan
from typing import NamedTuple

import numpy as np

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Random,
    Reason,
    mean_there,
    means_by_cell,
)
from persona_panel.statistics.core.estimate import LEVEL, OVER, Difference, Estimate
from persona_panel.statistics.core.means import PairedScores, within_judges
from persona_panel.statistics.core.sampled_mean import (
    UNLIMITED,
    JudgeSample,
    Limits,
    SampledMean,
    influence_of,
    sampled_mean,
)
from persona_panel.statistics.core.significance import pairs_adjusted

MOSTLY = 0.5
"""A system of which a greater share of judgments than this are abstentions is not ranked."""


@dataclass(frozen=True, slots=True)
class SystemRank:
    """One system's place.

    Attributes:
        composite: the mean over prompts, with its 95 % interval over prompts, with these judges.
        with_judges: the same with its interval over prompts and judges, if judges are known.
        rank: 1 for the best; ties share the better rank; None without a composite.
        rank_low, rank_high: its 95 % rank interval, simultaneous for all systems: from 1 + the
            number of systems that are significantly better, to the number of systems less those
            that are significantly worse, by the adjusted tests of all pairs. A winner's, whose
            tests are fewer, may reach beyond 1. None where no difference could be tested.
        dimensions: the mean over prompts by dimension, with its 95 % interval over prompts.
        n_abstained, n_judged: how many judgments find that its responses decline to answer, and how
            many do or rate them. Where it `declines` it has no rank and no intervals.
    """

    system: str
    composite: Estimate
    with_judges: Estimate
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    dimensions: dict[str, Estimate]
    n_abstained: int = 0
    n_judged: int = 0

    @property
    def n_prompts(self) -> int:
        """Return how many prompts it has a composite on."""
        return self.composite.n or 0

    @property
    def declines(self) -> bool:
        """Return whether more than half of its judgments are abstentions."""
        return self.n_abstained > MOSTLY * self.n_judged


@dataclass(frozen=True, slots=True)
class SystemDifference(Difference):
    """The difference of two systems over the prompts that both answered, in points of the
    composite, with the p-value of a t-test by prompt, adjusted by Shaffer's procedure over all
    pairs of the leaderboard; `effect_size` is it over the standard deviation of the prompts'
    differences."""

    effect_size: float = nan


@dataclass(frozen=True, slots=True)
class Winner:
    """The system that is shown to be the best; `p`, below `LEVEL`, is the largest of the two-sided,
    unadjusted p-values of its differences from the others."""

    system: str
    p: float


def is_ahead(difference: Difference) -> bool:
    """Return whether side `a` is significantly above, by the unadjusted p-value."""
    # Where means are over other prompts than the difference, it may be below.
    return difference.p < LEVEL and difference.value > 0


def verified_places(systems: Sequence[str], differences: Sequence[Difference]) -> int:
    """Return how many of the first places are verified: each system there is significantly better
    than each below it.

    The tests are two-sided and unadjusted (Hung and Fithian 2019): the two-sided level pays for the
    choice of the leader, and a place is tested only when those before it are verified. So any of
    them is false in at most `LEVEL` of the cases.

    Args:
        systems: best first.
        differences: of every two of them, from either side.
    """
    for place in range(len(systems) - 1):
        below = _from_first(systems[place:], differences)
        if len(below) < len(systems) - 1 - place or not all(map(is_ahead, below)):
            return place
    return max(0, len(systems) - 1)


def decisive_difference(
    systems: Sequence[str], differences: Sequence[Difference]
) -> Difference | None:
    """Return the difference that decides whether the first system is the best: from the system that
    is hardest to tell from it by its unadjusted p-value; None where none is tested. Arguments as of
    `verified_places`."""
    tested = [each for each in _from_first(systems, differences) if not isnan(each.p)]
    if not tested:
        return None
    decisive = max(tested, key=lambda each: each.p if each.value > 0 else 2 - each.p)
    return replace(decisive, p_adjusted=nan)


def winner_among(systems: Sequence[str], differences: Sequence[Difference]) -> Winner | None:
    """Return the system that is verified as the best, if any. Arguments as of `verified_places`."""
    if not verified_places(systems, differences):
        return None
    return Winner(systems[0], max(each.p for each in _from_first(systems, differences)))


def _from_first(systems: Sequence[str], differences: Sequence[Difference]) -> Sequence[Difference]:
    """Return the differences of the first system from the others, from its side."""
    own = (each for each in differences if systems[0] in (each.a, each.b))
    turned = (each if each.a == systems[0] else -each for each in own)
    others = {*systems[1:]}
    return [each for each in turned if each.b in others]


def systems_above(system: str, differences: Iterable[Difference]) -> list[str]:
    """Return the systems that are significantly better than this one by these differences."""
    higher = (each.from_above for each in differences if each.shown)
    return [each.a for each in higher if each.b == system]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Systems, best first, and the differences of every two that have a composite, the better one
    first.

    `random` is what differences and the ranges of ranks take as a sample.
    """

    systems: tuple[SystemRank, ...]
    differences: tuple[SystemDifference, ...]
    random: Random

    @property
    def ranked(self) -> list[str]:
        """Return the systems that have a rank, best first."""
        return [entry.system for entry in self.systems if entry.rank is not None]

    @property
    def winner(self) -> Winner | None:
        """Return the system that is better than every other; None where that is not known."""
        return winner_among(self.ranked, self.differences)


def competition_ranks(values: Array) -> Array:
    """Return the ranks of values `(n,)`, 1 for the largest; ties share the better rank; NaN stays
    NaN. Values equal to nine decimals tie.

    >>> competition_ranks(np.array([7.0, 9.0, np.nan, 7.0]))
    array([ 2.,  1., nan,  2.])
    """
    rounded = -np.round(values, 9)
    # What scipy.stats.rankdata does, without the second that every command would wait for it.
    ranks = np.searchsorted(np.sort(rounded), rounded) + 1.0
    return np.where(np.isnan(values), np.nan, ranks)


def rank_systems(
    systems: Sequence[str],
    prompts: Sequence[str],
    composites: Array,
    dimensions: Array,
    names: Sequence[str],
    *,
    judges: JudgeSample | None = None,
    random: Random = "prompts",
    limits: Limits = UNLIMITED,
    dimension_limits: Sequence[Limits] | None = None,
    abstentions: IntArray | None = None,
    compared: bool = True,
) -> Leaderboard:
    """Return the leaderboard: each system's mean over prompts, best first.

    Args:
        composites: `(n,)`, NaN where undefined.
        dimensions: `(n, d)`, each response's mean by dimension, NaN where undefined.
        names: the d dimensions.
        judges: who judged, for intervals that take judges as a sample, and for ranks and
            differences where not all judges rated all systems; None: the composites alone.
        random: what differences and ranges of ranks take as a sample.
        limits, dimension_limits: between which a composite lies, and the values of each dimension.
        abstentions: `(n, 2)`, how many judges found that a response declines to answer, and how
            many did or rated it; None: nobody did.
        compared: whether differences are tested; without, there are no ranges of ranks either.

    A system of which more than half of the judgments are abstentions is not ranked, has no interval
    and is compared with no other. A prompt counts once for a system. Intervals are Student's;
    differences are tested prompt by prompt, adjusted by Shaffer's procedure over all pairs. On
    prompts where not all judges rated all systems, ranks and differences are those of
    `within_judges`, so that no judge moves them by severity alone; means are of all ratings.

    >>> board = rank_systems(
    ...     ["a", "b"], ["p", "p"], np.array([3.0, 4.0]), np.empty((2, 0)), []
    ... )
    >>> [(entry.system, entry.rank) for entry in board.systems]
    [('b', 1), ('a', 2)]
    """
    cells = Cells.of(systems, prompts)
    table, influence = cells.means(composites), None
    if judges is not None:
        moved = influence_of(judges.terms)
        influence = cells.means(np.where(np.isnan(composites)[:, None], np.nan, moved))
    counts = cells.abstentions(abstentions)
    declining = is_declining(counts)
    factors = None if judges is None or random == "prompts" else judges.factors
    paired = PairedScores(table, None if factors is None else influence)
    ranks, differences = _ranks_and_differences(
        cells, paired, judges, declining, random, limits, factors, compared
    )
    ranges = _rank_ranges(differences, ranks)
    within = dimension_limits or [UNLIMITED] * len(names)
    tables = [cells.means(dimensions[:, d]) for d in range(len(names))]

    def mean_of(values: Array, within: Limits, i: int) -> SampledMean:
        mean = sampled_mean(values[:, i], limits=within)
        if declining[i]:
            return SampledMean(mean.mean, (), mean.n_prompts, Reason.DECLINES)
        return mean

    def with_judges(mean: SampledMean, i: int) -> SampledMean:
        if mean.reason is Reason.DECLINES:
            return mean
        if influence is None or judges is None:
            return SampledMean(mean.mean, (), mean.n_prompts)
        return sampled_mean(table[:, i], influence[:, i], judges.factors, limits)

    board = []
    for i, system in enumerate(cells.systems):
        low, high = ranges.get(system, (None, None))
        mean = mean_of(table, limits, i)
        board.append(
            SystemRank(
                system,
                mean.untested(limits),
                with_judges(mean, i).untested(limits, "prompts-and-judges"),
                ranks.get(system),
                low,
                high,
                {
                    name: mean_of(of_dimension, ends, i).untested(ends)
                    for name, of_dimension, ends in zip(names, tables, within, strict=True)
                },
                *counts[i].tolist(),
            )
        )
    board.sort(key=lambda entry: (entry.rank is None, entry.rank, entry.system))
    return Leaderboard(tuple(board), tuple(differences), random)


class Cells(NamedTuple):
    """The cell of each response in a table of prompts by systems."""

    systems: Sequence[str]
    n_prompts: int
    row: IntArray
    column: IntArray

    @classmethod
    def of(cls, systems: Sequence[str], prompts: Sequence[str]) -> Cells:
        of_system = {system: i for i, system in enumerate(dict.fromkeys(systems))}
        of_prompt = {prompt: i for i, prompt in enumerate(sorted(set(prompts)))}
        return cls(
            [*of_system],
            len(of_prompt),
            np.array([of_prompt[prompt] for prompt in prompts], dtype=np.intp),
            np.array([of_system[system] for system in systems], dtype=np.intp),
        )

    def means(self, values: Array) -> Array:
        """Return the mean of values `(n, …)` in each cell `(prompts, systems, …)`."""
        return means_by_cell(values, self.row, self.column, (self.n_prompts, len(self.systems)))

    def share_a_prompt(self, a: int, b: int) -> bool:
        """Return whether two systems answered a prompt in common."""
        return bool(np.isin(self.row[self.column == a], self.row[self.column == b]).any())

    def abstentions(self, counts: IntArray | None) -> IntArray:
        """Return the sums by system `(systems, 2)` of counts of abstentions."""
        sums = np.zeros((len(self.systems), 2), dtype=np.intp)
        if counts is not None:
            np.add.at(sums, self.column, counts)
        return sums


def is_declining(counts: IntArray) -> Mask:
    """Return of which systems most judgments are abstentions, from `Cells.abstentions`."""
    declining: Mask = counts[:, 0] > MOSTLY * counts[:, 1]
    return declining


def _ranks_and_differences(
    cells: Cells,
    paired: PairedScores,
    judges: JudgeSample | None,
    declining: Mask,
    random: Random,
    limits: Limits,
    factors: Mapping[str, Labels] | None,
    compared: bool,
) -> tuple[dict[str, int], list[SystemDifference]]:
    """Return the ranks of systems that have one, best first, and their adjusted differences; those
    `declining` have none."""
    if judges is not None and np.isnan(judges.terms).any():
        shares = cells.means(np.isfinite(judges.terms).astype(np.float64))
        paired = within_judges(paired, cells.means(judges.terms), shares)
    ranks = competition_ranks(np.where(declining, nan, mean_there(paired.scores, 0)))
    names = cells.systems
    order = sorted(np.flatnonzero(~np.isnan(ranks)).tolist(), key=lambda i: (ranks[i], names[i]))
    width = limits[1] - limits[0]
    differences = pairs_adjusted(
        [
            mean.as_a(
                SystemDifference, cut=(-width, width), over=OVER[random], a=names[a], b=names[b],
                effect_size=nan if mean.reason or not sd else mean.mean / sd,
            )
            for a, b, mean, sd in _pair_means(paired, order if compared else [], cells, factors)
        ]
    )  # fmt: skip
    return {names[i]: int(ranks[i]) for i in order}, differences


def _pair_means(
    paired: PairedScores, order: Sequence[int], cells: Cells, factors: Mapping[str, Labels] | None
) -> Iterator[tuple[int, int, SampledMean, float]]:
    """Yield each two systems of `order`, the mean of their differences by prompt, and its standard
    deviation."""
    influence = None if factors is None else paired.influence
    for a, b in combinations(order, 2):
        common = paired.scores[:, a] - paired.scores[:, b]
        rows = common if paired.apart is None else np.where(paired.apart[:, a, b], nan, common)
        moved = None if influence is None else influence[:, a] - influence[:, b]
        mean, there = sampled_mean(rows, moved, factors), rows[~np.isnan(rows)]
        if not len(there) and cells.share_a_prompt(a, b):
            shared = np.isnan(common).all()
            why = Reason.NO_SHARED_RATINGS if shared else Reason.NO_SHARED_JUDGES
            mean = replace(mean, reason=why)
        yield a, b, mean, float(there.std(ddof=1)) if len(there) > 1 else nan


def _rank_ranges(
    differences: Sequence[SystemDifference], ranks: dict[str, int]
) -> dict[str, tuple[int, int]]:
    ahead, behind, tested = dict.fromkeys(ranks, 0), dict.fromkeys(ranks, 0), set()
    for pair in differences:
        if pair.reason is None:
            tested |= {pair.a, pair.b}
        if pair.shown:
            above = pair.from_above
            behind[above.a] += 1
            ahead[above.b] += 1
    n = len(ranks)
    # With gaps, means over other prompts may order two systems the other way.
    return {
        name: (min(rank, 1 + ahead[name]), max(rank, n - behind[name]))
        for name, rank in ranks.items()
        if name in tested
    }
