"""Effective votes of judges, and differences of two panels' correlations with a reference."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, nan, sqrt

import numpy as np
import scipy
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
    check_confidence,
    defined_mean,
    divide,
    encode_labels,
    has_two_ratings,
    items_by_label,
    mean_there,
    row_means,
    unit_weights,
    why_few,
    without_rounding,
)
from persona_panel.statistics.core.correlation import (
    CorrelationKind,
    correlation,
    taus,
)
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.jackknife import Interval, correlation_at, jackknife
from persona_panel.statistics.core.ranking import sampled_mean
from persona_panel.statistics.human_raters import mean_reliability

UNEXPLAINED = 1e-12
"""A judge whose scores follow the reference up to this share of their variance has no
error of their own to correlate; what is left is rounding."""


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """`judges` in order of appearance; `without` has the statistic of the panel that lacks each,
    and `change` `(judges,)` how much that is more than `full`, NaN where either is undefined."""

    full: Statistic
    judges: tuple[Hashable, ...]
    without: tuple[Statistic, ...]
    change: Array


def spearman_brown(reliability: float, times: ArrayLike) -> Array:
    """Return the reliability of the mean of `times` as many judges.

    How to read it: as a reliability. It takes the further judges as interchangeable with those at
    hand.

    Args:
        reliability: of the judges at hand; of one judge (`icc` with `icc2`, say) to ask
            for panels of 1, 2, … judges.
        times: by how many times their number grows, at least 0.

    Returns:
        `times` · r / (1 + (`times` − 1) · r), in the shape of `times`; NaN where the reliability is
        not above 0: judges who share nothing are no measure of what more of them would share.

    Raises:
        ValueError: reliability above 1, or a negative number of times.

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
    ratings: ArrayLike, reference: ArrayLike | None = None, *, reliability: float | None = None
) -> Statistic:
    """Return how many independent judges the panel's mean is worth.

    How to read it: 1, further judges only repeat the first; k, the judges' scores are unrelated.
    Without a reference agreement about what is true counts as dependence.

    Args:
        ratings: `(items, judges)`, NaN where missing.
        reference: what the judges try to say; the correlation is then of what each says beyond it.
            `(items, people)`: the mean of people's ratings, corrected for its reliability.
        reliability: of the reference, in (0, 1], where it is known.

    Returns:
        k / (1 + (k − 1) r̄) with r̄ the mean correlation of two judges. Undefined with fewer than
        two judges, when all are constant, when r̄ is not above 0, or when the reliability of the
        reference is not known or not above 0.

    Raises:
        ValueError: a wrong shape, an infinite value, or a reliability outside (0, 1].

    >>> ratings = [[1, 1, 2], [2, 2, 1], [3, 3, 3]]
    >>> round(effective_judges(ratings).value, 3)
    1.286
    >>> round(effective_judges([[1, 1], [2, 2], [3, 3]]).value, 3)
    1.0
    """
    errors = _Errors.of(ratings, reference, reliability)
    mean = errors.mean()
    if mean.reason:
        return mean
    if mean.value <= UNEXPLAINED:
        return replace(mean, value=nan, reason=Reason.NOT_CORRELATED)
    return replace(mean, value=float(kish_number(mean.n_raters, mean.value)))


