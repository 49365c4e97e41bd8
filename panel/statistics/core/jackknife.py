"""Confidence intervals from leaving out one cluster at a time (a prompt, or an item without
prompts) and, where judges are a sample too, one persona, model or judge at a time.

Sources: J. W. Tukey (1958), "Bias and confidence in not-quite large samples" (the jackknife with
t); R. A. Fisher (1921), "On the 'probable error' of a coefficient of correlation" (z), and (1925),
*Statistical Methods for Research Workers*, section 39 (z of agreement of several raters); E. B.
Wilson (1927), "Probable inference", and E. L. Korn & B. I. Graubard (1998), "Confidence intervals
for proportions with small expected number of positive counts" (shares); A. B. Owen (2007), "The
pigeonhole bootstrap", A. C. Cameron, J. B. Gelbach & D. L. Miller (2011), "Robust inference with
multiway clustering", and F. E. Satterthwaite (1946), "An approximate distribution of estimates of
variance components" (crossed samples); R. Davidson & J. G. MacKinnon (1993), *Estimation and
Inference in Econometrics*, section 16.3 (HC3); F. Cribari-Neto (2004), "Asymptotic inference under
heteroskedasticity of unknown form" (HC4); S. Zahl (1977), "Jackknifing an index of diversity".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isnan, log, nan, prod, sqrt
from typing import NamedTuple

import numpy as np

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    EstimateKind,
    IntArray,
    Labels,
    Mask,
    Reason,
    Resampled,
    check_choice,
    check_confidence,
    encode_labels,
    group_count,
    unit_weights,
)
from persona_panel.statistics.core.means import reach_of, scaled_interval


def left_out_weights(codes: IntArray, n_clusters: int) -> Array:
    """Return item weights `(clusters, items)` with one cluster left out in each row."""
    return (codes[None, :] != np.arange(n_clusters)[:, None]).astype(np.float64)


MOST_GROUPS = 200
"""More clusters than these are left out by groups of nearly equal size, drawn at random."""
MOST_GROUPS_A_JUDGE = 30
"""So many groups at most are left out together with a judge."""
LEAST_JUDGES = 5
"""Fewer judges cannot be taken as a sample."""
STEEPEST = 3
"""The largest exponent of HC4, which has 4."""
_SAME = 1e-12
_MOST = 0.99
_WITHOUT_THE_FACTOR: tuple[EstimateKind, ...] = ("kappa", "alpha", "entropy", "skewed_difference")
"""The kinds whose variance lacks the factor (n − 1)/n (HC3)."""
_ON_FISHERS_SCALE: tuple[EstimateKind, ...] = ("correlation", "mean_correlation")


class _Needs(NamedTuple):
    clusters: int
    items: int
    reason: Reason


_FOR_A_NUMBER = _Needs(5, 20, Reason.FEW_FOR_A_NUMBER)
FOR_A_CORRELATION = _Needs(5, 8, Reason.FEW_FOR_A_CORRELATION)
_NEEDS: dict[str, _Needs] = {"mean": _Needs(2, 2, Reason.FEW_CLUSTERS)} | dict.fromkeys(
    ("mean_correlation", "correlation", "difference", "mean_difference", "skewed_difference"),
    FOR_A_CORRELATION,
)
"""From how many on there is an interval; of other kinds it is as of a number."""
_MEANS: tuple[EstimateKind, ...] = (
    "mean", "share", "mean_correlation", "mean_difference", "skewed_difference"
)  # fmt: skip
"""The kinds that are means of the clusters' values; in any other a cluster counts by its items."""


