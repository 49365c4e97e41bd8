"""Scores by themselves and beside people's: distributions, use of the scale, distances and losses.

Sources: H. Theil (1966), *Applied Economic Forecasting* (the parts of a distance); the
conceptual-critiques paper, appendix B (losses); C. E. Shannon (1948), "A mathematical theory of
communication", section 6 (entropy).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    EstimateKind,
    Labels,
    Reason,
    Statistic,
    as_ratings,
    count_by_item,
    defined_mean,
    divide,
    has_ratings,
    items_by_label,
    mean_there,
    paired_scores,
    without_rounding,
)
from persona_panel.statistics.core.means import OverPrompts, over_prompts


def score_distributions(*groups: ArrayLike) -> tuple[Array, Array]:
    """Return all scores that occur, ascending, and the share of each in each group of raters
    `(groups, values)`, NaN of a group without ratings; `groups` are arrays of any shape, NaN where
    missing. Rows that are alike mean that the groups use the scale alike.

    >>> values, shares = score_distributions([1, 1, 2], [2, 3])
    >>> values.tolist(), shares.round(2).tolist()
    ([1.0, 2.0, 3.0], [[0.67, 0.33, 0.0], [0.0, 0.5, 0.5]])
    """
    flat = [np.asarray(group, dtype=np.float64).ravel() for group in groups]
    rated = [scores[~np.isnan(scores)] for scores in flat]
    values = np.unique(np.concatenate([np.empty(0), *rated]))
    counts = np.array(
        [np.bincount(np.searchsorted(values, s), minlength=len(values)) for s in rated]
    ).reshape(len(groups), len(values))
    return values, divide(counts, counts.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class DistanceParts:
    """The mean squared distance of two sets of scores of the same items, in squared points.

    Attributes:
        n_items: which have both.
        shift: the mean of the first less that of the second, in points.
        spread: the standard deviation of the first, divided by that of the second.
        linear_share: which part of the mean squared distance, 0 to 1, another level and unit of the
            first, those of the best straight line, would take away; where the correlation is not
            above 0, another level alone.
    """

    n_items: int
    shift: float
    spread: float
    linear_share: float


def distance_parts(first: ArrayLike, second: ArrayLike) -> DistanceParts | None:
    """Split the distance between two sets of scores of the same items `(items,)` into its parts;
    None where fewer than two items have both, the second are all the same, or no score differs."""
    x, y, both = paired_scores(first, second)
    x, y = x[both], y[both]
    if len(x) < 2:
        return None
    shift, squared = float(x.mean() - y.mean()), float(np.mean((x - y) ** 2))
    if not squared or not y.std():
        return None
    covariance = float(np.mean((x - x.mean()) * (y - y.mean())))
    linear = shift**2
    if covariance > 0:
        linear += float(x.std() - covariance / x.std()) ** 2
    return DistanceParts(len(x), shift, float(x.std() / y.std()), min(1.0, linear / squared))


CUSTOM_DIMENSIONS = (
    "overall",
    "centrality",
    "strength",
    "single_issue",
    "clarity",
    "correctness",
    "dead_weight",
)
"""The columns that `custom_loss` takes, in this order."""

CLEAR = 0.5
"""Below this human clarity only clarity and overall count: the person could not tell what
was said, so their other ratings mean little."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss, smaller is better.

    `by_position.mean` is the average over positions (it is resampled by
    `resampled_over_prompts`); `pooled` is the average over all terms, whatever their
    position, `n_terms` of them: pairs of critiques, or critiques. `baseline` is what
    scores drawn at random would be expected to lose, averaged as `by_position.mean` is:
    exactly, not by simulation.
    """

    by_position: OverPrompts
    pooled: float
    n_terms: int
    baseline: float


def pairwise_error(
    human: ArrayLike, panel: ArrayLike, positions: Labels, *, weighted: bool = False
) -> Loss:
    """Return the share of the person's comparisons that the panel gets wrong.

    A comparison is of two critiques of one position that the person rates differently. It
    loses 1 when the panel orders them the other way, 1/2 when it ties them. Weighted, it
    loses that times the person's difference.

    How to read it: 0, the panel orders every pair as the person does; 1/2, what a random judge
    loses (weighted: `baseline`); 1, every pair is the other way round.

    Args:
        human, panel: overall scores `(items,)`, NaN where missing; pairs that either left
            out are not compared.
        weighted: whether a mistake costs as much as the person sees between the two.

    >>> loss = pairwise_error([1, 2, 3], [1, 3, 2], "ppp")
    >>> round(loss.by_position.mean.value, 3), loss.baseline
    (0.333, 0.5)
    """
    theirs, ours, both = paired_scores(human, panel)
    parts = []
    for name, items in items_by_label(positions, len(theirs)):
        items = items[both[items]]
        a, b = np.triu_indices(len(items), k=1)
        gap = theirs[items[a]] - theirs[items[b]]
        compared = gap != 0
        gap = gap[compared]
        agreement = np.sign(gap) * np.sign(ours[items[a]] - ours[items[b]])[compared]
        stake = np.abs(gap) if weighted else np.sign(np.abs(gap))
        # A random judge is wrong in half of the comparisons.
        parts.append((name, len(items), stake * (1 - agreement) / 2, stake / 2))
    return _loss(parts, Reason.NO_COMPARISONS)


def custom_loss(
    human: ArrayLike,
    panel: ArrayLike,
    positions: Labels | None = None,
    *,
    of: Literal["losses", "means"] = "losses",
) -> Loss:
    """Return the custom weighted loss over seven dimensions, all in [0, 1].

    Half is the difference in overall. Where the person finds the critique clear (0.5 or
    more), the other half is the weighted mean of the differences in strength × centrality
    (4), correctness (2), clarity (2), single issue (1) and dead weight (1): how strength
    and centrality share what their product says is often arbitrary. Where not, it is the
    difference in clarity alone.

    How to read it: 0 where the panel gives the person's ratings; `baseline` is what ratings drawn
    uniformly would lose, and a panel above it says nothing about these critiques.

    Args:
        human, panel: `(items, 7)` of one rater, or `(items, 7, raters)`, with the columns of
            `CUSTOM_DIMENSIONS`, NaN where missing. A rater of a critique who lacks a rating that
            the loss needs has no loss there.
        positions: a label an item, whose means are averaged; None, as in the paper: the mean is
            over critiques.
        of: `losses`, as in the paper: a critique's loss is the mean over judges and people of the
            loss of the one against the other. `means`: it is the loss of the mean judge against
            the mean person, which is smaller where errors cancel.

    >>> ratings = np.full((2, 7), 0.5)
    >>> round(custom_loss(ratings, ratings + 0.1).by_position.mean.value, 3)
    0.102
    >>> judges = np.stack([ratings - 0.1, ratings + 0.1], axis=2)
    >>> [round(custom_loss(ratings, judges, of=of).pooled, 3) for of in ("losses", "means")]
    [0.1, 0.0]
    """
    theirs, ours = _unit(human), _unit(panel)
    if len(theirs) != len(ours):
        raise ValueError(f"{len(theirs)} critiques rated by the person, {len(ours)} by the panel")
    if of == "means":
        theirs, ours = (
            without_rounding(mean_there(side, 2), side)[..., None] for side in (theirs, ours)
        )
    terms = _terms(theirs)
    unclear = theirs[:, [CUSTOM_DIMENSIONS.index("clarity")]] < CLEAR
    shares = np.where(unclear, _UNCLEAR[:, None], _CLEAR[:, None])
    judges = np.moveaxis(_terms(ours), 2, 0)
    # (critiques, people, judges): every judge against every person.
    each = np.stack([_weigh(shares, np.abs(terms - judge[..., None])) for judge in judges], axis=2)
    chances = np.where(np.isnan(each), np.nan, _weigh(shares, _chance(terms))[..., None])
    loss, chance = (mean_there(side.reshape(len(side), -1), 1) for side in (each, chances))
    parts = []
    labels = range(len(theirs)) if positions is None else positions
    for name, items in items_by_label(labels, len(theirs)):
        items = items[~np.isnan(loss[items])]
        parts.append((name, len(items), loss[items], chance[items]))
    return _loss(parts, Reason.NO_SHARED_ITEMS)


_CLEAR = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
_UNCLEAR = np.array([0.5, 0.0, 0.0, 0.5, 0.0, 0.0])
"""The weight of each column of `_terms`."""


def _terms(ratings: Array) -> Array:
    """Return the quantities to compare `(items, 6, raters)`."""
    column = dict(zip(CUSTOM_DIMENSIONS, np.moveaxis(ratings, 1, 0), strict=True))
    product = column["strength"] * column["centrality"]
    rest = ("correctness", "clarity", "single_issue", "dead_weight")
    return np.stack([column["overall"], product, *(column[name] for name in rest)], axis=1)


def _weigh(shares: Array, differences: Array) -> Array:
    """Return each rater's loss on each item; a missing difference matters only where it counts."""
    return np.where(shares > 0, shares * differences, 0).sum(axis=1)


