"""Effective votes of judges, and differences of two panels' correlations with a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, isnan, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    as_scores,
    defined_mean,
    divide,
    has_ratings,
    mean_there,
    row_means,
    unit_weights,
    why_few,
)
from persona_panel.statistics.core.correlation import CorrelationKind, correlation
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.jackknife import Interval, jackknife
from persona_panel.statistics.human_raters import mean_reliability

LEAST_SAME = 10
"""Of fewer items no raters are said to have given the same ratings."""
_SHARE_SAME = 0.95
UNEXPLAINED = 1e-12
"""A judge whose scores follow the reference up to this share of their variance has no
error of their own to correlate; what is left is rounding."""


def spearman_brown(reliability: float, times: ArrayLike) -> Array:
    """Return the reliability of the mean of `times` as many judges, taken as interchangeable with
    those at hand: `times` · r / (1 + (`times` − 1) · r), in the shape of `times`; NaN where the
    reliability is not above 0: judges who share nothing are no measure of what more of them would
    share.

    Args:
        reliability: of the judges at hand; of one judge (`icc` with `icc2`, say) to ask for panels
            of 1, 2, … judges.
        times: by how many times their number grows, at least 0.

    >>> spearman_brown(0.5, [1, 2, 4]).round(3).tolist()
    [0.5, 0.667, 0.8]
    """
    factor = np.asarray(times, dtype=np.float64)
    if reliability > 1 or (factor < 0).any():
        raise ValueError("reliability is at most 1 and times at least 0")
    if not reliability > 0:
        return np.full(factor.shape, nan)
    return np.asarray(factor * reliability / (1 + (factor - 1) * reliability))


def effective_judges(
    ratings: ArrayLike,
    reference: ArrayLike | None = None,
    clusters: Labels | None = None,
    judges: Sequence[Sequence[ArrayLike]] = (),
    *,
    intervals: bool = True,
    seed: int = 0,
) -> Statistic:
    """Return how many independent judges the panel's mean is worth.

    How to read it: 1, further judges only repeat the first; k, the judges' scores are unrelated.
    Without a reference agreement about what is true counts as dependence.

    Args:
        reference: what the judges try to say; the correlation is then of what each says beyond it.
            `(items, people)`: the mean of people's ratings, corrected for its reliability.
        judges: for each factor that judges are sampled from, the ratings without each of its
            levels.
        intervals: whether there is an interval, `ci`: the ends of that of the mean correlation r̄
            in the formula, from 1 to the number of judges; also where r̄ is not above 0.

    Returns:
        k / (1 + (k − 1) r̄) with r̄ the mean correlation of two judges. Undefined with fewer than
        two judges, when all are constant, when r̄ is not above 0, or when the reliability of the
        reference is not known or not above 0.

    >>> ratings = [[1, 1, 2], [2, 2, 1], [3, 3, 3]]
    >>> round(effective_judges(ratings).value, 3)
    1.286
    >>> round(effective_judges([[1, 1], [2, 2], [3, 3]]).value, 3)
    1.0
    """
    errors = _Errors.of(ratings, reference)
    mean = errors.mean()
    if mean.reason:
        return mean
    k = mean.n_raters
    none = mean.value <= UNEXPLAINED
    number = nan if none else float(kish_number(k, mean.value))
    votes = replace(mean, value=number, reason=Reason.NOT_CORRELATED if none else None)
    if not intervals:
        return votes
    interval = jackknife(
        errors.correlation, len(as_ratings(ratings)), clusters, kind="correlation",
        judges=[[_Errors.of(left, reference).correlation for left in levels] for levels in judges],
        counted=errors.rated.sum(axis=1) >= 2, seed=seed,
    )  # fmt: skip
    if not interval.reason:
        low, high = kish_number(k, np.clip([interval.high, interval.low], 0, 1)).tolist()
        interval = replace(interval, low=low, high=high)
    return replace(votes, ci=interval)


def kish_number(n_judges: int, correlation: ArrayLike) -> Array:
    """Return how many independent judges are worth `n_judges` judges whose scores have this
    correlation."""
    return divide(n_judges, 1 + (n_judges - 1) * np.minimum(correlation, 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Errors:
    """Judges' errors beyond a reference, and their correlation."""

    scores: Array
    rated: Array
    reference: Array
    reliability: Resampled
    pairs: IntArray

    @classmethod
    def of(
        cls, ratings: ArrayLike, reference: ArrayLike | None, sets: Sets | None = None
    ) -> _Errors:
        """Return the errors beyond the reference; of `sets`, those of pairs of the same set."""
        array = as_ratings(ratings)
        known: Resampled = lambda weights: np.ones(len(weights))  # noqa: E731
        truth = np.zeros(len(array))
        if reference is not None:
            people = np.asarray(reference, dtype=np.float64)
            if len(people) != len(array):
                raise ValueError(f"{len(people)} reference scores for {len(array)} items")
            truth = row_means(as_ratings(people)) if people.ndim == 2 else as_scores(people)
            if people.ndim == 2:
                known = mean_reliability(people).resampled
        there = ~np.isnan(array) & ~np.isnan(truth)[:, None]
        rated = there.astype(np.float64)
        shared = np.triu(rated.T @ rated >= 2, 1)
        if sets is not None:
            together = np.zeros_like(shared)
            for judges in sets:
                together[np.ix_(judges, judges)] = True
            shared &= together
        return cls(
            _about_mean(array, there),
            rated,
            _about_mean(truth[:, None], ~np.isnan(truth)[:, None])[:, 0],
            known,
            np.argwhere(shared),
        )

    def correlation(self, weights: Array) -> Array:
        return mean_there(self._pairs(weights), 1)

    def mean(self) -> Statistic:
        weights = unit_weights(len(self.scores))
        correlations = self._pairs(weights)[0]
        judges = np.unique(self.pairs[~np.isnan(correlations)])
        n_items = int((self.rated[:, judges].sum(axis=1) >= 2).sum())
        if len(judges):
            return Statistic(defined_mean(correlations), n_items, len(judges))
        known = float(self.reliability(weights)[0])
        if isnan(known):
            return Statistic.undefined(Reason.UNKNOWN_NOISE)
        if known <= 0:
            return Statistic.undefined(Reason.UNRELIABLE_REFERENCE)
        return Statistic.undefined(
            why_few(self.rated > 0, Reason.CONSTANT_RATER if len(self.pairs) else Reason.NO_PAIRS)
        )

    def _pairs(self, weights: Array) -> Array:
        """Return the correlation of each pair's errors in each resample `(resamples, pairs)`."""
        y, m, x = self.scores, self.rated, self.reference[:, None]
        known = self.reliability(weights)[:, None]
        known = np.where(known > 0, known, np.nan)
        n = weights @ m
        own_x = weights @ (m * x)
        slopes = divide(
            weights @ (y * x) - divide((weights @ y) * own_x, n),
            known * (weights @ (m * x**2) - divide(own_x**2, n)),
        )
        # Without a reference, and of a constant one, there is no slope.
        slopes = np.where(np.isnan(slopes) & ~np.isnan(known), 0, slopes)
        a, b = self.pairs.T
        both = m[:, a] * m[:, b]
        first, second = y[:, a] * both, y[:, b] * both
        sizes = weights @ both

        def covariance(p: Array, q: Array) -> Array:
            return weights @ (p * q) - divide((weights @ p) * (weights @ q), sizes)

        beside = x * both
        of_x = known * covariance(beside, beside)

        def error(p: Array, q: Array, slope_p: Array, slope_q: Array) -> Array:
            shared = slope_p * covariance(beside, q) + slope_q * covariance(beside, p)
            return np.asarray(covariance(p, q) - shared + slope_p * slope_q * of_x)

        slope_a, slope_b = slopes[:, a], slopes[:, b]
        own = [
            np.where(variance > UNEXPLAINED * (weights @ p**2), variance, np.nan)
            for p, slope in ((first, slope_a), (second, slope_b))
            for variance in (error(p, p, slope, slope),)
        ]
        return divide(error(first, second, slope_a, slope_b), np.sqrt(own[0]) * np.sqrt(own[1]))