def too_few(kind: EstimateKind, n_clusters: int, n_items: int) -> Reason | None:
    """Return why there is no interval over so few clusters and items; None where there is one."""
    needs = _NEEDS.get(kind, _FOR_A_NUMBER)
    return needs.reason if n_clusters < needs.clusters or n_items < needs.items else None


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval; `low` and `high` are NaN exactly when `reason` says why.

    `standard_error` is the statistic's, with the `degrees_of_freedom` of t; `n_clusters` counts the
    clusters that it depends on; `values` are the statistic of everything, then without each
    cluster.
    """

    low: float = nan
    high: float = nan
    standard_error: float = nan
    degrees_of_freedom: float = nan
    n_clusters: int = 0
    reason: Reason | None = None
    values: Array = field(default_factory=lambda: np.empty(0), compare=False, repr=False)


def jackknife(
    statistic: Resampled,
    n_items: int,
    clusters: Labels | None = None,
    *,
    kind: EstimateKind = "number",
    limits: tuple[float, float] = (-inf, inf),
    judges: Sequence[Sequence[Resampled | None]] = (),
    counted: Mask | None = None,
    expected: float = nan,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the interval of a statistic, from its values without each cluster.

    Args:
        statistic: see `Resampled`.
        n_items: how many items the weights are for.
        limits: between which the statistic lies; an end outside is cut there, and a value outside
            has no interval.
        judges: for each factor that judges are sampled from (personas, models), the statistic
            without each of its levels, None where it is undefined. None at all: judges are taken as
            they are.
        counted: the items from which the statistic is computed `(items,)`; all of them if None.
        expected: the known value of the statistic: where it is another here, there is no interval.
            NaN: nothing is compared.
        seed: of the groups in which more than `MOST_GROUPS` clusters are left out.

    >>> values = np.array([1.0, 2, 3, 4, 5, 6])
    >>> interval = jackknife(resampled_mean(values), 6, kind="mean")
    >>> round(interval.low, 2), round(interval.high, 2)
    (1.54, 5.46)
    """
    check_choice("kind", kind, EstimateKind)
    check_confidence(confidence)
    codes = np.arange(n_items) if clusters is None else encode_labels(clusters, n_items)[1]
    n_clusters = group_count(codes)
    values = np.empty(0)

    def none(reason: Reason, entering: int = n_clusters) -> Interval:
        return Interval(n_clusters=entering, reason=reason, values=values)

    if reason := too_few(kind, n_clusters, n_items):
        return none(reason)
    if judges and prod(map(len, judges)) < LEAST_JUDGES:
        return none(Reason.FEW_JUDGES)
    groups = _dealt(n_clusters, MOST_GROUPS, seed)[codes]
    n_groups = min(n_clusters, MOST_GROUPS)
    without = left_out_weights(groups, n_groups)
    values = _of(statistic, np.concatenate([unit_weights(n_items), without]))
    value, left_out = float(values[0]), values[1:]
    if isnan(value):
        return none(Reason.UNDEFINED_ESTIMATE)
    if abs(value - expected) > ROUNDING * max(1.0, abs(value)):
        return none(Reason.NOT_THE_VALUE)
    if not limits[0] - ROUNDING <= value <= limits[1] + ROUNDING:
        return none(Reason.OUTSIDE_LIMITS)
    # For a mean, a group enters if it has a mean itself; for other statistics, if the value differs
    # or is undefined without it.
    alone = _of(statistic, 1 - without) if kind in _MEANS else np.empty(0)
    entering = (
        ~np.isnan(alone)
        if kind in _MEANS
        else ~(np.abs(left_out - value) <= _SAME * max(1.0, abs(value)))
    )
    n_entering = len(np.unique(codes[entering[groups]]))
    sizes = np.bincount(groups, counted, n_groups)[entering]
    if not entering.any():
        return none(Reason.NO_SPREAD)
    if reason := too_few(kind, n_entering, int(sizes.sum())):
        return none(reason, n_entering)
    moved = left_out[entering]
    levels = [
        _without_levels(factor, np.where(entering[groups], groups, -1), seed) for factor in judges
    ]
    if np.isnan(moved).any() or any(np.isnan(factor[:, 0]).any() for factor in levels):
        return none(Reason.UNDEFINED_WITHOUT_ONE, n_entering)
    n = len(moved)
    shares = (
        _shares_of_a_mean(value, moved, alone[entering]) if kind in _MEANS else sizes / sizes.sum()
    )
    variance = left_out_variance(moved, shares)
    if kind in _WITHOUT_THE_FACTOR:
        variance *= n / max(n - 1, 1)
    errors = standard_errors([VariancePart(variance, n - 1), *map(_level_part, levels)])
    # The judges' variance cannot replace that of the clusters.
    if errors[0][0] <= _SAME * max(1.0, abs(value)):
        return none(Reason.NO_SPREAD, n_entering)
    error, df = errors[-1]
    # Entropy and α of few prompts are biased low: their intervals are centered on the jackknife's
    # estimate.
    centre = value
    if kind == "entropy":
        centre = n * value - (n - 1) * float(moved.mean())
    elif kind == "alpha":
        centre = n * value - float((1 - shares) @ moved)
    if kind == "alpha":
        low, high = _alpha_ends(value, centre, reach_of(errors, confidence), limits[0])
    elif kind == "share":
        low, high = scaled_interval(value, errors, (0.0, 1.0), confidence)
    else:
        low, high = _ends(centre, reach_of(errors, confidence), kind)
    ends = float(max(min(low, value), limits[0])), float(min(max(high, value), limits[1]))
    return Interval(*ends, float(error), float(df), n_entering, None, values)


