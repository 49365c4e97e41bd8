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

from panel.statistics.arrays import Array, Labels, Resampled, as_ratings, as_scores, divide, members
from panel.statistics.estimate import Estimate, Reason
from panel.statistics.pairwise import pairwise, resampled_pairwise

UNEXPLAINED = 1e-12
"""A judge whose scores follow the reference up to this share of their variance has no
error of their own to correlate; what is left is rounding."""


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """`judges` in order of appearance; `without` `(judges,)` is the statistic of the panel
    that lacks each, and `change` how much that is more than `full`."""

    full: float
    judges: tuple[Hashable, ...]
    without: Array
    change: Array


def spearman_brown(reliability: float, times: ArrayLike) -> Array:
    """The reliability of the mean of `times` as many judges.

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
    return divide(factor * reliability, np.where(denominator > 0, denominator, 0))


def effective_judges(ratings: ArrayLike, reference: ArrayLike | None = None) -> Estimate:
    """How many independent judges the panel's mean is worth.

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
    """
    found = pairwise(_errors(ratings, reference), "pearson").mean
    if found.reason:
        return found
    value = _kish(found.n_raters, np.array([found.value]))[0]
    if np.isnan(value):
        return Estimate.undefined(
            Reason.NOT_POSITIVE, n_items=found.n_items, n_raters=found.n_raters
        )
    return Estimate(float(value), found.n_items, found.n_raters)


def resampled_effective_judges(ratings: ArrayLike, reference: ArrayLike | None = None) -> Resampled:
    """The effective number of judges as a function of resampling weights; args as for
    `effective_judges`. The judges who count and the residuals are those of the data."""
    errors = _errors(ratings, reference)
    n_judges = pairwise(errors, "pearson").mean.n_raters
    correlations = resampled_pairwise(errors, "pearson")
    return lambda weights: _kish(n_judges, correlations(weights))


def leave_one_judge_out(
    ratings: ArrayLike, statistic: Callable[[Array], float], judges: Labels | None = None
) -> LeaveOneOut:
    """A statistic of the panel without each of its judges.

    Args:
        ratings: `(items, judges)`, NaN where missing.
        statistic: from ratings to a number: α, or the correlation of their mean with the
            humans', say; NaN where undefined.
        judges: a label a column, to leave out all columns of a persona or of a model
            together; each column is a judge if None.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label a column.
    """
    array = as_ratings(ratings)
    labels = range(array.shape[1]) if judges is None else judges
    full = float(statistic(array))
    groups = list(members(labels, array.shape[1]))
    without = np.array([statistic(np.delete(array, columns, axis=1)) for _, columns in groups])
    return LeaveOneOut(full, tuple(name for name, _ in groups), without, without - full)


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
