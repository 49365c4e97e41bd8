"""Confidence intervals from leaving out: one prompt at a time and, where judges are a sample too,
one persona, model or judge at a time.

Responses to one prompt are judged alike, so they are left out together: a cluster is a prompt,
or an item where there are no prompts. How far a statistic moves gives its standard error, and
Student's t over so many clusters the interval. A mean of clusters of one size has Student's own
interval then. Which form covers, and from how many clusters on, was chosen by simulation:
`benchmarks/coverage.py`, with its figures in docs/explanation/statistics.md.

Sources: J. W. Tukey (1958), "Bias and confidence in not-quite large samples", for the jackknife
with t; R. A. Fisher (1921), "On the 'probable error' of a coefficient of correlation", for z;
E. B. Wilson (1927), "Probable inference", with the number of observations that a clustered share
is worth, as in Korn & Graubard (1998), "Confidence intervals for proportions with small expected
number of positive counts"; A. B. Owen (2007), "The pigeonhole bootstrap", for the sum of the
variances of crossed samples, which errs on the safe side; F. E. Satterthwaite (1946), "An
approximate distribution of estimates of variance components", for its degrees of freedom;
R. Davidson & J. G. MacKinnon (1993), *Estimation and Inference in Econometrics*, section 16.3, for
the jackknife's variance without the factor (n − 1)/n, there called HC3; S. Zahl (1977),
"Jackknifing an index of diversity", for entropies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, nan, prod, sqrt
from typing import Literal, NamedTuple

import numpy as np
import scipy

from panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Resampled,
    encode_labels,
    unit_weights,
)
from panel.statistics.core.options import check_choice, check_confidence
from panel.statistics.core.scaled_mean import wilson_ends
from panel.statistics.core.statistic import Reason
from panel.statistics.resampling.weights import left_out_weights

EstimateKind = Literal[
    "mean",
    "share",
    "mean_correlation",
    "mean_pearson",
    "correlation",
    "difference",
    "kappa",
    "entropy",
    "number",
]
"""What a statistic is, by which its interval is formed: the `mean` of what clusters have, a
`share` in [0, 1] that is such a mean, the `mean_correlation` of the correlations inside clusters
(`mean_pearson`, of Pearson's r of two sets of scores), a `correlation` in [−1, 1] over all of them,
the `difference` of two figures over the same items, agreement beyond chance on values without
an order (`kappa`), an `entropy`, or any other `number`."""

MOST_GROUPS = 200
"""More clusters than these are left out by groups of nearly equal size, drawn at random."""
LEAST_JUDGES = 5
"""Fewer judges cannot be taken as a sample: their interval covers too little or says nothing."""
_SAME = 1e-12
_ON_FISHERS_SCALE: tuple[EstimateKind, ...] = ("correlation", "mean_correlation", "mean_pearson")


class _Needs(NamedTuple):
    clusters: int
    items: int
    reason: Reason
    items_a_cluster: int = 1


_NEEDS: dict[EstimateKind, _Needs] = {
    "mean": _Needs(2, 2, Reason.FEW_CLUSTERS),
    "share": _Needs(5, 20, Reason.FEW_FOR_A_NUMBER),
    "mean_correlation": _Needs(5, 8, Reason.FEW_FOR_A_CORRELATION),
    # r of three or four items is so skewed that the interval of its mean covers in 0.8 to 0.9.
    "mean_pearson": _Needs(5, 40, Reason.FEW_FOR_A_MEAN_PEARSON, 8),
    "correlation": _Needs(5, 8, Reason.FEW_FOR_A_CORRELATION),
    "difference": _Needs(5, 8, Reason.FEW_FOR_A_CORRELATION),
    "kappa": _Needs(5, 20, Reason.FEW_FOR_A_NUMBER),
    "entropy": _Needs(5, 20, Reason.FEW_FOR_A_NUMBER),
    "number": _Needs(5, 20, Reason.FEW_FOR_A_NUMBER),
}
"""From how many on there is an interval. Of three or four clusters it would cover in most of these
kinds, but by intervals of very unequal width: one in fifteen is less than a third as wide as usual,
and every other of those misses."""
_MEANS: tuple[EstimateKind, ...] = ("mean", "share", "mean_correlation", "mean_pearson")


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval; `low` and `high` are NaN exactly when `reason` says why.

    `standard_error` is the statistic's own, in its unit; `degrees_of_freedom` those of t;
    `n_clusters` the clusters that the statistic depends on.
    """

    low: float
    high: float
    standard_error: float
    degrees_of_freedom: float
    confidence: float
    n_clusters: int
    reason: Reason | None = None


def jackknife(
    statistic: Resampled,
    n_items: int,
    clusters: Labels | None = None,
    *,
    kind: EstimateKind = "number",
    limits: tuple[float, float] = (-inf, inf),
    judges: Sequence[Sequence[float]] = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The interval of a statistic, from what it is without each cluster.

    How to read it: were other clusters drawn from where these come from, intervals made so would
    hold the true value in about `confidence` of the cases; with `judges` given, were other
    judges drawn as well.

    Args:
        statistic: see `Resampled`.
        n_items: how many items the weights are for.
        clusters: a label an item; each item is its own cluster if None.
        kind: what the statistic is; see `EstimateKind`.
        limits: between which the statistic lies; an end outside is cut there.
        judges: for each factor that judges are sampled from (personas, models), the statistic
            without each of its levels. None: judges are taken as they are.
        confidence: in (0, 1).
        seed: of the groups in which more than `MOST_GROUPS` clusters are left out.

    Raises:
        ValueError: an unknown kind, a confidence outside (0, 1), or not one label an item.

    >>> values = np.array([1.0, 2, 3, 4, 5, 6])
    >>> interval = jackknife(resampled_mean(values), 6, kind="mean")
    >>> round(interval.low, 2), round(interval.high, 2)
    (1.54, 5.46)
    """
    check_choice("kind", kind, EstimateKind)
    check_confidence(confidence)
    codes = np.arange(n_items) if clusters is None else encode_labels(clusters, n_items)[1]
    n_clusters = int(codes.max(initial=-1)) + 1
    needs = _NEEDS[kind]

    def none(reason: Reason, entering: int = n_clusters) -> Interval:
        return Interval(nan, nan, nan, nan, confidence, entering, reason)

    if n_clusters < needs.clusters or n_items < needs.items:
        return none(needs.reason)
    if judges and prod(map(len, judges)) < LEAST_JUDGES:
        return none(Reason.FEW_JUDGES)
    groups, n_groups = _groups(codes, n_clusters, seed)
    without = left_out_weights(groups, n_groups)
    value, *others = statistic(np.concatenate([unit_weights(n_items), without])).tolist()
    if isnan(value):
        return none(Reason.UNDEFINED_ESTIMATE)
    left_out = np.array(others)
    # Of what is a mean, a group enters that has one of its own; of the rest, one without which
    # the value is another or there is none.
    entering = (
        ~np.isnan(statistic(1 - without))
        if kind in _MEANS
        else ~(np.abs(left_out - value) <= _SAME * max(1.0, abs(value)))
    )
    n_entering = len(np.unique(codes[entering[groups]]))
    n_items_entering = int(np.sum(entering[groups]))
    if not entering.any():
        return none(Reason.NO_SPREAD)
    if (
        n_entering < needs.clusters
        or n_items_entering < needs.items
        or n_items_entering < needs.items_a_cluster * n_entering
    ):
        return none(needs.reason, n_entering)
    samples = [left_out[entering], *(np.asarray(one, dtype=np.float64) for one in judges)]
    if any(np.isnan(one).any() for one in samples):
        return none(Reason.UNDEFINED_WITHOUT_ONE, n_entering)
    variances = [_variance(one) for one in samples]
    if kind == "kappa":
        # With the factor (n - 1)/n it covers in 0.91 to 0.93 where one of the values is rare.
        variances[0] *= len(samples[0]) / max(len(samples[0]) - 1, 1)
    errors = standard_errors(variances, [len(one) - 1 for one in samples])
    # What judges leave open is no substitute for what clusters do.
    if errors[0][0] <= _SAME * max(1.0, abs(value)):
        return none(Reason.NO_SPREAD, n_entering)
    error, df = errors[-1]
    # Few ratings have too low an entropy: its interval is about the jackknife's estimate.
    n = len(samples[0])
    centre = n * value - (n - 1) * float(samples[0].mean()) if kind == "entropy" else value
    low, high = _ends(centre, reach_of(errors, confidence), kind)
    low, high = min(low, value), max(high, value)
    low, high = float(max(low, limits[0])), float(min(high, limits[1]))
    return Interval(low, high, float(error), float(df), confidence, n_entering)


def standard_errors(
    variances: Sequence[float], dfs: Sequence[float]
) -> tuple[tuple[float, float], ...]:
    """Standard errors with their degrees of freedom: that of the first sample alone and, of
    several that are crossed, that of the sum of their variances (Satterthwaite).

    >>> standard_errors([4.0, 12.0], [8, 8])
    ((2.0, 8), (4.0, 12.8))
    """
    alone = sqrt(variances[0]), dfs[0]
    parts = sum(v**2 / df for v, df in zip(variances, dfs, strict=True) if df > 0)
    if len(variances) == 1 or not parts:
        return (alone,)
    total = sum(variances)
    return alone, (sqrt(total), total**2 / parts)


def reach_of(errors: Sequence[tuple[float, float]], confidence: float) -> float:
    """How far an interval reaches to either side: the farthest of these standard errors, as one
    over prompts and judges may have so many more degrees of freedom than one over prompts that
    it would be narrower."""
    return max(
        error * float(scipy.special.stdtrit(df, (1 + confidence) / 2)) for error, df in errors
    )


def _groups(codes: IntArray, n_clusters: int, seed: int) -> tuple[IntArray, int]:
    """Each item's group, and how many groups there are."""
    if n_clusters <= MOST_GROUPS:
        return codes, n_clusters
    dealt = np.arange(n_clusters, dtype=np.intp) % MOST_GROUPS
    return np.random.default_rng(seed).permutation(dealt)[codes], MOST_GROUPS


def _variance(left_out: Array) -> float:
    n = len(left_out)
    if n < 2:
        return 0.0
    return float((n - 1) / n * np.sum((left_out - left_out.mean()) ** 2))


def _ends(value: float, reach: float, kind: EstimateKind) -> tuple[float, float]:
    if kind in _ON_FISHERS_SCALE and abs(value) < 1:
        z, of_z = np.arctanh(value), reach / (1 - value**2)
        return float(np.tanh(z - of_z)), float(np.tanh(z + of_z))
    if kind == "share" and 0 < value < 1:
        return wilson_ends(value, reach)
    return value - reach, value + reach
