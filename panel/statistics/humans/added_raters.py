"""What α becomes when model raters join the human ones, one after the other.

Source: the argument-quality paper, section 4.3 and table 4. It marks changes as significant
without naming its test. Here both α are computed without each prompt in turn, and Student's t over
prompts (the jackknife's, see `persona_panel.statistics.resampling.jackknife`) gives the interval of
their difference and its p-value. Of n additions each is tested at a level n times as strict, and
has an
interval to match (Bonferroni): the α of so many raters are too much alike for their correlation
to be estimated from few prompts, which tests of the largest t would need.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.agreement.reliability import krippendorff_alpha, resampled_alpha
from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    as_ratings,
    difference_of,
    encode_labels,
    has_two_ratings,
)
from persona_panel.statistics.core.options import MeasurementLevel, check_confidence
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.core.student_t import two_sided_p
from persona_panel.statistics.resampling.jackknife import Interval, jackknife


@dataclass(frozen=True, slots=True)
class AddedRaters:
    """`alphas` after adding 0, 1, … n raters, and of each of the n additions the `change`
    from people's α, its interval (`confidence` holds for all n together), its p-value and
    that adjusted by Bonferroni: `(n,)`, NaN where an α is undefined."""

    alphas: tuple[Statistic, ...]
    change: Array
    intervals: tuple[Interval, ...]
    p_value: Array
    p_adjusted: Array

    @property
    def low(self) -> Array:
        """The lower ends `(n,)`."""
        return np.array([one.low for one in self.intervals])

    @property
    def high(self) -> Array:
        """The upper ends `(n,)`."""
        return np.array([one.high for one in self.intervals])

    @property
    def reasons(self) -> tuple[Reason | None, ...]:
        """Why there is no interval of a change, where there is none."""
        return tuple(one.reason for one in self.intervals)


def added_raters(
    humans: ArrayLike,
    models: ArrayLike,
    level: MeasurementLevel = "ordinal",
    clusters: Labels | None = None,
    *,
    same_items: bool = True,
    confidence: float = 0.95,
    seed: int = 0,
) -> AddedRaters:
    """Krippendorff's α of people with the first 0, 1, … n model raters.

    How to read it: a change near 0 means that the models agree with these people as much as these
    do among themselves; below 0 less, above 0 more. `p_adjusted` is below 0.05 exactly where the
    95 % interval leaves 0 out. All raters are taken as they are: one more human, who happens to be
    stricter than these, changes α, too, and with many prompts this is found.

    Args:
        humans: `(items, raters)`, NaN where missing.
        models: `(items, n)` in the order in which they are added.
        level: see `krippendorff_alpha`.
        clusters: a label an item, its prompt; each item is its own if None. Intervals and
            p-values take five, and 8 items.
        same_items: whether all α are over the items that two people rated, so that a
            change is due to the raters added; if not, items that only models make
            pairable enter too.
        confidence: of the n intervals together.
        seed: as for `jackknife`.

    Raises:
        ValueError: the numbers of items differ, or as for `krippendorff_alpha` and `jackknife`.

    >>> humans = [[1, 1], [2, 2], [3, 3], [1, 2]]
    >>> found = added_raters(humans, [[1], [2], [3], [1]])
    >>> [round(alpha.value, 3) for alpha in found.alphas]
    [0.79, 0.853]
    """
    check_confidence(confidence)
    theirs, ours = as_ratings(humans), as_ratings(models)
    if len(theirs) != len(ours):
        raise ValueError(f"{len(theirs)} items rated by people, {len(ours)} by models")
    codes = encode_labels(range(len(theirs)) if clusters is None else clusters, len(theirs))[1]
    if same_items:
        kept = has_two_ratings(theirs)
        theirs, ours, codes = theirs[kept], ours[kept], codes[kept]
    sets = [np.hstack([theirs, ours[:, :n]]) for n in range(ours.shape[1] + 1)]
    alphas = tuple(krippendorff_alpha(ratings, level) for ratings in sets)
    change = np.array([alpha.value - alphas[0].value for alpha in alphas[1:]])
    n_tests = max(1, int(np.sum(~np.isnan(change))))
    alone, *joined = (resampled_alpha(ratings, level) for ratings in sets)
    found = [
        jackknife(
            difference_of(function, alone),
            len(codes),
            codes,
            kind="difference",
            counted=has_two_ratings(ratings),
            confidence=1 - (1 - confidence) / n_tests,
            seed=seed,
        )
        for function, ratings in zip(joined, sets[1:], strict=True)
    ]
    p_value = np.array([_p_value(*one) for one in zip(change, found, strict=True)])
    return AddedRaters(
        alphas,
        change,
        tuple(found),
        p_value,
        np.minimum(n_tests * p_value, 1),
    )


def _p_value(change: float, interval: Interval) -> float:
    """Two-sided, of no change."""
    if interval.reason is not None:
        return nan
    return two_sided_p(change / interval.standard_error, interval.degrees_of_freedom)
