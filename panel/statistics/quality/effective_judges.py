"""What a panel is worth: what more judges add, how many of them are independent, and what
is lost without each.

Sources: Spearman (1910) and Brown (1910) for the reliability of more judges; L. Kish
(1965), *Survey Sampling*, section 8.2, for the effective number: k judges whose scores
correlate by r have a mean as noisy as that of k / (1 + (k − 1) r) independent ones; S. A. Stouffer
(1936), "Evaluating the effect of inadequately measured variables in partial correlation analysis",
for the correlation of judges beyond a reference that is itself noisy.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.agreement.pairwise import why_no_pair
from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Resampled,
    as_ratings,
    as_scores,
    divide,
    items_by_label,
    row_means,
    unit_weights,
)
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.mean_reliability import resampled_mean_reliability
from persona_panel.statistics.resampling.jackknife import Interval, jackknife

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
    """The reliability of the mean of `times` as many judges.

    How to read it: as a reliability: 1, other judges would give the same means; 0, the means are
    noise. It takes the further judges as interchangeable with those at hand, so it flatters
    judges who share their errors: see `effective_judges`.

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
    The mean of 30 judges with an effective number of 1.5 is hardly less noisy than one judge.
    Without a reference a good panel has a low number, as its judges agree on what is true:
    compare panels with a reference.

    Args:
        ratings: `(items, judges)`, NaN where missing.
        reference: what the judges try to say. The correlation is then of what each judge says
            beyond it: judges who agree because they are right are not held to be dependent.
            `(items, people)`: the mean of people's ratings, whose noise all judges seem to share,
            is corrected for its reliability (`mean_reliability`). `(items,)`: scores that are
            taken to be without error; if they have any, the number is a lower bound. Without a
            reference all agreement counts as dependence.
        reliability: of the reference, in (0, 1], where it is known.

    Returns:
        k / (1 + (k − 1) r̄) with r̄ the mean correlation of two judges, over the k judges
        who have any: 1 when all say the same, near k when none has to do with another.
        Undefined with fewer than two judges, when all are constant or say nothing beyond the
        reference, when r̄ is not above 0 (the number is then k or as good as k, but nothing
        tells how good), or when the reliability of the reference is not known or not above 0.

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
    """The interval of the effective number, between 1 and the number of judges.

    It is that of the mean correlation r̄, whose ends are then put into the formula: the higher r̄,
    the lower the number; an r̄ of 0 or less is no dependence. Slopes and the reliability are
    estimated anew without each cluster.

    Args:
        ratings, reference, reliability: as for `effective_judges`.
        clusters: a label an item, its prompt; each item is its own if None.
        judges: for each factor that judges are sampled from, the ratings without each of its
            levels.
        confidence, seed: as for `jackknife`.

    Raises:
        ValueError: as for `effective_judges` and `jackknife`.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(60, 4)) + rng.normal(size=(60, 1))
    >>> found = effective_judges_interval(noise, np.zeros(60))
    >>> 1 <= found.low < found.high <= 4
    True
    """
    errors = _Errors.of(ratings, reference, reliability)
    n_judges = errors.mean().n_raters
    found = jackknife(
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
    if found.reason:
        return found
    low, high = (
        float(kish_number(n_judges, np.clip(end, 0, 1))) for end in (found.high, found.low)
    )
    return replace(found, low=low, high=high)


def resampled_set_correlation(
    ratings: ArrayLike, sets: Sequence[Sequence[int]], reference: ArrayLike | None = None
) -> Resampled:
    """The mean correlation r̄ of two judges of the same set, beyond a reference if there is one, as
    a function of resampling weights.

    Args:
        ratings, reference: as for `effective_judges`.
        sets: the columns of each set of judges; each pair inside a set counts once.

    Raises:
        ValueError: as for `effective_judges`.
    """
    errors = _Errors.of(ratings, reference, None)
    within = {(a, b) for one in sets for a in one for b in one if a < b}
    return replace(
        errors,
        pairs=np.array(
            [pair for pair in errors.pairs.tolist() if tuple(pair) in within], dtype=np.intp
        ).reshape(-1, 2),
    ).correlation


def kish_number(n_judges: int, correlation: ArrayLike) -> Array:
    """Return how many independent judges so many judges count as whose scores correlate so.

    How to read it: n / (1 + (n − 1) r̄): n where r̄ is 0, 1 where it is 1; of an r̄ below 0 it is
    more than n.

    >>> kish_number(9, [0.0, 0.5, 1.0]).round(2).tolist()
    [9.0, 1.8, 1.0]
    """
    return divide(n_judges, 1 + (n_judges - 1) * np.minimum(correlation, 1))


def leave_one_judge_out(
    ratings: ArrayLike, statistic: Callable[[Array], Statistic], judges: Labels | None = None
) -> LeaveOneOut:
    """A statistic of the panel without each of its judges.

    How to read it: of α or a correlation, a judge whose `change` is above 0 lowers the panel's
    figure; one below 0 raises it. The changes of two judges do not add up.

    Args:
        ratings: `(items, judges)`, NaN where missing.
        statistic: of ratings: α, or the correlation of their mean with people's, say.
        judges: a label a column, to leave out all columns of a persona or of a model
            together; each column is a judge if None.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label a column.

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
    change = np.array([found.value - full.value for found in without])
    return LeaveOneOut(full, tuple(name for name, _ in groups), without, change)


@dataclass(frozen=True, slots=True, eq=False)
class _Errors:
    """What judges say beyond a reference, and how it correlates.

    With b the slope of a judge on the reference x, of reliability ρ, the covariance of the errors
    of judges j and k is s_jk − b_j s_kx − b_k s_jx + ρ b_j b_k s_xx, and b = s_jx / (ρ s_xx): x
    repeats only the share ρ of its variance (Stouffer's partial correlation).

    Attributes:
        scores: `(items, judges)` about their means, 0 where missing or without a reference.
        rated: 1 where there is a score, else 0.
        reference: `(items,)` about its mean, 0 where missing; all 0 where there is none.
        reliability: of the reference, by resampling weights.
        pairs: the pairs of judges who share two items `(pairs, 2)`.
    """

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
        """r̄ of each resample."""
        return np.asarray(_mean_of_defined(self._pairs(weights)))

    def mean(self) -> Statistic:
        """r̄ of the ratings, over the judges who have any correlation."""
        weights = unit_weights(len(self.scores))
        found = self._pairs(weights)[0]
        judges = np.unique(self.pairs[~np.isnan(found)])
        n_items = int((self.rated[:, judges].sum(axis=1) >= 2).sum())
        if len(judges):
            return Statistic(float(_mean_of_defined(found[None])[0]), n_items, len(judges))
        known = float(self.reliability(weights)[0])
        if isnan(known):
            return Statistic.undefined(Reason.UNKNOWN_NOISE)
        if known <= 0:
            return Statistic.undefined(Reason.UNRELIABLE_REFERENCE)
        return Statistic.undefined(why_no_pair(self.rated, len(self.pairs)))

    def _pairs(self, weights: Array) -> Array:
        """The correlation of each pair's errors in each resample `(resamples, pairs)`."""
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
            found = covariance(p, q)
            if is_plain:
                return found
            shared = slope_p * covariance(beside, q) + slope_q * covariance(beside, p)
            return np.asarray(found - shared + slope_p * slope_q * of_x)

        slope_a, slope_b = slopes[:, a], slopes[:, b]
        own = [
            np.where(variance > UNEXPLAINED * (weights @ p**2), variance, np.nan)
            for p, slope in ((first, slope_a), (second, slope_b))
            for variance in (error(p, p, slope, slope),)
        ]
        return divide(error(first, second, slope_a, slope_b), np.sqrt(own[0]) * np.sqrt(own[1]))


def _about_mean(values: Array, there: Mask) -> Array:
    """Columns about their means and of one size, 0 where there is nothing."""
    counts = there.sum(axis=0)
    kept = np.where(there, values, 0)
    centred = np.where(there, values - divide(kept.sum(axis=0), counts), 0)
    largest = np.max(np.abs(centred), axis=0, initial=0)
    return np.nan_to_num(divide(centred, largest))


def _mean_of_defined(values: Array) -> Array:
    return divide(np.nansum(values, axis=1), np.sum(~np.isnan(values), axis=1))
