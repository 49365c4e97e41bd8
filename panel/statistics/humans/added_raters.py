"""What α becomes when model raters join the human ones, one after the other.

Source: the argument-quality paper, section 4.3 and table 4. It marks changes as
significant without naming its test; here it is a paired bootstrap: both α are computed
on the same resampled items, and the test asks how often their difference strays from the
one found as far as that is from zero (Hall & Wilson, 1991, "Two guidelines for bootstrap
hypothesis testing"). Holm's correction is over the numbers of raters added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from panel.statistics.agreement.reliability import krippendorff_alpha, resampled_alpha
from panel.statistics.core.arrays import Array, Labels, as_ratings, encode_labels
from panel.statistics.core.holm import holm
from panel.statistics.core.options import MeasurementLevel
from panel.statistics.core.statistic import Statistic
from panel.statistics.resampling.permutation import permutation_p_value
from panel.statistics.resampling.weights import resample_weights


@dataclass(frozen=True, slots=True)
class AddedRaters:
    """`alphas` after adding 0, 1, … n raters, and of each of the n additions the `change`
    from the humans' α, its percentile interval, its p-value and that corrected by Holm:
    `(n,)`, NaN where an α is undefined."""

    alphas: tuple[Statistic, ...]
    change: Array
    low: Array
    high: Array
    p_value: Array
    p_holm: Array


def added_raters(
    humans: ArrayLike,
    models: ArrayLike,
    level: MeasurementLevel = "ordinal",
    clusters: Labels | None = None,
    *,
    same_items: bool = True,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> AddedRaters:
    """Krippendorff's α of the humans with the first 0, 1, … n model raters.

    How to read it: a change near 0 means that the models rate as another human would; below 0,
    that they disagree with the humans more than those among themselves; above 0, that they agree
    more. Read it with `p_holm`.

    Args:
        humans: `(items, raters)`, NaN where missing.
        models: `(items, n)` in the order in which they are added.
        level: see `krippendorff_alpha`.
        clusters: a label an item to resample by; items if None.
        same_items: whether all α are over the items that two humans rated, so that a
            change is due to the raters added; if not, items that only models make
            pairable enter too.
        confidence, n_resamples, seed: of the bootstrap.

    Raises:
        ValueError: the numbers of items differ, or as for `krippendorff_alpha`.

    >>> humans = [[1, 1], [2, 2], [3, 3], [1, 2]]
    >>> found = added_raters(humans, [[1], [2], [3], [1]], n_resamples=50)
    >>> [round(alpha.value, 3) for alpha in found.alphas]
    [0.79, 0.853]
    """
    theirs, ours = as_ratings(humans), as_ratings(models)
    if len(theirs) != len(ours):
        raise ValueError(f"{len(theirs)} items rated by humans, {len(ours)} by models")
    codes = encode_labels(range(len(theirs)) if clusters is None else clusters, len(theirs))[1]
    if same_items:
        kept = np.sum(~np.isnan(theirs), axis=1) >= 2
        theirs, ours = theirs[kept], ours[kept]
        codes = np.unique(codes[kept], return_inverse=True)[1]
    sets = [np.hstack([theirs, ours[:, :n]]) for n in range(ours.shape[1] + 1)]
    alphas = tuple(krippendorff_alpha(ratings, level) for ratings in sets)
    change = np.array([alpha.value - alphas[0].value for alpha in alphas[1:]])

    functions = [resampled_alpha(ratings, level) for ratings in sets]
    n_clusters = int(codes.max(initial=-1)) + 1
    rng = np.random.default_rng(seed)
    low, high, p_value = (np.full(len(change), np.nan) for _ in range(3))
    if n_clusters >= 2:
        drawn = np.concatenate(
            [
                np.stack([function(weights) for function in functions], axis=1)
                for weights in resample_weights(codes, n_clusters, n_resamples, rng)
            ]
        )
        changes = drawn[:, 1:] - drawn[:, :1]
        for n in np.flatnonzero(~np.isnan(change)):
            defined = changes[~np.isnan(changes[:, n]), n]
            if len(defined):
                tail = (1 - confidence) / 2
                low[n], high[n] = np.quantile(defined, [tail, 1 - tail])
                p_value[n] = permutation_p_value(change[n], defined - change[n])
    return AddedRaters(alphas, change, low, high, p_value, holm(p_value))
