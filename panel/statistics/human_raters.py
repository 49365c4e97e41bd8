"""People compared with one another, and with a panel in the place of one of them.

Each person is left out in turn; the mean of the others is what that person, the panel and each of
its judges are correlated with, over the same items.

Sources: L. J. Cronbach (1951), "Coefficient alpha and the internal structure of tests", and C. R.
Henderson (1953), method 1, with gaps (the reliability of a mean); the argument-quality paper,
section 4.3 and table 4 (α as raters are added), here with Student's t over prompts and Bonferroni.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    MeasurementLevel,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    count_raters,
    defined_mean,
    difference_of,
    divide,
    encode_labels,
    has_ratings,
    items_by_label,
    mean_there,
    row_means,
    unit_weights,
    why_few,
    without_rounding,
)
from persona_panel.statistics.core.correlation import (
    CorrelationKind,
    correlations_by_prompt,
    distinct,
    resampled_correlations,
)
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.jackknife import Interval, jackknife
from persona_panel.statistics.core.means import OverPrompts, over_prompts, two_sided_p
from persona_panel.statistics.reliability import (
    centred_ratings,
    item_rater_variances,
    krippendorff_alpha,
)

_SHARED = 1e-12


def mean_reliability(ratings: ArrayLike) -> Statistic:
    """Return the reliability of items' mean ratings by these raters `(items, raters)`: the share of
    the variance of the means that other raters would find again. An item's noise is taken to be the
    same for all, over its number of raters.

    Returns:
        At most 1; 0: the means differ no more than noise makes them. Undefined without two items,
            where no item has two raters, where all means are the same, or where the gaps leave
            raters and noise inseparable.

    >>> round(mean_reliability([[1, 2], [2, 3], [3, 5], [5, 5]]).value, 3)
    0.931
    """
    array = as_ratings(ratings)
    of_items = has_ratings(array)
    constant = of_items.any() and np.ptp(mean_there(array, 1)[of_items]) == 0
    otherwise = Reason.NO_VARIANCE if constant else Reason.NO_ERROR_TERM
    values, counts = centred_ratings(array)
    sizes = counts.sum(axis=1)
    rated = sizes > 0
    values, counts, sizes = values[rated], counts[rated], sizes[rated]
    means, parts = values.sum(axis=1) / sizes, counts / sizes[:, None]

    def statistic(weights: Array) -> Array:
        drawn = weights[:, rated]
        n = drawn.sum(axis=1)
        spread = divide(drawn @ means**2 - divide((drawn @ means) ** 2, n), n - 1)
        own = divide(drawn @ (1 / sizes), n)
        # How much of a rater's severity two items have in common, on average.
        shared = divide(((drawn @ parts) ** 2).sum(axis=1) - n * own, n * (n - 1))
        _, raters, error = item_rater_variances(values, counts, drawn, True)
        _, _, within = item_rater_variances(values, counts, drawn, False)
        noise = error * own + raters * (own - shared)
        noise = np.where(np.isnan(noise) & (shared < _SHARED), within * own, noise)
        constant = spread <= _SHARED * divide(drawn @ means**2, n)
        return np.minimum(1 - divide(noise, np.where(constant, 0, spread)), 1)

    why = why_few(~np.isnan(array), otherwise, Reason.FEW_PEOPLE)
    return Statistic.of_weights(statistic, of_items, count_raters(array), why)


NOT_COMPARABLE = (
    "The mean of the others is of one person fewer than what judges are compared with, and the "
    "less reliable for it: whether a panel agrees with people more than a person does is said by "
    "the difference of panel and person, both with the same others, not by these two "
    "correlations."
)
"""The remark where a panel's correlation stands next to that of people with the others."""


def human_ceiling(
    ratings: ArrayLike, kind: CorrelationKind, prompts: Labels | None = None
) -> Statistic:
    """Return the mean over raters of each one's correlation of a `kind` with the mean of the others
    who rated the item: that of one person chosen at random. It is no upper bound. With a label an
    item it is r of deviations from the means in `prompts`. Raters with fewer than two items that
    others rated, too, and those who are constant are left out; the note counts the latter.

    >>> result = human_ceiling([[1, 1, 2], [2, 3, 3], [3, 2, 4], [4, 4, 4]], "tau_b")
    >>> round(result.value, 3)
    0.793
    """
    array = as_ratings(ratings)
    others = mean_of_others(array)
    raters = np.sum(~np.isnan(others), axis=0) >= 2
    ours, others = array[:, raters], others[:, raters]

    def each(weights: Array) -> Array:
        return resampled_correlations(ours, others, kind, weights, prompts)

    [values] = each(unit_weights(len(array)))
    n_constant = int(np.isnan(values).sum())
    if n_constant < len(values):
        n_items = int(np.sum(~np.isnan(others).all(axis=1)))
        mean = Statistic(defined_mean(values), n_items, len(values) - n_constant)
    else:
        otherwise = Reason.CONSTANT_RATER if n_constant else Reason.NO_SHARED_ITEMS
        few = Reason.FEW_ITEMS if has_ratings(array).sum() < 2 and not n_constant else otherwise
        mean = Statistic.undefined(Reason.FEW_PEOPLE if count_raters(array) < 2 else few)
    mean = replace(mean, note=f"{n_constant} constant raters left out" if n_constant else "")
    resampled = _mean_over_columns(each)
    return mean.with_weights(resampled, has_ratings(array, 2), "correlation", (-1.0, 1.0))


