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
from itertools import combinations, permutations
from math import exp, inf, nan, prod

import numpy as np
import scipy

from persona_panel.statistics.core import special
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
from persona_panel.statistics.core.jackknife import (
    LEAST_JUDGES,
    VariancePart,
    left_out_variance,
    standard_errors,
)
from persona_panel.statistics.core.sampled_mean import SampledMean
from persona_panel.statistics.core.significance import pairs_adjusted

_MOST_STEPS = 100
_CONVERGED = 1e-10


LEAST_PROMPTS = 5
"""With fewer prompts there is no interval."""
LEAST_WORTH = 4.0
"""The fewest prompts of one size that a system's have to be worth for an interval."""
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

    @property
    def compared(self) -> Array:
        """Return how many comparisons each system has in each cluster `(clusters, systems)`."""
        apart = 1 - np.eye(self.wins.shape[1])
        return ((self.wins + self.wins.swapaxes(1, 2) + self.ties) * apart).sum(axis=2)

    @property
    def outcomes(self) -> Array:
        """Return how often the first of every two was preferred, the second was, and neither was
        `(clusters, 3, pairs)`."""
        first, second = np.triu_indices(self.wins.shape[1], 1)
        sides = self.wins, self.wins.swapaxes(1, 2), self.ties
        return np.stack([counts[:, first, second] for counts in sides], axis=1)

    def among(self, kept: IntArray) -> WinCounts:
        """Return the comparisons of these systems with one another, by clusters that have any."""
        own = WinCounts(*(counts[:, kept][:, :, kept] for counts in (self.wins, self.ties)))
        there = own.compared.any(axis=1)
        return WinCounts(own.wins[there], own.ties[there])

    def why_none(self) -> Reason | None:
        """Return why these comparisons give no finite strengths; None where they do."""
        outcomes, n_systems = self.outcomes.sum(axis=0), self.wins.shape[1]
        won, lost, tied = outcomes > 0
        compared = won | lost | tied
        if _components(compared, compared, n_systems) > 1:
            return Reason.NOT_CONNECTED
        if not (won | lost).any():
            return Reason.ALL_TIES
        # Where every system is linked to every other by a chain of wins, no direction is left.
        if _components(won, lost, n_systems) == 1:
            return None
        # Else the likelihood has no maximum where it rises in some direction for ever.
        logits = _logits(n_systems, outcomes)
        gains = np.concatenate(
            [
                (logits[outcome] - logits[other])[outcomes[outcome] > 0]
                for outcome, other in permutations(range(len(logits)), 2)
            ]
        )
        most = scipy.optimize.linprog(
            -gains.sum(axis=0), A_ub=-gains, b_ub=np.zeros(len(gains)), bounds=(-1, 1)
        )
        return Reason.NEVER_LOST if -most.fun > ROUNDING * len(gains) else None


def _components(forth: Mask, back: Mask, n_systems: int) -> int:
    links = np.zeros((n_systems, n_systems))
    pairs = np.triu_indices(n_systems, 1)
    links[pairs], links.T[pairs] = forth, back
    return scipy.sparse.csgraph.connected_components(links, connection="strong")[0]


def _logits(n_systems: int, outcomes: Array) -> Array:
    """Return the logit of each possible outcome of a pair as a sum over the parameters, of which
    the last is log ν: `(outcomes, pairs, systems + 1)`. Without any tie there are two outcomes."""
    first, second = np.triu_indices(n_systems, 1)
    each = np.eye(n_systems + 1)
    half = (each[first] - each[second]) / 2
    logits = np.stack([half, -half, np.broadcast_to(each[-1], half.shape)])
    return logits if outcomes[2].any() else logits[:2]


