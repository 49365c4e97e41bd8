"""The mean over prompts of panel scores, with what prompts and judges leave open about it.

Prompts alone: Student's t over the prompts' scores. Judges as a sample, too: to the variance of
the mean that prompts bring, each factor of the judges (personas and models, where they are crossed;
else judges) adds its own, from how far each of its levels moves the mean; the degrees of freedom
are Satterthwaite's. Sources as in `persona_panel.statistics.resampling.jackknife`: it is the
jackknife's figure, got from each judge's influence instead of leaving them out one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from persona_panel.statistics.core.arrays import ROUNDING, Array, Labels, divide, encode_labels
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.student_t import two_sided_p
from persona_panel.statistics.resampling.jackknife import LEAST_JUDGES, reach_of, standard_errors


@dataclass(frozen=True, slots=True, eq=False)
class JudgeSample:
    """Judges as a sample of such judges.

    Attributes:
        influence: `(responses, judges)`, how much the score of a response changes as a judge
            counts more; see `influence_of`.
        factors: what judges are sampled by, a label a judge: `persona` and `model`, say.
    """

    influence: Array
    factors: Mapping[str, Labels]


@dataclass(frozen=True, slots=True)
class JudgesVariance:
    """What one factor of the judges adds to the variance of a mean over prompts, with its degrees
    of freedom. `by_prompt` of it is there because its levels differ from prompt to prompt: that
    part falls as 1/prompts, the rest stays."""

    variance: float
    by_prompt: float
    df: float


@dataclass(frozen=True, slots=True)
class SampledMean:
    """A mean over `n_prompts` prompts with its standard errors and their degrees of freedom: over
    prompts and, where judges are a sample, over both. There are none exactly when `reason` says
    why. `judges` has what each factor of the judges adds, where they are a sample."""

    mean: float
    errors: tuple[tuple[float, float], ...]
    n_prompts: int
    reason: Reason | None = None
    judges: tuple[JudgesVariance, ...] = ()

    def interval(
        self, confidence: float = 0.95, limits: tuple[float, float] = (-math.inf, math.inf)
    ) -> tuple[float, float]:
        """Low and high, NaN where there is no standard error; an end outside the limits between
        which the mean lies is cut there."""
        if not self.errors:
            return math.nan, math.nan
        reach = reach_of(self.errors, confidence)
        return max(self.mean - reach, limits[0]), min(self.mean + reach, limits[1])

    @property
    def p_value(self) -> float:
        """Two-sided, of a mean of 0; NaN where there is no standard error. Below a level exactly
        where that level's interval leaves 0 out."""
        if not self.errors:
            return math.nan
        return max(two_sided_p(self.mean / error, df) for error, df in self.errors if error)


def influence_of(terms: Array) -> Array:
    """Return how much each judge moves each response's score `(responses, judges)`.

    The score of a response is the mean over terms of the mean over the judges who have that
    term. A judge's influence is the derivative of the score by the judge's weight: it is how far
    the judge is from the mean, over the number of judges, averaged over terms.

    Args:
        terms: `(responses, judges, terms)`, NaN where a judge has none.

    >>> influence_of(np.array([[[1.0], [3.0], [np.nan]]])).tolist()
    [[-0.5, 0.5, 0.0]]
    """
    there = ~np.isnan(terms)
    counts = there.sum(axis=1, keepdims=True).astype(np.float64)
    means = divide(np.nansum(terms, axis=1, keepdims=True), counts)
    moved: Array = np.nan_to_num(divide(terms - means, counts)).mean(axis=2)
    return moved


def sampled_mean(
    scores: Array, influence: Array | None = None, factors: Mapping[str, Labels] | None = None
) -> SampledMean:
    """The mean of scores by prompt, with its standard error.

    Args:
        scores: `(prompts,)`, NaN where there is none.
        influence: `(prompts, judges)`, of the judges on these scores; None: they are taken as
            they are.
        factors: what judges are sampled by; see `JudgeSample`.

    >>> found = sampled_mean(np.array([1.0, 2.0, 3.0]))
    >>> found.mean, [(round(error, 3), df) for error, df in found.errors]
    (2.0, [(0.577, 2.0)])
    """
    moved = None if influence is None else _by_level(influence, factors or {})
    return mean_and_levels(scores, moved)


def mean_and_levels(scores: Array, moved: Sequence[Array] | None = None) -> SampledMean:
    """Return `sampled_mean` of judges whose levels are told by how far they move the scores.

    Args:
        scores: `(prompts,)`, NaN where there is none.
        moved: for each factor that judges are sampled by `(prompts, levels)`, the influence of
            each of its levels on these scores; None: judges are taken as they are.
    """
    there = ~np.isnan(scores)
    n = int(there.sum())
    mean = float(scores[there].mean()) if n else math.nan
    if n < 2:
        return SampledMean(mean, (), n, Reason.FEW_CLUSTERS)
    if moved is not None and math.prod(one.shape[1] for one in moved) < LEAST_JUDGES:
        return SampledMean(mean, (), n, Reason.FEW_JUDGES)
    parts = tuple(_added(one[there]) for one in moved or () if one.shape[1] > 1)
    variances = [float(scores[there].var(ddof=1)) / n, *(part.variance for part in parts)]
    errors = standard_errors(variances, [n - 1.0, *(part.df for part in parts)])
    # What judges leave open is no substitute for what prompts do.
    if errors[0][0] <= ROUNDING * max(1.0, abs(mean)):
        return SampledMean(mean, (), n, Reason.NO_SPREAD)
    return SampledMean(mean, errors, n, judges=parts)


def _by_level(influence: Array, factors: Mapping[str, Labels]) -> list[Array]:
    """For each factor the influence of its levels `(prompts, levels)`, from that of judges."""
    n_columns = influence.shape[1]
    encoded = [encode_labels(labels, n_columns) for labels in factors.values()]
    return [influence @ np.eye(len(names))[codes] for names, codes in encoded]


def _added(moved: Array) -> JudgesVariance:
    """Return what a factor brings, from the influence of its levels `(prompts, levels)`."""
    n_prompts, levels = moved.shape
    scale = levels / (levels - 1)
    variance = scale * float(np.sum(moved.mean(axis=0) ** 2))
    by_prompt = scale * float(np.sum(moved.var(axis=0, ddof=1))) / n_prompts
    return JudgesVariance(variance, min(by_prompt, variance), levels - 1.0)