def _about_mean(values: Array, there: Mask) -> Array:
    counts = there.sum(axis=0)
    kept = np.where(there, values, 0)
    centred = np.where(there, values - divide(kept.sum(axis=0), counts), 0)
    largest = np.max(np.abs(centred), axis=0, initial=0)
    return np.nan_to_num(divide(centred, largest))


def correlation_gain(
    panel: ArrayLike,
    control: ArrayLike,
    reference: ArrayLike,
    kind: CorrelationKind,
) -> Statistic:
    """Return the panel's correlation with the reference less the control's, over the items of all
    three, `(items,)` each: above 0, the panel's scores go more with the reference. A value in [−2,
    2], undefined where one of the two correlations is.

    >>> correlation_gain([1, 2, 3], [1, 3, 2], [1, 2, 3], "spearman").value
    0.5
    """
    sides = [as_scores(side) for side in (panel, control, reference)]
    if len({len(side) for side in sides}) > 1:
        raise ValueError(f"{[len(side) for side in sides]} scores cannot be compared")
    missing = np.isnan(np.sum(sides, axis=0))
    ours, theirs, target = (np.where(missing, nan, side) for side in sides)
    first, second = (correlation(side, target, kind) for side in (ours, theirs))
    return first.less(second, n_raters=3)


def all_alike(ratings: Array) -> bool:
    """Return whether raters gave identical ratings `(items, raters)` to all items that two of them
    rated."""
    rated = ~np.isnan(ratings)
    several = rated.sum(axis=1) > 1
    spans = np.nanmax(ratings[several], axis=1) - np.nanmin(ratings[several], axis=1)
    return bool(several.any() and not spans.any())


