"""Systems ranked in every combination of reasonable choices: a multiverse of analyses.

The choices are how a response's ratings become a score, what is left out, and which dimension
counts. Sources: U. Simonsohn, J. P. Simmons & L. D. Nelson (2020), "Specification curve analysis";
S. Steegen, F. Tuerlinckx, A. Gelman & W. Vanpaemel (2016), "Increasing transparency through a
multiverse analysis".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import isnan, nan, sqrt
from typing import NamedTuple

import numpy as np

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    divide,
    encode_labels,
    mean_there,
    means_by,
    variance_there,
)
from persona_panel.statistics.core.correlation import correlations, ranks_within
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.means import PairedScores, critical_t
from persona_panel.statistics.core.ranking import (
    Cells,
    competition_ranks,
    decisive_difference,
    is_declining,
    ranks_and_differences,
    winner_among,
)
from persona_panel.statistics.core.sampled_mean import JudgeSample
from persona_panel.statistics.human_raters import mean_of_others

MEAN, MEDIAN, TRIMMED, RANKS, Z_SCORES = "mean", "median", "trimmed mean", "ranks", "z-scores"
AGGREGATIONS: Mapping[str, int] = {MEAN: 1, MEDIAN: 3, TRIMMED: 5, RANKS: 1, Z_SCORES: 1}
"""The ways from judges' ratings of a response to its score, with the number of judges from which on
each differs from another: ranks are by judge within the prompt, z-scores by judge over all
responses, both averaged over judges."""
MOST = 400
"""The largest number of combinations while more than one choice is changed at a time."""
_TRIMMED = 0.2
"""The share of judges that the trimmed mean leaves out at either end."""
LEAST_SPREAD = 0.25
"""A judge whose standard deviation is a smaller share than this of the median judge's has no
z-scores: each of his points would weigh four times as much as that judge's."""


@dataclass(frozen=True, slots=True, eq=False)
class Exclusion:
    """A choice of what is left out.

    Attributes:
        name: what it is called; empty of nothing.
        judges, responses: which are kept; None: all.
    """

    name: str = ""
    judges: Mask | None = None
    responses: Mask | None = None


class ComparedSystems(NamedTuple):
    """A value for each system, the higher the better, and the differences of every two; of which
    dimension and how many prompts, where these are not those of the main analysis."""

    values: Mapping[str, float]
    differences: Sequence[Difference]
    dimension: str = ""
    n_prompts: int | None = None


class Choices(NamedTuple):
    """The choices of an analysis: how ratings are aggregated, what is left out (empty: nothing),
    and the dimension."""

    aggregation: str
    without: str
    dimension: str


@dataclass(frozen=True, slots=True)
class Specification:
    """An analysis of the multiverse.

    Attributes:
        choices: its choices; `changed` are those that are not the main analysis'.
        ranks: of the systems that have a rank, best first; ties share the better rank.
        differences: of every two of them.
        lead: of the system that leads the main analysis, over the one from which it is the hardest
            to tell: the mean over prompts of the difference, by its standard deviation over prompts
            (Cohen's d of paired values), with the 95 % interval of the difference by the same and
            the unadjusted p-value that decides; NaN with the reason where nothing is tested.
        n_judges, n_prompts: of how many it is.
    """

    choices: Choices
    changed: frozenset[tuple[str, str]]
    ranks: Mapping[str, int]
    differences: Sequence[Difference]
    lead: Difference
    n_judges: int
    n_prompts: int

    @property
    def first(self) -> str:
        """Return the system that is ahead of all others; empty where there is none."""
        leading = [system for system, rank in self.ranks.items() if rank == 1]
        return leading[0] if len(leading) == 1 else ""

    @property
    def winner(self) -> str:
        """Return the system that is significantly ahead; empty where none is."""
        winner = winner_among([*self.ranks], self.differences)
        return "" if winner is None else winner.system


@dataclass(frozen=True, slots=True)
class Multiverse:
    """Every analysis in which the leader of the main one is compared with another system.

    Attributes:
        leader: the system that is first in the main analysis.
        analyses: the main one first.
        n_undefined: how many others compare it with none.
    """

    leader: str
    analyses: tuple[Specification, ...]
    n_undefined: int

    @property
    def main(self) -> Specification:
        """Return the main analysis."""
        return self.analyses[0]

    def least_changes(self, holds: Callable[[Specification], bool]) -> list[Specification]:
        """Return the analyses for which this holds, the fewest changed choices first, without those
        that change more than another of them does."""
        least: list[Specification] = []
        for each in sorted(filter(holds, self.analyses), key=lambda each: len(each.changed)):
            if not any(other.changed <= each.changed for other in least):
                least.append(each)
        return least