def _of(statistic: Resampled, weights: Array) -> Array:
    """Return a statistic of each resample; refuse a function that returns anything else."""
    values: object = statistic(weights)
    if isinstance(values, np.ndarray) and values.shape == (len(weights),):
        return values
    shape = f"an array of the shape {values.shape}" if isinstance(values, np.ndarray) else None
    name = getattr(statistic, "__qualname__", type(statistic).__name__)
    raise ValueError(
        f"the resampling function {statistic.__module__}.{name} returns "
        f"{shape or type(values).__name__} for weights of the shape {weights.shape}; expected an "
        f"array (resamples,), here ({len(weights)},)"
    )


def left_out_variance(left_out: Array, shares: Array | None = None) -> float:
    """Return the variance of a statistic from its values without each cluster `(clusters,)`: of
    clusters with one share each the jackknife's, of others HC4's with exponents up to `STEEPEST`.

    `shares` `(clusters,)` are the clusters' of the weight of all, below 1 each; their sum is 1.
    None: equal ones.
    """
    n = len(left_out)
    if n < 2:
        return 0.0
    shares = np.full(n, 1 / n) if shares is None else shares
    rest = 1 - shares
    # From one of them, so that what is the same without each has no variance of rounding.
    apart = left_out - left_out[0]
    squares = (apart - rest @ apart / rest.sum()) ** 2
    return float(squares @ rest ** (2 - np.minimum(n * shares, STEEPEST)))


class VariancePart(NamedTuple):
    """The variance of a figure over one sample (prompts, personas, raters), with its degrees of
    freedom, and what of it the variance over the first sample holds, too, with its own."""

    variance: float
    df: float
    shared: float = 0.0
    shared_df: float = inf


def standard_errors(parts: Sequence[VariancePart]) -> tuple[tuple[float, float], ...]:
    """Return standard errors with their degrees of freedom: over the first sample alone and, of
    several crossed samples, by the sum of their variances, of each but the first without what it
    shares with that (Cameron, Gelbach and Miller; Satterthwaite)."""
    alone = sqrt(parts[0].variance), parts[0].df
    added = [part for part in parts[1:] if part.variance > part.shared]
    total = sum((part.variance - part.shared for part in added), parts[0].variance)
    terms = [(part.variance, part.df) for part in (parts[0], *added)]
    terms += [(part.shared, part.shared_df) for part in added]
    spread = sum(v**2 / df for v, df in terms if df > 0)
    if len(parts) == 1 or not spread:
        return (alone,)
    # A small remainder of large variances would have less than one degree of freedom.
    return alone, (sqrt(total), max(total**2 / spread, min(df for _, df in terms)))


