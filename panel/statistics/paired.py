"""Two runs compared: the mean difference over prompts, and two panels on the same texts.

What is paired is subtracted before anything is averaged; a prompt counts once, with the mean of its
pairs. Intervals are those of `persona_panel.statistics.core.sampled_mean`, of two panels on the
same texts the jackknife's over prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    DEFAULT_OPTIONS,
    Array,
    Labels,
    Mask,
    Reason,
    Statistic,
    as_scores,
    defined_mean,
    encode_labels,
    items_by_label,
    mean_there,
    means_by,
    without_rounding,
)
from persona_panel.statistics.core.correlation import correlation, correlation_by_prompt
from persona_panel.statistics.core.estimate import OVER, Difference
from persona_panel.statistics.core.means import critical_t, over_prompts, two_sided_p
from persona_panel.statistics.core.ranking import competition_ranks
from persona_panel.statistics.core.registry import interval_of, mean_over_prompts
from persona_panel.statistics.core.sampled_mean import SampledMean, influence_of, sampled_mean
from persona_panel.statistics.reliability import krippendorff_alpha
from persona_panel.statistics.votes import correlation_gain

_DECIMALS = 9
"""The number of decimals to which equal scores are ties, as in rankings."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedTerms:
    """The scores of pairs on which two sides are compared.

    Attributes:
        a, b: `(pairs,)`, the score of either side by what both have.
        difference: `(pairs,)`, b − a; NaN where they have nothing in common.
        influence: `(pairs, judges)`, how much the difference changes as a judge counts more.
    """

    a: Array
    b: Array
    difference: Array
    influence: Array

    def of(self, kept: Mask) -> PairedTerms:
        """Return the terms of these pairs `(pairs,)` alone."""
        return PairedTerms(self.a[kept], self.b[kept], self.difference[kept], self.influence[kept])


@dataclass(frozen=True, slots=True)
class PairedDifference(Difference):
    """The mean difference b − a of two sides: over prompts, of the mean over a prompt's pairs.

    Attributes:
        a_mean, b_mean: the means over prompts of either side, by what both have.
        effect_size: the difference over the standard deviation of the prompts' differences.
        wins, ties, losses: in how many pairs b is above, level with and below a.
        n_pairs: how many entered.
    """

    a_mean: float = nan
    b_mean: float = nan
    effect_size: float = nan
    wins: int = 0
    ties: int = 0
    losses: int = 0
    n_pairs: int = 0


def by_same_judges(a: Array, b: Array) -> PairedTerms:
    """Compare two sides rated by the same judges: a judge counts for a pair, in a term, only if
    that judge rated both of its sides.

    Args:
        a, b: `(pairs, judges, terms)`, what of each judge the score is the mean of; NaN where a
            judge has none. Judges in the same order.
    """
    if a.shape != b.shape:
        raise ValueError(f"{a.shape} and {b.shape} cannot be paired")
    either = np.isnan(a) | np.isnan(b)
    first, second = (np.where(either, np.nan, side) for side in (a, b))
    ours, theirs = _mean_of_terms(first), _mean_of_terms(second)
    return PairedTerms(ours, theirs, theirs - ours, influence_of(second - first))


