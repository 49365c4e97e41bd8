"""Confidence intervals by resampling whole clusters.

Responses to one prompt are judged alike, so they are drawn together: a cluster is a
prompt, or an item where there are no prompts. Raters are not resampled: an interval says
what other prompts would give with the same raters.

Sources: B. Efron (1987), "Better bootstrap confidence intervals"; Efron & Tibshirani
(1993), *An Introduction to the Bootstrap*, ch. 13 (percentile) and 14 (BCa).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isnan, nan

import numpy as np
import scipy

from panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Resampled,
    divide,
    encode_labels,
    unit_weights,
)
from panel.statistics.core.options import IntervalMethod, check_resampling
from panel.statistics.core.statistic import Reason

BLOCK = 250
"""Resamples weighed at a time, so that memory does not grow with their number."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval; `low` and `high` are NaN exactly when `reason` says why.

    `n_undefined` resamples left the statistic undefined (every rating drawn was the same,
    say); the interval is over the others.
    """

    low: float
    high: float
    standard_error: float
    method: IntervalMethod
    confidence: float
    n_resamples: int
    n_undefined: int
    n_clusters: int
    reason: Reason | None = None


def bootstrap(
    statistic: Resampled,
    n_items: int,
    clusters: Labels | None = None,
    *,
    method: IntervalMethod = "bca",
    confidence: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The interval of a statistic under resampling of clusters.

    BCa corrects for bias and skew and is the default; it needs a statistic that changes
    smoothly when a cluster is left out, and is undefined where that or the resampling
    gives nothing to correct by. It is then not replaced by the percentile interval:
    ask for that one.

    How to read it: were other clusters drawn from where these come from, intervals made so would
    hold the true value in about `confidence` of the cases; with fewer than some twenty clusters
    in fewer.

    Args:
        statistic: see `Resampled`; one that takes items, not weights, is wrapped by
            `by_items`.
        n_items: how many items the weights are for.
        clusters: a label an item; each item is its own cluster if None.

    Raises:
        ValueError: an unknown method, a confidence outside (0, 1), no resamples, or not
            one label an item.

    >>> values = np.array([1.0, 2, 3, 4, 5, 6])
    >>> interval = bootstrap(resampled_mean(values), 6, n_resamples=500)
    >>> interval.low < values.mean() < interval.high
    np.True_
    """
    check_resampling(method, confidence, n_resamples)
    codes = np.arange(n_items) if clusters is None else encode_labels(clusters, n_items)[1]
    n_clusters = int(codes.max(initial=-1)) + 1

    def interval(low: float, high: float, reason: Reason | None, drawn: Array) -> Interval:
        kept = drawn[~np.isnan(drawn)]
        error = float(np.std(kept, ddof=1)) if len(kept) > 1 else nan
        undefined = len(drawn) - len(kept)
        return Interval(
            low, high, error, method, confidence, len(drawn), undefined, n_clusters, reason
        )

    if n_clusters < 2:
        return interval(nan, nan, Reason.FEW_CLUSTERS, np.empty(0))
    value = float(statistic(unit_weights(n_items))[0])
    rng = np.random.default_rng(seed)
    drawn = np.concatenate(
        [statistic(w) for w in resample_weights(codes, n_clusters, n_resamples, rng)]
    )
    if isnan(value) or np.isnan(drawn).all():
        return interval(nan, nan, Reason.ALL_RESAMPLES_UNDEFINED, drawn)
    if method == "percentile":
        return interval(*percentile(drawn, confidence), None, drawn)
    left_out = np.concatenate([statistic(w) for w in jackknife_weights(codes, n_clusters)])
    return interval(*bca(value, drawn, left_out, confidence), drawn)


def resampled_mean(values: Array) -> Resampled:
    """The mean over items of values `(items,)` that no resample changes, NaN left out."""
    defined = ~np.isnan(values)

    def statistic(weights: Array) -> Array:
        kept = weights[:, defined]
        return divide(kept @ values[defined], kept.sum(axis=1))

    return statistic


def by_items(function: Callable[[IntArray], float]) -> Resampled:
    """A statistic of the drawn items (indices, repeated as drawn) as one of weights.

    >>> resampled = by_items(lambda items: float(np.mean(items)))
    >>> resampled(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]])).tolist()
    [0.5, 2.0]
    """

    def statistic(weights: Array) -> Array:
        counts = weights.astype(np.intp)
        items = np.arange(weights.shape[1])
        return np.array([function(np.repeat(items, row)) for row in counts])

    return statistic


def resample_weights(
    codes: IntArray, n_clusters: int, n_resamples: int, rng: np.random.Generator
) -> Iterator[Array]:
    """Item weights `(up to BLOCK, items)` of resamples that draw clusters with replacement."""
    share = np.full(n_clusters, 1 / n_clusters)
    for start in range(0, n_resamples, BLOCK):
        size = min(BLOCK, n_resamples - start)
        yield rng.multinomial(n_clusters, share, size=size).astype(np.float64)[:, codes]


def jackknife_weights(codes: IntArray, n_clusters: int) -> Iterator[Array]:
    """Item weights `(up to BLOCK, items)` with one cluster left out in each row."""
    for start in range(0, n_clusters, BLOCK):
        rows = np.arange(start, min(start + BLOCK, n_clusters))
        yield (codes[None, :] != rows[:, None]).astype(np.float64)


def percentile(drawn: Array, confidence: float) -> tuple[float, float]:
    """The central `confidence` of the resampled values."""
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def bca(
    value: float, drawn: Array, left_out: Array, confidence: float
) -> tuple[float, float, Reason | None]:
    """The bias-corrected and accelerated interval (Efron & Tibshirani, eq. 14.9–14.15).

    Args:
        value: the statistic of the data themselves.
        drawn: `(resamples,)`, its resampled values; undefined ones are left out.
        left_out: `(clusters,)`, its values with one cluster left out.
    """
    drawn, left_out = drawn[~np.isnan(drawn)], left_out[~np.isnan(left_out)]
    if np.ptp(drawn) == 0:
        return nan, nan, Reason.RESAMPLES_CONSTANT
    below = (np.mean(drawn < value) + np.mean(drawn <= value)) / 2
    if below in (0, 1):
        return nan, nan, Reason.OUTSIDE_RESAMPLES
    deviations = left_out.mean() - left_out if len(left_out) else left_out
    spread = np.sum(deviations**2)
    if spread == 0:
        return nan, nan, Reason.NO_VARIANCE
    acceleration = np.sum(deviations**3) / (6 * spread**1.5)
    bias = scipy.special.ndtri(below)
    tail = (1 - confidence) / 2
    z = bias + scipy.special.ndtri(np.array([tail, 1 - tail]))
    low, high = np.quantile(drawn, scipy.special.ndtr(bias + z / (1 - acceleration * z)))
    return float(low), float(high), None
