"""Ratings that are missing because of what they would have been: what conclusions they leave.

Nothing is imputed in an estimate: missing ratings are filled in to see how far a difference could
move. Sources: C. F. Manski (2003), *Partial Identification of Probability Distributions* (the
worst and the best case); R. J. A. Little & D. B. Rubin (2019), *Statistical Analysis with Missing
Data*, and I. R. White et al. (2011), "Strategy for intention to treat analysis in randomised trials
with missing outcome data" (a stated departure, and the one at which a conclusion tips).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Mask,
    encode_labels,
    mean_there,
    means_by_cell,
)
from persona_panel.statistics.core.estimate import LEVEL, Difference
from persona_panel.statistics.core.means import PairedScores, critical_t, within_judges
from persona_panel.statistics.core.sampled_mean import (
    Limits,
    SampledMean,
    influence_of,
    sampled_mean,
)

_DRAWS, _CELLS = 1999, 500_000
_HALVINGS = 20
_STEPS = 64


@dataclass(frozen=True, slots=True)
class DifferenceBounds:
    """The bounds of a difference of two systems, by all judges who were asked, if none of their
    ratings were missing.

    Attributes:
        value: the difference as it is estimated, from `a`; of the prompts with ratings of both.
        n_prompts: how many prompts both have answered: of these the others are.
        worst, best: the differences if what is missing lay at the ends of the scale, as bad and as
            good for side `a` as can be.
        tips_at: the smallest number of points by which a judge's missing differences would have to
            lie below that judge's mean for `a` not to be significantly ahead; infinite where none
            would do, NaN where `a` is not ahead.
        holds: whether `a` is shown to be significantly ahead however the missing ratings were,
            those included that spread more than any departure makes them; differences that are all
            alike and above 0 count as significant.
    """

    a: str
    b: str
    value: float
    n_prompts: int
    worst: float
    best: float
    tips_at: float
    holds: bool


@dataclass(frozen=True, slots=True)
class MissingRatings:
    """The missing ratings of systems, by all judges who were asked.

    Attributes:
        shares: of each system, the share of its ratings that is missing, 0 to 1.
        p_system: whether more is missing of some systems than of others: a permutation test of the
            systems within prompts; NaN where nothing could differ.
        p_scores: whether what is missing goes with how the other judges rate, likewise.
        lower: whether more is missing of what the others rate lower.
        bounds: of differences of two systems, from the side that is ahead.
    """

    shares: Mapping[str, float]
    p_system: float
    p_scores: float
    lower: bool
    bounds: tuple[DifferenceBounds, ...]


def missing_ratings(
    terms: Array,
    systems: Sequence[str],
    prompts: Sequence[str],
    differences: Sequence[Difference],
    limits: Limits,
    factors: Mapping[str, Labels] | None = None,
) -> MissingRatings | None:
    """Return how far ratings that are missing could move the differences of systems; None where
    none is.

    Args:
        terms: `(responses, judges, terms)`, of which scores are means, NaN where missing.
        differences: of two systems, from either side.
        limits: between which a term lies.
        factors: what judges are sampled by; None: they are taken as they are.
    """
    if not np.isnan(terms).any() or np.isnan(terms).all():
        return None
    names, column = encode_labels(systems, len(terms))
    of_prompt, row = encode_labels(prompts, len(terms))
    shape = len(of_prompt), len(names)

    def cells(values: Array) -> Array:
        return means_by_cell(values, row, column, shape)

    gaps = np.isnan(terms)
    low, high = (cells(np.where(gaps, end, terms)) for end in limits)
    place = {name: at for at, name in enumerate(names)}
    bounds = []
    for each in differences:
        if each.value < 0:
            each = -each
        a, b = place[each.a], place[each.b]
        ends = low[:, a] - high[:, b], high[:, a] - low[:, b]
        bounds.append(_Filled.of(*ends, factors).bounds(each))
    counts = cells(gaps.mean(axis=(1, 2)))
    within = PairedScores(mean_there(mean_there(cells(terms), 2), 2))
    scores = within_judges(within, cells(terms), cells(1.0 - gaps)).scores
    p_system, p_scores, slope = _dependence(counts, scores)
    shares = {str(name): float(np.nanmean(counts[:, at])) for name, at in place.items()}
    return MissingRatings(shares, p_system, p_scores, slope < 0, tuple(bounds))


@dataclass(frozen=True, slots=True)
class _Filled:
    """The ends of each judge's differences `(terms, prompts, judges)`, NaN where one lacks, and
    each judge's mean of those that are there `(terms, 1, judges)`."""

    low: Array
    high: Array
    typical: Array
    factors: Mapping[str, Labels] | None

    @classmethod
    def of(cls, low: Array, high: Array, factors: Mapping[str, Labels] | None) -> _Filled:
        # A sum over the first axis takes a tenth of the time of one over a short last one.
        low, high = (np.ascontiguousarray(np.moveaxis(ends, 2, 0)) for ends in (low, high))
        typical = mean_there(np.where(low == high, low, nan), 1, keepdims=True)
        of_all = mean_there(typical, 2, keepdims=True)
        return cls(low, high, np.where(np.isnan(typical), of_all, typical), factors)

    def bounds(self, of: Difference) -> DifferenceBounds:
        worst, best = (self._mean(departure) for departure in (inf, -inf))
        tips_at = self._tips_at() if of.p < LEVEL else nan
        return DifferenceBounds(
            of.a, of.b, of.value, worst.n_prompts, worst.mean, best.mean, tips_at,
            tips_at == inf and self._holds(),
        )  # fmt: skip

    def _tips_at(self) -> float:
        # Between two of these no difference reaches an end of its scale: scores are linear in the
        # departure, the mean less a multiple of the standard deviation is concave, so a conclusion
        # that holds at both holds between them.
        reached = np.concatenate([self.typical - self.low, self.typical - self.high])
        moving = np.concatenate([self.low < self.high] * 2)
        steps = np.unique(np.append(reached[moving & (reached > 0)], 0.0))
        kept = np.linspace(0, len(steps) - 1, min(len(steps), _STEPS)).round().astype(np.intp)
        low = 0.0
        for step in steps[kept].tolist():
            if not self._ahead(step):
                for _ in range(_HALVINGS):
                    middle = (low + step) / 2
                    low, step = (middle, step) if self._ahead(middle) else (low, middle)
                return float(step)
            low = step
        return inf

    def _ahead(self, departure: float) -> bool:
        mean = self._mean(departure)
        return mean.mean > 0 and mean.p_value < LEVEL

    def _mean(self, departure: float) -> SampledMean:
        """Return the mean if missing differences lie by so much below their judge's mean."""
        filled = np.clip(np.nan_to_num(self.typical) - departure, self.low, self.high)
        scores = filled.mean(axis=0).mean(axis=1)
        if self.factors is None:
            return sampled_mean(scores)
        own = influence_of(np.moveaxis(filled, 0, 2))
        moved = np.where(np.isnan(scores)[:, None], nan, own)
        return sampled_mean(scores, moved, self.factors)

    def _holds(self) -> bool:
        """Return whether a lower bound of t is significant over all that the ratings may be.

        Of n prompts with the differences x, s their sum, t exceeds its critical value c where
        s²(n − 1 + c²)/(n c²) > Σx² + n(n − 1)v, v the judges' variance. For each s, Σx² is at most
        that of a fractional knapsack, as each x² lies below the chord between its ends.
        """
        there = ~np.isnan(self.low).any(axis=(0, 2))
        ends = self.low[:, there].mean(axis=0), self.high[:, there].mean(axis=0)
        low, high = (end.mean(axis=1) for end in ends)
        n, (added, df) = len(low), self._judges_at_most(*ends)
        square = critical_t(min(df, n - 1.0)) ** 2
        factor = (n - 1 + square) / (n * square)
        order = np.argsort(-(low + high))
        slopes, widths = (low + high)[order], (high - low)[order]
        sums = low.sum() + np.cumsum(widths) - widths
        squares = (low**2).sum() + np.cumsum(widths * slopes) - widths * slopes
        # Along each chord the two sides differ by a parabola, least here.
        least = np.clip(slopes / (2 * factor), sums, sums + widths)
        most = squares + slopes * (least - sums) + n * (n - 1) * added
        return bool(low.sum() > 0 and (factor * least**2 > most).all())

    def _judges_at_most(self, low: Array, high: Array) -> tuple[float, float]:
        """Return the largest variance that judges' factors can add, and its least df."""
        added, df, n_judges = 0.0, inf, low.shape[1]
        ends = low.mean(axis=0) / n_judges, high.mean(axis=0) / n_judges
        for labels in (self.factors or {}).values():
            names, codes = encode_labels(labels, n_judges)
            if (levels := len(names)) < 2:
                continue
            own = np.eye(levels)[codes]
            # A level moves the mean by its judges' share of it, less theirs of all judges'.
            weights = own - own.mean(axis=0)
            up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
            reach = ends[0] @ up + ends[1] @ down, ends[1] @ up + ends[0] @ down
            widest = np.maximum(np.abs(reach[0]), np.abs(reach[1]))
            added += levels / (levels - 1) * float((widest**2).sum())
            df = min(df, levels - 1.0)
        return added, df