def level_variance(moved: Array, worth: float | None = None) -> VariancePart:
    """Return the variance of a figure over the levels of a sample that is crossed with the first.

    Args:
        moved: `(parts of the first sample, levels)`, by how much each level moves the figure in
            each part; sums over parts are by how much it moves the figure.
        worth: as how many levels of equal weight they count; None: as many as they are.
    """
    n, n_levels = moved.shape
    worth = float(n_levels) if worth is None else worth
    scale = worth / (worth - 1)
    variance = scale * float(np.sum(moved.sum(axis=0) ** 2))
    # A level that moves all parts alike has nothing in common with these.
    shared = scale * n * float(np.sum(moved.var(axis=0, ddof=1)))
    return VariancePart(variance, worth - 1, min(shared, variance), (worth - 1) * (n - 1))


def _dealt(n: int, most: int, seed: int) -> IntArray:
    """Return the group of each of n clusters: its own or, above `most`, a random one of `most`."""
    places = np.arange(n, dtype=np.intp)
    return places if n <= most else np.random.default_rng(seed).permutation(places % most)


def _shares_of_a_mean(value: float, left_out: Array, alone: Array) -> Array:
    apart = alone - left_out
    # Of those that are like the others nothing depends on the share: they have what is left.
    differing = np.abs(apart) > _SAME * max(1.0, abs(value))
    shares = np.clip((value - left_out[differing]) / apart[differing], 0, 1)
    completed = np.full(len(apart), max(0.0, 1 - shares.sum()) / max(1, len(apart) - len(shares)))
    completed[differing] = shares
    # Of a mean of several means, each over other items, they do not add up to 1.
    return (
        np.minimum(completed / completed.sum(), _MOST)
        if completed.any()
        else np.full(len(completed), 1 / len(completed))
    )


def _without_levels(factor: Sequence[Resampled | None], groups: IntArray, seed: int) -> Array:
    n_groups = group_count(groups)
    entering = np.unique(groups[groups >= 0])
    place = np.full(n_groups + 1, -1, dtype=np.intp)
    place[entering] = _dealt(len(entering), MOST_GROUPS_A_JUDGE, seed)
    fewer = place[groups]
    without = left_out_weights(fewer, group_count(fewer))
    weights = np.concatenate([unit_weights(len(groups)), without])
    nothing = np.full(len(weights), nan)
    return np.array(
        [nothing if statistic is None else _of(statistic, weights) for statistic in factor]
    )


def _level_part(levels: Array) -> VariancePart:
    n, n_groups, own = len(levels), levels.shape[1] - 1, left_out_variance(levels[:, 0])
    apart = (levels - levels.mean(axis=0))[:, 1:]
    shared = (n - 1) / n * sum(map(left_out_variance, apart))
    both = () if isnan(shared) else (shared, (n - 1.0) * (n_groups - 1.0))
    return VariancePart(own, n - 1, *both)


def _ends(value: float, reach: float, kind: EstimateKind) -> tuple[float, float]:
    if kind in _ON_FISHERS_SCALE and abs(value) < 1:
        z, of_z = np.arctanh(value), reach / (1 - value**2)
        return float(np.tanh(z - of_z)), float(np.tanh(z + of_z))
    return value - reach, value + reach


def _alpha_ends(value: float, centre: float, reach: float, least: float) -> tuple[float, float]:
    """Return ends on Fisher's scale of agreement of several raters, z = ½ log((1 + (k − 1) α) /
    (1 − α)): α cannot be below `least`, −1/(k − 1)."""
    if not -inf < least < value < 1:
        return value - reach, value + reach
    of_z = reach * (1 / (value - least) + 1 / (1 - value))
    centre = centre if least < centre < 1 else value
    z = log((centre - least) / (1 - centre))
    low, high = (float(special.expit(z + side * of_z)) for side in (-1, 1))
    return least + (1 - least) * low, least + (1 - least) * high
