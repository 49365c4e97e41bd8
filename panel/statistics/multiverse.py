"""Systems ranked in every combination of reasonable choices: a multiverse of analyses.

The choices are how a response's ratings become a score, what is left out, and which dimension
counts. Sources: U. Simonsohn, J. P. Simmons & L. D. Nelson (2020), "Specification curve analysis";
S. Steegen, F. Tuerlinckx, A. Gelman & W. Vanpaemel (2016), "Increasing transparency through a
multiverse analysis".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from math import isnan, nan, sqrt
from typing import NamedTuple

import numpy as np

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import (
    ROUNDING,
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
from persona_panel.statistics.core.means import PairedScores, critical_t, within_judges
from persona_panel.statistics.core.ranking import (
    Cells,
    competition_ranks,
    decisive_difference,
    is_declining,
    systems_above,
    winner_among,
)
from persona_panel.statistics.core.significance import shaffer
from persona_panel.statistics.human_raters import mean_of_others

MEAN, MEDIAN, TRIMMED, RANKS, Z_SCORES = "mean", "median", "trimmed mean", "ranks", "z-scores"
AGGREGATIONS: Mapping[str, int] = {MEAN: 1, MEDIAN: 3, TRIMMED: 5, RANKS: 1, Z_SCORES: 1}
"""The ways from judges' ratings of a response to its score, with the number of judges from which on
each differs from another: ranks are by judge within the prompt, z-scores by judge over all
responses, both averaged over judges."""
MOST = 400
"""The largest number of combinations while more than one choice is changed at a time."""
MOST_CELLS = 2**21
"""So many ratings, or differences by prompt, are held at a time."""
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
        winner: the system that is significantly ahead; empty where none is.
        n_judges, n_prompts: of how many it is.
    """

    choices: Choices
    changed: frozenset[tuple[str, str]]
    ranks: Mapping[str, int]
    differences: Sequence[Difference]
    lead: Difference
    winner: str
    n_judges: int
    n_prompts: int

    @property
    def first(self) -> str:
        """Return the system that is ahead of all others; empty where there is none, or where one is
        significantly ahead of it on the prompts of both."""
        leading = [system for system, rank in self.ranks.items() if rank == 1]
        return leading[0] if len(leading) == 1 and not self.is_behind(leading[0]) else ""

    def is_behind(self, system: str) -> bool:
        """Return whether another system is significantly ahead of this one."""
        return bool(systems_above(system, self.differences))


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
    kept = _kept(exclusions, *next(iter(terms.values())).shape[:2])
    choices_of = _combinations([*terms], {name: own.n_judges for name, own in kept.items()})
    boards = _boards(choices_of, terms, kept, systems, of_prompt, abstentions)
    main = choices_of[0]
    if len(boards[main].ranks) < 2:
        return None
    leader = next(iter(boards[main].ranks))
    for name, model in (models or {}).items():
        choices = main._replace(aggregation=name, dimension=model.dimension or main.dimension)
        n_prompts = model.n_prompts or boards[main].n_prompts
        boards[choices] = _Board(_ranks(model.values), model.differences, n_prompts)
    analyses = [
        Specification(
            choices, _changed(choices, main), board.ranks, board.differences,
            _lead([*board.ranks], board.differences, leader), board.winner,
            kept[choices.without].n_judges, board.n_prompts,
        )
        for choices, board in boards.items()
        if leader in board.ranks and len(board.ranks) > 1
    ]  # fmt: skip
    return Multiverse(leader, tuple(analyses), len(boards) - len(analyses))


class _Board(NamedTuple):
    """The ranks of systems that have one, best first, the differences of every two of them, and how
    many prompts there are."""

    ranks: Mapping[str, int]
    differences: Sequence[Difference]
    n_prompts: int

    @property
    def winner(self) -> str:
        winner = winner_among([*self.ranks], self.differences)
        return "" if winner is None else winner.system


class _KeptRatings(NamedTuple):
    """Which responses and judges an exclusion keeps."""

    responses: Mask
    judges: Mask

    @property
    def n_judges(self) -> int:
        return int(self.judges.sum())


