"""Systems corrected by people's ratings of a part, and the choice of which items they should rate.

Which items people should rate: those on which judges disagree, each with a known probability.

An item's probability is in proportion to the likely distance of the panel's score from people's: to
the root of its judges' variance, averaged with that of all items together, so that no item is left
out and none weighs more than a few others. A prompt counts once in a system's mean, so that each of
its items counts by one over their number, and so does its probability: drawn alike, most items
would be of a few large prompts, and the few others would decide the mean. With probabilities in
proportion to the spread of what is estimated the variance of its mean is least (Neyman 1934, "On
the two different aspects of the representative method"). Items are drawn by system, systematically
from a random order of the prompts (W. Madow 1949, "On the theory of systematic sampling"), with one
start for all systems, so that systems are rated on the same prompts where probabilities are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf, nan
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Mask,
    as_scores,
    divide,
    mean_there,
    row_means,
    rows_of,
)
from persona_panel.statistics.core.display import (
    ALL,
    COMPOSITE,
    FrameColumn,
    FrameMethod,
    field_columns,
)
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.significance import holm_of_two
from persona_panel.statistics.core.table import Ratings, on_composite
from persona_panel.statistics.prediction_powered import (
    CorrectedMean,
    corrected_difference,
    corrected_mean,
)


@dataclass(frozen=True, slots=True)
class CorrectedSystem:
    """A system's mean on a dimension, or on `composite`. On labels it is the share of one of them,
    and the dimension is `dimension:label`."""

    system: str
    dimension: str
    mean: CorrectedMean


@dataclass(frozen=True, slots=True)
class CorrectedPair:
    """The mean of system a less that of b on a dimension; its p is adjusted by Holm, of the
    composite over its pairs alone, else over all pairs and dimensions. Where it `is_share`, means
    are shares of a label, of which more is not better."""

    dimension: str
    mean: CorrectedMean
    is_share: bool = False

    @property
    def corrected(self) -> Difference:
        """Return the corrected difference, with the names of its sides."""
        return cast(Difference, self.mean.corrected)


def system_columns(calibration: Calibration) -> list[FrameColumn]:
    """Return a data frame with one row for each system and dimension.

    Columns: `system`, `dimension`, `panel`, `human_only`, `human_ci_low`, `human_ci_high`,
    `corrected`, `ci_low`, `ci_high`, `lambda`, `n_human`, `n_items`, `notes`.
    """
    means = [system.mean for system in calibration.systems]

    def estimates(name: str, ends: str) -> Iterator[FrameColumn]:
        those: list[Estimate] = [getattr(mean, name) for mean in means]
        yield FrameColumn(name, "number", [estimate.value for estimate in those])
        yield FrameColumn(f"{ends}_low", "number", [estimate.low for estimate in those])
        yield FrameColumn(f"{ends}_high", "number", [estimate.high for estimate in those])

    return [
        *field_columns(calibration.systems, "text", "system", "dimension"),
        *field_columns(means, "number", "panel"),
        *estimates("human_only", "human_ci"),
        *estimates("corrected", "ci"),
        FrameColumn("lambda", "number", [mean.tuning for mean in means]),
        *field_columns(means, "whole", "n_human", "n_items"),
        FrameColumn("notes", "text", ["; ".join(mean.notes) for mean in means]),
    ]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of `calibrate`: systems and every pair of them on the composite, where there is
    one, then by dimension.

    Attributes:
        weighted: whether items count by given probabilities of being asked for.
        n_people: how many people rated something that the panel scored.
        labels: of dimensions, what people read in place of their names, as far as the panel's
            ratings have them.
    """

    systems: tuple[CorrectedSystem, ...]
    pairs: tuple[CorrectedPair, ...]
    weighted: bool = False
    n_people: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Return whether people rated everything that the panel scored: then nothing needs
        correction."""
        return all(system.mean.n_human == system.mean.n_items for system in self.systems)

    to_frame = FrameMethod(system_columns)
    """See `system_columns`."""

    def labelled(self, called: Callable[[str], str]) -> Calibration:
        """Return the same with each dimension's name replaced by its label."""
        return replace(
            self,
            systems=tuple(
                replace(system, dimension=called(system.dimension)) for system in self.systems
            ),
            pairs=tuple(replace(pair, dimension=called(pair.dimension)) for pair in self.pairs),
            labels={},
        )


