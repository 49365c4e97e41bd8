"""The mean of scores by prompt, with its errors over prompts and judges.

Student's t over the prompts' scores; judges as a sample add the variance of each of their factors
(personas and models, or judges), with Satterthwaite's degrees of freedom. Sources as in
`persona_panel.statistics.core.jackknife`: the jackknife's figure, from judges' influences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import Any

import numpy as np

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    Labels,
    Random,
    Reason,
    divide,
    encode_labels,
    mean_there,
)
from persona_panel.statistics.core.estimate import OVER, Estimate, EstimateT
from persona_panel.statistics.core.jackknife import (
    LEAST_JUDGES,
    VariancePart,
    level_variance,
    standard_errors,
)
from persona_panel.statistics.core.means import (
    Assurance,
    assurance,
    assurance_limit,
    assured,
    critical_t,
    fewest,
    off_the_end,
    scaled_interval,
    two_sided_p,
)

Limits = tuple[float, float]
UNLIMITED: Limits = (-inf, inf)


@dataclass(frozen=True, slots=True, eq=False)
class JudgeSample:
    """The ratings of judges, and what these are a sample by.

    Attributes:
        terms: `(responses, judges, terms)`, of which a response's score is the mean, NaN where a
            judge has none; see `influence_of`.
        factors: a label a judge for each of what they are sampled by: `persona` and `model`, say.
    """

    terms: Array
    factors: Mapping[str, Labels]


@dataclass(frozen=True, slots=True)
class SampledMean:
    """A mean over `n_prompts` prompts with its standard errors and their degrees of freedom: over
    prompts and, where judges are a sample, over both; none exactly when `reason` says why. `limits`
    are the ends of its scale, `values` the prompts' where the interval depends on them; what
    `judges` share with prompts falls as 1/prompts."""

    mean: float
    errors: tuple[tuple[float, float], ...]
    n_prompts: int
    reason: Reason | None = None
    judges: tuple[VariancePart, ...] = ()
    limits: Limits = UNLIMITED
    values: Array | None = field(default=None, compare=False, repr=False)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the ends of the interval by `scaled_interval`, NaN without a standard error."""
        if not self.errors:
            return math.nan, math.nan
        return scaled_interval(self.mean, self.errors, self.limits, confidence, self.values)

    @property
    def p_value(self) -> float:
        """Return the two-sided p-value of a mean of 0; NaN without a standard error."""
        if not self.errors:
            return math.nan
        return max(two_sided_p(self.mean / error, df) for error, df in self.errors if error)

    def as_a(
        self, kind: type[EstimateT], *, over: str = "prompts", cut: Limits = UNLIMITED, **more: Any
    ) -> EstimateT:
        """Return the mean as an estimate of this kind, with its 95 % interval, cut at `cut`, and
        its p-value."""
        low, high = self.interval()
        return kind(
            self.mean, max(low, cut[0]), min(high, cut[1]), over=over, n=self.n_prompts,
            p=self.p_value, reason=self.reason, sampled=self, **more,
        )  # fmt: skip

    def untested(self, limits: Limits, over: Random = "prompts") -> Estimate:
        """Return the mean as an estimate without a p-value."""
        return replace(self.as_a(Estimate, over=OVER[over], limits=limits), p=nan)


def influence_of(terms: Array) -> Array:
    """Return how much each judge moves each response's score `(responses, judges)`: the derivative,
    by the judge's weight, of the mean over terms of the mean over judges. `terms` is `(responses,
    judges, terms)`, NaN where a judge has none."""
    there = ~np.isnan(terms)
    counts = there.sum(axis=1, keepdims=True).astype(np.float64)
    means = mean_there(terms, 1, keepdims=True)
    return np.nan_to_num(divide(terms - means, counts)).mean(axis=2)