def same_ratings(ratings: Array) -> list[tuple[list[int], int, int]]:
    """Return groups of raters who gave the same ratings, with how many items they rated the same
    and how many all of the group rated.

    The same are at least 95 % of these, of `LEAST_SAME` or more that are not all rated the same.
    Each rater joins the first group of which that stays true.

    Args:
        ratings: `(items, raters, dimensions)`, NaN where there is none.
    """
    values = np.where(np.isnan(ratings), np.inf, ratings)
    rated: Mask = np.any(np.isfinite(values), axis=2)
    groups: list[tuple[list[int], int, int]] = []
    for rater in range(values.shape[1]):
        for place, (members, *_) in enumerate([*groups, ([], 0, 0)]):
            group = [*members, rater]
            own = values[rated[:, group].all(axis=1)][:, group]
            same = int(np.all(own == own[:, :1], axis=(1, 2)).sum())
            varied = len(own) >= LEAST_SAME and bool((own != own[0]).any())
            if not members or (varied and same >= _SHARE_SAME * len(own)):
                groups[place : place + 1] = [(group, same, len(own))]
                break
    return [group for group in groups if len(group[0]) > 1]


Sets = Sequence[Sequence[int]]
"""Columns of judges, set by set: the personas of one model, say."""


@dataclass(frozen=True, slots=True)
class Votes:
    """The effective number of votes of k judges of a source.

    Attributes:
        source: what judges of a set differ in.
        n_sets: how many sets of two judges or more there are.
        n_judges: k, how many judges are counted, the same for all sources.
        largest_set: how many judges the largest set has; where k is more, it is that of k judges
            alike.
        correlation: r̄, the mean correlation of two judges of a set; NaN where none is defined.
        votes: k / (1 + (k − 1) r̄), from 1 to k; k where r̄ is 0 or less.
    """

    source: str
    n_sets: int
    n_judges: int
    largest_set: int
    correlation: float
    votes: Estimate