def mean_of_others(ratings: Array) -> Array:
    """Return, for each rating, the mean of the item's other ratings: `(items, raters)`, NaN where
    there is no rating or no other."""
    rated = ~np.isnan(ratings)
    sums = np.nansum(ratings, axis=1, keepdims=True) - np.nan_to_num(ratings)
    counts = rated.sum(axis=1, keepdims=True) - rated
    return np.where(rated, without_rounding(divide(sums, counts), ratings), np.nan)


T = TypeVar("T")


class Differences(NamedTuple, Generic[T]):
    """`panel` is the panel's mean less one person, `judge` one judge of it less one person, and
    `averaging` the panel's mean less one of its judges."""

    panel: T
    judge: T
    averaging: T


HumanDifference = Differences[Statistic]
DifferenceOverPrompts = Differences[OverPrompts]
"""The differences inside each prompt, and their means over prompts."""


def human_difference(
    judges: ArrayLike, humans: ArrayLike, kind: CorrelationKind
) -> HumanDifference:
    """Return how much more a panel, and one of its judges, correlates with people than a person
    does.

    Each person is left out in turn, and the figures are means over people (and over judges, where
    one of them is compared). How to read it: 0, the panel (or a judge of it) agrees with people as
    one of them does; above 0, better.

    Args:
        judges, humans: `(items, judges)` and `(items, humans)`, NaN where missing.

    Returns:
        Values in [−2, 2]. Undefined without two people who rated an item of the panel's, and
        where all who could be compared are constant; `averaging` without two judges.

    >>> humans = [[1, 1, 2], [2, 3, 3], [3, 2, 4], [4, 4, 4]]
    >>> result = human_difference([[1, 2], [2, 2], [3, 3], [4, 4]], humans, "pearson")
    >>> [round(each.value, 3) for each in result]
    [0.077, 0.056, 0.021]
    """
    ours, theirs = _checked(judges, humans)
    differences = []
    for columns in _comparisons(ours, theirs):
        apart = _apart(columns, kind)
        result = _difference(columns, apart(unit_weights(len(ours)))[0], ours, theirs)
        resampled = _mean_over_columns(apart)
        differences.append(result.with_weights(resampled, None, "difference", (-2.0, 2.0)))
    return Differences(*differences)


def human_difference_by_prompt(
    judges: ArrayLike, humans: ArrayLike, prompts: Labels, kind: CorrelationKind
) -> DifferenceOverPrompts:
    """Return the differences inside each prompt, and their means over prompts; args and errors as
    for `human_difference`, and one label an item.

    >>> judges, humans = [[1], [2], [6], [5]], [[1, 1], [2, 2], [5, 6], [6, 5]]
    >>> result = human_difference_by_prompt(judges, humans, "aabb", "tau_b")
    >>> [round(value.value, 3) for value in result.panel.values]
    [0.0, 1.0]
    """
    ours, theirs = _checked(judges, humans)
    by_prompt, means = [*items_by_label(prompts, len(ours))], []
    for columns, least in zip(_comparisons(ours, theirs), Differences(1, 1, 2), strict=True):
        x, y, of_pair = _pairs(columns)
        values = correlations_by_prompt(x, y, prompts, kind)[:, of_pair]
        within = []
        for (name, items), apart in zip(by_prompt, values[:, 0] - values[:, 1], strict=True):
            sides = ours[items], theirs[items]
            # A mean over the judges of a prompt is no mean where there is only one.
            n = len(columns) if count_raters(sides[0]) >= least else 0
            within.append((name, _difference(columns[:n, :, items], apart[:n], *sides)))
        means.append(over_prompts(within))
    return Differences(*means)


def _checked(judges: ArrayLike, humans: ArrayLike) -> tuple[Array, Array]:
    ours, theirs = as_ratings(judges), as_ratings(humans)
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} items rated by judges, {len(theirs)} by humans")
    return ours, theirs


def _comparisons(judges: Array, humans: Array) -> Differences[Array]:
    """Return two raters' ratings in each comparison, and the mean of the people whom both are
    compared with, of the items that have all three: `(comparisons, 3, items)`."""
    mean, sides = row_means(judges), [*zip(humans.T, mean_of_others(humans).T, strict=True)]
    each = [judge for judge in judges.T if not np.isnan(judge).all()]
    compared = (
        [(mean, human, others) for human, others in sides],
        [(judge, human, others) for human, others in sides for judge in each],
        [(mean, judge, others) for _, others in sides for judge in each if len(each) > 1],
    )
    columns = [np.reshape(of, (len(of), 3, len(judges))) for of in compared]
    missing = [np.isnan(of).any(axis=1, keepdims=True) for of in columns]
    return Differences(*map(lambda no, of: np.where(no, nan, of), missing, columns))


