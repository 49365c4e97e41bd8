"""How far a judge's scores are from a person's: three losses, averaged over positions.

Source: the conceptual-critiques paper, appendix B. An item is a critique of a position;
comparisons are within positions only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    as_ratings,
    items_by_label,
    paired_scores,
)
from persona_panel.statistics.core.prompts import OverPrompts, over_prompts
from persona_panel.statistics.core.statistic import Reason, Statistic

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
    human: ArrayLike,
    panel: ArrayLike,
    positions: Labels,
    *,
    weighted: bool = False,
    count_ties: bool = False,
) -> Loss:
    """The share of the person's comparisons that the panel gets wrong.

    A comparison is of two critiques of one position that the person rates differently. It
    loses 1 when the panel orders them the other way, 1/2 when it ties them. Weighted, it
    loses that times the person's difference.

    How to read it: 0, the panel orders every pair as the person does; 1/2, what a random judge
    loses (weighted: `baseline`); 1, every pair is the other way round. Within one prompt and
    unweighted it is (1 − d) / 2, where d is Somers' d of the panel's scores given the person's.

    Args:
        human, panel: overall scores `(items,)`, NaN where missing; pairs that either left
            out are not compared.
        positions: a label an item.
        weighted: whether a mistake costs as much as the person sees between the two.
        count_ties: whether pairs that the person ties count as comparisons without loss.
            The paper's formal definition has them out; its prose, "the total number of
            possible comparisons", can be read as having them in.

    Raises:
        ValueError: the shapes differ, an infinite value, or not one label an item.

    >>> loss = pairwise_error([1, 2, 3], [1, 3, 2], "ppp")
    >>> round(loss.by_position.mean.value, 3), loss.baseline
    (0.333, 0.5)
    """
    theirs, ours, both = paired_scores(human, panel)
    losses, within, chance_within = [], [], []
    for name, items in items_by_label(positions, len(theirs)):
        items = items[both[items]]
        a, b = np.triu_indices(len(items), k=1)
        gap = theirs[items[a]] - theirs[items[b]]
        compared = np.ones(len(gap), dtype=bool) if count_ties else gap != 0
        gap = gap[compared]
        agreement = np.sign(gap) * np.sign(ours[items[a]] - ours[items[b]])[compared]
        stake = np.abs(gap) if weighted else np.sign(np.abs(gap))
        loss = stake * (1 - agreement) / 2
        within.append((name, _mean(loss, len(items), Reason.NO_COMPARISONS)))
        # A random judge is wrong in half of the comparisons.
        chance_within.append(_mean_or_nan(stake / 2))
        losses.append(loss)
    return _loss(within, losses, chance_within)


def custom_loss(human: ArrayLike, panel: ArrayLike, positions: Labels) -> Loss:
    """The custom weighted loss over seven dimensions, all in [0, 1].

    Half is the difference in overall. Where the person finds the critique clear (0.5 or
    more), the other half is the weighted mean of the differences in strength × centrality
    (4), correctness (2), clarity (2), single issue (1) and dead weight (1): how strength
    and centrality share what their product says is often arbitrary. Where not, it is the
    difference in clarity alone.

    How to read it: 0 where the panel gives the person's ratings; `baseline` is what ratings drawn
    uniformly would lose, and a panel above it says nothing about these critiques.

    Args:
        human, panel: `(items, 7)` with the columns of `CUSTOM_DIMENSIONS`, NaN where
            missing. A critique that lacks a rating its loss needs, on either side, has no
            loss and does not enter.
        positions: a label an item.

    Raises:
        ValueError: a wrong shape, a value outside [0, 1], or not one label an item.

    >>> ratings = np.full((2, 7), 0.5)
    >>> custom_loss(ratings, ratings, "pp").by_position.mean.value
    0.0
    >>> round(custom_loss(ratings, ratings + 0.1, "pp").by_position.mean.value, 3)
    0.102
    """
    theirs, ours = _unit(human), _unit(panel)
    if theirs.shape != ours.shape:
        raise ValueError(f"{len(theirs)} critiques rated by the person, {len(ours)} by the panel")
    terms = _terms(theirs)
    shares = np.where(theirs[:, CUSTOM_DIMENSIONS.index("clarity"), None] < CLEAR, _UNCLEAR, _CLEAR)
    loss = _weigh(shares, np.abs(terms - _terms(ours)))
    chance = _weigh(shares, _chance(terms))
    losses, within, chance_within = [], [], []
    for name, items in items_by_label(positions, len(theirs)):
        items = items[~np.isnan(loss[items])]
        within.append((name, _mean(loss[items], len(items), Reason.NO_SHARED_ITEMS)))
        chance_within.append(_mean_or_nan(chance[items]))
        losses.append(loss[items])
    return _loss(within, losses, chance_within)


_CLEAR = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
_UNCLEAR = np.array([0.5, 0.0, 0.0, 0.5, 0.0, 0.0])
"""How much each column of `_terms` counts."""


def _terms(ratings: Array) -> Array:
    """Return what is compared `(items, 6)`: overall, strength × centrality, correctness, clarity,
    single issue, dead weight."""
    column = dict(zip(CUSTOM_DIMENSIONS, ratings.T, strict=True))
    product = column["strength"] * column["centrality"]
    rest = ("correctness", "clarity", "single_issue", "dead_weight")
    return np.stack([column["overall"], product, *(column[name] for name in rest)], axis=1)


def _weigh(shares: Array, differences: Array) -> Array:
    """Each item's loss; a missing difference matters only where it counts."""
    result: Array = np.where(shares > 0, shares * differences, 0).sum(axis=1)
    return result


def _chance(terms: Array) -> Array:
    """The expected difference of each term from ratings drawn uniformly from [0, 1].

    E|c − U| = (c² + (1 − c)²) / 2, and for the product of two such ratings, whose
    distribution function is x − x ln x, E|c − UV| = 1/4 − c + 3c²/2 − c² ln c.
    """
    expected: Array = (terms**2 + (1 - terms) ** 2) / 2
    c = terms[:, 1]
    logarithm = np.log(np.where(c > 0, c, 1))
    expected[:, 1] = 1 / 4 - c + 3 * c**2 / 2 - c**2 * logarithm
    return expected


def _unit(ratings: ArrayLike) -> Array:
    array = as_ratings(ratings)
    if array.shape[1] != len(CUSTOM_DIMENSIONS):
        raise ValueError(f"ratings have the columns {', '.join(CUSTOM_DIMENSIONS)}")
    outside = np.argwhere((array < 0) | (array > 1))
    if len(outside):
        item, column = outside[0]
        raise ValueError(
            f"the {CUSTOM_DIMENSIONS[column]} of item {item} is {array[item, column]:g}, "
            "outside [0, 1]"
        )
    return array


def _mean(losses: Array, n_items: int, reason: Reason) -> Statistic:
    if len(losses):
        return Statistic(float(losses.mean()), n_items, n_raters=2)
    return Statistic.undefined(reason, n_items=n_items, n_raters=2)


def _mean_or_nan(values: Array) -> float:
    return float(values.mean()) if len(values) else nan


def _loss(
    within: list[tuple[object, Statistic]], losses: list[Array], chances: list[float]
) -> Loss:
    terms = np.concatenate([np.empty(0), *losses])
    defined = np.array([chance for chance in chances if not np.isnan(chance)])
    return Loss(over_prompts(within), _mean_or_nan(terms), len(terms), _mean_or_nan(defined))
