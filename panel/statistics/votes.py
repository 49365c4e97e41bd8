"""Effective votes of judges, and differences of two panels' correlations with a reference.

Whether one panel's mean correlates more with a reference than another's: the difference.

Both correlations are over the same items and are resampled together, so that what both owe to the
items drawn cancels: a paired interval.

The effective number of votes of judges who differ in one thing alone: in persona, in model, or
in nothing but chance.

k judges whose scores correlate by r̄ have a mean as noisy as that of k / (1 + (k − 1) r̄)
independent ones: see `persona_panel.statistics.panel_size`. Personas add
something where k of them on one model have more votes than as many replicates of a judge without a
persona.

Sources: L. Kish (1965), *Survey Sampling*, section 8.2, for the number; G. Y. Zou (2007), "Toward
using confidence intervals to compare correlations", for the interval of a difference from the
intervals of both sides and how they covary (MOVER), which keeps that each is skewed. The bound over
several differences is Bonferroni's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    Labels,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    as_scores,
    difference_of,
    has_two_ratings,
    items_by_label,
    row_means,
    unit_weights,
)
from persona_panel.statistics.core.correlation import (
    CorrelationKind,
    correlation,
    resampled_correlation,
)
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.jackknife import Interval, correlation_at, jackknife
from persona_panel.statistics.core.ranking import sampled_mean
from persona_panel.statistics.panel_size import (
    effective_judges,
    kish_number,
    resampled_set_correlation,
)


def correlation_gain(
    panel: ArrayLike, control: ArrayLike, reference: ArrayLike, kind: CorrelationKind
) -> Statistic:
    """Return the panel's correlation with the reference less the control's, over the items of all
    three.

    How to read it: above 0, the panel's scores go more with the reference than the control's do.
    The mean of more judges correlates higher for their number alone: compare as many with as many.

    Args:
        panel, control, reference: `(items,)`, NaN where missing.

    Returns:
        A value in [−2, 2]. Undefined where one of the two correlations is.

    Raises:
        ValueError: the shapes differ, a value is infinite, or an unknown kind.

    >>> correlation_gain([1, 2, 3], [1, 3, 2], [1, 2, 3], "spearman").value
    0.5
    """
    ours, theirs, target = _on_shared_items(panel, control, reference)
    correlations = [correlation(side, target, kind) for side in (ours, theirs)]
    n_items = int(np.sum(~np.isnan(target)))
    reason = next((side.reason for side in correlations if side.reason is not None), None)
    if reason is not None:
        return Statistic.undefined(reason, n_items=n_items)
    return Statistic(correlations[0].value - correlations[1].value, n_items, n_raters=3)


def resampled_correlation_gain(
    panel: ArrayLike, control: ArrayLike, reference: ArrayLike, kind: CorrelationKind
) -> Resampled:
    """Return the gain as a function of resampling weights; args and errors as for
    `correlation_gain`."""
    ours, theirs, target = _on_shared_items(panel, control, reference)
    first, second = (resampled_correlation(side, target, kind) for side in (ours, theirs))
    return difference_of(first, second)


def gain_within_prompts(
    panel: ArrayLike,
    control: ArrayLike,
    reference: ArrayLike,
    prompts: Labels,
    kind: CorrelationKind,
) -> tuple[tuple[object, Statistic], ...]:
    """Return the gain inside each prompt, in order of appearance; `over_prompts` takes their mean.
    Args and errors as for `correlation_gain`, and one label an item.

    >>> panel, control, humans = [1, 2, 3, 2, 1, 3], [2, 1, 3, 3, 1, 2], [1, 2, 3, 1, 2, 3]
    >>> prompts = ["p", "p", "p", "q", "q", "q"]
    >>> [(prompt, gain.value) for prompt, gain in
    ...  gain_within_prompts(panel, control, humans, prompts, "spearman")]
    [('p', 0.5), ('q', 1.0)]
    """
    ours, theirs, target = _on_shared_items(panel, control, reference)
    return tuple(
        (name, correlation_gain(ours[items], theirs[items], target[items], kind))
        for name, items in items_by_label(prompts, len(ours))
    )


def all_alike(ratings: Array) -> bool:
    """Return whether raters gave identical ratings to all items that two of them rated.

    Replicates that do are one judgment, counted several times.

    Args:
        ratings: `(items, raters)`, NaN where missing.
    """
    rated = ~np.isnan(ratings)
    several = rated.sum(axis=1) > 1
    spans = np.nanmax(ratings[several], axis=1) - np.nanmin(ratings[several], axis=1)
    return bool(several.any() and not spans.any())


def why_no_gain(controls: Array) -> Reason | None:
    """Return why there can be no comparison with these replicates `(items, replicates)`."""
    return Reason.IDENTICAL_REPLICATES if all_alike(controls) else None


def _on_shared_items(*sides: ArrayLike) -> tuple[Array, ...]:
    scores = [as_scores(side) for side in sides]
    if len({len(side) for side in scores}) > 1:
        raise ValueError(f"{[len(side) for side in scores]} scores cannot be compared")
    missing = np.any([np.isnan(side) for side in scores], axis=0)
    return tuple(np.where(missing, np.nan, side) for side in scores)


_LEAST_PROMPTS = 10
"""Five to choose on, and five to look at: of fewer a spread says little."""

Sets = Sequence[Sequence[int]]
"""Columns of judges, set by set: the personas of one model, say."""


@dataclass(frozen=True, slots=True)
class Votes:
    """The effective number of votes of k judges of a source.

    Attributes:
        source: what judges of a set differ in.
        n_sets: how many sets of two judges or more there are.
        n_judges: k, how many judges are counted, the same for all sources.
        largest_set: how many judges the largest set has; k judges are more in some sources, and
            the number is then that of as many judges alike.
        correlation: r̄, the mean correlation of two judges of a set; NaN where none is defined.
        votes: k / (1 + (k − 1) r̄), from 1 to k; k where r̄ is 0 or less.
    """

    source: str
    n_sets: int
    n_judges: int
    largest_set: int
    correlation: float
    votes: Estimate


@dataclass(frozen=True, slots=True)
class EnsembleDistance:
    """The distances from people of the mean of all judges and of the best judge, chosen on other
    prompts.

    Attributes:
        ensemble, best: the root of the mean squared distance from people's mean, in points, on the
            prompts that the judge was not chosen on.
        difference: mean squared distance of the best judge less that of the ensemble there, in
            squared points: above 0 the ensemble is nearer to people. Student's t over prompts.
        chosen: the column of the judge; None where none could be chosen.
        n_items: how many the distances are of.
    """

    ensemble: float
    best: float
    difference: Estimate
    chosen: int | None
    n_items: int


def effective_votes(
    ratings: ArrayLike,
    sources: Mapping[str, Sets],
    reference: ArrayLike | None = None,
    clusters: Labels | None = None,
) -> tuple[list[Votes], list[Difference]]:
    """Estimate the effective votes of equally many judges of each source, and the differences: the
    votes of source `a` less those of `b`. The intervals of the differences hold all of them at once
    in 95 % of samples.

    How to read it: 1, further judges of this kind only repeat the first; k, they are independent.
    Without a reference agreement about what is true counts as dependence, for each source alike:
    the difference of two sources says which brings more that the others do not say, noise included.
    With people's ratings as a reference it is of judges' errors alone.

    Args:
        ratings: `(items, judges)`, NaN where missing.
        sources: for each source its sets of judges; sets of one are left out. All are counted as
            k judges, the size of the largest of all sets: the same number of judgments.
        reference: `(items, people)` or `(items,)`, as for `effective_judges`.
        clusters: a label an item, its prompt; each item is its own if None.

    Raises:
        ValueError: a wrong shape, an infinite value, or no set of two judges.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(200, 6))
    >>> noise[:, 3:] = noise[:, 3:] * 0.2 + noise[:, :1]
    >>> found, (difference,) = effective_votes(noise, {"far": [(0, 1, 2)], "near": [(3, 4, 5)]})
    >>> [round(one.votes.value, 1) for one in found], difference.low > 1
    ([2.9, 1.0], True)
    """
    array = as_ratings(ratings)
    several = {
        name: [judges for judges in sets if len(judges) > 1] for name, sets in sources.items()
    }
    several = {name: sets for name, sets in several.items() if sets}
    if not several:
        raise ValueError("no set has two judges")
    k = max(len(judges) for sets in several.values() for judges in sets)
    n_items = len(array)
    counted = has_two_ratings(array)
    if reference is not None:
        counted &= ~np.isnan(np.reshape(reference, (n_items, -1))).all(axis=1)
    names = list(several)
    confidence = 1 - 0.05 / max(len(names) * (len(names) - 1) // 2, 1)
    votes, wide, moved = [], [], []
    for name, sets in several.items():
        correlation = _Recorded(resampled_set_correlation(array, sets, reference))
        interval = jackknife(correlation, n_items, clusters, kind="correlation", counted=counted)
        if not len(correlation.values):
            # Too few prompts for an interval: there is the number alone.
            correlation(unit_weights(n_items))
        value, *without = correlation.values.tolist()
        why = _why_none(array, sets, reference)
        of_all = correlation_at(interval, value, confidence)
        over = "items" if clusters is None else "prompts"
        own, other = (_votes(name, sets, k, value, each, why, over) for each in (interval, of_all))
        votes.append(own)
        wide.append(other)
        moved.append(-np.array(without))
    return votes, [
        _difference(wide[a], wide[b], moved[a], moved[b])
        for a, b in combinations(range(len(names)), 2)
    ]


def ensemble_distance(
    ratings: ArrayLike,
    people: ArrayLike,
    clusters: Labels | None = None,
    *,
    same_scale: bool = True,
) -> EnsembleDistance:
    """Compare how far the mean of all judges and the judge who is best elsewhere are from people.

    How to read it: the judge who is best on the prompts at hand was in part lucky there. So the
    best is chosen on every other prompt, by the mean squared distance from people's mean, and
    looked at on the rest: of these, Student's interval holds for the judge who was chosen. (Leaving
    out one prompt at a time would use all of them, but its interval covers in 0.7.) What people's
    noise adds to both distances is the same.

    Args:
        ratings: `(items, judges)`, NaN where missing; items that a judge left out are left out.
        people: `(items,)`, people's mean rating, NaN where there is none.
        clusters: a label an item, its prompt; each item is its own if None.
        same_scale: whether people's ratings are on the judges' scale; else there is no distance.

    Returns:
        Undefined on different scales, and with fewer than two judges or ten prompts.

    Raises:
        ValueError: a wrong shape, an infinite value, or not one label an item.

    Judges who err by chance, each to its own side:

    >>> people = np.arange(10.0)
    >>> found = ensemble_distance(people[:, None] + [[-1.0, 1.5]], people)
    >>> found.ensemble, found.best
    (0.25, 1.0)
    """
    array, target = as_ratings(ratings), as_scores(people)
    if len(target) != len(array):
        raise ValueError(f"{len(target)} people's ratings for {len(array)} items")
    there = ~np.isnan(array).any(axis=1) & ~np.isnan(target)
    labels = range(len(array)) if clusters is None else clusters
    kept = [label for label, is_there in zip(labels, there, strict=True) if is_there]
    scores, target = array[there], target[there]
    prompts = [items for _, items in items_by_label(kept, len(kept))]
    over = "items" if clusters is None else "prompts"
    if not same_scale or array.shape[1] < 2 or len(prompts) < _LEAST_PROMPTS:
        reason = Reason.FEW_RATERS if array.shape[1] < 2 else Reason.FEW_TO_CHOOSE_THE_BEST
        reason = reason if same_scale else Reason.OTHER_SCALE
        undefined = Estimate(nan, over=over, n=len(prompts), reason=reason)
        return EnsembleDistance(nan, nan, undefined, None, len(kept))
    of_judges = (scores - target[:, None]) ** 2
    of_all = (row_means(scores) - target) ** 2
    best = int(np.argmin(sum(of_judges[items].mean(axis=0) for items in prompts[::2])))
    others = prompts[1::2]
    of_best = np.array([of_judges[items, best].mean() for items in others])
    of_ensemble = np.array([of_all[items].mean() for items in others])
    return EnsembleDistance(
        sqrt(float(of_ensemble.mean())),
        sqrt(float(of_best.mean())),
        # Nothing is foreseen from these prompts: others are needed to choose the judge.
        replace(sampled_mean(of_best - of_ensemble).as_a(Estimate, over=over), sampled=None),
        best,
        sum(map(len, others)),
    )


class _Recorded:
    """A statistic that keeps its values, of which the first is that of all items: an interval asks
    for it without each prompt, and how two statistics move together is seen in the same values."""

    def __init__(self, statistic: Resampled) -> None:
        self._statistic = statistic
        self.values: Array = np.empty(0)

    def __call__(self, weights: Array) -> Array:
        self.values = self._statistic(weights)
        return self.values


def _number(k: int, correlation: ArrayLike) -> Array:
    return kish_number(k, np.clip(correlation, 0, 1))


def _votes(
    source: str,
    sets: Sets,
    k: int,
    correlation: float,
    interval: Interval,
    why: Reason | None,
    over: str,
) -> Votes:
    sizes = len(sets), k, max(map(len, sets))
    about = Estimate(nan, over=over, limits=(1.0, float(k)))
    if isnan(correlation):
        return Votes(source, *sizes, nan, replace(about, reason=why or Reason.UNDEFINED_ESTIMATE))
    # The noise of people's mean is taken off the errors of judges, and may be more than those are.
    if abs(correlation) > 1 + ROUNDING:
        return Votes(source, *sizes, nan, replace(about, reason=Reason.NOISE_ABOVE_ERRORS))
    # The higher the correlation, the fewer votes.
    low, value, high = _number(k, [interval.high, correlation, interval.low]).tolist()
    n = interval.n_clusters or None
    number = replace(about, value=value, low=low, high=high, n=n, reason=why or interval.reason)
    return Votes(source, *sizes, correlation, number)


def _why_none(ratings: Array, sets: Sets, reference: ArrayLike | None) -> Reason | None:
    """Return why there is no number, or no interval, for any prompts."""
    if all(all_alike(ratings[:, list(judges)]) for judges in sets):
        return Reason.IDENTICAL_JUDGES
    known = [effective_judges(ratings[:, list(judges)], reference).reason for judges in sets]
    if not all(known) or known[0] is Reason.NOT_CORRELATED:
        return None
    # Errors without a variance once the noise is taken off; the judge's ratings may well differ.
    alike = reference is not None and known[0] is Reason.CONSTANT_RATER
    return Reason.NOISE_ABOVE_ERRORS if alike else known[0]


def _difference(a: Votes, b: Votes, moved_a: Array, moved_b: Array) -> Difference:
    """Return the difference by MOVER: the distance of each limit from the estimate comes from the
    side's own interval, and what both sides share from how they move together without each
    prompt."""
    both = np.column_stack([moved_a, moved_b])
    both = both[~np.isnan(both).any(axis=1)]
    # Of what never moves there is no interval either.
    moves = len(both) > 1 and bool((both.std(axis=0) > 0).all())
    matrix: Array = np.atleast_2d(np.corrcoef(both.T)) if moves else np.eye(2)
    shared = float(matrix[0, 1])
    of_a, of_b = a.votes, b.votes
    if of_a.high >= a.n_judges or of_b.high >= b.n_judges:
        # An interval cut at k judges no longer says how both move together: that may widen the
        # interval of the difference, as at a level at which nothing is cut, but not narrow it.
        shared = min(shared, 0.0)
    difference = of_a.value - of_b.value

    def reach(x: float, y: float) -> float:
        return sqrt(max(x**2 + y**2 - 2 * shared * x * y, 0.0))

    return Difference(
        difference,
        difference - reach(of_a.value - of_a.low, of_b.high - of_b.value),
        difference + reach(of_a.high - of_a.value, of_b.value - of_b.low),
        over=of_a.over,
        n=of_a.n,
        reason=of_a.reason or of_b.reason,
        a=a.source,
        b=b.source,
    )