def by_other_judges(a: Array, b: Array) -> PairedTerms:
    """Compare the ratings of the same texts by two panels, each by its own judges and rule.

    Args:
        a, b: `(texts, judges of the side, terms of the side)`, as for `by_same_judges`.
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} texts cannot be paired")
    ours, theirs = _mean_of_terms(a), _mean_of_terms(b)
    influence = np.concatenate([-influence_of(a), influence_of(b)], axis=1)
    return PairedTerms(ours, theirs, theirs - ours, influence)


def paired_difference(
    paired: PairedTerms,
    prompts: Labels,
    factors: Mapping[str, Labels] | None = None,
    *,
    most: float = inf,
) -> PairedDifference:
    """Return the mean difference over prompts, with its interval and test.

    Args:
        factors: what judges are sampled by, a label a judge of `paired.influence`; those that the
            two sides have in common, as only what they share can be another sample of both.
        most: the most by which the sides can differ; an end of the interval beyond is cut there.
    """
    codes = encode_labels(prompts, len(paired.difference))[1]
    there = ~np.isnan(paired.difference)
    scores, a, b = (
        means_by(np.where(there, side, np.nan), codes)
        for side in (paired.difference, paired.a, paired.b)
    )
    if factors is None:
        mean = sampled_mean(scores)
    else:
        moved = np.where(there[:, None], paired.influence, np.nan)
        mean = sampled_mean(scores, means_by(moved, codes), factors)
        if not factors and mean.n_prompts > 1:
            mean = SampledMean(mean.mean, (), mean.n_prompts, Reason.NO_COMMON_FACTOR)
    in_prompts = scores[~np.isnan(scores)]
    sd = float(in_prompts.std(ddof=1)) if len(in_prompts) > 1 else nan
    signs = np.sign(np.round(paired.difference[there], _DECIMALS))
    wins, ties, losses = (int(np.sum(signs == sign)) for sign in (1, 0, -1))
    return mean.as_a(
        PairedDifference, over=OVER["prompts" if factors is None else "prompts-and-judges"],
        cut=(-most, most), df=mean.n_prompts - 1.0 if factors is None else nan,
        a_mean=defined_mean(a), b_mean=defined_mean(b),
        effect_size=nan if mean.reason or not sd else mean.mean / sd, wins=wins, ties=ties,
        losses=losses, n_pairs=int(there.sum()),
    )  # fmt: skip


def _mean_of_terms(terms: Array) -> Array:
    """Return the mean over terms of the mean over judges who have one; NaN if a term has none."""
    return without_rounding(mean_there(terms, 1).mean(axis=1), terms)


_TAU_LIMITS, _GAIN_LIMITS = (-1.0, 1.0), (-2.0, 2.0)


@dataclass(frozen=True, slots=True)
class PairedFigure(Difference):
    """A figure of panel b less that of panel a, over prompts; `a_value` and `b_value` are theirs,
    `n_items` is how many texts it is of."""

    a_value: float = nan
    b_value: float = nan
    n_items: int = 0


@dataclass(frozen=True, slots=True)
class BestOfPrompts:
    """In how many prompts two panels rate the same response highest (of ties: the same ones),
    share some but not all of their best, or rate others highest; prompts with one response have
    none."""

    same: int
    shared: int
    flipped: int

    @property
    def n_prompts(self) -> int:
        """Return the number of prompts with several responses that both rated."""
        return self.same + self.shared + self.flipped


@dataclass(frozen=True, slots=True)
class NearerToPeople:
    """The comparison of two panels with people's ratings.

    Attributes:
        within: whether correlations are means of those within prompts, or over all responses.
        figures: `tau_b` of a panel's scores with people's mean: above 0, b orders responses more
            like people. `distance` of a panel's score from people's mean, the mean over prompts, in
            points: below 0, b's scores are nearer. Where people's single ratings are known, those
            of `compared_advantages`.
        n_people: how many people rated; 0 where their single ratings are not known.
    """

    within: bool
    figures: Mapping[str, PairedFigure]
    n_people: int = 0


def order_alike(a: ArrayLike, b: ArrayLike, prompts: Labels) -> tuple[PairedFigure, PairedFigure]:
    """Return Kendall's τ_b of two panels' scores: the mean of those within prompts, and over all.

    Args:
        a, b: `(responses,)`, NaN where missing.
    """
    first, second = as_scores(a), as_scores(b)
    inside = correlation_by_prompt(first, second, prompts, "tau_b")
    tau = replace(correlation(first, second, "tau_b"), p_value=nan)
    every = replace(tau, limits=_TAU_LIMITS)
    return paired_figure(mean_over_prompts(inside, prompts), prompts), paired_figure(every, prompts)


def scores_alike(a: ArrayLike, b: ArrayLike, prompts: Labels) -> PairedFigure:
    """Return Krippendorff's α at the interval level of two panels' scores, as of two raters."""
    both = np.column_stack([as_scores(a), as_scores(b)])
    alpha = krippendorff_alpha(both, "interval")
    return paired_figure(replace(alpha, limits=(-1.0, 1.0)), prompts)


def best_of_prompts(a: ArrayLike, b: ArrayLike, prompts: Labels) -> BestOfPrompts:
    """Count the prompts in which two panels rate the same response highest. Args as for
    `order_alike`."""
    first, second = as_scores(a), as_scores(b)
    rated: Mask = ~np.isnan(first + second)
    counts = [0, 0, 0]
    for _, items in items_by_label(prompts, len(first)):
        both = items[rated[items]]
        if len(both) > 1:
            a_best, b_best = (competition_ranks(side[both]) == 1 for side in (first, second))
            counts[
                0 if np.array_equal(a_best, b_best) else 1 if (a_best & b_best).any() else 2
            ] += 1
    return BestOfPrompts(*counts)


def nearer_to_people(
    a: ArrayLike, b: ArrayLike, people: ArrayLike, prompts: Labels, *, same_scale: bool = True
) -> NearerToPeople:
    """Compare how near two panels are to people's mean rating, over the items of all three.

    Args:
        a, b, people: `(items,)`, NaN where missing; higher is better.
        same_scale: whether people's ratings are on the panels' scale; else there is no distance.
    """
    sides = [as_scores(side) for side in (a, b, people)]
    missing = np.isnan(np.sum(sides, axis=0))
    first, second, target = (np.where(missing, np.nan, side) for side in sides)
    codes = encode_labels(prompts, len(missing))[1]
    # Some prompt has at least two items with a value.
    within = bool((np.bincount(codes[~missing]) > 1).any())
    if within:
        taus = [correlation_by_prompt(side, target, prompts, "tau_b") for side in (first, second)]
        each = zip(taus[0].prompts, *(side.values for side in taus), strict=True)
        inside = over_prompts([(name, ours.less(theirs, 3)) for name, theirs, ours in each])
        result = mean_over_prompts(inside, prompts, kind="mean_difference", limits=_GAIN_LIMITS)
        # Over the prompts that enter their difference, so that it is theirs.
        values = np.array([[each.value for each in side.values] for side in taus])
        values[:, np.isnan(values).any(axis=0)] = nan
        of_each = mean_there(values, 1).tolist()
    else:
        result = correlation_gain(second, first, target, "tau_b")
        of_each = [correlation(side, target, "tau_b").value for side in (first, second)]
    tau = replace(
        paired_figure(result, prompts, tested=True), a_value=of_each[0], b_value=of_each[1]
    )
    if not same_scale or missing.all():
        distance = undefined_figure(Reason.NO_SHARED_ITEMS if same_scale else Reason.OTHER_SCALE)
    else:
        ours, theirs = (means_by(np.abs(side - target), codes) for side in (first, second))
        distance = sampled_mean(theirs - ours).as_a(
            PairedFigure, a_value=defined_mean(ours), b_value=defined_mean(theirs),
            n_items=int(np.sum(~missing)),
        )  # fmt: skip
    return NearerToPeople(within, {"tau_b": tau, "distance": distance})


def paired_figure(
    statistic: Statistic, prompts: Labels, *, tested: bool = False, most_df: float = inf
) -> PairedFigure:
    """Return a statistic with its jackknife interval over prompts.

    Args:
        tested: whether it gets a p-value: of 0, as the interval has it.
        most_df: the most degrees of freedom that the interval and the p-value have.
    """
    there = interval_of(statistic, prompts, DEFAULT_OPTIONS)
    figure = PairedFigure(
        statistic.value, over="prompts", n=0, reason=statistic.reason, n_items=statistic.n_items
    )
    if there is None or there.reason is not None:
        return figure if there is None else replace(figure, reason=there.reason)
    p, df, ends = nan, there.degrees_of_freedom, (there.low, there.high)
    if most_df < df:
        df = most_df
        reach = there.standard_error * critical_t(df)
        low, high = statistic.limits
        ends = max(statistic.value - reach, low), min(statistic.value + reach, high)
    if tested:
        p = two_sided_p(statistic.value / there.standard_error, df)
    return replace(figure, low=ends[0], high=ends[1], n=there.n_clusters, p=p)


def undefined_figure(reason: Reason) -> PairedFigure:
    """Return a figure that there is not."""
    return PairedFigure(nan, over="prompts", n=0, reason=reason)
