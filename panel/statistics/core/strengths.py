"""Strengths of systems by who was preferred to whom: the model of Bradley and Terry with ties.

Of two systems with the log-strengths x and y the first is preferred, the second is, or they tie
with probabilities in the ratio exp(x) : exp(y) : ν exp((x + y) / 2). Intervals are the jackknife's
over prompts, each left out by one Newton step, with Student's t of as many prompts of one size as a
system's are worth.

Sources: R. A. Bradley & M. E. Terry (1952), "Rank analysis of incomplete block designs: I";
R. R. Davidson (1970), "On extending the Bradley–Terry model to accommodate ties in paired
comparison experiments"; A. Albert & J. A. Anderson (1984), "On the existence of maximum likelihood
estimates in logistic regression models"; J. G. MacKinnon, M. Ø. Nielsen & M. D. Webb (2023),
"Leverage, influence, and the jackknife in clustered regression models"; L. Kish (1965), *Survey
Sampling*, section 8.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import exp, inf, nan, prod

import numpy as np
import scipy

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    IntArray,
    Labels,
    Mask,
    Random,
    Reason,
    effective_number,
    encode_labels,
)
from persona_panel.statistics.core.estimate import OVER, Difference, Estimate
from persona_panel.statistics.core.jackknife import LEAST_JUDGES, standard_errors
from persona_panel.statistics.core.ranking import SampledMean
from persona_panel.statistics.core.significance import pairs_adjusted

_MOST_STEPS = 100
_CONVERGED = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """The outcomes of comparisons of every two systems.

    Attributes:
        contrasts: `(pairs, systems + 1)`, half of the difference of two log-strengths as a sum over
            the parameters, of which the last is log ν.
        balance: how often the first of a pair was preferred less how often the second was, `(…,
            pairs)`, of all comparisons or by cluster.
        ties, total: how often they tied, and how often they were compared, likewise.
    """

    contrasts: Array
    balance: Array
    ties: Array
    total: Array

    @classmethod
    def of(cls, wins: Array, ties: Array) -> PairCounts:
        """Return the counts from `wins[…, a, b]`, how often a was preferred to b, and the symmetric
        `ties`."""
        n_systems = wins.shape[-1]
        first, second = np.triu_indices(n_systems, 1)
        contrasts = np.zeros((len(first), n_systems + 1))
        place = np.arange(len(first))
        contrasts[place, first], contrasts[place, second] = 0.5, -0.5
        won, lost, even = (
            counts[..., first, second] for counts in (wins, wins.swapaxes(-1, -2), ties)
        )
        return cls(contrasts, won - lost, even, won + lost + even)

    def __iter__(self) -> Iterator[PairCounts]:
        """Yield the counts of each cluster."""
        for own in zip(self.balance, self.ties, self.total, strict=True):
            yield PairCounts(self.contrasts, *own)

    def sum(self) -> PairCounts:
        """Return the counts over all clusters."""
        parts = (self.balance, self.ties, self.total)
        return PairCounts(self.contrasts, *(part.sum(axis=0) for part in parts))

    def why_none(self) -> Reason | None:
        """Return why these comparisons give no finite strengths; None where they do."""
        decided = self.total - self.ties
        won, lost = decided + self.balance > 0, decided - self.balance > 0
        if self._components(self.total > 0, self.total > 0) > 1:
            return Reason.NOT_CONNECTED
        if not decided.any():
            return Reason.ALL_TIES
        # Where every system is linked to every other by a chain of wins, no direction is left.
        if self._components(won, lost) == 1:
            return None
        return Reason.NEVER_LOST if self._separated() else None

    def _components(self, forth: Mask, back: Mask) -> int:
        links = np.zeros((self.contrasts.shape[1] - 1,) * 2)
        first, second = self.contrasts[:, :-1].argmax(axis=1), self.contrasts.argmin(axis=1)
        links[first, second], links[second, first] = forth, back
        return scipy.sparse.csgraph.connected_components(links, connection="strong")[0]

    def _separated(self) -> bool:
        """Return whether the likelihood has no maximum: it rises in some direction for ever."""
        ties = np.zeros_like(self.contrasts)
        ties[:, -1] = 1.0
        logits = [self.contrasts, -self.contrasts, ties]
        decided = self.total - self.ties
        counts = [decided + self.balance, decided - self.balance, self.ties]
        n_outcomes = 3 if self.ties.any() else 2
        gains = np.concatenate(
            [
                (logits[outcome] - logits[other])[counts[outcome] > 0]
                for outcome in range(n_outcomes)
                for other in range(n_outcomes)
                if outcome != other
            ]
        )
        most = scipy.optimize.linprog(
            -gains.sum(axis=0), A_ub=-gains, b_ub=np.zeros(len(gains)), bounds=(-1, 1)
        )
        return bool(-most.fun > ROUNDING * len(gains))


@dataclass(frozen=True, eq=False)
class DavidsonFit:
    """The most likely parameters: `log_strengths` `(systems,)`, their mean is 0, and `log_ties`,
    log ν, −inf where nothing tied; `counts` are of all comparisons, by pair."""

    counts: PairCounts
    log_strengths: Array
    log_ties: float

    @classmethod
    def of(cls, counts: PairCounts) -> DavidsonFit:
        """Fit the parameters by Newton's method to counts whose `why_none` is None."""
        n_systems = counts.contrasts.shape[1] - 1
        fit = cls(counts, np.zeros(n_systems), 0.0 if counts.ties.any() else -inf)
        for _ in range(_MOST_STEPS):
            solved = np.linalg.solve(fit._information(counts.total), fit._score(counts))
            step: Array = solved.astype(np.float64)
            # The likelihood is concave, but a whole step may reach far beyond its maximum.
            while (moved := fit._moved(step))._likelihood() < fit._likelihood() - ROUNDING:
                step = step / 2
            fit = moved
            if np.abs(step).max() < _CONVERGED:
                break
        return fit

    def without_each(self, clusters: PairCounts) -> Array:
        """Return the parameters without each of the `clusters`, counts that add up to those that
        were fitted, by one Newton step from these: `(clusters, systems + 1)`, log ν last; NaN where
        what is left does not connect the systems."""
        parameters = np.append(self.log_strengths, self.log_ties)
        parameters_without = np.full((len(clusters.total), len(parameters)), nan)
        for place, own in enumerate(clusters):
            left = self._information(self.counts.total - own.total)
            if np.linalg.eigvalsh(left)[0] > ROUNDING * np.trace(left):
                parameters_without[place] = parameters - np.linalg.solve(left, self._score(own))
        return parameters_without

    @cached_property
    def _outcomes(self) -> tuple[Array, Array, Array, Array, Array]:
        half = self.counts.contrasts[:, :-1] @ self.log_strengths
        scale = np.logaddexp(np.logaddexp(half, -half), self.log_ties)
        won, lost, even = (np.exp(logit - scale) for logit in (half, -half, self.log_ties))
        return half, won, lost, even, scale

    def _moved(self, step: Array) -> DavidsonFit:
        return DavidsonFit(
            self.counts, self.log_strengths + step[:-1], self.log_ties + float(step[-1])
        )

    def _likelihood(self) -> float:
        counts, (half, _, _, _, scale) = self.counts, self._outcomes
        # Where nothing tied, log ν is -inf.
        ties = self.log_ties * counts.ties.sum() if counts.ties.any() else 0.0
        return float(np.sum(counts.balance * half) + ties - np.sum(counts.total * scale))

    def _score(self, counts: PairCounts) -> Array:
        """Return the gradient of the log-likelihood of these counts `(systems + 1,)`."""
        _, won, lost, even, _ = self._outcomes
        score: Array = (counts.balance - counts.total * (won - lost)) @ counts.contrasts
        score[-1] = np.sum(counts.ties - counts.total * even)
        return score

    def _information(self, total: Array) -> Array:
        contrasts, (_, won, lost, even, _) = self.counts.contrasts, self._outcomes
        balance = won - lost
        information: Array = (contrasts.T * (total * (won + lost - balance**2))) @ contrasts
        information[-1] = information[:, -1] = -(total * balance * even) @ contrasts
        # Without ties, log ν is no parameter.
        ties = np.sum(total * even * (1 - even))
        information[-1, -1] = ties if self.counts.ties.any() else 1.0
        # Comparisons say nothing of a constant added to all log-strengths: they keep their mean.
        information[:-1, :-1] += total.sum() / len(self.log_strengths)
        return information


