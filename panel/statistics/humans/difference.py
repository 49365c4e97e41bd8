"""A panel and one person compared with the same others: the difference, and averaging's share.

The panel's correlation with the mean of k people is no match for a person's with the mean of the
other k − 1: a mean of fewer is less reliable, so that a judge who rates exactly as people do
comes out ahead (by 0.08 with two people). Here each person is left out in turn; the mean of the
others is what that person, the panel and each of its judges are correlated with, over the same
items. The mean of several judges is more reliable than one person, too (Spearman, 1910; Brown,
1910); so the difference between one judge and one person, and what averaging adds to that, are
figures of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Resampled,
    as_ratings,
    divide,
    items_by_label,
    row_means,
)
from persona_panel.statistics.core.prompts import OverPrompts, over_prompts
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.ceiling import mean_of_others
from persona_panel.statistics.humans.correlation import CorrelationKind, resampled_correlation
from persona_panel.statistics.humans.correlations import correlations


class HumanDifference(NamedTuple):
    """`panel` is the panel's mean less one person, `judge` one judge of it less one person, and
    `averaging` the panel's mean less one of its judges."""

    panel: Statistic
    judge: Statistic
    averaging: Statistic


class ResampledDifference(NamedTuple):
    """The fields of `HumanDifference` as functions of resampling weights."""

    panel: Resampled
    judge: Resampled
    averaging: Resampled


class DifferenceOverPrompts(NamedTuple):
    """The fields of `HumanDifference` inside each prompt, and their means over prompts."""

    panel: OverPrompts
    judge: OverPrompts
    averaging: OverPrompts


class _Columns(NamedTuple):
    """Two raters a column, and the mean of the people whom both are compared with
    `(items, comparisons)`, NaN outside the items that all three have."""

    first: Array
    second: Array
    others: Array

    @classmethod
    def of(cls, first: Array, second: Array, others: Array) -> _Columns:
        missing = np.isnan(first + second + others)
        return cls(*(np.where(missing, np.nan, side) for side in (first, second, others)))


def human_difference(
    judges: ArrayLike, humans: ArrayLike, kind: CorrelationKind
) -> HumanDifference:
    """By how much a panel, and one of its judges, correlates more with people than a person does.

    Each person is left out in turn, and the figures are means over people (and over judges, where
    one of them is compared).

    How to read it: 0, the panel (or a judge of it) agrees with people as one of them does; above
    0, better; below 0, worse. `panel` is above 0 for a mean of several judges who rate exactly as
    people do: `averaging` is what it gains by being a mean. What the judges are worth as raters is
    `judge`. All three fall short of what they would be against the true mean of all people, as
    the mean of few is unreliable, but not in sign.

    Args:
        judges: the panel's `(items, judges)`, NaN where missing.
        humans: `(items, humans)`, likewise; their mean is over those who rated the item.
        kind: see `correlation`.

    Returns:
        Values in [−2, 2]. Undefined without two people who rated an item of the panel's, and
        where all who could be compared are constant; `averaging` without two judges.

    Raises:
        ValueError: wrong shapes, numbers of items that differ, an infinite value, an unknown kind.

    >>> humans = [[1, 1, 2], [2, 3, 3], [3, 2, 4], [4, 4, 4]]
    >>> found = human_difference([[1, 2], [2, 2], [3, 3], [4, 4]], humans, "pearson")
    >>> [round(one.value, 3) for one in found]
    [0.077, 0.056, 0.021]
    """
    ours, theirs = _checked(judges, humans)
    return HumanDifference(
        *(_statistic(columns, kind, ours, theirs) for columns in _comparisons(ours, theirs))
    )


def resampled_human_difference(
    judges: ArrayLike, humans: ArrayLike, kind: CorrelationKind
) -> ResampledDifference:
    """The differences as functions of resampling weights; args and errors as for
    `human_difference`."""
    ours, theirs = _checked(judges, humans)
    return ResampledDifference(
        *(_resampled(columns, kind) for columns in _comparisons(ours, theirs))
    )


