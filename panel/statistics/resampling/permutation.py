"""p-values from shuffling: what would be seen if there were nothing to see.

Source: Phipson & Smyth (2010), "Permutation p-values should never be zero": the data
themselves count as one of the shuffles.
"""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from panel.statistics.core.arrays import Array, IntArray, Labels, items_by_label, paired_scores
from panel.statistics.core.statistic import Statistic
from panel.statistics.humans.correlation import CorrelationKind, correlation

Alternative = Literal["greater", "less", "two-sided"]

ROUNDING = 1e-9
"""Two values this close are one: sums taken in another order differ in their last digits,
and a shuffle that gives the data back must count."""


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
    """A correlation with a two-sided permutation p-value.

    The scores of `y` are shuffled among the items of the same prompt, so a correlation
    that comes only from prompts being easy or hard is not significant.

    Args and errors as for `correlation`, and one prompt label an item; without prompts all
    items may be exchanged. Without permutations there is no p-value.

    How to read it: the value as for `correlation`; the p-value is the share of shuffles within
    prompts that correlate at least as much in either direction.

    >>> scores = [1, 2, 3, 4, 5, 6]
    >>> found = correlation_test(scores, scores, "tau_b", n_permutations=99)
    >>> found.value, found.p_value
    (0.9999999999999999, 0.02)
    """
    found = correlation(x, y, kind)
    if found.reason or not n_permutations:
        return replace(found, p_value=nan)
    first, second, both = paired_scores(x, y)
    labels = None if prompts is None else [prompts[int(item)] for item in np.flatnonzero(both)]
    first, second = first[both], second[both]
    blocks = [items for _, items in items_by_label(labels, len(first))]
    rng = np.random.default_rng(seed)
    shuffled = _correlations(first, _shuffle(second, blocks, n_permutations, rng), kind)
    p_value = permutation_p_value(found.value, shuffled)
    return Statistic(found.value, found.n_items, found.n_raters, p_value)


def _shuffle(
    scores: Array, blocks: list[IntArray], n_permutations: int, rng: np.random.Generator
) -> Array:
    """Shuffles of scores among the items of each block: `(shuffles, items)`."""
    result = np.tile(scores, (n_permutations, 1))
    for items in blocks:
        result[:, items] = rng.permuted(result[:, items], axis=1)
    return result


def _correlations(x: Array, shuffled: Array, kind: CorrelationKind) -> Array:
    if kind in ("tau_b", "tau_c"):
        return np.array(
            [
                scipy.stats.kendalltau(x, y, method="asymptotic", variant=kind[-1]).statistic
                for y in shuffled
            ]
        )
    if kind == "spearman":
        x, shuffled = scipy.stats.rankdata(x), scipy.stats.rankdata(shuffled, axis=1)
    x = (x - x.mean()) / x.std()
    values: Array = (shuffled - shuffled.mean()) @ x / (len(x) * shuffled[0].std())
    return values