def sampled_mean(
    scores: Array,
    influence: Array | None = None,
    factors: Mapping[str, Labels] | None = None,
    limits: Limits = UNLIMITED,
) -> SampledMean:
    """Return the mean of scores by prompt, with its standard error.

    Args:
        scores: `(prompts,)`, NaN where there is none.
        influence: `(prompts, judges)`, of the judges on these scores; None: judges are taken as
            they are.
        factors: what judges are sampled by; see `JudgeSample`.
        limits: the ends of the scores' scale.
    """
    moved = None
    if influence is not None:
        encoded = (encode_labels(of, influence.shape[1]) for of in (factors or {}).values())
        moved = [influence @ np.eye(len(names))[codes] for names, codes in encoded]
    return mean_and_levels(scores, moved, limits)


def mean_and_levels(
    scores: Array, moved: Sequence[Array] | None = None, limits: Limits = UNLIMITED
) -> SampledMean:
    """Return `sampled_mean` from the influence on it of each level of each of the judges' factors
    `(prompts, levels)`; None: judges are taken as they are."""
    there = ~np.isnan(scores)
    known = scores[there]
    n = len(known)
    mean = float(known.mean()) if n else math.nan
    if n < 2:
        return SampledMean(mean, (), n, Reason.FEW_CLUSTERS)
    n_judges = LEAST_JUDGES if moved is None else math.prod(levels.shape[1] for levels in moved)
    if n_judges < LEAST_JUDGES:
        return SampledMean(mean, (), n, Reason.FEW_JUDGES if n_judges > 1 else Reason.SAME_JUDGES)
    parts = tuple(
        level_variance(levels[there] / n) for levels in moved or () if levels.shape[1] > 1
    )
    # As `var` does, which takes three times as long for a few prompts.
    variance = float(((known - mean) ** 2).sum()) / (n - 1)
    # Nothing is taken off for what they share: with two models coverage would be 0.92.
    whole = (VariancePart(part.variance, part.df) for part in parts)
    errors = standard_errors([VariancePart(variance / n, n - 1.0), *whole])
    # The judges' variance cannot replace that of the prompts.
    if errors[0][0] <= ROUNDING * max(1.0, abs(mean)):
        return SampledMean(mean, (), n, Reason.NO_SPREAD)
    if n > 2 and limits != UNLIMITED and off_the_end(known, limits) == 1:
        return SampledMean(mean, (), n, Reason.ONE_OFF_THE_END)
    values = None if limits == UNLIMITED else known
    return SampledMean(mean, errors, n, None, parts, limits, values)


def prompts_assured(sampled: SampledMean | None, level: float) -> Assurance:
    """Return with how many new prompts a two-sided test at `level` shows the sign of the mean; the
    same judges rate them.
    """
    if sampled is None or not sampled.errors:
        raise ValueError("a mean without a standard error")
    mean, (error, _), n = abs(sampled.mean), sampled.errors[0], sampled.n_prompts
    if not sampled.judges:
        return assured(mean, error * math.sqrt(n), n, 0.0, level)
    known = sampled
    limit = assurance_limit(mean, error, n, _reach(known, inf, level))

    def probability(new: int) -> float:
        return float(assurance(mean, error, n, new, level, _error_of(known, new)))

    return Assurance(n, fewest(probability), limit)


def takes_more_judges(sampled: SampledMean | None, level: float) -> bool:
    """Return whether a test at `level` detects the mean with no number of prompts."""
    if sampled is None or not sampled.judges:
        return False
    return abs(sampled.mean) <= _reach(sampled, inf, level)


def _reach(sampled: SampledMean, n_prompts: float, level: float) -> float:
    """Return how far from 0 a mean over `n_prompts` has to be."""
    error, df = _error_of(sampled, n_prompts)
    return error * critical_t(df, 1 - level)


def _error_of(sampled: SampledMean, n_prompts: float) -> tuple[float, float]:
    """Return the standard error of a mean over `n_prompts`, and its degrees of freedom."""
    ratio = sampled.n_prompts / n_prompts
    parts = [VariancePart(sampled.errors[0][0] ** 2 * ratio, n_prompts - 1)]
    for part in sampled.judges:
        parts.append(VariancePart(part.variance - part.shared * (1 - ratio), part.df))
    return standard_errors(parts)[-1]