def _dependence(counts: Array, scores: Array) -> tuple[float, float, float]:
    """Return p-values of no dependence of counts on systems and on scores, and its direction."""
    there = ~np.isnan(counts)
    about = np.where(there, counts - mean_there(counts, 1)[:, None], 0.0)
    level = scores - mean_there(np.where(there, scores, nan), 1)[:, None]
    level = np.where(there & ~np.isnan(level), level, 0.0)

    def statistics(drawn: Array) -> Array:
        by_system = (drawn.sum(axis=-2) ** 2).sum(axis=-1)
        return np.stack([by_system, np.abs((drawn * level).sum(axis=(-2, -1)))], axis=-1)

    observed, slope = statistics(about), float((about * level).sum())
    if not np.abs(about).max(initial=0.0) > 0:
        return nan, nan, slope
    least = observed * (1 - 1e-9)
    extreme = np.ones(2)
    rng = np.random.default_rng(0)
    at_once = max(1, _CELLS // about.size)
    for begun in range(0, _DRAWS, at_once):
        drawn = _permuted(rng, about, there, min(at_once, _DRAWS - begun))
        extreme += (statistics(drawn) >= least).sum(axis=0)
    p_system, p_scores = (extreme / (_DRAWS + 1)).tolist()
    return p_system, p_scores if np.abs(level).max() else nan, slope


def _permuted(rng: np.random.Generator, values: Array, there: Mask, n: int) -> Array:
    """Return the values of each row that are there in n other orders, `(n, prompts, systems)`."""
    result = np.zeros((n, *values.shape))
    order = np.argsort(np.where(there, rng.random(result.shape), inf), axis=-1)
    places = np.argsort(~there, axis=-1, kind="stable")[None]
    np.put_along_axis(result, places, np.take_along_axis(values[None], order, axis=-1), axis=-1)
    return result