def effective_judges_interval(
    ratings: ArrayLike,
    reference: ArrayLike | None = None,
    *,
    clusters: Labels | None = None,
    judges: Sequence[Sequence[ArrayLike]] = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the interval of the effective number, between 1 and the number of judges.

    The ends of the interval of the mean correlation r̄ are put into the formula.

    Args:
        ratings, reference: as for `effective_judges`.
        clusters: a label an item, its prompt; each item is its own if None.
        judges: for each factor that judges are sampled from, the ratings without each of its
            levels.
        confidence, seed: as for `jackknife`.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(60, 4)) + rng.normal(size=(60, 1))
    >>> found = effective_judges_interval(noise, np.zeros(60))
    >>> 1 <= found.low < found.high <= 4
    True
    """
    errors = _Errors.of(ratings, reference, None)
    n_judges = errors.mean().n_raters
    interval = jackknife(
        errors.correlation,
        len(as_ratings(ratings)),
        clusters,
        kind="correlation",
        judges=[
            [_Errors.of(left, reference, None).correlation for left in levels] for levels in judges
        ],
        counted=errors.rated.sum(axis=1) >= 2,
        confidence=confidence,
        seed=seed,
    )
    if interval.reason:
        return interval
    low, high = (
        float(kish_number(n_judges, np.clip(end, 0, 1))) for end in (interval.high, interval.low)
    )
    return replace(interval, low=low, high=high)


def resampled_set_correlation(
    ratings: ArrayLike, sets: Sequence[Sequence[int]], reference: ArrayLike | None = None
) -> Resampled:
    """Return the mean correlation r̄ of two judges of the same set, beyond a reference if there is
    one, as a function of resampling weights.

    Args:
        ratings, reference: as for `effective_judges`.
        sets: the columns of each set of judges; each pair inside a set counts once.
    """
    errors = _Errors.of(ratings, reference, None)
    within = {(a, b) for judges in sets for a in judges for b in judges if a < b}
    return replace(
        errors,
        pairs=np.array(
            [pair for pair in errors.pairs.tolist() if tuple(pair) in within], dtype=np.intp
        ).reshape(-1, 2),
    ).correlation


def kish_number(n_judges: int, correlation: ArrayLike) -> Array:
    """Return how many independent judges are worth `n_judges` judges whose scores have this
    correlation."""
    return divide(n_judges, 1 + (n_judges - 1) * np.minimum(correlation, 1))


def leave_one_judge_out(
    ratings: ArrayLike, statistic: Callable[[Array], Statistic], judges: Labels | None = None
) -> LeaveOneOut:
    """Return a statistic of the panel without each of its judges.

    How to read it: of α or a correlation, a judge whose `change` is above 0 lowers the panel's
    figure; one below 0 raises it. The changes of two judges do not add up.

    Args:
        ratings: `(items, judges)`, NaN where missing.
        statistic: of ratings: α, or the correlation of their mean with people's, say.
        judges: a label a column, to leave out all columns of a persona or of a model
            together; each column is a judge if None.

    >>> ratings = np.array([[1, 1, 3], [2, 2, 1], [3, 3, 2]])
    >>> found = leave_one_judge_out(ratings, lambda some: krippendorff_alpha(some))
    >>> round(found.full.value, 3), found.change.round(3).tolist()
    (0.111, [-0.361, -0.361, 0.889])
    """
    array = as_ratings(ratings)
    labels = range(array.shape[1]) if judges is None else judges
    full = statistic(array)
    groups = list(items_by_label(labels, array.shape[1]))
    without = tuple(statistic(np.delete(array, columns, axis=1)) for _, columns in groups)
    change = np.array([statistic_without.value - full.value for statistic_without in without])
    return LeaveOneOut(full, tuple(name for name, _ in groups), without, change)


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
        cls, ratings: ArrayLike, reference: ArrayLike | None, reliability: float | None
    ) -> _Errors:
        array = as_ratings(ratings)
        if reliability is not None and not 0 < reliability <= 1:
            raise ValueError(f"a reliability lies above 0 and up to 1, found {reliability}")
        exact = 1.0 if reliability is None else reliability
        known: Resampled = lambda weights: np.full(len(weights), exact)  # noqa: E731
        truth = np.zeros(len(array))
        if reference is not None:
            people = np.asarray(reference, dtype=np.float64)
            if len(people) != len(array):
                raise ValueError(f"{len(people)} reference scores for {len(array)} items")
            if people.ndim == 2:
                people = as_ratings(people)
                truth = row_means(people)
                known = known if reliability is not None else mean_reliability(people).resampled
            else:
                truth = as_scores(people)
        there = ~np.isnan(array) & ~np.isnan(truth)[:, None]
        rated = there.astype(np.float64)
        shared = rated.T @ rated >= 2
        pairs = np.argwhere(np.triu(shared, 1))
        return cls(
            _about_mean(array, there),
            rated,
            _about_mean(truth[:, None], ~np.isnan(truth)[:, None])[:, 0],
            known,
            pairs,
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
        # Without a reference, the common case, nothing is taken off.
        is_plain = not x.any() and not np.isnan(known).any()
        of_x = np.zeros(1) if is_plain else known * covariance(beside, beside)

        def error(p: Array, q: Array, slope_p: Array, slope_q: Array) -> Array:
            total = covariance(p, q)
            if is_plain:
                return total
            shared = slope_p * covariance(beside, q) + slope_q * covariance(beside, p)
            return np.asarray(total - shared + slope_p * slope_q * of_x)

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


LEAST_PROMPTS, LEAST_ITEMS = 20, 60
"""With fewer the τ_b on a fold takes so few values that no bound holds."""
THRESHOLD = 0.95
"""The τ_b with the full panel that counts as the same ranking."""
N_FOLDS = 5


@dataclass(frozen=True, slots=True)
class SmallestSubset:
    """`judges` are columns in the order chosen, on all items; empty when no number of judges is
    shown to reach the threshold. `held_out` and `low` `(judges,)` are the mean over folds of the
    τ_b that 1, 2, … judges reach with the full panel on other prompts, and its lower confidence
    bound; NaN where undefined. `tau_low` is the bound of the number that was chosen by it, and so
    no 95 % bound any more. `cost_saved` is a share of the panel's cost."""

    judges: tuple[int, ...]
    tau_low: float
    held_out: Array
    low: Array
    cost_saved: float
    reason: Reason | None = None


