"""The mean difference of two runs over prompts: pairs of texts, or one text rated twice.

What is paired is subtracted before anything is averaged, so that what both sides owe to the
prompt, and to judges that both have, cancels. Pairs of one prompt are no independent samples: a
prompt counts once, with the mean of its pairs. Interval and p-value are those of
`persona_panel.statistics.core.sampled_mean`: Student's t over prompts and, where judges are a
sample, too, what the levels of their factors (personas, models) add.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    as_scores,
    defined_mean,
    divide,
    encode_labels,
    without_rounding,
)
from persona_panel.statistics.core.holm import holm_beside
from persona_panel.statistics.core.sampled_mean import SampledMean, influence_of, sampled_mean
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.tested import Tested

_DECIMALS = 9
"""Scores that are equal to so many decimals are ties, as in rankings."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedTerms:
    """What two sides are compared by, of each pair.

    Attributes:
        a, b: `(pairs,)`, the score of either side by what both have.
        difference: `(pairs,)`, b − a; NaN where they have nothing in common.
        influence: `(pairs, judges)`, how much the difference changes as a judge counts more.
    """

    a: Array
    b: Array
    difference: Array
    influence: Array

    def of(self, kept: Mask) -> PairedTerms:
        """Return those of these pairs `(pairs,)` alone."""
        return PairedTerms(self.a[kept], self.b[kept], self.difference[kept], self.influence[kept])


@dataclass(frozen=True, slots=True)
class PairedDifference(Tested):
    """How far side b is above side a, over prompts.

    Attributes:
        a, b: the means over prompts of either side; their difference is `difference`.
        difference: the mean over prompts of the mean over a prompt's pairs, b − a, in points.
        ci_low, ci_high: its own 95 % interval, which is not widened for other differences.
        p: two-sided, of a mean of 0.
        p_adjusted: by Holm over the differences looked at together; p until `adjusted` is called.
        effect_size: the difference over the standard deviation of the prompts' differences.
        wins, ties, losses: of how many pairs b is above, level with and below a.
        n_prompts, n_pairs: how many entered.
        sampled: what interval and p are from.
        reason: why there is no interval, p and effect size; they are NaN then.
    """

    a: float
    b: float
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    effect_size: float
    wins: int
    ties: int
    losses: int
    n_prompts: int
    n_pairs: int
    sampled: SampledMean
    reason: Reason | None


def by_same_judges(a: Array, b: Array) -> PairedTerms:
    """Two sides rated by the same judges, who are paired: a judge counts for a pair, in a term, who
    has rated both of its sides. A judge's severity then cancels, also where ratings are missing.

    Args:
        a, b: `(pairs, judges, terms)`, what of each judge the score is the mean of (terms, of the
            mean over judges); NaN where a judge has none. Judges in the same order.

    Raises:
        ValueError: the shapes differ.

    The second judge has not rated b, and does not count:

    >>> found = by_same_judges(np.array([[[5.0], [9.0]]]), np.array([[[6.0], [np.nan]]]))
    >>> found.difference.tolist(), found.a.tolist()
    ([1.0], [5.0])
    """
    if a.shape != b.shape:
        raise ValueError(f"{a.shape} and {b.shape} cannot be paired")
    either = np.isnan(a) | np.isnan(b)
    first, second = (np.where(either, np.nan, side) for side in (a, b))
    ours, theirs = _mean_of_terms(first), _mean_of_terms(second)
    return PairedTerms(ours, theirs, theirs - ours, influence_of(second - first))


