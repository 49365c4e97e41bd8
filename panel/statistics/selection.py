"""The choice of which items people should rate.

Sources: J. Neyman (1934), "On the two different aspects of the representative method"
(probabilities in proportion to the spread); W. Madow (1949), "On the theory of systematic
sampling".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, Mask, as_scores, divide, mean_there
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.table import Ratings

_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class SelectedItem:
    """An item that people are to rate.

    Attributes:
        item, prompt, system: what it is; the prompt and the system None where there are none.
        inclusion_probability: with which it was drawn, in (0, 1].
        spread: the standard deviation of the judges' scores of it, the root of the mean variance
            over dimensions; NaN of a single judge.
    """

    item: str
    prompt: str | None
    system: str | None
    inclusion_probability: float
    spread: float


def inclusion_probabilities(sizes: ArrayLike, n: int) -> Array:
    """Return probabilities in proportion to `sizes` `(items,)`, above 0, that add up to `n`, none
    above 1.

    >>> inclusion_probabilities([1, 1, 2, 8], 2).tolist()
    [0.25, 0.25, 0.5, 1.0]
    """
    wanted = as_scores(sizes)
    if not (wanted > 0).all():
        raise ValueError("sizes are above 0")
    if not 0 <= n <= len(wanted):
        raise ValueError(f"{n} of {len(wanted)} items cannot be drawn")
    probabilities = np.zeros(len(wanted))
    certain = np.zeros(len(wanted), dtype=bool)
    while True:
        left = wanted[~certain].sum()
        probabilities[~certain] = wanted[~certain] * (n - certain.sum()) / left if left else 0.0
        probabilities[certain] = 1.0
        more = probabilities > 1 + _SAME
        if not more.any():
            return np.minimum(probabilities, 1.0)
        certain |= more


def systematic_sample(probabilities: ArrayLike, start: float) -> Mask:
    """Draw a systematic sample: return which items are drawn, in their order, by their
    `probabilities` `(items,)` in [0, 1], from a `start` that is uniform in [0, 1). Over all starts
    an item is drawn with its probability, and as many are drawn as the probabilities add up to.

    >>> systematic_sample([0.5, 0.5, 0.5, 0.5], 0.7).tolist()
    [False, True, False, True]
    """
    ends = np.cumsum(as_scores(probabilities))
    # How many of start, start + 1, … lie below each end; sums of parts may lack their last bit.
    below = np.ceil(np.round(ends - start, 9))
    return np.diff(np.r_[0.0, np.maximum(below, 0)]) > 0


def select_items(panel: Ratings, n: int, seed: int = 0) -> tuple[SelectedItem, ...]:
    """Select items for people to rate, by system, in the panel's order of items.

    Every system gets equally many, as far as it has enough items.

    Args:
        panel: its ratings; judges without a persona do not count.
        n: how many items; all that the panel scored where there are no more.
        seed: of what is drawn.

    >>> names = tuple(f"i{n}" for n in range(6))
    >>> scores = np.array([[1.0, 1], [5, 1], [2, 2], [3, 3], [4, 2], [2, 2]])[:, :, None]
    >>> panel = Ratings(scores, names, ("a", "b"), ("all",), ("all", "all"))
    >>> result = select_items(panel, 3, seed=1)
    >>> len(result), round(max(each.inclusion_probability for each in result), 2)
    (3, 0.92)
    """
    if n < 1:
        raise ValueError(f"at least one item is to be drawn, found {n}")
    variances = _variances(panel)
    scored = scored_items(panel)
    if not scored.any():
        raise ValueError("the panel scored nothing")
    generator = np.random.default_rng(seed)
    prompts = panel.prompts or panel.items
    names = sorted(set(prompts))
    places = dict(zip(names, generator.permutation(len(names)).tolist(), strict=True))
    # Shuffle the items of each prompt and system.
    own = generator.random(len(panel.items))
    start = float(generator.random())
    sources = np.array(panel.sources or (ALL,) * len(panel.items))
    strata = [np.flatnonzero(scored & (sources == name)) for name in dict.fromkeys(sources)]
    shares = _shares([len(of) for of in strata], n)
    chances = {}
    for of, share in zip(strata, shares, strict=True):
        if not share:
            continue
        ordered = np.array(sorted(of, key=lambda item: (places[prompts[item]], own[item])))
        of_prompts = [prompts[item] for item in ordered]
        _, own_prompts, counts = np.unique(of_prompts, return_inverse=True, return_counts=True)
        sizes = _sizes(variances[ordered]) / counts[own_prompts]
        probabilities = inclusion_probabilities(sizes, share)
        for item in np.flatnonzero(systematic_sample(probabilities, start)):
            chances[int(ordered[item])] = float(probabilities[item])
    return tuple(
        SelectedItem(
            panel.items[item],
            None if panel.prompts is None else panel.prompts[item],
            None if panel.sources is None else panel.sources[item],
            chances[item],
            float(np.sqrt(variances[item])),
        )
        for item in sorted(chances)
    )


def scored_items(panel: Ratings) -> Mask:
    """Return which items have a rating by a judge who counts `(items,)`: those that can be
    drawn."""
    judges = panel.panel_columns
    return np.asarray((~np.isnan(panel.scores[:, judges])).any(axis=(1, 2)))


def _variances(panel: Ratings) -> Array:
    judges = panel.panel_columns
    variances = []
    for place, dimension in enumerate(panel.dimensions):
        scores = panel.scores[:, judges, place]
        counts = (~np.isnan(scores)).sum(axis=1)
        if dimension in panel.categories:
            codes = range(len(panel.categories[dimension]))
            same = sum(((scores == code).sum(axis=1) ** 2 for code in codes), np.zeros(len(scores)))
            squares = counts - divide(same, counts)
        else:
            squares = np.nansum((scores - mean_there(scores, 1, keepdims=True)) ** 2, axis=1)
        variances.append(np.where(counts > 1, divide(squares, counts - 1), np.nan))
    return mean_there(np.stack(variances), 0)


def _sizes(variances: Array) -> Array:
    """Return the root of the mean of an item's variance and that of all; 1 if nothing is known."""
    known = variances[~np.isnan(variances)]
    mean = float(known.mean()) if len(known) else 0.0
    if mean <= _SAME:
        return np.ones(len(variances))
    return np.sqrt((np.where(np.isnan(variances), mean, variances) / mean + 1) / 2)


def _shares(sizes: list[int], n: int) -> list[int]:
    """Return how many of each stratum are drawn: in turn, one of each that has more."""
    turns = sorted((turn, place) for place, size in enumerate(sizes) for turn in range(size))
    return np.bincount([place for _, place in turns[:n]], minlength=len(sizes)).tolist()