def smallest_subset(
    ratings: ArrayLike,
    prompts: Labels | None = None,
    *,
    threshold: float = THRESHOLD,
    confidence: float = 0.95,
    seed: int = 0,
) -> SmallestSubset:
    """Return the smallest number of judges whose mean is shown to keep the full panel's ranking.

    Judges are chosen greedily: each time the one that brings τ_b with the full panel's mean
    highest. How many are enough is decided on prompts that did not choose them.

    How to read it: the judges beyond `judges` hardly change the panel's ranking. Other subsets may
    reach about the same τ_b.

    Args:
        ratings: `(items, judges)`, NaN where missing. An item's mean is over the judges
            who rated it.
        prompts: a label an item; each item is dealt alone if None. At least 20 prompts and 60 items
            are needed.
        threshold: the τ_b to keep.
        confidence: of the lower bound, one-sided.
        seed: of the dealing.

    Raises:
        ValueError: a wrong shape, an infinite value, or a confidence outside (0, 1).

    >>> rng = np.random.default_rng(0)
    >>> one = rng.normal(size=60)
    >>> ratings = np.column_stack([one, one + 0.01 * rng.normal(size=60), np.arange(60) % 2])
    >>> found = smallest_subset(ratings, threshold=0.5)
    >>> len(found.judges), round(found.cost_saved, 3)
    (1, 0.667)
    """
    array = as_ratings(ratings)
    n_items, n_judges = array.shape
    check_confidence(confidence)
    rated = ~np.isnan(array)
    codes = encode_labels(range(n_items) if prompts is None else prompts, n_items)[1]
    array, codes = array[rated.any(axis=1)], codes[rated.any(axis=1)]
    codes = np.unique(codes, return_inverse=True)[1]
    n_prompts = int(codes.max(initial=-1)) + 1
    held_out, low = np.full(n_judges, nan), np.full(n_judges, nan)
    if rated.any(axis=0).sum() < 2:
        return SmallestSubset((), nan, held_out, low, nan, Reason.FEW_RATERS)
    if n_prompts < LEAST_PROMPTS or len(array) < LEAST_ITEMS:
        return SmallestSubset((), nan, held_out, low, nan, Reason.FEW_TO_CHOOSE)

    fold = np.random.default_rng(seed).permutation(n_prompts)[codes] % N_FOLDS
    reached = np.array(
        [_reached(array[fold == held], _greedy(array[fold != held])) for held in range(N_FOLDS)]
    )
    held_out = reached.mean(axis=0)
    low = np.array([_lower_bound(of_folds, confidence) for of_folds in reached.T])
    size = n_judges
    while size > 1 and low[size - 2] >= threshold:
        size -= 1
    if size == n_judges:
        return SmallestSubset((), nan, held_out, low, nan, Reason.NOT_REACHED)
    judges = tuple(_greedy(array)[:size])
    return SmallestSubset(judges, float(low[size - 1]), held_out, low, 1 - size / n_judges)