def multiverse(
    terms: Mapping[str, Array],
    systems: Sequence[str],
    prompts: Labels,
    exclusions: Sequence[Exclusion] = (),
    *,
    abstentions: IntArray | None = None,
    models: Mapping[str, ComparedSystems] | None = None,
) -> Multiverse | None:
    """Return the analyses of all combinations of choices.

    How to read it: where the leader is ahead in all of them, no choice decides that. The analyses
    are of the same ratings: their share is no probability, and they have no p-value together.

    Args:
        terms: by dimension, the main one first, what of each judge a response's score is the mean
            of `(responses, judges, terms)`, NaN where missing; see `JudgeSample`.
        exclusions: what is left out in turn. Of several that leave the same, and of those that
            leave nothing out or nothing over, the first and none are taken.
        abstentions: as of `rank_systems`; a system that declines is ranked nowhere.
        models: by the name of the aggregation, what takes the place of the main analysis, with
            nothing else changed.

    Returns:
        None where the main analysis ranks fewer than two systems.

    >>> both = np.array([[5.0, 5, 1], [4, 4, 9], [6, 5, 1], [4, 5, 9]])[:, :, None]
    >>> found = multiverse({"quality": both}, [*"abab"], "ppqq")
    >>> [(each.choices.aggregation, each.first) for each in found.analyses]
    [('mean', 'b'), ('median', 'a'), ('ranks', 'a'), ('z-scores', 'a')]
    """
    of_prompt = encode_labels(prompts, len(systems))[1]
    prompt_of = np.array([f"{code:09d}" for code in of_prompt])
    system_of = np.array(systems, dtype=object)
    shape = next(iter(terms.values())).shape
    kept = _kept(exclusions, shape[0], shape[1])

    @cache
    def transformed(aggregation: str, dimension: str) -> Array:
        of = terms[dimension]
        if aggregation == RANKS:
            return ranks_by_judge(of, of_prompt)
        return z_scores_by_judge(of) if aggregation == Z_SCORES else of

    @cache
    def cells_of(without: str) -> tuple[Cells, Mask]:
        rows, _ = kept[without]
        cells = Cells.of(system_of[rows].tolist(), prompt_of[rows].tolist())
        counts = None if abstentions is None else abstentions[rows]
        return cells, is_declining(cells.abstentions(counts))

    def compared(choices: Choices) -> tuple[Mapping[str, int], Sequence[Difference]]:
        rows, judges = kept[choices.without]
        cells, declining = cells_of(choices.without)
        of = transformed(choices.aggregation, choices.dimension)[np.ix_(rows, judges)]
        sample = None
        if choices.aggregation in (MEDIAN, TRIMMED):
            scores = _aggregated(choices.aggregation, of, of_prompt[rows])
        else:
            scores = mean_there(of, 1).mean(axis=1)
            sample = JudgeSample(of, {}) if np.isnan(of).any() else None
        return ranks_and_differences(cells, PairedScores(cells.means(scores)), sample, declining)

    combinations = _combinations([*terms], {name: len(own[1]) for name, own in kept.items()})
    main, models = combinations[0], models or {}
    analyses: list[Specification] = []
    n_undefined, leader = 0, ""
    further = [
        main._replace(aggregation=name, dimension=model.dimension or main.dimension)
        for name, model in models.items()
    ]
    for choices in (*combinations, *further):
        if (model := models.get(choices.aggregation)) is None:
            ranks, differences = compared(choices)
        else:
            ranks, differences = _ranks(model.values), model.differences
        if not analyses:
            if len(ranks) < 2:
                return None
            leader = next(iter(ranks))
        if leader not in ranks or len(ranks) < 2:
            n_undefined += 1
            continue
        n_prompts = (model and model.n_prompts) or cells_of(choices.without)[0].n_prompts
        analyses.append(
            Specification(
                choices, _changed(choices, main), ranks, differences,
                _lead([*ranks], differences, leader), len(kept[choices.without][1]), n_prompts,
            )
        )  # fmt: skip
    return Multiverse(leader, tuple(analyses), n_undefined)


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Return the ranks of values, best first."""
    ranks = dict(zip(values, competition_ranks(np.array([*values.values()])), strict=True))
    return {name: int(ranks[name]) for name in sorted(ranks, key=lambda of: ranks[of])}


def ranks_by_judge(terms: Array, prompts: IntArray) -> Array:
    """Return which share of the prompt's other responses each judge puts below each, ties counting
    half, `(responses, judges, terms)`: ranks from 0 (last) to 1. NaN where a judge has not rated,
    or no other response to the prompt."""
    columns = terms.reshape(len(terms), -1)
    others = means_by(~np.isnan(columns), prompts) * np.bincount(prompts)[:, None] - 1
    below = ranks_within(columns, prompts.tolist()).ranks - 1
    return divide(below, others.round()[prompts]).reshape(terms.shape)


def z_scores_by_judge(terms: Array) -> Array:
    """Return each judge's ratings less his mean, by his standard deviation (n − 1), `(responses,
    judges, terms)`; NaN of a judge who rates (nearly) all alike, see `LEAST_SPREAD`."""
    spread, varies = _spread(terms)
    scores: Array = (terms - mean_there(terms, 0)) / np.where(varies, spread, nan)
    return scores


def nearly_constant(terms: Array) -> Mask:
    """Return which judges `(judges,)` have no z-scores of some of their terms."""
    spread, varies = _spread(terms)
    return np.asarray((~varies & ~np.isnan(spread)).any(axis=1))


def _spread(terms: Array) -> tuple[Array, Mask]:
    """Return each judge's standard deviation `(judges, terms)`, NaN of fewer than two ratings, and
    whether it is enough."""
    spread = np.sqrt(variance_there(terms, 0))
    # Of a judge without any, the rounding of his mean is no spread.
    any_ = spread > 1e-9
    medians = [
        float(np.median(own[of])) if of.any() else nan
        for own, of in zip(spread.T, any_.T, strict=True)
    ]
    return spread, any_ & (spread >= LEAST_SPREAD * np.array(medians))


def least_correlated(scores: Array) -> int | None:
    """Return the place of the judge whose scores `(responses, judges)` correlate least with the
    mean of the others' (Pearson's r); None of fewer than three judges, or where none is defined."""
    if scores.shape[1] < 3:
        return None
    own = correlations(scores, mean_of_others(scores), "pearson")
    return None if np.isnan(own).all() else int(np.nanargmin(own))


def _aggregated(aggregation: str, terms: Array, prompts: IntArray) -> Array:
    """Return each response's score `(responses,)`, the mean over terms, by the judges who rated all
    responses to the prompt that any judge rated: no judge's severity moves a difference."""
    missing = np.isnan(terms) & ~np.isnan(terms).all(axis=1, keepdims=True)
    if missing.any():
        lacking = means_by(missing.astype(np.float64), prompts)[prompts] > 0
        terms = np.where(lacking, nan, terms)
    ordered = np.sort(terms, axis=1)
    n = (~np.isnan(terms)).sum(axis=1, keepdims=True)
    cut = (n - 1) // 2 if aggregation == MEDIAN else np.floor(_TRIMMED * n)
    place = np.arange(terms.shape[1])[None, :, None]
    kept = np.where((place >= cut) & (place < n - cut), ordered, nan)
    return mean_there(kept, 1).mean(axis=1)


def _kept(
    exclusions: Sequence[Exclusion], n_responses: int, n_judges: int
) -> dict[str, tuple[IntArray, IntArray]]:
    """Return the responses and judges that each choice keeps, first that which leaves nothing out;
    of those that keep the same the first, and none that keeps nothing."""
    distinct: dict[tuple[bytes, bytes], tuple[str, tuple[IntArray, IntArray]]] = {}
    for each in (Exclusion(), *exclusions):
        rows, judges = (
            np.arange(n) if mask is None else np.flatnonzero(mask)
            for mask, n in ((each.responses, n_responses), (each.judges, n_judges))
        )
        if len(rows) and len(judges):
            distinct.setdefault((rows.tobytes(), judges.tobytes()), (each.name, (rows, judges)))
    return dict(distinct.values())


def _combinations(dimensions: Sequence[str], n_judges: Mapping[str, int]) -> list[Choices]:
    """Return the combinations, the main one first, by how many judges each exclusion leaves: of all
    choices or, where these are more than `MOST`, of as many at a time as are not."""
    of = [
        Choices(aggregation, without, dimension)
        for dimension, without, aggregation in product(dimensions, n_judges, AGGREGATIONS)
        if n_judges[without] >= AGGREGATIONS[aggregation]
    ]
    kept = of
    for most in (3, 2, 1):
        kept = [choices for choices in of if len(_changed(choices, of[0])) <= most]
        if len(kept) <= MOST:
            break
    return kept


def _changed(choices: Choices, main: Choices) -> frozenset[tuple[str, str]]:
    each = zip(Choices._fields, choices, main, strict=True)
    return frozenset((name, own) for name, own, of_main in each if own != of_main)


def _lead(systems: Sequence[str], differences: Sequence[Difference], leader: str) -> Difference:
    decisive = decisive_difference(
        [leader, *(name for name in systems if name != leader)], differences
    )
    if decisive is None or not decisive.n or not decisive.has_interval:
        reasons = (str(each.reason) for each in differences if leader in (each.a, each.b))
        return Difference(nan, reason=next(reasons, str(Reason.FEW_SYSTEMS)), a=leader)
    df = decisive.n - 1.0 if isnan(decisive.df) else decisive.df
    reach = max(decisive.high - decisive.value, decisive.value - decisive.low)
    sd = reach / critical_t(df) * sqrt(decisive.n)
    return Difference(
        decisive.value / sd, decisive.low / sd, decisive.high / sd, over="prompts", n=decisive.n,
        p=decisive.p, a=leader, b=decisive.b,
    )  # fmt: skip
