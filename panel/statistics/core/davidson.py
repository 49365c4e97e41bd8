"""The model of Bradley and Terry with Davidson's ties, fitted to counts by maximum likelihood.

Of two systems with the log-strengths x and y the first is preferred, the second is, or they tie
with probabilities in the ratio exp(x) : exp(y) : ν exp((x + y) / 2). Without any tie ν is 0, and
this is the model of Bradley and Terry.

Sources: R. A. Bradley & M. E. Terry (1952), "Rank analysis of incomplete block designs: I"; R. R.
Davidson (1970), "On extending the Bradley–Terry model to accommodate ties in paired comparison
experiments". Whether there is a maximum: A. Albert & J. A. Anderson (1984), "On the existence of
maximum likelihood estimates in logistic regression models"; L. R. Ford's condition (1957) is the
case without ties. Leaving out a cluster by one Newton step: J. G. MacKinnon, M. Ø. Nielsen & M. D.
Webb (2023), "Leverage, influence, and the jackknife in clustered regression models".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf, nan

import numpy as np
import scipy

from persona_panel.statistics.core.arrays import ROUNDING, Array, Mask
from persona_panel.statistics.core.statistic import Reason

_MOST_STEPS = 100
_CONVERGED = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """How comparisons of every two systems ended.

    Attributes:
        contrasts: `(pairs, systems + 1)`, half of the difference of two log-strengths as a sum over
            the parameters, of which the last is log ν.
        balance: how often the first of a pair was preferred less how often the second was,
            `(…, pairs)`, of all comparisons or by cluster.
        ties, total: how often they tied, and how often they were compared, likewise.
    """

    contrasts: Array
    balance: Array
    ties: Array
    total: Array

    @classmethod
    def of(cls, wins: Array, ties: Array) -> PairCounts:
        """From `wins[…, a, b]`, how often a was preferred to b, and the symmetric `ties`."""
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
        """Yield those of each cluster."""
        for own in zip(self.balance, self.ties, self.total, strict=True):
            yield PairCounts(self.contrasts, *own)

    def sum(self) -> PairCounts:
        """Over all clusters."""
        parts = (self.balance, self.ties, self.total)
        return PairCounts(self.contrasts, *(part.sum(axis=0) for part in parts))

    def why_none(self) -> Reason | None:
        """Why these comparisons leave no finite strengths; None where they do."""
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
        """In how many parts the systems fall that are linked both ways, by pairs whose first leads
        to the second, and whose second leads to the first."""
        links = np.zeros((self.contrasts.shape[1] - 1,) * 2)
        first, second = self.contrasts[:, :-1].argmax(axis=1), self.contrasts.argmin(axis=1)
        links[first, second], links[second, first] = forth, back
        found: int = scipy.sparse.csgraph.connected_components(links, connection="strong")[0]
        return found

    def _separated(self) -> bool:
        """Return whether there is a direction of the parameters in which no observed outcome
        becomes less probable and some become more so: the likelihood then has no maximum."""
        ties = np.zeros_like(self.contrasts)
        ties[:, -1] = 1.0
        logits = [self.contrasts, -self.contrasts, ties]
        decided = self.total - self.ties
        counts = [decided + self.balance, decided - self.balance, self.ties]
        n_outcomes = 3 if self.ties.any() else 2
        gains = np.concatenate(
            [
                (logits[one] - logits[other])[counts[one] > 0]
                for one in range(n_outcomes)
                for other in range(n_outcomes)
                if one != other
            ]
        )
        most = scipy.optimize.linprog(
            -gains.sum(axis=0), A_ub=-gains, b_ub=np.zeros(len(gains)), bounds=(-1, 1)
        )
        return bool(-most.fun > ROUNDING * len(gains))


@dataclass(frozen=True, eq=False)
class DavidsonFit:
    """The most likely parameters.

    Attributes:
        counts: of all comparisons, by pair.
        log_strengths: `(systems,)`, their mean is 0.
        log_ties: log ν, −inf where nothing tied.
    """

    counts: PairCounts
    log_strengths: Array
    log_ties: float

    @classmethod
    def of(cls, counts: PairCounts) -> DavidsonFit:
        """By Newton's method, of counts whose `why_none` is None."""
        n_systems = counts.contrasts.shape[1] - 1
        fit = cls(counts, np.zeros(n_systems), 0.0 if counts.ties.any() else -inf)
        for _ in range(_MOST_STEPS):
            step = fit._step()
            # The likelihood is concave, but a whole step may reach far beyond its maximum.
            while (moved := fit._moved(step))._likelihood() < fit._likelihood() - ROUNDING:
                step = step / 2
            fit = moved
            if np.abs(step).max() < _CONVERGED:
                break
        return fit

    def without_each(self, clusters: PairCounts) -> Array:
        """The parameters without each cluster, by one Newton step from these: `(clusters,
        systems + 1)`, log ν last; NaN where what is left does not connect the systems.

        Args:
            clusters: counts by cluster, which add up to those that were fitted.
        """
        parameters = np.append(self.log_strengths, self.log_ties)
        found = np.full((len(clusters.total), len(parameters)), nan)
        for place, own in enumerate(clusters):
            left = self._information(self.counts.total - own.total)
            if np.linalg.eigvalsh(left)[0] > ROUNDING * np.trace(left):
                found[place] = parameters - np.linalg.solve(left, self._score(own))
        return found

    @cached_property
    def _outcomes(self) -> tuple[Array, Array, Array, Array, Array]:
        """Of each pair half of the difference of log-strengths; the probabilities that the first
        is preferred, the second, and a tie; and the logarithm of what they were divided by."""
        half = self.counts.contrasts[:, :-1] @ self.log_strengths
        scale = np.logaddexp(np.logaddexp(half, -half), self.log_ties)
        won, lost, even = (np.exp(logit - scale) for logit in (half, -half, self.log_ties))
        return half, won, lost, even, scale

    def _step(self) -> Array:
        """Newton's step `(systems + 1,)`."""
        information, score = self._information(self.counts.total), self._score(self.counts)
        return np.asarray(np.linalg.solve(information, score), dtype=np.float64)

    def _moved(self, step: Array) -> DavidsonFit:
        return DavidsonFit(
            self.counts, self.log_strengths + step[:-1], self.log_ties + float(step[-1])
        )

    def _likelihood(self) -> float:
        """The logarithm of the likelihood."""
        counts, (half, _, _, _, scale) = self.counts, self._outcomes
        # Where nothing tied, log ν is -inf.
        ties = self.log_ties * counts.ties.sum() if counts.ties.any() else 0.0
        return float(np.sum(counts.balance * half) + ties - np.sum(counts.total * scale))

    def _score(self, counts: PairCounts) -> Array:
        """The gradient of the logarithm of the likelihood of these counts `(systems + 1,)`."""
        _, won, lost, even, _ = self._outcomes
        score: Array = (counts.balance - counts.total * (won - lost)) @ counts.contrasts
        score[-1] = np.sum(counts.ties - counts.total * even)
        return score

    def _information(self, total: Array) -> Array:
        """Minus the second derivatives of the logarithm of the likelihood `(systems + 1,
        systems + 1)`, of so many comparisons of each pair."""
        contrasts, (_, won, lost, even, _) = self.counts.contrasts, self._outcomes
        balance = won - lost
        information: Array = (contrasts.T * (total * (won + lost - balance**2))) @ contrasts
        information[-1] = information[:, -1] = -(total * balance * even) @ contrasts
        # Where nothing tied, log ν is no parameter.
        ties = np.sum(total * even * (1 - even))
        information[-1, -1] = ties if self.counts.ties.any() else 1.0
        # Comparisons say nothing of a constant added to all log-strengths: they keep their mean.
        information[:-1, :-1] += total.sum() / len(self.log_strengths)
        return information