def _lower_bound(of_folds: Array, confidence: float) -> float:
    """Return the one-sided lower bound of the mean of the folds' τ_b."""
    n_folds, mean = len(of_folds), float(of_folds.mean())
    error = float(of_folds.std(ddof=1)) / sqrt(n_folds)
    if mean >= 1 - ROUNDING:
        return 1.0
    if not error > ROUNDING:
        return nan
    reach = error * float(scipy.special.stdtrit(n_folds - 1, confidence))
    return float(np.tanh(np.arctanh(mean) - reach / (1 - mean**2)))


def _greedy(array: Array) -> list[int]:
    full = row_means(array)
    scores, rated = np.nan_to_num(array), (~np.isnan(array)).astype(np.float64)
    total, count = np.zeros(len(array)), np.zeros(len(array))
    left = list(range(array.shape[1]))
    order = []
    while left:
        means = divide(total[:, None] + scores[:, left], count[:, None] + rated[:, left])
        taus = _taus(without_rounding(means, scores), full)
        best = left.pop(int(np.argmax(np.nan_to_num(taus, nan=-np.inf))))
        total += scores[:, best]
        count += rated[:, best]
        order.append(best)
    return order


def _reached(array: Array, order: list[int]) -> Array:
    """Return τ_b of the first 1, 2, … judges with all, on these items."""
    means = [row_means(array[:, order[: n + 1]]) for n in range(len(order))]
    return _taus(np.column_stack(means), row_means(array))


def _taus(means: Array, full: Array) -> Array:
    """Return τ_b of each column `(items, columns)` with the mean of all judges."""
    missing = np.isnan(means)
    beside = np.where(missing, nan, full[:, None]) if missing.any() else full[:, None]
    return taus(beside, means, "tau_b")


def correlation_gain(
    panel: ArrayLike, control: ArrayLike, reference: ArrayLike, kind: CorrelationKind
) -> Statistic:
    """Return the panel's correlation with the reference less the control's, over the items of all
    three.

    How to read it: above 0, the panel's scores go more with the reference than the control's do.

    Args:
        panel, control, reference: `(items,)`, NaN where missing.

    Returns:
        A value in [−2, 2]. Undefined where one of the two correlations is.

    >>> correlation_gain([1, 2, 3], [1, 3, 2], [1, 2, 3], "spearman").value
    0.5
    """
    ours, theirs, target = _on_shared_items(panel, control, reference)
    first, second = (correlation(side, target, kind) for side in (ours, theirs))
    return first.less(second, n_raters=3)


def all_alike(ratings: Array) -> bool:
    """Return whether raters gave identical ratings to all items that two of them rated.

    Args:
        ratings: `(items, raters)`, NaN where missing.
    """
    rated = ~np.isnan(ratings)
    several = rated.sum(axis=1) > 1
    spans = np.nanmax(ratings[several], axis=1) - np.nanmin(ratings[several], axis=1)
    return bool(several.any() and not spans.any())


def why_no_gain(controls: Array) -> Reason | None:
    """Return why there can be no comparison with these replicates `(items, replicates)`."""
    return Reason.IDENTICAL_REPLICATES if all_alike(controls) else None


def _on_shared_items(*sides: ArrayLike) -> tuple[Array, ...]:
    scores = [as_scores(side) for side in sides]
    if len({len(side) for side in scores}) > 1:
        raise ValueError(f"{[len(side) for side in scores]} scores cannot be compared")
    missing = np.any([np.isnan(side) for side in scores], axis=0)
    return tuple(np.where(missing, np.nan, side) for side in scores)


_LEAST_PROMPTS = 10
"""Five to choose on, and five to look at: of fewer a spread says little."""

Sets = Sequence[Sequence[int]]
"""Columns of judges, set by set: the personas of one model, say."""