def calibrate(
    panel: Ratings,
    humans: Ratings,
    *,
    inclusion: Mapping[str, float] | None = None,
    confidence: float = 0.95,
) -> Calibration:
    """Estimate each system's mean by people, from a panel's scores of everything and people's
    ratings of a part, and the differences between systems.

    Systems are the panel's sources (`all` together, where it names none), and intervals over its
    prompts (items, where it names none). A panel's score of an item is the mean of its judges,
    those without a persona left out, people's the mean of those who rated it. Of categories, each
    one's share is estimated. Where the scale of people's ratings is known, or they are labels,
    nothing lies outside its ends.

    Where the panel's composite is the mean of several dimensions and people rated each of them, it
    comes first, as the dimension `composite`: the primary result, whose p-values are a family
    beside those of the dimensions (`holm_of_two`). There is none where dimensions are known to be
    on different scales, or the rubric has another rule. A rater who left one of its dimensions out
    of an item has no composite of it.

    Args:
        panel, humans: under the same names, as `load_aligned_ratings` gives them; the part that
            people rated is to be a random one, or drawn by `inclusion`.
        inclusion: by item, the probability with which people were asked for it; all the same if
            None.

    Raises:
        ValueError: no dimension or item that both have, or one of them has ranks, whose means say
            nothing of a system.

    >>> names = tuple(f"i{n}" for n in range(12))
    >>> given = np.array([3.0, 5, 4, 6, 2, 5, 4, 3, 5, 6, 2, 4])[:, None, None]
    >>> panel = Ratings(given, names, ("judge",), ("all",), ("all",))
    >>> said = np.array([2.0, 4, 4, 5, 1, 3, 3, 3, 4])[:, None, None]
    >>> people = Ratings(said, names[:9], ("ada",), ("all",), ("all",))
    >>> [one] = calibrate(panel, people).systems
    >>> means = one.mean.panel, one.mean.human_only.value, one.mean.corrected.value
    >>> [round(mean, 2) for mean in means]
    [4.08, 3.22, 3.2]
    """
    if panel.lower_is_better or humans.lower_is_better:
        raise ValueError("means of ranks say nothing of a system; scores or labels are needed")
    if not set(panel.items) & set(humans.items):
        raise ValueError("panel and people share no item")
    dimensions = [name for name in panel.dimensions if name in humans.dimensions]
    if not dimensions:
        raise ValueError("panel and people share no dimension")
    chance = (
        np.ones(len(panel.items))
        if inclusion is None
        else np.array([inclusion.get(name, 1.0) for name in panel.items])
    )
    sources = panel.sources or (ALL,) * len(panel.items)
    prompts = panel.prompts or panel.items
    of_system = {
        name: np.array([source == name for source in sources]) for name in dict.fromkeys(sources)
    }
    systems: list[CorrectedSystem] = []
    pairs: list[CorrectedPair] = []
    for dimension, ours, theirs, limits in _scores(panel, humans, dimensions):
        sides = {name: (ours[of], theirs[of], _kept(prompts, of)) for name, of in of_system.items()}
        systems += [
            CorrectedSystem(
                name,
                dimension,
                corrected_mean(
                    *side,
                    inclusion=chance[of_system[name]],
                    limits=limits,
                    confidence=confidence,
                ),
            )
            for name, side in sides.items()
        ]
        for (a, first), (b, second) in combinations(sides.items(), 2):
            estimated = corrected_difference(
                first,
                second,
                inclusion=(chance[of_system[a]], chance[of_system[b]]),
                limits=limits,
                confidence=confidence,
            )
            is_share = dimension not in (COMPOSITE, *panel.dimensions)
            corrected = replace(cast(Difference, estimated.corrected), a=a, b=b)
            pairs.append(
                CorrectedPair(dimension, replace(estimated, corrected=corrected), is_share)
            )
    n_primary = sum(pair.dimension == COMPOSITE for pair in pairs)
    p_values = [pair.corrected.p for pair in pairs]
    adjusted = np.concatenate(holm_of_two(p_values[:n_primary], p_values[n_primary:])).tolist()
    over = "items" if panel.prompts is None else "prompts"
    return Calibration(
        tuple(replace(system, mean=_over(system.mean, over)) for system in systems),
        tuple(
            replace(pair, mean=_over(pair.mean, over, p))
            for pair, p in zip(pairs, adjusted, strict=True)
        ),
        weighted=inclusion is not None,
        n_people=humans.n_raters_of(panel),
        labels=_labels(panel),
    )


def _over(mean: CorrectedMean, over: str, p_adjusted: float = nan) -> CorrectedMean:
    """Add to an estimate what its intervals take as a sample, and the adjusted p-value."""
    return replace(
        mean,
        human_only=replace(mean.human_only, over=over),
        corrected=replace(mean.corrected, over=over, p_adjusted=p_adjusted),
    )


def _labels(panel: Ratings) -> dict[str, str]:
    """Return the labels of dimensions, and of the categories' shares, by name."""
    shares = {
        f"{name}:{category}": f"{label}: {category}"
        for name, label in panel.labels.items()
        for category in panel.categories.get(name, ())
    }
    return {**panel.labels, **shares}