@dataclass(frozen=True, eq=False)
class DavidsonFit:
    """The most likely `parameters` `(systems + 1,)`: log-strengths, whose mean is 0, and log ν,
    −inf where nothing tied; `outcomes` `(3, pairs)` are of all comparisons."""

    outcomes: Array
    parameters: Array

    @classmethod
    def of(cls, counts: WinCounts) -> DavidsonFit:
        """Fit the parameters by Newton's method to counts whose `why_none` is None."""
        outcomes, start = counts.outcomes.sum(axis=0), np.zeros(counts.wins.shape[1] + 1)
        start[-1] = 0.0 if outcomes[2].any() else -inf
        fit = cls(outcomes, start)
        for _ in range(_MOST_STEPS):
            step = np.linalg.solve(fit._information(outcomes), fit._score(outcomes))
            # The likelihood is concave, but a whole step may reach far beyond its maximum.
            while (moved := cls(outcomes, fit.parameters + step))._likelihood < (
                fit._likelihood - ROUNDING
            ):
                step = step / 2
            fit = moved
            if np.abs(step).max() < _CONVERGED:
                break
        return fit

    def without_each(self, counts: WinCounts) -> Array:
        """Return the parameters without each of the clusters, whose counts add up to those that
        were fitted, by one Newton step from these: `(clusters, systems + 1)`; NaN where what is
        left does not connect the systems."""
        clusters = counts.outcomes
        without = np.full((len(clusters), len(self.parameters)), nan)
        for place, own in enumerate(clusters):
            left = self._information(self.outcomes - own)
            if np.linalg.eigvalsh(left)[0] > ROUNDING * np.trace(left):
                without[place] = self.parameters - np.linalg.solve(left, self._score(own))
        return without

    @cached_property
    def _logits(self) -> Array:
        return _logits(len(self.parameters) - 1, self.outcomes)

    @cached_property
    def _log_probabilities(self) -> Array:
        logits = self._logits @ np.nan_to_num(self.parameters, neginf=0.0)
        return logits - np.logaddexp.reduce(logits, axis=0)

    @cached_property
    def _likelihood(self) -> float:
        return float(np.sum(self.outcomes[: len(self._logits)] * self._log_probabilities))

    def _score(self, outcomes: Array) -> Array:
        """Return the gradient of the log-likelihood of these outcomes `(systems + 1,)`."""
        expected = np.exp(self._log_probabilities) * outcomes.sum(axis=0)
        return np.einsum("kp,kpj->j", outcomes[: len(expected)] - expected, self._logits)

    def _information(self, outcomes: Array) -> Array:
        shares, total = np.exp(self._log_probabilities), outcomes.sum(axis=0)
        apart = self._logits - np.einsum("kp,kpj->pj", shares, self._logits)
        rows = (apart * np.sqrt(shares * total)[..., None]).reshape(-1, apart.shape[-1])
        information: Array = rows.T @ rows
        if len(shares) == 2:
            information[-1, -1] = 1.0
        # Comparisons say nothing of a constant added to all log-strengths: they keep their mean.
        information[:-1, :-1] += total.sum() / (len(information) - 1)
        return information


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
        by_prompt: a cluster a prompt.
        by_judge: the same comparisons, a cluster a judge, for intervals that take judges as a
            sample, too; None: they are taken as they are.
        factors: what judges are sampled by, a label a judge; see `JudgeSample`.

    >>> wins = np.array([[[0.0, 2.0], [1.0, 0.0]]] * 2 + [[[0.0, 3.0], [2.0, 0.0]]])
    >>> result = bradley_terry(["a", "b"], WinCounts(wins, np.zeros_like(wins)))
    >>> a = result.systems[0]
    >>> a.system, round(a.strength.value, 3), round(a.win_probability.value, 3)
    ('a', 0.28, 0.569)
    """
    for counts in filter(None, (by_prompt, by_judge)):
        _check(counts, len(systems))
    random: Random = "prompts" if by_judge is None else "prompts-and-judges"
    kept, reasons = _of_finite_strength(by_prompt)
    compared = by_prompt.compared
    strengths = [
        _undefined(systems[place], compared[:, place], reason)
        for place, reason in sorted(reasons.items(), key=lambda pair: systems[pair[0]])
    ]
    if not len(kept):
        return Strengths(tuple(strengths), (), nan, random)
    prompts = by_prompt.among(kept)
    fit = DavidsonFit.of(prompts)
    samples = [fit.without_each(prompts)]
    if by_judge is not None:
        levels = _by_level(by_judge, factors or {})
        samples += [fit.without_each(each.among(kept)) for each in levels]
    # A prompt on which a system was compared only with those left out says nothing about it.
    own = prompts.compared
    n_prompts, worth = np.sum(own > 0, axis=0), effective_number(own)
    order = np.argsort(-fit.parameters[:-1], kind="stable")
    pairs = list(combinations(order, 2))
    n_of_pairs = [min(n_prompts[a], n_prompts[b]) for a, b in pairs]
    worth_of_pairs = [min(worth[a], worth[b]) for a, b in pairs]
    few = by_judge is not None and prod(map(len, samples[1:])) < LEAST_JUDGES
    figures = [
        sampled_without_each(float(value), left_out, int(n), float(size), few_judges=few)
        for value, left_out, n, size in zip(
            _figures(fit.parameters, pairs),
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
        (*defined, *strengths), tuple(pairs_adjusted(differences)), exp(fit.parameters[-1]), random
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


def _of_finite_strength(counts: WinCounts) -> tuple[IntArray, dict[int, Reason]]:
    apart = 1 - np.eye(counts.wins.shape[1])
    beaten = counts.wins.sum(axis=0) * apart
    won, lost, compared = beaten.sum(axis=1), beaten.sum(axis=0), counts.compared.sum(axis=0)
    reasons = {}
    for place, n in enumerate(compared):
        if not n:
            reasons[place] = Reason.NEVER_COMPARED
        elif n in (won[place], lost[place]):
            reasons[place] = Reason.WON_ALL if won[place] else Reason.LOST_ALL
    kept = np.setdiff1d(np.arange(len(compared)), [*reasons])
    if not len(kept):
        return kept, reasons
    why = Reason.NO_OTHER_STRENGTH if len(kept) == 1 else counts.among(kept).why_none()
    if why is None:
        return kept, reasons
    return kept[:0], reasons | dict.fromkeys(kept.tolist(), why)


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
    win, low, high = special.expit([preferred.mean, *preferred.interval()]).tolist()
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
    dfs = [worth - 1, *(len(sample) - 1.0 for sample in samples[1:])]
    errors = standard_errors([*map(VariancePart, map(left_out_variance, samples), dfs)])
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