def human_difference_by_prompt(
    judges: ArrayLike, humans: ArrayLike, prompts: Labels, kind: CorrelationKind
) -> DifferenceOverPrompts:
    """The differences inside each prompt, and their means over prompts; args and errors as for
    `human_difference`, and one label an item.

    >>> judges, humans = [[1], [2], [6], [5]], [[1, 1], [2, 2], [5, 6], [6, 5]]
    >>> found = human_difference_by_prompt(judges, humans, "aabb", "tau_b")
    >>> [round(value.value, 3) for value in found.panel.values]
    [0.0, 1.0]
    """
    ours, theirs = _checked(judges, humans)
    within = [
        (name, human_difference(ours[items], theirs[items], kind))
        for name, items in items_by_label(prompts, len(ours))
    ]
    return DifferenceOverPrompts(
        *(
            over_prompts([(name, found[field]) for name, found in within])
            for field in range(len(HumanDifference._fields))
        )
    )


def _checked(judges: ArrayLike, humans: ArrayLike) -> tuple[Array, Array]:
    ours, theirs = as_ratings(judges), as_ratings(humans)
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} items rated by judges, {len(theirs)} by humans")
    return ours, theirs


def _comparisons(judges: Array, humans: Array) -> tuple[_Columns, _Columns, _Columns]:
    """Return what is compared: panel and human, judge and human, panel and judge."""
    others, mean = mean_of_others(humans), row_means(judges)[:, None]
    each = judges[:, ~np.isnan(judges).all(axis=0)]
    several = each if each.shape[1] > 1 else each[:, :0]

    def crossed(columns: Array, of: Array) -> Array:
        return np.repeat(columns, of.shape[1], axis=1)

    def in_turn(columns: Array) -> Array:
        return np.tile(columns, humans.shape[1])

    return (
        _Columns.of(in_turn(mean), humans, others),
        _Columns.of(in_turn(each), crossed(humans, each), crossed(others, each)),
        _Columns.of(mean, in_turn(several), crossed(others, several)),
    )


def _resampled(columns: _Columns, kind: CorrelationKind) -> Resampled:
    functions: dict[bytes, Resampled] = {}
    terms: list[list[bytes]] = []
    for first, second, others in zip(*(side.T for side in columns), strict=True):
        # Of raters who rated the same items, one correlation serves in many comparisons.
        terms.append([side.tobytes() + others.tobytes() for side in (first, second)])
        for key, side in zip(terms[-1], (first, second), strict=True):
            if key not in functions:
                functions[key] = resampled_correlation(side, others, kind)

    def mean(weights: Array) -> Array:
        values = {key: function(weights) for key, function in functions.items()}
        total, count = np.zeros(len(weights)), np.zeros(len(weights))
        for first, second in terms:
            difference = values[first] - values[second]
            defined = ~np.isnan(difference)
            total[defined] += difference[defined]
            count += defined
        return divide(total, count)

    return mean


def _statistic(columns: _Columns, kind: CorrelationKind, judges: Array, humans: Array) -> Statistic:
    first, second = (correlations(side, columns.others, kind) for side in columns[:2])
    defined = ~np.isnan(first - second)
    n_judges, n_humans = (int(np.sum(~np.isnan(side).all(axis=0))) for side in (judges, humans))
    shared = ~np.isnan(columns.others)
    n_items = int(shared.any(axis=1).sum())
    if defined.any():
        value = float(np.mean((first - second)[defined]))
        return Statistic(value, n_items, n_judges + n_humans)
    if n_humans < 2:
        reason = Reason.FEW_PEOPLE
    elif not shared.shape[1]:
        reason = Reason.FEW_RATERS
    elif not n_items:
        reason = Reason.NO_SHARED_ITEMS
    elif shared.sum(axis=0).max() < 2:
        reason = Reason.FEW_ITEMS
    else:
        reason = Reason.CONSTANT_RATER
    return Statistic.undefined(reason, n_items=n_items, n_raters=n_judges + n_humans)