def _scores(
    panel: Ratings, humans: Ratings, dimensions: list[str]
) -> Iterator[tuple[str, Array, Array, tuple[float, float]]]:
    """Yield each score's name, panel's and people's mean by item, and the limits of people's."""
    if (sides := on_composite(panel, humans)) is not None:
        our_own, their_own = sides
        yield from _scores(our_own, their_own, [COMPOSITE])
    judges = [column for column, name in enumerate(panel.raters) if name not in panel.controls]
    for dimension in dimensions:
        ours = panel.scores[:, judges, panel.dimensions.index(dimension)]
        rated = humans.scores[:, :, humans.dimensions.index(dimension)]
        theirs = rows_of(rated, humans.items, panel.items)
        labels = panel.categories.get(dimension)
        if labels is None:
            limits = _limits(panel, humans, dimension)
            yield dimension, row_means(ours), row_means(theirs), limits
            continue
        for code, label in enumerate(labels):
            shares = [
                row_means(np.where(np.isnan(side), np.nan, side == code)) for side in (ours, theirs)
            ]
            yield f"{dimension}:{label}", shares[0], shares[1], (0.0, 1.0)


def _limits(panel: Ratings, humans: Ratings, dimension: str) -> tuple[float, float]:
    """Return the ends of people's scale or, if unknown, of the panel's if theirs lie on it."""
    nowhere = (-inf, inf)
    low, high = humans.scales.get(dimension) or panel.scales.get(dimension, nowhere)
    rated = humans.scores[:, :, humans.dimensions.index(dimension)]
    return nowhere if ((rated < low) | (rated > high)).any() else (low, high)


def _kept(labels: tuple[str, ...], of: Mask) -> list[str]:
    return [label for label, is_kept in zip(labels, of, strict=True) if is_kept]


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
    """Return probabilities in proportion to sizes that add up to `n`, none above 1.

    Args:
        sizes: `(items,)`, above 0.
        n: how many items are to be drawn; as many as there are makes all of them 1.

    Raises:
        ValueError: a size that is not above 0, or more to be drawn than there are items.

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
    """Draw a systematic sample: return which items are drawn, in their order, from a start that is
    uniform in [0, 1).

    How to read it: over all starts an item is drawn with its probability, and as many are drawn as
    the probabilities add up to.

    Args:
        probabilities: `(items,)` in [0, 1].
        start: in [0, 1).

    >>> systematic_sample([0.5, 0.5, 0.5, 0.5], 0.7).tolist()
    [False, True, False, True]
    """
    ends = np.cumsum(as_scores(probabilities))
    # How many of start, start + 1, … lie below each end; sums of parts may lack their last bit.
    below = np.ceil(np.round(ends - start, 9))
    drawn: Mask = np.diff(np.r_[0.0, np.maximum(below, 0)]) > 0
    return drawn


def select_items(panel: Ratings, n: int, seed: int = 0) -> tuple[SelectedItem, ...]:
    """Select items for people to rate, by system, in the panel's order of items.

    Every system gets equally many, as far as it has enough items.

    Args:
        panel: its ratings; judges without a persona do not count.
        n: how many items; all that the panel scored where there are no more.
        seed: of what is drawn.

    Raises:
        ValueError: `n` is below 1, or the panel scored nothing.

    >>> names = tuple(f"i{n}" for n in range(6))
    >>> scores = np.array([[1.0, 1], [5, 1], [2, 2], [3, 3], [4, 2], [2, 2]])[:, :, None]
    >>> panel = Ratings(scores, names, ("a", "b"), ("all",), ("all", "all"))
    >>> found = select_items(panel, 3, seed=1)
    >>> len(found), round(max(one.inclusion_probability for one in found), 2)
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
    judges = [column for column, name in enumerate(panel.raters) if name not in panel.controls]
    scored: Mask = np.asarray((~np.isnan(panel.scores[:, judges])).any(axis=(1, 2)))
    return scored


def _variances(panel: Ratings) -> Array:
    """Return each item's variance of scores, or share of pairs with other labels."""
    judges = [column for column, name in enumerate(panel.raters) if name not in panel.controls]
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
    sizes: Array = np.sqrt((np.where(np.isnan(variances), mean, variances) / mean + 1) / 2)
    return sizes


def _shares(sizes: list[int], n: int) -> list[int]:
    """Divide n among strata of these sizes: equally, as far as they are large enough."""
    shares = [0] * len(sizes)
    left = min(n, sum(sizes))
    while left:
        open_ = [place for place, size in enumerate(sizes) if shares[place] < size]
        for place in open_[:left]:
            shares[place] += 1
        left -= min(left, len(open_))
    return shares