def _chance(terms: Array) -> Array:
    expected: Array = (terms**2 + (1 - terms) ** 2) / 2
    c = terms[:, 1]
    logarithm = np.log(np.where(c > 0, c, 1))
    expected[:, 1] = 1 / 4 - c + 3 * c**2 / 2 - c**2 * logarithm
    return expected


def _unit(ratings: ArrayLike) -> Array:
    array = np.asarray(ratings, dtype=np.float64)
    array = array[..., None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[1] != len(CUSTOM_DIMENSIONS):
        raise ValueError(f"ratings have the columns {', '.join(CUSTOM_DIMENSIONS)}")
    outside = np.argwhere((array < 0) | (array > 1))
    if len(outside):
        item, column, rater = outside[0]
        raise ValueError(
            f"the {CUSTOM_DIMENSIONS[column]} of item {item} is {array[item, column, rater]:g}, "
            "outside [0, 1]"
        )
    return array


def _loss(parts: Sequence[tuple[object, int, Array, Array]], otherwise: Reason) -> Loss:
    """Return the loss from each position's name, number of items, losses, and losses by chance."""
    within = [
        (name, Statistic.of(defined_mean(losses), n, 2, otherwise)) for name, n, losses, _ in parts
    ]
    terms = np.concatenate([np.empty(0), *(losses for _, _, losses, _ in parts)])
    baseline = defined_mean(np.array([defined_mean(chances) for *_, chances in parts]))
    return Loss(over_prompts(within), defined_mean(terms), len(terms), baseline)


def score_entropy(ratings: ArrayLike) -> Statistic:
    """Return the entropy of all ratings' values, in bits: 0 where all are the same, log2 of their
    number where each is as common as any other. Values are compared exactly, so round what is not
    whole first.

    >>> score_entropy([[1, 1], [2, 2]]).value
    1.0
    """
    return _of_shares(ratings, _entropy, "entropy", (0.0, inf))


def mode_share(ratings: ArrayLike) -> Statistic:
    """Return the share of all ratings that are the commonest value: near 1, raters hardly tell
    items apart; where k values are equally common it is 1 / k, the least that it can be.

    >>> mode_share([[1, 1], [1, 2]]).value
    0.75
    """
    return _of_shares(ratings, lambda shares: shares.max(axis=1, initial=0.0), "number", (0.0, 1.0))


def _entropy(shares: Array) -> Array:
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    # Remove the sign of a negative zero.
    return -np.sum(shares * logs, axis=1) + 0.0


def _of_shares(
    ratings: ArrayLike,
    function: Callable[[Array], Array],
    kind: EstimateKind,
    limits: tuple[float, float],
) -> Statistic:
    """Return what `function` makes of the values' shares `(resamples, values)`."""
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    by_item = count_by_item(array, np.unique(array[rated]))

    def statistic(weights: Array) -> Array:
        counts = weights @ by_item
        totals = counts.sum(axis=1, keepdims=True)
        result = function(np.nan_to_num(divide(counts, totals)))
        return np.where(totals[:, 0] > 0, result, np.nan)

    n_raters = int(rated.any(axis=0).sum())
    of_items = has_ratings(array)
    return Statistic.of_weights(statistic, of_items, n_raters, Reason.NO_RATINGS, kind, limits)