LEAST_PROMPTS = 5
"""With fewer prompts there is no interval."""
LEAST_WORTH = 4.0
"""Where a system's prompts are worth fewer of one size, there is no interval."""
MOST_SYSTEMS = 50
"""Above this number of systems, the tables of every two need not fit into memory."""


@dataclass(frozen=True, slots=True, eq=False)
class WinCounts:
    """The number of times that each system was preferred to each other, by cluster: by prompt, or
    by judge.

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
        strength: the logarithm of Bradley and Terry's strength; 0 is the mean of the systems that
            have one, and such a system is called average.
        win_probability: that it is preferred to an average system, a tie counting half.
        n_comparisons, n_prompts: how many comparisons with others there are, on how many prompts.
    """

    system: str
    strength: Estimate
    win_probability: Estimate
    n_comparisons: int
    n_prompts: int


@dataclass(frozen=True, slots=True)
class Strengths:
    """Systems, the strongest first and those without a strength last, and the differences of every
    two that have one, the stronger first.

    `ties` is Davidson's ν, 0 where nothing tied, NaN where no system has a strength: two equal
    systems tie with the probability ν / (2 + ν). `random` is what intervals and tests take as a
    sample.
    """

    systems: tuple[SystemStrength, ...]
    differences: tuple[Difference, ...]
    ties: float
    random: Random


