"""The worth of more and of fewer judges, and the smallest panel that ranks alike.
The effective number of k judges whose scores correlate by r̄ is k / (1 + (k − 1) r̄). The fewest
judges who rank as the whole panel does are found on prompts they were not chosen on: numbers of
judges are tested from the largest down.

Sources: Spearman (1910) and Brown (1910) (more judges); L. Kish (1965), *Survey Sampling*, section
8.2 (effective number); S. A. Stouffer (1936), "Evaluating the effect of inadequately measured
variables in partial correlation analysis" (beyond a noisy reference); G. Y. Zou (2007), "Toward
using confidence intervals to compare correlations" (MOVER); S. Geisser (1975), "The predictive
sample reuse method with applications" (folds); W. Maurer, L. A. Hothorn & W. Lehmacher (1995),
"Multiple comparisons in drug clinical trials and preclinical assays" (tests in a fixed order).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
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
    items_by_label,
    mean_there,
    row_means,
    unit_weights,
    why_few,
    without_rounding,
)
from persona_panel.statistics.core.correlation import taus
from persona_panel.statistics.core.jackknife import Interval, jackknife
from persona_panel.statistics.human_raters import resampled_mean_reliability

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
    reliability: float | None = None,
    clusters: Labels | None = None,
    judges: Sequence[Sequence[ArrayLike]] = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the interval of the effective number, between 1 and the number of judges.

    The ends of the interval of the mean correlation r̄ are put into the formula.

    Args:
        ratings, reference, reliability: as for `effective_judges`.
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
    errors = _Errors.of(ratings, reference, reliability)
    n_judges = errors.mean().n_raters
    interval = jackknife(
        errors.correlation,
        len(as_ratings(ratings)),
        clusters,
        kind="correlation",
        judges=[
            [_Errors.of(left, reference, reliability).correlation for left in levels]
            for levels in judges
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
                known = known if reliability is not None else resampled_mean_reliability(people)
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
        """Return r̄ of each resample."""
        return mean_there(self._pairs(weights), 1)

    def mean(self) -> Statistic:
        """Return r̄ of the ratings, over the judges who have any correlation."""
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
    """Center columns on their means and scale them to one size, 0 where there is no value."""
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
    costs: ArrayLike | None = None,
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
        costs: `(judges,)` what each costs; alike if None.
        confidence: of the lower bound, one-sided.
        seed: of the dealing.

    Raises:
        ValueError: a wrong shape, an infinite value, a confidence outside (0, 1), or costs that
            are not one positive number a judge.

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
    price = np.ones(n_judges) if costs is None else np.asarray(costs, dtype=np.float64)
    if price.shape != (n_judges,) or not (price > 0).all():
        raise ValueError(f"costs are {n_judges} positive numbers, one a judge")
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
    saved = 1 - price[list(judges)].sum() / price.sum()
    return SmallestSubset(judges, float(low[size - 1]), held_out, low, float(saved))


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
    """Return all judges in the order in which each best complements those before."""
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