def by_other_judges(a: Array, b: Array) -> PairedTerms:
    """The same texts rated by two panels, each by its own judges and rule.

    The judges of `influence` are those of a, then those of b.

    Args:
        a, b: `(texts, judges of the side, terms of the side)`, as for `by_same_judges`.

    Raises:
        ValueError: not the same number of texts.
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} texts cannot be paired")
    ours, theirs = _mean_of_terms(a), _mean_of_terms(b)
    influence = np.concatenate([-influence_of(a), influence_of(b)], axis=1)
    return PairedTerms(ours, theirs, theirs - ours, influence)


def paired_difference(
    paired: PairedTerms,
    prompts: Labels,
    factors: Mapping[str, Labels] | None = None,
    *,
    most: float = inf,
) -> PairedDifference:
    """The mean difference over prompts, with its interval and test.

    How to read it: above 0, b is higher. With judges as they are (`factors` None), interval and
    test say what other prompts of the kind would give with these judges; else what other prompts
    and other such judges would.

    Args:
        paired: see `PairedTerms`.
        prompts: a label a pair.
        factors: what judges are sampled by, a label a judge of `paired.influence`; a factor that
            the two sides have in common, as only what they share can be another sample of both.
        most: the most by which the sides can differ; an end of the interval beyond is cut there.

    Raises:
        ValueError: not one label a pair.

    Of three prompts, with differences 1, 2 and 3:

    >>> scores = np.array([[[1.0]], [[2.0]], [[3.0]]])
    >>> found = paired_difference(by_same_judges(np.zeros_like(scores), scores), "pqr")
    >>> found.difference, round(found.p, 3), found.wins
    (2.0, 0.074, 3)
    """
    codes = encode_labels(prompts, len(paired.difference))[1]
    there = ~np.isnan(paired.difference)
    scores, a, b = (
        _over_prompts(np.where(there, side, np.nan), codes)
        for side in (paired.difference, paired.a, paired.b)
    )
    if factors is None:
        found = sampled_mean(scores)
    else:
        moved = np.where(there[:, None], paired.influence, np.nan)
        influence = np.stack([_over_prompts(of_judge, codes) for of_judge in moved.T], axis=1)
        found = sampled_mean(scores, influence, factors)
        if not factors and found.n_prompts > 1:
            found = SampledMean(found.mean, (), found.n_prompts, Reason.NO_COMMON_FACTOR)
    in_prompts = scores[~np.isnan(scores)]
    sd = float(in_prompts.std(ddof=1)) if len(in_prompts) > 1 else nan
    signs = np.sign(np.round(paired.difference[there], _DECIMALS))
    wins, ties, losses = (int(np.sum(signs == sign)) for sign in (1, 0, -1))
    low, high = found.interval(limits=(-most, most))
    return PairedDifference(
        defined_mean(a),
        defined_mean(b),
        found.mean,
        low,
        high,
        found.p_value,
        found.p_value,
        nan if found.reason or not sd else found.mean / sd,
        wins,
        ties,
        losses,
        found.n_prompts,
        int(there.sum()),
        found,
        found.reason,
    )


def adjusted(
    differences: Sequence[PairedDifference],
    same_as: Sequence[int] | None = None,
    primary: Sequence[bool] | None = None,
) -> list[PairedDifference]:
    """The differences with p-values adjusted by Holm over all of them.

    Args:
        primary: for each, whether it is a composite's: those are a family of their own beside the
            others (`holm_beside`). None: all are one family.
        same_as: for each, the place of the one whose test it repeats (its own, where it repeats
            none): a composite of one dimension is that dimension, and no second test.
    """
    places = list(range(len(differences))) if same_as is None else list(same_as)
    p_values = [one.p if places[i] == i else nan for i, one in enumerate(differences)]
    found = holm_beside(p_values, np.zeros(len(places)) if primary is None else primary)
    return [
        replace(one, p_adjusted=float(found[place]))
        for one, place in zip(differences, places, strict=True)
    ]


def mean_over_prompts_of(values: ArrayLike, prompts: Labels) -> Array:
    """The mean of each prompt's values `(prompts,)`, in order of appearance, NaN left out.

    >>> mean_over_prompts_of([1.0, 3.0, np.nan], "ppq").tolist()
    [2.0, nan]
    """
    array = as_scores(values)
    return _over_prompts(array, encode_labels(prompts, len(array))[1])


def _over_prompts(values: Array, codes: IntArray) -> Array:
    there = ~np.isnan(values)
    n = int(codes.max(initial=-1)) + 1
    sums, counts = np.zeros(n), np.zeros(n)
    np.add.at(sums, codes[there], values[there])
    np.add.at(counts, codes[there], 1.0)
    return divide(sums, counts)


def _mean_of_terms(terms: Array) -> Array:
    """The mean over terms of the mean over the judges who have one `(pairs,)`; NaN where a term has
    none, as a composite is."""
    there = ~np.isnan(terms)
    means = divide(np.nansum(terms, axis=1), there.sum(axis=1))
    return without_rounding(means.mean(axis=1), terms)
