"""The mean over pairs of raters of what two raters have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.agreement.kappa import (
    kappa_matrix,
    resampled_cohen_kappa,
    resampled_mean_kappa,
)
from persona_panel.statistics.agreement.rank_matrices import (
    resampled_mean_spearman,
    resampled_mean_tau_b,
    spearman_matrix,
    tau_b_matrix,
)
from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Resampled,
    as_ratings,
    items_by_label,
    mean_of,
    unit_weights,
)
from persona_panel.statistics.core.options import check_choice
from persona_panel.statistics.core.prompts import OverPrompts, over_prompts
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.correlation import resampled_correlation

PairStatistic = Literal[
    "tau_b",
    "spearman",
    "pearson",
    "cohen_kappa_none",
    "cohen_kappa_linear",
    "cohen_kappa_quadratic",
]

_PAIR: dict[PairStatistic, Callable[[Array, Array], Resampled]] = {
    "spearman": lambda x, y: resampled_correlation(x, y, "spearman"),
    "pearson": lambda x, y: resampled_correlation(x, y, "pearson"),
    "cohen_kappa_none": lambda x, y: resampled_cohen_kappa(x, y, "none"),
    "cohen_kappa_linear": lambda x, y: resampled_cohen_kappa(x, y, "linear"),
    "cohen_kappa_quadratic": lambda x, y: resampled_cohen_kappa(x, y, "quadratic"),
}


_MATRIX: dict[PairStatistic, Callable[[Array], Array | None]] = {
    "tau_b": tau_b_matrix,
    "spearman": spearman_matrix,
    "cohen_kappa_none": lambda ratings: kappa_matrix(ratings, "none"),
    "cohen_kappa_linear": lambda ratings: kappa_matrix(ratings, "linear"),
    "cohen_kappa_quadratic": lambda ratings: kappa_matrix(ratings, "quadratic"),
}
"""Those of which all pairs are computed at once, of κ where ratings have few values."""

_RESAMPLED: dict[PairStatistic, Callable[[Array, IntArray], Resampled | None]] = {
    "spearman": resampled_mean_spearman,
    "cohen_kappa_none": lambda ratings, pairs: resampled_mean_kappa(ratings, pairs, "none"),
    "cohen_kappa_linear": lambda ratings, pairs: resampled_mean_kappa(ratings, pairs, "linear"),
    "cohen_kappa_quadratic": lambda ratings, pairs: resampled_mean_kappa(
        ratings, pairs, "quadratic"
    ),
}
"""The mean of all pairs at once, where ratings have few values."""


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Every pair counts alike, whatever the number of items shared. A pair with a constant
    rater has no value (NaN) and does not enter `mean`; `n_undefined` counts those."""

    mean: Statistic
    pairs: IntArray
    values: Array
    n_undefined: int


def pairwise(ratings: ArrayLike, statistic: PairStatistic, *, min_shared: int = 2) -> Pairwise:
    """A statistic of each pair of raters, and the mean over pairs.

    How to read it: 1 where every two raters agree in full, 0 no agreement beyond chance; −1 is
    possible for two raters only, as of three or more not all pairs can be opposed. A mean near 0
    may come from groups of raters who agree among themselves and not with each other: look at
    `values`.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        statistic: a correlation, or Cohen's κ by its weights.
        min_shared: pairs who share fewer items are left out; at least 2.

    Returns:
        The pairs as columns `(pairs, 2)` and their values `(pairs,)`.

    Raises:
        ValueError: a wrong shape, an infinite value, an unknown statistic, or
            `min_shared` below 2.

    >>> found = pairwise([[1, 1, 3], [2, 2, 2], [3, 3, 1]], "tau_b")
    >>> found.values.round(3).tolist()
    [1.0, -1.0, -1.0]
    >>> round(found.mean.value, 3)
    -0.333
    """
    array = as_ratings(ratings)
    pairs = _pairs(array, statistic, min_shared)
    matrix = _MATRIX[statistic](array) if statistic in _MATRIX else None
    if matrix is not None:
        values = matrix[pairs[:, 0], pairs[:, 1]]
    else:
        weights = unit_weights(len(array))
        values = np.array(
            [_PAIR[statistic](array[:, a], array[:, b])(weights)[0] for a, b in pairs]
        )
    defined = ~np.isnan(values)
    raters = np.unique(pairs[defined])
    rated = ~np.isnan(array)
    n_items = int((rated[:, raters].sum(axis=1) >= 2).sum())
    if defined.any():
        mean = Statistic(float(values[defined].mean()), n_items, len(raters))
    else:
        mean = Statistic.undefined(why_no_pair(rated, len(pairs)))
    return Pairwise(mean, pairs, values, int((~defined).sum()))


def pairwise_by_prompt(
    ratings: ArrayLike, prompts: Labels, statistic: PairStatistic
) -> OverPrompts:
    """The mean over pairs inside each prompt, and its mean over prompts.

    Args and errors as for `pairwise`, and one prompt label an item.

    >>> ratings = [[1, 1], [2, 2], [5, 6], [6, 5]]
    >>> pairwise_by_prompt(ratings, "aabb", "tau_b").mean.value
    0.0
    """
    array = as_ratings(ratings)
    return over_prompts(
        [
            (name, pairwise(array[items], statistic).mean)
            for name, items in items_by_label(prompts, len(array))
        ]
    )


def resampled_pairwise(
    ratings: ArrayLike, statistic: PairStatistic, *, min_shared: int = 2
) -> Resampled:
    """The mean over pairs as a function of resampling weights; as for `pairwise`.

    Which pairs share enough items is settled by the data; a pair that a resample leaves
    undefined does not enter that resample's mean.
    """
    array = as_ratings(ratings)
    pairs = _pairs(array, statistic, min_shared)
    if statistic == "tau_b":
        return resampled_mean_tau_b(array, pairs)
    together = _RESAMPLED[statistic](array, pairs) if statistic in _RESAMPLED else None
    return together or mean_of([_PAIR[statistic](array[:, a], array[:, b]) for a, b in pairs])


def _pairs(array: Array, statistic: str, min_shared: int) -> IntArray:
    """The pairs of raters who share so many items `(pairs, 2)`."""
    check_choice("statistic", statistic, PairStatistic)
    if min_shared < 2:
        raise ValueError(f"a pair needs at least 2 shared items, found {min_shared}")
    rated = (~np.isnan(array)).astype(np.float64)
    return np.argwhere(np.triu(rated.T @ rated >= min_shared, 1))


def why_no_pair(rated: Array, n_pairs: int) -> Reason:
    """Why no pair of raters has a value, from who rated what `(items, raters)` and how many pairs
    share enough items."""
    if rated.any(axis=0).sum() < 2:
        return Reason.FEW_RATERS
    if n_pairs:
        return Reason.CONSTANT_RATER
    if rated.any(axis=1).sum() < 2:
        return Reason.FEW_ITEMS
    return Reason.NO_PAIRS if (rated.sum(axis=1) >= 2).any() else Reason.NO_SHARED_ITEMS