def bradley_terry(
    systems: Sequence[str],
    by_prompt: WinCounts,
    *,
    by_judge: WinCounts | None = None,
    factors: Mapping[str, Labels] | None = None,
) -> Strengths:
    """Fit log-strengths of systems by maximum likelihood, with intervals over prompts.

    How to read it: a strength of 0 is that of an average system; one of 1 is preferred to it in 73
    % of the comparisons that are no ties. Every comparison counts once.

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
    >>> result = bradley_terry(["a", "b"], WinCounts(wins, np.zeros_like(wins)))
    >>> a = result.systems[0]
    >>> a.system, round(a.strength.value, 3), round(a.win_probability.value, 3)
    ('a', 0.28, 0.569)
    """
    for counts in (by_prompt, by_judge):
        if counts is not None:
            _check(counts, len(systems))
    random: Random = "prompts" if by_judge is None else "prompts-and-judges"
    kept, reasons = _of_finite_strength(by_prompt)
    compared = _comparisons(by_prompt)
    strengths = [
        _undefined(systems[place], compared[:, place], reason)
        for place, reason in sorted(reasons.items(), key=lambda pair: systems[pair[0]])
    ]
    if not len(kept):
        return Strengths(tuple(strengths), (), nan, random)
    prompts = _pairs(by_prompt, kept)
    fit = DavidsonFit.of(prompts.sum())
    samples = [fit.without_each(prompts)]
    if by_judge is not None:
        levels = _by_level(by_judge, factors or {})
        samples += [fit.without_each(_pairs(own, kept)) for own in levels]
    # A prompt on which a system was compared only with those left out says nothing about it.
    own = _comparisons(by_prompt, kept)
    n_prompts, worth = np.sum(own > 0, axis=0), effective_number(own)
    parameters = np.append(fit.log_strengths, fit.log_ties)
    order = np.argsort(-fit.log_strengths, kind="stable")
    pairs = list(combinations(order, 2))
    n_of_pairs = [min(n_prompts[a], n_prompts[b]) for a, b in pairs]
    worth_of_pairs = [min(worth[a], worth[b]) for a, b in pairs]
    few = by_judge is not None and prod(map(len, samples[1:])) < LEAST_JUDGES
    figures = [
        sampled_without_each(float(value), left_out, int(n), float(size), few_judges=few)
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
        _defined(systems[of], compared[:, of], figures[place], figures[m + place], OVER[random])
        for place in order
        for of in (kept[place],)
    ]
    # Of these means it is not known what judges add, by which more prompts would be foreseen.
    differences = [
        replace(
            mean.as_a(Difference, over=OVER[random], a=systems[kept[a]], b=systems[kept[b]]),
            df=mean.n_prompts - 1.0,
            sampled=None,
        )
        for (a, b), mean in zip(pairs, figures[2 * m :], strict=True)
    ]
    return Strengths(
        (*defined, *strengths), tuple(pairs_adjusted(differences)), exp(fit.log_ties), random
    )