def _apart(columns: Array, kind: CorrelationKind) -> Resampled:
    """Return the comparisons' differences in each resample `(resamples, comparisons)`."""
    x, y, of_pair = _pairs(columns)

    def apart(weights: Array) -> Array:
        values = resampled_correlations(x, y, kind, weights)[:, of_pair]
        first, second = values.swapaxes(0, 1)
        return first - second

    return apart


def _mean_over_columns(values: Resampled) -> Resampled:
    """Return the mean of what is defined of `(resamples, columns)`."""
    return lambda weights: mean_there(values(weights), 1)


def _pairs(columns: Array) -> tuple[Array, Array, IntArray]:
    """Return the raters of comparisons beside the mean of the others, each two columns once
    `(items, pairs)`, and which pairs a comparison has `(2, comparisons)`: of raters who rated the
    same items, one correlation serves in many."""
    sides = np.stack([columns[:, :2], columns[:, [2, 2]]], axis=2).swapaxes(0, 1)
    sides = sides.reshape(-1, 2, columns.shape[2])
    first, of_pair = distinct(sides)
    x, y = sides[first].transpose(1, 2, 0)
    return x, y, of_pair.reshape(2, -1)


def _difference(columns: Array, apart: Array, judges: Array, humans: Array) -> Statistic:
    """Return the mean of the comparisons' differences, with the reason where there is none."""
    n_judges, n_humans = count_raters(judges), count_raters(humans)
    shared = ~np.isnan(columns[:, 2])
    n_items = int(shared.any(axis=0).sum())
    if not np.isnan(apart).all():
        return Statistic(defined_mean(apart), n_items, n_judges + n_humans)
    reasons = {
        Reason.FEW_PEOPLE: n_humans < 2,
        Reason.FEW_RATERS: not len(shared),
        Reason.NO_SHARED_ITEMS: not n_items,
        Reason.FEW_ITEMS: shared.sum(axis=1).max(initial=0) < 2,
        Reason.CONSTANT_RATER: True,
    }
    reason = next(name for name, holds in reasons.items() if holds)
    return Statistic.undefined(reason, n_items=n_items, n_raters=n_judges + n_humans)


@dataclass(frozen=True, slots=True)
class AddedRaters:
    """α of people with raters added, the `change` from people's own, its interval (95 % are of all
    additions together), its p-value and that adjusted by Bonferroni; NaN where an α is
    undefined."""

    alpha: Statistic
    change: float
    interval: Interval
    p: float
    p_adjusted: float


def added_raters(
    humans: ArrayLike,
    models: ArrayLike,
    level: MeasurementLevel = "ordinal",
    clusters: Labels | None = None,
    *,
    seed: int = 0,
) -> tuple[Statistic, tuple[AddedRaters, ...]]:
    """Return Krippendorff's α of people, and with the first 1, 2, … n model raters, over the items
    that two people rated, so that a change is due to the raters added.

    How to read it: a change near 0 means that the models agree with these people as much as these
    do among themselves; below 0 less, above 0 more.

    Args:
        humans, models: `(items, raters)`, NaN where missing, and `(items, n)` in the order in which
            they are added.
        clusters: a label an item, its prompt; each item is its own if None. Intervals and p-values
            take five, and 8 items.

    >>> humans = [[1, 1], [2, 2], [3, 3], [1, 2]]
    >>> alone, (added,) = added_raters(humans, [[1], [2], [3], [1]])
    >>> round(alone.value, 3), round(added.alpha.value, 3)
    (0.79, 0.853)
    """
    theirs, ours = as_ratings(humans), as_ratings(models)
    if len(theirs) != len(ours):
        raise ValueError(f"{len(theirs)} items rated by people, {len(ours)} by models")
    codes = encode_labels(range(len(theirs)) if clusters is None else clusters, len(theirs))[1]
    kept = has_ratings(theirs, 2)
    theirs, ours, codes = theirs[kept], ours[kept], codes[kept]
    alone, *alphas = (
        krippendorff_alpha(np.hstack([theirs, ours[:, :n]]), level)
        for n in range(ours.shape[1] + 1)
    )
    n_tests = max(1, sum(not isnan(alpha.value - alone.value) for alpha in alphas))
    added = []
    for alpha in alphas:
        interval = jackknife(
            difference_of(alpha.resampled, alone.resampled), len(codes), codes, kind="difference",
            counted=alpha.counted, confidence=1 - LEVEL / n_tests, seed=seed,
        )  # fmt: skip
        change, p = alpha.value - alone.value, nan
        if not interval.reason:
            p = two_sided_p(change / interval.standard_error, interval.degrees_of_freedom)
        added.append(AddedRaters(alpha, change, interval, p, min(n_tests * p, 1.0)))
    return alone, tuple(added)
