"""What a panel is worth: what more judges add, how many of them are independent, and what
is lost without each.

Sources: Spearman (1910) and Brown (1910) for the reliability of more judges; L. Kish
(1965), *Survey Sampling*, section 8.2, for the effective number: k judges whose scores
correlate by r have a mean as noisy as that of k / (1 + (k − 1) r) independent ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from panel.statistics.agreement.pairwise import pairwise, resampled_pairwise
from panel.statistics.core.arrays import (
    Array,
    Labels,
    Resampled,
    as_ratings,
    as_scores,
    divide,
    items_by_label,
)
from panel.statistics.core.statistic import Reason, Statistic

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
        `times` · r / (1 + (`times` − 1) · r), in the shape of `times`; NaN where a negative
        reliability leaves nothing to divide by.

    Raises:
        ValueError: reliability above 1, or a negative number of times.

    >>> spearman_brown(0.5, [1, 2, 4]).round(3).tolist()
    [0.5, 0.667, 0.8]
    """
    factor = np.asarray(times, dtype=np.float64)
    if reliability > 1 or (factor < 0).any():
        raise ValueError("reliability is at most 1 and times at least 0")
    denominator = 1 + (factor - 1) * reliability
    return divide(factor * reliability, np.maximum(denominator, 0))


def effective_judges(ratings: ArrayLike, reference: ArrayLike | None = None) -> Statistic:
    """How many independent judges the panel's mean is worth.

    How to read it: 1, further judges only repeat the first; k, the judges' scores are unrelated.
    The mean of 30 judges with an effective number of 1.5 is hardly less noisy than one judge.
    Without a reference a good panel has a low number, as its judges agree on what is true:
    compare panels with a reference.

    Args:
        ratings: `(items, judges)`, NaN where missing.
        reference: what the judges try to say `(items,)`, the mean human score, say. The
            correlation is then of what each judge says beyond it (the residual of the
            judge's regression on the reference): judges who agree because they are right
            are not held to be dependent. Without a reference all agreement counts as
            dependence.

    Returns:
        k / (1 + (k − 1) r̄) with r̄ the mean correlation of two judges, over the k judges
        who have any: 1 when all say the same, k when none has to do with another, more
        when their errors cancel. Undefined with fewer than two judges, when all are
        constant, or when correlations so negative leave nothing to divide by.

    Raises:
        ValueError: a wrong shape or an infinite value.

    >>> ratings = [[1, 1, 2], [2, 2, 1], [3, 3, 3]]
    >>> round(effective_judges(ratings).value, 3)
    1.286
    >>> round(effective_judges([[1, 1], [2, 2], [3, 3]]).value, 3)
    1.0
    """
    found = pairwise(_errors(ratings, reference), "pearson").mean
    if found.reason:
        return found
    value = _kish(found.n_raters, np.array([found.value]))[0]
    if np.isnan(value):
        return Statistic.undefined(
            Reason.NOT_POSITIVE, n_items=found.n_items, n_raters=found.n_raters
        )
    return Statistic(float(value), found.n_items, found.n_raters)


def resampled_effective_judges(ratings: ArrayLike, reference: ArrayLike | None = None) -> Resampled:
    """The effective number of judges as a function of resampling weights; args as for
    `effective_judges`. The judges who count and the residuals are those of the data."""
    errors = _errors(ratings, reference)
    n_judges = pairwise(errors, "pearson").mean.n_raters
    correlations = resampled_pairwise(errors, "pearson")
    return lambda weights: _kish(n_judges, correlations(weights))


def leave_one_judge_out(
    ratings: ArrayLike, statistic: Callable[[Array], Statistic], judges: Labels | None = None
) -> LeaveOneOut:
    """A statistic of the panel without each of its judges.

    How to read it: of α or a correlation, a judge whose `change` is above 0 lowers the panel's
    figure; one below 0 raises it. The changes of two judges do not add up.

    Args:
        ratings: `(items, judges)`, NaN where missing.
        statistic: of ratings: α, or the correlation of their mean with the humans', say.
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


def _kish(n_judges: int, correlation: Array) -> Array:
    denominator = 1 + (n_judges - 1) * correlation
    # Below zero by rounding when errors cancel altogether: then no number is large enough.
    return divide(n_judges, np.where(denominator > UNEXPLAINED, denominator, 0))


def _errors(ratings: ArrayLike, reference: ArrayLike | None) -> Array:
    array = as_ratings(ratings)
    if reference is None:
        return array
    truth = as_scores(reference)
    if len(truth) != len(array):
        raise ValueError(f"{len(truth)} reference scores for {len(array)} items")
    errors = np.full(array.shape, np.nan)
    for judge, scores in enumerate(array.T):
        both = ~np.isnan(scores + truth)
        if not both.any():
            continue
        y, x = scores[both] - scores[both].mean(), truth[both] - truth[both].mean()
        slope = np.nan_to_num(divide(x @ y, x @ x))
        residual = y - slope * x
        explained = residual @ residual <= UNEXPLAINED * (y @ y)
        errors[both, judge] = 0 if explained else residual
    return errors