def without_strengths(systems: Sequence[str], reason: Reason, random: Random) -> Strengths:
    """Return strengths of which none is defined, for one reason."""
    none = tuple(_undefined(system, np.zeros(0), reason) for system in systems)
    return Strengths(none, (), nan, random)


def _check(counts: WinCounts, n_systems: int) -> None:
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
    """Return how many comparisons each system has in each cluster `(clusters, systems)`."""
    wins, ties = counts.wins, counts.ties
    if kept is not None:
        wins, ties = (array[:, kept][:, :, kept] for array in (wins, ties))
    apart = 1 - np.eye(wins.shape[1])
    return ((wins + wins.swapaxes(1, 2) + ties) * apart).sum(axis=2)


def _of_finite_strength(counts: WinCounts) -> tuple[IntArray, dict[int, Reason]]:
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
    there = _comparisons(counts, kept).any(axis=1)
    wins, ties = (array[there][:, kept][:, :, kept] for array in (counts.wins, counts.ties))
    return PairCounts.of(wins, ties)


def _undefined(system: str, compared: Array, reason: Reason) -> SystemStrength:
    n_prompts = int(np.sum(compared > 0))
    none = Estimate(nan, n=n_prompts, df=n_prompts - 1.0, reason=reason)
    return SystemStrength(system, none, replace(none, df=nan), int(compared.sum()), n_prompts)


def _defined(
    system: str, compared: Array, strength: SampledMean, preferred: SampledMean, over: str
) -> SystemStrength:
    n_prompts = int(np.sum(compared > 0))
    low, high = strength.interval()
    of = Estimate(
        strength.mean, low, high, over=over, n=n_prompts, df=n_prompts - 1.0, reason=strength.reason
    )
    # On the logit, on which its interval is formed, a win probability is no other figure.
    win, low, high = scipy.special.expit([preferred.mean, *preferred.interval()]).tolist()
    wins = replace(of, value=win, low=low, high=high, df=nan)
    return SystemStrength(system, of, wins, int(compared.sum()), n_prompts)


def _figures(parameters: Array, pairs: Sequence[tuple[int, int]]) -> Array:
    """Return the figures that get intervals, from parameters `(…, systems + 1)`."""
    strengths, ties = parameters[..., :-1], np.exp(parameters[..., -1:]) / 2
    # A tie counts half: its probability goes to either side.
    logits = np.log(np.exp(strengths / 2) + ties) - np.log(np.exp(-strengths / 2) + ties)
    first, second = ([pair[end] for pair in pairs] for end in (0, 1))
    apart = strengths[..., first] - strengths[..., second]
    return np.concatenate([strengths, logits, apart], axis=-1)


def sampled_without_each(
    value: float,
    samples: Sequence[Array],
    n_prompts: int,
    worth: float,
    *,
    few_judges: bool = False,
) -> SampledMean:
    """Return a figure with its errors, the jackknife's.

    Args:
        samples: of each sample, prompts first, the figure without each of its parts.
        worth: as how many prompts of equal size these count.
    """
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
    variances = [(len(sample) - 1) * float(sample.var()) for sample in samples]
    dfs = [worth - 1, *(len(sample) - 1.0 for sample in samples[1:])]
    errors = standard_errors(variances, dfs)
    if errors[-1][0] <= ROUNDING * max(1.0, abs(value)):
        return SampledMean(value, (), n_prompts, Reason.NO_SPREAD)
    return SampledMean(value, errors, n_prompts)


def _by_level(judges: WinCounts, factors: Mapping[str, Labels]) -> Iterator[WinCounts]:
    for labels in factors.values():
        levels, codes = encode_labels(labels, len(judges.wins))
        if len(levels) > 1:
            member = np.eye(len(levels))[:, codes]
            wins, ties = (np.tensordot(member, own, 1) for own in (judges.wins, judges.ties))
            yield WinCounts(wins, ties)
