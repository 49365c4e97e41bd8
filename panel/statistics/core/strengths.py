"""How strong systems are by who was preferred to whom: Bradley and Terry's model over prompts.

The model, its ties and its sources are in `persona_panel.statistics.core.davidson`. Intervals are
the jackknife's over prompts, each left out by one Newton step, with Student's t; see
`persona_panel.statistics.resampling.jackknife` for its sources, and `benchmarks/strengths.py` for
how often they cover, `benchmarks/uneven_prompts.py` where prompts have unequal numbers of
comparisons. As a prompt counts by its comparisons, t has the degrees of freedom of as many prompts
of one size as a system's are worth: L. Kish (1965), *Survey Sampling*, section 8.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, nan, prod

import numpy as np
import scipy

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    IntArray,
    Labels,
    divide,
    encode_labels,
)
from persona_panel.statistics.core.davidson import DavidsonFit, PairCounts
from persona_panel.statistics.core.holm import holm
from persona_panel.statistics.core.options import Random
from persona_panel.statistics.core.sampled_mean import SampledMean
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.resampling.jackknife import LEAST_JUDGES, standard_errors

LEAST_PROMPTS = 5
"""With fewer prompts there is no interval: of three, one in nine is less than a third as wide as
usual, and those hold the true strength in two thirds of the cases."""
LEAST_WORTH = 4.0
"""Where a system's prompts are worth fewer of one size, an interval says little of its own width:
of prompts worth 2.1, one in six is less than a third as wide as usual, of 3.1 one in fourteen, of
five of one size one in fifty."""
MOST_SYSTEMS = 50
"""Of more systems the tables of every two of them, by prompt, need not fit into memory."""


@dataclass(frozen=True, slots=True, eq=False)
class WinCounts:
    """How often each system was preferred to each other, by cluster: by prompt, or by judge.

    Attributes:
        wins: `(clusters, systems, systems)`; `wins[c, a, b]` is how often a was preferred to b.
        ties: the same shape, symmetric: how often neither was.
    """

    wins: Array
    ties: Array


@dataclass(frozen=True, slots=True)
class SystemStrength:
    """One system's strength.

    Attributes:
        strength: the logarithm of Bradley and Terry's strength. 0 is the mean of the systems that
            have one: such a system is called average. Of two systems without ties the odds that
            one is preferred are exp(the difference of theirs).
        ci_low, ci_high: its 95 % interval; NaN where `ci_reason` says why.
        win_probability: that it is preferred to an average system, a tie counting half.
        win_low, win_high: its 95 % interval, NaN where that of the strength is.
        n_comparisons, n_prompts: how many comparisons with other systems there are, on how many
            prompts.
        reason: why there is no strength; it and what follows from it are NaN then.
    """

    system: str
    strength: float
    ci_low: float
    ci_high: float
    win_probability: float
    win_low: float
    win_high: float
    n_comparisons: int
    n_prompts: int
    reason: Reason | None
    ci_reason: Reason | None


@dataclass(frozen=True, slots=True)
class StrengthDifference:
    """How much stronger system `a` is than system `b`.

    Attributes:
        difference: of their strengths, in log-odds.
        ci_low, ci_high: its own 95 % interval, which is not widened for the other pairs.
        p: two-sided, of a t-test of a difference of 0.
        p_adjusted: by Holm, over all pairs.
        n_prompts: on how many prompts the one of the two that has fewer was compared.
        reason: why there is no interval and no p; they are NaN then.
    """

    a: str
    b: str
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    n_prompts: int
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class Strengths:
    """Systems, the strongest first and those without a strength last, and the differences of every
    two that have one, the stronger first.

    `ties` is Davidson's ν, 0 where nothing tied, NaN where no system has a strength: two equal
    systems tie with the probability ν / (2 + ν). `random` is what intervals and tests take as a
    sample.
    """

    systems: tuple[SystemStrength, ...]
    differences: tuple[StrengthDifference, ...]
    ties: float
    random: Random


def bradley_terry(
    systems: Sequence[str],
    by_prompt: WinCounts,
    *,
    by_judge: WinCounts | None = None,
    factors: Mapping[str, Labels] | None = None,
) -> Strengths:
    """Log-strengths of systems by maximum likelihood, with intervals over prompts.

    How to read it: a strength of 0 is that of an average system; one of 1 is preferred to it in
    73 % of the comparisons that are no ties. Every comparison counts once, so a prompt with more
    responses or more judges weighs more.

    A system that won or lost every comparison has no finite strength; it is left out, and 0 is the
    mean of the others. Where the rest has no finite strengths either, no system has one.

    Args:
        systems: their m names.
        by_prompt: a cluster a prompt.
        by_judge: the same comparisons, a cluster a judge, for intervals that take judges as a
            sample, too; None: they are taken as they are.
        factors: what judges are sampled by, a label a judge; see `JudgeSample`.

    Raises:
        ValueError: counts have another shape than `(clusters, systems, systems)`, or are negative
            or not finite, or `ties` are not symmetric.

    >>> wins = np.array([[[0.0, 2.0], [1.0, 0.0]]] * 2 + [[[0.0, 3.0], [2.0, 0.0]]])
    >>> found = bradley_terry(["a", "b"], WinCounts(wins, np.zeros_like(wins)))
    >>> a = found.systems[0]
    >>> a.system, round(a.strength, 3), round(a.win_probability, 3)
    ('a', 0.28, 0.569)
    """
    for given in (by_prompt, by_judge):
        if given is not None:
            _check(given, len(systems))
    random: Random = "prompts" if by_judge is None else "prompts-and-judges"
    kept, reasons = _of_finite_strength(by_prompt)
    compared = _comparisons(by_prompt)
    found = [
        _undefined(systems[place], compared[:, place], reason)
        for place, reason in sorted(reasons.items(), key=lambda pair: systems[pair[0]])
    ]
    if not len(kept):
        return Strengths(tuple(found), (), nan, random)
    prompts = _pairs(by_prompt, kept)
    fit = DavidsonFit.of(prompts.sum())
    samples = [fit.without_each(prompts)]
    if by_judge is not None:
        levels = _by_level(by_judge, factors or {})
        samples += [fit.without_each(_pairs(own, kept)) for own in levels]
    # Where a system was compared with none but those that are left out, a prompt says nothing.
    own = _comparisons(by_prompt, kept)
    n_prompts, worth = np.sum(own > 0, axis=0), _worth(own)
    parameters = np.append(fit.log_strengths, fit.log_ties)
    order = np.argsort(-fit.log_strengths, kind="stable")
    pairs = list(combinations(order, 2))
    n_of_pairs = [min(n_prompts[a], n_prompts[b]) for a, b in pairs]
    worth_of_pairs = [min(worth[a], worth[b]) for a, b in pairs]
    few = by_judge is not None and prod(map(len, samples[1:])) < LEAST_JUDGES
    figures = [
        _sampled(float(value), left_out, int(n), float(size), few_judges=few)
        for value, left_out, n, size in zip(
            _figures(parameters, pairs),
            zip(*(_figures(sample, pairs).T for sample in samples), strict=True),
            [*n_prompts, *n_prompts, *n_of_pairs],
            [*worth, *worth, *worth_of_pairs],
            strict=True,
        )
    ]
    m = len(kept)
    defined = [
        _defined(systems[kept[place]], compared[:, kept[place]], figures[place], figures[m + place])
        for place in order
    ]
    names = [systems[place] for place in kept]
    return Strengths(
        (*defined, *found), _differences(names, pairs, figures[2 * m :]), exp(fit.log_ties), random
    )


def without_strengths(systems: Sequence[str], reason: Reason, random: Random) -> Strengths:
    """Of systems none of which has a strength, for one reason."""
    none = tuple(_undefined(system, np.zeros(0), reason) for system in systems)
    return Strengths(none, (), nan, random)


def _check(counts: WinCounts, n_systems: int) -> None:
    """Refuse what cannot be counts of comparisons of these systems."""
    for array in (counts.wins, counts.ties):
        if array.ndim != 3 or array.shape[1:] != (n_systems, n_systems):
            raise ValueError(
                f"counts have the shape (clusters, {n_systems}, {n_systems}), found {array.shape}"
            )
        if not (np.isfinite(array) & (array >= 0)).all():
            raise ValueError("counts are finite and not below 0")
    if len(counts.wins) != len(counts.ties) or (counts.ties != counts.ties.swapaxes(1, 2)).any():
        raise ValueError("ties are as many as wins, and those of a and b are those of b and a")


def _comparisons(counts: WinCounts, kept: IntArray | None = None) -> Array:
    """Return how many comparisons with others each system has in each cluster `(clusters,
    systems)`."""
    wins, ties = counts.wins, counts.ties
    if kept is not None:
        wins, ties = (array[:, kept][:, :, kept] for array in (wins, ties))
    apart = 1 - np.eye(wins.shape[1])
    both: Array = ((wins + wins.swapaxes(1, 2) + ties) * apart).sum(axis=2)
    return both


def _of_finite_strength(counts: WinCounts) -> tuple[IntArray, dict[int, Reason]]:
    """The systems that have a finite strength, and why each of the others has none."""
    n_systems = counts.wins.shape[1]
    apart = 1 - np.eye(n_systems)
    won = (counts.wins.sum(axis=0) * apart).sum(axis=1)
    lost = (counts.wins.sum(axis=0) * apart).sum(axis=0)
    compared = _comparisons(counts).sum(axis=0)
    reasons = {}
    for place in range(n_systems):
        if not compared[place]:
            reasons[place] = Reason.NEVER_COMPARED
        elif won[place] == compared[place]:
            reasons[place] = Reason.WON_ALL
        elif lost[place] == compared[place]:
            reasons[place] = Reason.LOST_ALL
    kept = np.array([place for place in range(n_systems) if place not in reasons], dtype=np.intp)
    if not len(kept):
        return kept, reasons
    why = Reason.NO_OTHER_STRENGTH if len(kept) == 1 else _pairs(counts, kept).sum().why_none()
    if why is None:
        return kept, reasons
    return kept[:0], reasons | dict.fromkeys(kept.tolist(), why)


def _pairs(counts: WinCounts, kept: IntArray) -> PairCounts:
    """The counts of every two of these systems, by the clusters that have any."""
    there = _comparisons(counts, kept).any(axis=1)
    wins, ties = (array[there][:, kept][:, :, kept] for array in (counts.wins, counts.ties))
    return PairCounts.of(wins, ties)


def _undefined(system: str, compared: Array, reason: Reason) -> SystemStrength:
    n_comparisons, n_prompts = int(compared.sum()), int(np.sum(compared > 0))
    return SystemStrength(
        system, nan, nan, nan, nan, nan, nan, n_comparisons, n_prompts, reason, reason
    )


def _defined(
    system: str, compared: Array, strength: SampledMean, preferred: SampledMean
) -> SystemStrength:
    """Of its strength and of the logit of the probability that it is preferred to an average
    system."""
    low, high = strength.interval()
    win, win_low, win_high = scipy.special.expit([preferred.mean, *preferred.interval()]).tolist()
    return SystemStrength(
        system,
        strength.mean,
        low,
        high,
        win,
        win_low,
        win_high,
        int(compared.sum()),
        int(np.sum(compared > 0)),
        None,
        strength.reason,
    )


def _figures(parameters: Array, pairs: Sequence[tuple[int, int]]) -> Array:
    """Return what intervals are of, from parameters `(…, systems + 1)`: the strengths, the logits
    of the probabilities of being preferred to an average system, the differences of pairs."""
    strengths, ties = parameters[..., :-1], np.exp(parameters[..., -1:]) / 2
    # A tie counts half: its probability goes to either side.
    logits = np.log(np.exp(strengths / 2) + ties) - np.log(np.exp(-strengths / 2) + ties)
    first, second = ([pair[end] for pair in pairs] for end in (0, 1))
    apart = strengths[..., first] - strengths[..., second]
    return np.concatenate([strengths, logits, apart], axis=-1)


def _sampled(
    value: float, samples: Sequence[Array], n_prompts: int, worth: float, *, few_judges: bool
) -> SampledMean:
    """A figure with its standard errors, from what it is without each prompt, and without each
    level of each factor of the judges; `worth` is how many prompts of one size these are worth."""
    reason = None
    if few_judges:
        reason = Reason.FEW_JUDGES
    elif n_prompts < LEAST_PROMPTS:
        reason = Reason.FEW_FOR_A_STRENGTH
    elif worth < LEAST_WORTH:
        reason = Reason.FEW_OF_ONE_SIZE
    elif any(np.isnan(sample).any() for sample in samples):
        reason = Reason.UNDEFINED_WITHOUT_ONE
    if reason is not None:
        return SampledMean(value, (), n_prompts, reason)
    variances = [(len(one) - 1) * float(one.var()) for one in samples]
    dfs = [worth - 1, *(len(one) - 1.0 for one in samples[1:])]
    errors = standard_errors(variances, dfs)
    if errors[-1][0] <= ROUNDING * max(1.0, abs(value)):
        return SampledMean(value, (), n_prompts, Reason.NO_SPREAD)
    return SampledMean(value, errors, n_prompts)


def _worth(comparisons: Array) -> Array:
    """Return how many prompts of one size those of each system are worth `(systems,)`, by Kish's
    formula, from how many comparisons it has in each `(clusters, systems)`."""
    return divide(comparisons.sum(axis=0) ** 2, np.sum(comparisons**2, axis=0))


def _by_level(judges: WinCounts, factors: Mapping[str, Labels]) -> Iterator[WinCounts]:
    """The counts by level of each factor that has several."""
    for labels in factors.values():
        levels, codes = encode_labels(labels, len(judges.wins))
        if len(levels) > 1:
            member = np.eye(len(levels))[:, codes]
            wins, ties = (np.tensordot(member, own, 1) for own in (judges.wins, judges.ties))
            yield WinCounts(wins, ties)


def _differences(
    names: Sequence[str], pairs: Sequence[tuple[int, int]], found: Sequence[SampledMean]
) -> tuple[StrengthDifference, ...]:
    p_values = [one.p_value for one in found]
    return tuple(
        StrengthDifference(
            names[a],
            names[b],
            one.mean,
            *one.interval(),
            p,
            float(p_adjusted),
            one.n_prompts,
            one.reason,
        )
        for (a, b), one, p, p_adjusted in zip(pairs, found, p_values, holm(p_values), strict=True)
    )
