"""p-values from shuffling: what would be seen if there were nothing to see.

Source: Phipson & Smyth (2010), "Permutation p-values should never be zero": the data
themselves count as one of the shuffles.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations
from math import nan
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    IntArray,
    Labels,
    items_by_label,
    paired_scores,
)
from persona_panel.statistics.core.prompts import over_prompts
from persona_panel.statistics.core.statistic import Statistic
from persona_panel.statistics.humans.correlation import CorrelationKind, correlation, within_prompts
from persona_panel.statistics.humans.correlations import taus

Alternative = Literal["greater", "less", "two-sided"]
MOST_LISTED = 6
"""Of more items the orders, n!, are more than are worth listing."""

CHUNK = 1000
"""Shuffles of which τ is computed at a time: the signs of the pairs of 64 items take 16 MB."""


def permutation_p_value(
    observed: float, shuffled: ArrayLike, alternative: Alternative = "two-sided"
) -> float:
    """The share of shuffles at least as extreme as what was observed.

    Args:
        observed: the statistic of the data.
        shuffled: `(shuffles,)`, its values under the null hypothesis.
        alternative: `two-sided` doubles the smaller tail.

    >>> permutation_p_value(3, [1, 2, 3, 4], "greater")
    0.6
    """
    values = np.asarray(shuffled, dtype=np.float64)
    # A shuffle that gives the data back must count, whatever the order of its sums.
    slack = ROUNDING * max(1.0, abs(observed))
    above = (1 + np.sum(values >= observed - slack)) / (1 + len(values))
    below = (1 + np.sum(values <= observed + slack)) / (1 + len(values))
    tails = {"greater": above, "less": below, "two-sided": min(1.0, 2 * min(above, below))}
    return float(tails[alternative])


def correlation_test(
    x: ArrayLike,
    y: ArrayLike,
    kind: CorrelationKind,
    prompts: Labels | None = None,
    *,
    n_permutations: int = 1999,
    seed: int = 0,
) -> Statistic:
    """A correlation with a two-sided permutation p-value of the same correlation.

    With prompts it is the mean over prompts of the correlation inside each, and the scores of `y`
    are shuffled among the items of the same prompt: what comes only from prompts being easy or
    hard enters neither. Without, it is over all items, any two of which may be exchanged.

    Args and errors as for `correlation`, and one prompt label an item. Without permutations there
    is no p-value.

    Returns:
        A value in [−1, 1], undefined as that of `correlation`, and with prompts where none has two
        items or a value.

    How to read it: the value as for `correlation` and `within_prompts`; the p-value is twice the
    share of shuffles that correlate at least as much in its direction.

    >>> scores = [1, 2, 3, 4, 5, 6]
    >>> found = correlation_test(scores, scores, "tau_b", n_permutations=99)
    >>> found.value, found.p_value
    (0.9999999999999999, 0.02)
    >>> found = correlation_test([1, 2, 8, 9], [2, 1, 9, 8], "tau_b", "aabb", n_permutations=99)
    >>> found.value
    -1.0
    """
    first, second, both = paired_scores(x, y)
    labels = None if prompts is None else [prompts[int(item)] for item in np.flatnonzero(both)]
    first, second = first[both], second[both]
    if labels is None or not labels:
        found = correlation(first, second, kind)
    else:
        found = over_prompts(within_prompts(first, second, labels, kind)).mean
    if found.reason or not n_permutations:
        return replace(found, p_value=nan)
    rng = np.random.default_rng(seed)
    shuffled = []
    for _, items in items_by_label(labels, len(first)):
        ours, theirs = first[items], second[items]
        # No shuffle gives a prompt a value that has none.
        if np.ptp(ours) and np.ptp(theirs):
            shuffles = rng.permuted(np.tile(theirs, (n_permutations, 1)), axis=1)
            shuffled.append(_correlations(ours, shuffles, kind))
    p_value = permutation_p_value(found.value, np.mean(shuffled, axis=0))
    return replace(found, p_value=p_value)


def _correlations(x: Array, shuffled: Array, kind: CorrelationKind) -> Array:
    if kind in ("tau_b", "tau_c"):
        chunks = np.array_split(shuffled, -(-len(shuffled) // CHUNK))
        return np.concatenate([taus(x[:, None], chunk.T, kind) for chunk in chunks])
    if kind == "spearman":
        x, shuffled = scipy.stats.rankdata(x), scipy.stats.rankdata(shuffled, axis=1)
    x = (x - x.mean()) / x.std()
    values: Array = (shuffled - shuffled.mean()) @ x / (len(x) * shuffled[0].std())
    return values


def shuffled_sums(values: Array, n_shuffles: int, rng: np.random.Generator) -> Array:
    """The sum over raters of values that are shuffled among the items, each rater's apart from the
    others': `(n_shuffles, items)`.

    Args:
        values: `(items, raters)`, without gaps; equal values stay as many as they are.

    Every order of a rater's values is as likely as any other. Of few items it is drawn from the
    list of all orders, in a quarter to two thirds of the time that shuffling takes (of 2 to 6 items
    and 5 to 30 raters).
    """
    n_items, n_raters = values.shape
    if n_items > MOST_LISTED:
        shuffles = rng.permuted(np.broadcast_to(values, (n_shuffles, *values.shape)), axis=1)
        sums: Array = shuffles.sum(axis=2)
        return sums
    orders = _orders(n_items)
    drawn = rng.integers(0, len(orders), (n_raters, n_shuffles), dtype=np.uint16)
    places = drawn + len(orders) * np.arange(n_raters)[:, None]
    # What each rater gives to an item in each order, rater after rater.
    given = [values[order].T.ravel() for order in orders.T]
    return np.stack([own.take(places).sum(axis=0) for own in given], axis=1)


@cache
def _orders(n_items: int) -> IntArray:
    """All orders of so many items `(orders, items)`."""
    return np.array(list(permutations(range(n_items))), dtype=np.intp)