def _boards(
    choices: Sequence[Choices],
    terms: Mapping[str, Array],
    kept: Mapping[str, _KeptRatings],
    systems: Sequence[str],
    prompts: IntArray,
    abstentions: IntArray | None,
) -> dict[Choices, _Board]:
    """Return the board of each combination of choices: what `rank_systems` finds, of many boards
    together."""

    @cache
    def transformed(aggregation: str, dimension: str) -> Array:
        of, whole = terms[dimension], next(iter(terms.values()))
        if aggregation not in (RANKS, Z_SCORES):
            return of
        if of is not whole and of.shape[2] == 1:
            for term in range(whole.shape[2]):
                if np.array_equal(whole[:, :, [term]], of, equal_nan=True):
                    return transformed(aggregation, next(iter(terms)))[:, :, [term]]
        return ranks_by_judge(of, prompts) if aggregation == RANKS else z_scores_by_judge(of)

    # Analyses of the same values of the same responses share all but the judges.
    alike: dict[tuple[bytes, str, str], list[Choices]] = {}
    for each in choices:
        key = kept[each.without].responses.tobytes(), each.dimension, each.aggregation
        alike.setdefault(key, []).append(each)
    boards: dict[Choices, _Board] = {}
    for (_, dimension, aggregation), those in alike.items():
        rows = kept[those[0].without].responses
        counts = None if abstentions is None else abstentions[rows]
        values = transformed(aggregation, dimension)[rows]
        cells = Cells.of(np.array(systems, object)[rows].tolist(), prompts[rows].tolist())
        declining = is_declining(cells.abstentions(counts))
        n_systems = len(cells.systems)
        size = cells.n_prompts * n_systems * max(values.shape[1], n_systems) * values.shape[2]
        at_once = max(1, MOST_CELLS // size)
        for first in range(0, len(those), at_once):
            part = those[first : first + at_once]
            judges = np.array([kept[each.without].judges for each in part])
            paired = _scores(cells, aggregation, values, judges)
            boards |= zip(part, _compared(cells, paired, declining), strict=True)
    return {each: boards[each] for each in choices}


def _scores(cells: Cells, aggregation: str, values: Array, judges: Mask) -> PairedScores:
    """Return the scores by each choice of judges `(choices, judges)`: as in `PairedScores`, behind
    an axis of choices."""
    if aggregation in (MEDIAN, TRIMMED):
        scores = _order_statistics(aggregation, values, judges, cells.row)
        return PairedScores(np.moveaxis(cells.means(scores.T), 2, 0))
    there, taken = ~np.isnan(values), judges.astype(np.float64)
    sums, counts = (
        np.tensordot(taken, each, (1, 1)) for each in (np.where(there, values, 0.0), there)
    )
    scores = divide(sums, counts).mean(axis=2)
    paired = PairedScores(np.moveaxis(cells.means(scores.T), 2, 0))
    if there.all():
        return paired
    shares = cells.means(there.astype(np.float64))
    return within_judges(paired, cells.means(values), shares, judges)


def _compared(cells: Cells, paired: PairedScores, declining: Mask) -> Iterator[_Board]:
    """Yield the board of each choice of judges, from `_scores`; which systems are `declining`.
    Differences are tested by Student's t over prompts."""
    scores, names = paired.scores, cells.systems
    means = np.where(declining, nan, mean_there(scores, 1))
    rounded, is_ranked = np.round(means, 9), ~np.isnan(means)
    ranks = 1 + (rounded[:, None, :] > rounded[:, :, None]).sum(axis=2)
    a, b = np.triu_indices(len(names), 1)
    common = scores[:, :, a] - scores[:, :, b]
    values = common if paired.apart is None else np.where(paired.apart[:, :, a, b], nan, common)
    n = (~np.isnan(values)).sum(axis=1)
    mean, error = mean_there(values, 1), np.sqrt(divide(variance_there(values, 1), n))
    error[error <= ROUNDING * np.maximum(1.0, np.abs(mean))] = nan
    p = 2 * special.stdtr(n - 1.0, -np.abs(mean / error))
    p[~(is_ranked[:, a] & is_ranked[:, b])] = nan
    adjusted, n_ranked = np.empty_like(p), is_ranked.sum(axis=1)
    for number in np.unique(n_ranked).tolist():
        adjusted[n_ranked == number] = shaffer(p[n_ranked == number], number)
    sizes, of_size = np.unique(n, return_inverse=True)
    reach = (
        error
        * np.array([critical_t(size - 1.0) for size in sizes.tolist()])[of_size.reshape(n.shape)]
    )
    place_of = np.zeros((len(names), len(names)), dtype=np.intp)
    place_of[a, b] = place_of[b, a] = np.arange(len(a))

    def difference(board: int, x: int, y: int) -> Difference:
        at = board, place_of[x, y]
        value, half, of = float(mean[at] if x < y else -mean[at]), float(reach[at]), int(n[at])
        reason = None
        if isnan(half):
            reason = Reason.NO_SPREAD if of > 1 else Reason.FEW_CLUSTERS
        if not of and cells.share_a_prompt(x, y):
            shared = np.isnan(common[board, :, at[1]]).all()
            reason = Reason.NO_SHARED_RATINGS if shared else Reason.NO_SHARED_JUDGES
        return Difference(
            value, value - half, value + half, over="prompts", n=of, p=float(p[at]),
            p_adjusted=float(adjusted[at]), reason=reason, a=names[x], b=names[y],
        )  # fmt: skip

    for board, own in enumerate(ranks):
        order = sorted(np.flatnonzero(is_ranked[board]).tolist(), key=lambda i: (own[i], names[i]))
        yield _Board(
            {names[i]: int(own[i]) for i in order},
            [difference(board, x, y) for x, y in combinations(order, 2)],
            cells.n_prompts,
        )


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


def _order_statistics(aggregation: str, terms: Array, judges: Mask, prompts: IntArray) -> Array:
    """Return each response's median or trimmed mean by each choice of judges `(choices, judges)`,
    the mean over terms, `(choices, responses)`: by those who rated all responses to the prompt that
    any of them rated, so that no judge's severity moves a difference."""
    missing, known = np.isnan(terms), b""
    order, ordered = np.empty(0, dtype=np.intp), terms
    scores = []
    for own in judges:
        unread: Mask = np.asarray(missing[:, own].all(axis=1))
        # Most choices of judges leave the same responses unrated, so that one order serves them.
        if (key := unread.tobytes()) != known:
            gaps = (missing & ~unread[:, None]).astype(np.float64)
            of = np.where(means_by(gaps, prompts)[prompts] > 0, nan, terms).swapaxes(1, 2)
            order, known = of.argsort(axis=2), key
            ordered = np.take_along_axis(of, order, 2)
        kept = ordered[own[order]].reshape(*unread.shape, -1)
        n = (~np.isnan(kept)).sum(axis=2)
        middle = np.full(n.shape, nan)
        for number in np.unique(n[n > 0]).tolist():
            cut = (number - 1) // 2 if aggregation == MEDIAN else int(_TRIMMED * number)
            middle[n == number] = kept[n == number, cut : number - cut].mean(axis=1)
        scores.append(middle.mean(axis=1))
    return np.array(scores)


def _kept(
    exclusions: Sequence[Exclusion], n_responses: int, n_judges: int
) -> dict[str, _KeptRatings]:
    """Return the responses and judges that each choice keeps, first that which leaves nothing out;
    of those that keep the same the first, and none that keeps nothing."""
    distinct: dict[tuple[bytes, bytes], tuple[str, _KeptRatings]] = {}
    for each in (Exclusion(), *exclusions):
        responses, judges = (
            np.ones(n, dtype=bool) if mask is None else mask
            for mask, n in ((each.responses, n_responses), (each.judges, n_judges))
        )
        if responses.any() and judges.any():
            own = each.name, _KeptRatings(responses, judges)
            distinct.setdefault((responses.tobytes(), judges.tobytes()), own)
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
