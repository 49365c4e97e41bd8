"""Whether a figure differs between strata: in each, less the mean of the others.

Strata may be of prompts (a topic), of what is in every prompt (human and model authors, dimensions)
or of judges: what a difference owes to prompts that both sides have cancels. Its variance is the
jackknife's over all prompts, each left out of every stratum that has it; how far a prompt moves a
stratum's figure is scaled by the number of that stratum's own prompts. With strata that share no
prompt that is Welch's t-test (1947, "The generalization of 'Student's' problem when several
different population variances are involved"), with strata that share all of them the paired
t-test. Degrees of freedom are Satterthwaite's, over the sets of prompts that are in the same
strata. Judges are taken as they are. How often it errs is measured by
`benchmarks/null_breakdowns.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np

from persona_panel.statistics.core.arrays import Array, Labels, encode_labels
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.student_t import critical_t, two_sided_p

_NONE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class StratumFigure:
    """A figure of a stratum, and what it is without each of its prompts.

    Attributes:
        value: NaN where there is none.
        without: by prompt, the figure without it.
        reason: why the stratum has no interval, so that it is compared with no other.
    """

    value: float
    without: Mapping[Hashable, float]
    reason: Reason | None = None

    @classmethod
    def mean(cls, scores: Array, prompts: Labels) -> StratumFigure:
        """The mean over prompts of a stratum's scores `(prompts,)`, NaN where there is none; of
        two prompts at least.

        >>> StratumFigure.mean(np.array([1.0, 3.0, np.nan]), "pqr").without
        {'p': 3.0, 'q': 1.0}
        """
        found = sampled_mean(scores)
        there = ~np.isnan(scores)
        names = [name for name, kept in zip(prompts, there, strict=True) if kept]
        if found.reason is not None:
            return cls(found.mean, {}, found.reason)
        own = scores[there]
        left_out = (own.sum() - own) / (len(own) - 1)
        return cls(found.mean, dict(zip(names, left_out.tolist(), strict=True)))


@dataclass(frozen=True, slots=True)
class StratumDifference:
    """How far a figure in a stratum is above the mean of the other strata.

    Attributes:
        ci_low, ci_high: its own 95 % interval over prompts, with these judges as they are.
        p: two-sided, of a difference of 0.
        df: degrees of freedom.
        n_prompts: of all strata compared.
        reason: why it is not compared; all else is NaN then.
    """

    stratum: str
    difference: float
    ci_low: float
    ci_high: float
    p: float
    df: float
    n_prompts: int
    reason: Reason | None

    @classmethod
    def undefined(cls, stratum: str, reason: Reason) -> StratumDifference:
        """Return that of a stratum that is not compared."""
        return cls(stratum, nan, nan, nan, nan, nan, 0, reason)


def stratum_differences(
    figures: Sequence[tuple[str, StratumFigure]], confidence: float = 0.95
) -> list[StratumDifference]:
    """The differences of all strata; of two strata that can be compared, the first's alone, as the
    second's is the same with the other sign.

    >>> low = StratumFigure.mean(np.array([1.0, 2.0, 3.0]), "pqr")
    >>> high = StratumFigure.mean(np.array([3.0, 4.0, 5.0]), "stu")
    >>> [one] = stratum_differences([("low", low), ("high", high)])
    >>> one.difference, round(one.p, 3), one.df
    (-2.0, 0.07, 4.0)
    """
    compared = [name for name, one in figures if one.reason is None]
    known = dict(figures)
    moved, patterns = _moved([known[name] for name in compared])
    found = []
    for name, one in figures:
        if one.reason is not None:
            found.append(StratumDifference.undefined(name, one.reason))
        elif len(compared) < 2:
            found.append(StratumDifference.undefined(name, Reason.ONE_STRATUM))
        elif len(compared) > 2 or name == compared[0]:
            place = compared.index(name)
            weights = np.full(len(compared), -1 / (len(compared) - 1))
            weights[place] = 1.0
            values = np.array([known[each].value for each in compared])
            found.append(
                _tested(name, float(weights @ values), moved @ weights, patterns, confidence)
            )
    return found


def _moved(figures: Sequence[StratumFigure]) -> tuple[Array, Labels]:
    """Return how far each prompt moves each figure `(prompts, strata)`, 0 where it has no part in
    it, so that the sum of squares is the jackknife's variance; and for each prompt in which strata
    it is."""
    prompts = list(dict.fromkeys(prompt for one in figures for prompt in one.without))
    moved = np.zeros((len(prompts), len(figures)))
    for column, one in enumerate(figures):
        own = np.array(list(one.without.values()))
        scaled = (own - own.mean()) * sqrt((len(own) - 1) / len(own)) if len(own) else own
        by_prompt = dict(zip(one.without, scaled, strict=True))
        moved[:, column] = [by_prompt.get(prompt, 0.0) for prompt in prompts]
    return moved, [tuple(prompt in one.without for one in figures) for prompt in prompts]


def _tested(
    name: str, difference: float, moved: Array, patterns: Labels, confidence: float
) -> StratumDifference:
    names, codes = encode_labels(patterns, len(moved))
    sizes = np.bincount(codes, minlength=len(names))
    parts = np.bincount(codes, weights=moved**2, minlength=len(names))
    variance = float(parts.sum())
    if isnan(variance):
        return StratumDifference.undefined(name, Reason.UNDEFINED_WITHOUT_ONE)
    if sqrt(variance) <= _NONE * max(1.0, abs(difference)):
        return StratumDifference.undefined(name, Reason.NO_SPREAD)
    df = variance**2 / float(np.sum(parts**2 / np.maximum(sizes - 1, 1)))
    error = sqrt(variance)
    reach = error * critical_t(df, confidence)
    p = two_sided_p(difference / error, df)
    return StratumDifference(
        name, difference, difference - reach, difference + reach, p, df, len(moved), None
    )