@dataclass(frozen=True, slots=True)
class Votes:
    """The effective number of votes of k judges of a source.

    Attributes:
        source: what judges of a set differ in.
        n_sets: how many sets of two judges or more there are.
        n_judges: k, how many judges are counted, the same for all sources.
        largest_set: how many judges the largest set has; k judges are more in some sources, and
            the number is then that of as many judges alike.
        correlation: r̄, the mean correlation of two judges of a set; NaN where none is defined.
        votes: k / (1 + (k − 1) r̄), from 1 to k; k where r̄ is 0 or less.
    """

    source: str
    n_sets: int
    n_judges: int
    largest_set: int
    correlation: float
    votes: Estimate


@dataclass(frozen=True, slots=True)
class EnsembleDistance:
    """The distances from people of the mean of all judges and of the best judge, chosen on other
    prompts.

    Attributes:
        ensemble, best: the root of the mean squared distance from people's mean, in points, on the
            prompts that the judge was not chosen on.
        difference: mean squared distance of the best judge less that of the ensemble there, in
            squared points: above 0 the ensemble is closer to people. Student's t over prompts.
        chosen: the column of the judge; None where none could be chosen.
        n_items: how many the distances are of.
    """

    ensemble: float
    best: float
    difference: Estimate
    chosen: int | None
    n_items: int


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
        ratings: `(items, judges)`, NaN where missing.
        sources: for each source its sets of judges; sets of one are left out. All are counted as
            k judges, the size of the largest of all sets: the same number of judgments.
        reference: `(items, people)` or `(items,)`, as for `effective_judges`.
        clusters: a label an item, its prompt; each item is its own if None.

    Raises:
        ValueError: a wrong shape, an infinite value, or no set of two judges.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(200, 6))
    >>> noise[:, 3:] = noise[:, 3:] * 0.2 + noise[:, :1]
    >>> found, (difference,) = effective_votes(noise, {"far": [(0, 1, 2)], "near": [(3, 4, 5)]})
    >>> [round(one.votes.value, 1) for one in found], difference.low > 1
    ([2.9, 1.0], True)
    """
    array = as_ratings(ratings)
    several = {
        name: [judges for judges in sets if len(judges) > 1] for name, sets in sources.items()
    }
    several = {name: sets for name, sets in several.items() if sets}
    if not several:
        raise ValueError("no set has two judges")
    k = max(len(judges) for sets in several.values() for judges in sets)
    n_items = len(array)
    counted = has_two_ratings(array)
    if reference is not None:
        counted &= ~np.isnan(np.reshape(reference, (n_items, -1))).all(axis=1)
    names = list(several)
    confidence = 1 - 0.05 / max(len(names) * (len(names) - 1) // 2, 1)
    votes, wide, moved = [], [], []
    for name, sets in several.items():
        correlation = _Recorded(resampled_set_correlation(array, sets, reference))
        interval = jackknife(correlation, n_items, clusters, kind="correlation", counted=counted)
        if not len(correlation.values):
            # Too few prompts for an interval: there is the number alone.
            correlation(unit_weights(n_items))
        value, *without = correlation.values.tolist()
        why = _why_none(array, sets, reference)
        of_all = correlation_at(interval, value, confidence)
        over = "items" if clusters is None else "prompts"
        own, other = (_votes(name, sets, k, value, each, why, over) for each in (interval, of_all))
        votes.append(own)
        wide.append(other)
        moved.append(-np.array(without))
    return votes, [
        _difference(wide[a], wide[b], moved[a], moved[b])
        for a, b in combinations(range(len(names)), 2)
    ]


def ensemble_distance(
    ratings: ArrayLike,
    people: ArrayLike,
    clusters: Labels | None = None,
    *,
    same_scale: bool = True,
) -> EnsembleDistance:
    """Compare how far the mean of all judges and the judge who is best elsewhere are from people.

    The best judge is chosen on every other prompt, by the mean squared distance from people's mean,
    and compared on the rest.

    Args:
        ratings: `(items, judges)`, NaN where missing; items that a judge left out are left out.
        people: `(items,)`, people's mean rating, NaN where there is none.
        clusters: a label an item, its prompt; each item is its own if None.
        same_scale: whether people's ratings are on the judges' scale; else there is no distance.

    Returns:
        Undefined on different scales, and with fewer than two judges or ten prompts.

    >>> people = np.arange(10.0)
    >>> found = ensemble_distance(people[:, None] + [[-1.0, 1.5]], people)
    >>> found.ensemble, found.best
    (0.25, 1.0)
    """
    array, target = as_ratings(ratings), as_scores(people)
    if len(target) != len(array):
        raise ValueError(f"{len(target)} people's ratings for {len(array)} items")
    there = ~np.isnan(array).any(axis=1) & ~np.isnan(target)
    labels = range(len(array)) if clusters is None else clusters
    kept = [label for label, is_there in zip(labels, there, strict=True) if is_there]
    scores, target = array[there], target[there]
    prompts = [items for _, items in items_by_label(kept, len(kept))]
    over = "items" if clusters is None else "prompts"
    if not same_scale or array.shape[1] < 2 or len(prompts) < _LEAST_PROMPTS:
        reason = Reason.FEW_RATERS if array.shape[1] < 2 else Reason.FEW_TO_CHOOSE_THE_BEST
        reason = reason if same_scale else Reason.OTHER_SCALE
        undefined = Estimate(nan, over=over, n=len(prompts), reason=reason)
        return EnsembleDistance(nan, nan, undefined, None, len(kept))
    of_judges = (scores - target[:, None]) ** 2
    of_all = (row_means(scores) - target) ** 2
    best = int(np.argmin(sum(of_judges[items].mean(axis=0) for items in prompts[::2])))
    others = prompts[1::2]
    of_best = np.array([of_judges[items, best].mean() for items in others])
    of_ensemble = np.array([of_all[items].mean() for items in others])
    return EnsembleDistance(
        sqrt(float(of_ensemble.mean())),
        sqrt(float(of_best.mean())),
        # Nothing is foreseen from these prompts: others are needed to choose the judge.
        replace(sampled_mean(of_best - of_ensemble).as_a(Estimate, over=over), sampled=None),
        best,
        sum(map(len, others)),
    )


class _Recorded:
    """A statistic that keeps its values."""

    def __init__(self, statistic: Resampled) -> None:
        self._statistic = statistic
        self.values: Array = np.empty(0)

    def __call__(self, weights: Array) -> Array:
        self.values = self._statistic(weights)
        return self.values


def _number(k: int, correlation: ArrayLike) -> Array:
    return kish_number(k, np.clip(correlation, 0, 1))


def _votes(
    source: str,
    sets: Sets,
    k: int,
    correlation: float,
    interval: Interval,
    why: Reason | None,
    over: str,
) -> Votes:
    sizes = len(sets), k, max(map(len, sets))
    about = Estimate(nan, over=over, limits=(1.0, float(k)))
    if isnan(correlation):
        return Votes(source, *sizes, nan, replace(about, reason=why or Reason.UNDEFINED_ESTIMATE))
    # The noise of people's mean is taken off the errors of judges, and may be more than those are.
    if abs(correlation) > 1 + ROUNDING:
        return Votes(source, *sizes, nan, replace(about, reason=Reason.NOISE_ABOVE_ERRORS))
    # The higher the correlation, the fewer votes.
    low, value, high = _number(k, [interval.high, correlation, interval.low]).tolist()
    n = interval.n_clusters or None
    number = replace(about, value=value, low=low, high=high, n=n, reason=why or interval.reason)
    return Votes(source, *sizes, correlation, number)


def _why_none(ratings: Array, sets: Sets, reference: ArrayLike | None) -> Reason | None:
    if all(all_alike(ratings[:, list(judges)]) for judges in sets):
        return Reason.IDENTICAL_JUDGES
    known = [effective_judges(ratings[:, list(judges)], reference).reason for judges in sets]
    if not all(known) or known[0] is Reason.NOT_CORRELATED:
        return None
    # Errors without a variance once the noise is taken off; the judge's ratings may well differ.
    alike = reference is not None and known[0] is Reason.CONSTANT_RATER
    return Reason.NOISE_ABOVE_ERRORS if alike else known[0]


def _difference(a: Votes, b: Votes, moved_a: Array, moved_b: Array) -> Difference:
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