def effective_votes(
    ratings: ArrayLike,
    sources: Mapping[str, Sets],
    reference: ArrayLike | None = None,
    clusters: Labels | None = None,
) -> tuple[list[Votes], list[Difference]]:
    """Estimate the effective votes of equally many judges of each source, and the differences: the
    votes of source `a` less those of `b`. The intervals of the differences hold all of them at once
    in 95 % of samples.

    How to read it: 1, further judges of this kind only repeat the first; k, they are independent.
    With people's ratings as a reference it is of judges' errors alone.

    Args:
        sources: for each source its sets of judges; sets of one are left out. All are counted as k
            judges, the size of the largest of all sets: the same number of judgments.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(200, 6))
    >>> noise[:, 3:] = noise[:, 3:] * 0.2 + noise[:, :1]
    >>> result, (difference,) = effective_votes(noise, {"far": [(0, 1, 2)], "near": [(3, 4, 5)]})
    >>> [round(each.votes.value, 1) for each in result], difference.low > 1
    ([2.9, 1.0], True)
    """
    array = as_ratings(ratings)
    several = {
        name: kept
        for name, sets in sources.items()
        if (kept := [judges for judges in sets if len(judges) > 1])
    }
    if not several:
        raise ValueError("no set has two judges")
    k = max(len(judges) for sets in several.values() for judges in sets)
    n_items = len(array)
    counted = has_ratings(array, 2)
    if reference is not None:
        counted &= ~np.isnan(np.reshape(reference, (n_items, -1))).all(axis=1)
    confidence = 1 - 0.05 / max(comb(len(several), 2), 1)
    over = "items" if clusters is None else "prompts"
    votes, wide = [], []
    for name, sets in several.items():
        correlation = _Errors.of(array, reference, sets=sets).correlation
        intervals = [
            jackknife(
                correlation, n_items, clusters, kind="correlation", counted=counted, confidence=of
            )
            for of in (0.95, confidence)
        ]
        if not len(intervals[0].values):
            # Too few prompts for an interval: there is the number alone.
            alone = correlation(unit_weights(n_items))
            intervals = [replace(interval, values=alone) for interval in intervals]
        why = _why_none(array, sets, reference)
        own, of_all = (_votes(name, sets, k, interval, why, over) for interval in intervals)
        votes.append(own)
        wide.append((of_all, intervals[0].values[1:]))
    return votes, [_difference(*a, *b) for a, b in combinations(wide, 2)]


def _votes(
    source: str, sets: Sets, k: int, interval: Interval, why: Reason | None, over: str
) -> Votes:
    correlation = float(interval.values[0])
    sizes = len(sets), k, max(map(len, sets))
    about = Estimate(nan, over=over, limits=(1.0, float(k)))
    if not abs(correlation) <= 1 + ROUNDING:
        # The noise of people's mean, taken off the errors of judges, may be more than those are.
        undefined = why or Reason.UNDEFINED_ESTIMATE
        reason = undefined if isnan(correlation) else Reason.NOISE_ABOVE_ERRORS
        return Votes(source, *sizes, nan, replace(about, reason=reason))
    # The higher the correlation, the fewer votes.
    ends = np.clip([interval.high, correlation, interval.low], 0, 1)
    low, value, high = kish_number(k, ends).tolist()
    n = interval.n_clusters or None
    number = replace(about, value=value, low=low, high=high, n=n, reason=why or interval.reason)
    return Votes(source, *sizes, correlation, number)


def _why_none(ratings: Array, sets: Sets, reference: ArrayLike | None) -> Reason | None:
    if all(all_alike(ratings[:, list(judges)]) for judges in sets):
        return Reason.IDENTICAL_JUDGES
    known = [
        effective_judges(ratings[:, list(judges)], reference, intervals=False).reason
        for judges in sets
    ]
    if not all(known) or known[0] is Reason.NOT_CORRELATED:
        return None
    # Errors without a variance once the noise is taken off; the judge's ratings may well differ.
    alike = reference is not None and known[0] is Reason.CONSTANT_RATER
    return Reason.NOISE_ABOVE_ERRORS if alike else known[0]


def _difference(a: Votes, moved_a: Array, b: Votes, moved_b: Array) -> Difference:
    both = np.column_stack([moved_a, moved_b])
    both = both[~np.isnan(both).any(axis=1)]
    # Of what never moves there is no interval either.
    moves = len(both) > 1 and bool((both.std(axis=0) > 0).all())
    matrix: Array = np.atleast_2d(np.corrcoef(both.T)) if moves else np.eye(2)
    shared = float(matrix[0, 1])
    of_a, of_b = a.votes, b.votes
    if of_a.high >= a.n_judges or of_b.high >= b.n_judges:
        # An interval cut at k judges no longer says how both move together: that may widen the
        # interval of the difference, as at a level at which nothing is cut, but not narrow it.
        shared = min(shared, 0.0)
    difference = of_a.value - of_b.value

    def reach(x: float, y: float) -> float:
        return sqrt(max(x**2 + y**2 - 2 * shared * x * y, 0.0))

    return Difference(
        difference, difference - reach(of_a.value - of_a.low, of_b.high - of_b.value),
        difference + reach(of_a.high - of_a.value, of_b.value - of_b.low), over=of_a.over,
        n=of_a.n, reason=of_a.reason or of_b.reason, a=a.source, b=b.source,
    )  # fmt: skip
