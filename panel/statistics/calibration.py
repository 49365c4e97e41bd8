"""Systems corrected by people's ratings of a part.

With Y people's mean rating of an item and f the panel's, the corrected mean is

    mean(Y, rated) + λ (mean(f, not rated) − mean(f, rated))

with λ the slope of Y on f within the rated part, drawn toward 0 by 1 − 1/t², times the share that
people did not rate. Intervals leave out one prompt at a time, with Student's t; where one is more
than `WIDEST` times as wide as that of people alone, that is given instead.

Sources: A. Angelopoulos, J. Duchi & T. Zrnic (2023), "PPI++"; W. Cochran (1977), *Sampling
Techniques*, section 12.6 (regression estimator of double sampling); D. Horvitz & W. Thompson (1952)
and J. Hájek (1971) (unequal probabilities); W. James & C. Stein (1961) (drawing toward 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations, compress
from math import nan
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Mask,
    Reason,
    as_scores,
    divide,
    encode_labels,
    row_means,
    rows_of,
)
from persona_panel.statistics.core.display import ALL, COMPOSITE
from persona_panel.statistics.core.estimate import (
    LEVEL,
    RATED_PROMPTS,
    Difference,
    Estimate,
)
from persona_panel.statistics.core.jackknife import VariancePart, left_out_variance, standard_errors
from persona_panel.statistics.core.means import (
    Assurance,
    assured,
    critical_t,
    two_sided_p,
)
from persona_panel.statistics.core.sampled_mean import UNLIMITED, Limits, SampledMean, sampled_mean
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.core.table import Ratings, limits_of_people, on_composite

LEAST_OFF = 3
"""The fewest rated prompts that have to lie off the straight line of most prompts' ratings by
people and panel: see the simulations of labels in docs/explanation/statistics.md."""
SAME = 1e-9
"""Differences up to here are those of floating-point numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class RatedPart:
    """Items by prompt: the panel's mean `scores` `(prompts,)`; of the rated items the sum of their
    weights, 0 where nobody rated, and their weighted means by `human` and `panel`, `(prompts,)`;
    the share `unrated` of prompts and items; and whether people rated a larger share of some rated
    prompts than of others, without a probability below 1 (`shares_differ`)."""

    names: tuple[Hashable, ...]
    scores: Array
    weight: Array
    human: Array
    panel: Array
    unrated: float
    shares_differ: bool
    n_items: int
    n_human: int

    @classmethod
    def of(
        cls,
        panel: ArrayLike,
        human: ArrayLike,
        prompts: Labels | None = None,
        inclusion: ArrayLike | None = None,
    ) -> RatedPart:
        """Return the items by prompt.

        Args:
            panel: the panel's score of each item `(items,)`; items without one (NaN) do not enter.
            human: people's mean rating `(items,)`, NaN where nobody rated; the rated part is to be
                drawn at random, or by `inclusion`.
            prompts: a label an item; of the panel's mean a prompt counts once, of people's by the
                share of its items that they rated. Each item is a prompt of its own if None.
            inclusion: `(items,)` in (0, 1], the probability with which people were asked for an
                item; all the same if None.
        """
        ours, theirs = as_scores(panel), as_scores(human)
        chance = np.ones(len(ours)) if inclusion is None else as_scores(inclusion)
        if not len(ours) == len(theirs) == len(chance):
            raise ValueError(
                f"{len(ours)} scores of the panel, {len(theirs)} of people, {len(chance)} "
                "probabilities: expected as many of each"
            )
        labels: Sequence[Hashable] = list(range(len(ours)) if prompts is None else prompts)
        if len(labels) != len(ours):
            raise ValueError(f"{len(labels)} prompts for {len(ours)} items")
        there = ~np.isnan(ours)
        names, codes = encode_labels(list(compress(labels, there)), int(there.sum()))
        ours, theirs, n = ours[there], theirs[there], len(names)
        rated = ~np.isnan(theirs)
        chance = np.where(rated, chance[there], 1.0)
        if not ((chance > 0) & (chance <= 1)).all():
            raise ValueError("an inclusion probability lies above 0, and is at most 1")

        def total(values: Array) -> Array:
            return np.bincount(codes, values, n).astype(np.float64)

        share = 1 / np.bincount(codes)[codes]
        weights = np.where(rated, share / chance, 0.0)
        weight = total(weights)
        of_people, of_panel = (
            total(weights * np.nan_to_num(side)) / np.where(weight > 0, weight, 1.0)
            for side in (theirs, ours)
        )
        differ = rated.any() and (chance == 1).all() and np.ptp(weight[weight > 0]) > SAME
        unrated = 1 - float(share[rated].sum()) / n if n else nan
        return cls(
            names, total(ours * share), weight, of_people, of_panel, unrated, bool(differ),
            len(ours), int(rated.sum()),
        )  # fmt: skip

    @property
    def rated(self) -> Mask:
        """Return which prompts people rated something of."""
        return self.weight > 0

    @property
    def plain(self) -> Array | None:
        """Return people's means of the rated prompts, where these count alike."""
        rated = self.rated
        return self.human[rated] if np.ptp(self.weight[rated]) <= SAME else None

    @property
    def few_exceptions(self) -> bool:
        """Return whether fewer than `LEAST_OFF` rated prompts lie off one straight line."""
        y, f = self.human[self.rated], self.panel[self.rated]
        # One of any `LEAST_OFF` prompts lies on such a line: those through each of them are tried.
        # Vertical ones are none: the same score of the panel with other ratings is a residual.
        for y_at, f_at in zip(y[:LEAST_OFF], f[:LEAST_OFF], strict=True):
            up = (y - y_at) / max(float(np.ptp(y)), 1e-300)
            along = (f - f_at) / max(float(np.ptp(f)), 1e-300)
            aside = np.abs(along) > SAME
            same = int(np.sum(~aside & (np.abs(up) <= SAME)))
            _, counts = np.unique(np.round(up[aside] / along[aside], 9), return_counts=True)
            if len(y) - same - max(counts, default=0) < LEAST_OFF:
                return True
        return False

    def means(self) -> tuple[Array, float]:
        """Return people's mean and the corrected one, of all and without each, and the slope."""
        w, of = self.weight, self.rated
        # About the means: sums of products of large numbers would lose what differs.
        y = np.where(of, self.human - self.human[of].mean(), 0.0)
        f = np.where(of, self.panel - self.panel[of].mean(), 0.0)
        parts = np.array([w, w * y, w * f, w * f * f, w * f * y, w * y * y, of.astype(float)])
        # All, then without each prompt.
        left_out = np.concatenate([np.zeros((len(parts), 1)), parts], axis=1)
        sums = parts.sum(axis=1, keepdims=True) - left_out
        scores, slopes = self.scores - self.panel[of].mean(), _slope(sums)
        sizes = np.append(len(scores), np.full(len(scores), max(len(scores) - 1, 1)))
        means = (scores.sum() - np.append(0.0, scores)) / sizes
        human = divide(sums[1], sums[0])
        moved = human + slopes * (means - divide(sums[2], sums[0]))
        return np.array([human, moved]) + self.human[of].mean(), float(slopes[0])


def _slope(sums: Array) -> Array:
    w, wy, wf, wff, wfy, wyy, n = sums
    spread = wff - divide(wf**2, w)
    known = (spread > SAME * np.maximum(wff, SAME)) & (n > 2)
    safe = np.where(known, spread, 1.0)
    slope = np.where(known, (wfy - divide(wf * wy, w)) / safe, 0.0)
    left = np.maximum(wyy - divide(wy**2, w) - slope**2 * spread, 0.0) / np.maximum(n - 2, 1)
    # 1 / t², which is 0 where the panel's scores are a straight line of people's.
    chance = np.where(slope > 0, left / np.maximum(slope**2 * safe, 1e-300), 1.0)
    return np.where(slope > 0, slope * np.maximum(0.0, 1 - chance), 0.0)


WIDEST = 1.2
"""The largest ratio of a corrected interval's width to that of people's own."""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean over prompts: the panel's, people's of what they rated, and the corrected one.

    Attributes:
        panel: the panel's mean of everything that it scored.
        human_only: people's mean of what they rated; its n are the prompts that they rated.
        corrected: a `Difference` where it is of two sides; p is of a corrected value of 0.
        tuning: λ, the weight that the panel has; 0 or more, above 1 where the panel uses less of
            its scale than people do. Of a difference NaN: each side has its own.
        n_items, n_human: items that the panel scored, and those of them that people rated.
        to_halve: how many items people would have to rate, in prompts of the same kind, for half of
            the corrected interval; None where it is more than the panel scored, or not known.
        notes: `FEW_EXCEPTIONS` where the mean is that of people alone, `SHARES_DIFFER` where
            probabilities may be lacking.
        width_ratio: the width of the corrected interval by Student's t as a share of that of
            people's own; NaN without either.
        to_show: with how many new prompts, rated by as many people, its sign would be shown; None
            where people rated only a part.
        system, dimension: by `calibrate`, whose mean it is (empty of a difference), and on what: on
            labels it is the share of one of them, and the dimension is `dimension:label`.
    """

    panel: float
    human_only: Estimate
    corrected: Estimate
    tuning: float
    n_items: int
    n_human: int
    to_halve: int | None = None
    notes: tuple[Reason, ...] = ()
    width_ratio: float = nan
    to_show: Assurance | None = None
    system: str = ""
    dimension: str = ALL

    @property
    def difference(self) -> Difference:
        """Return the corrected value of two sides, with their names."""
        return cast(Difference, self.corrected)


def corrected_mean(
    *sides: RatedPart, limits: Limits = UNLIMITED, over: str = "prompts"
) -> CorrectedMean:
    """Estimate the mean over prompts of people's ratings of everything, from their ratings of a
    part and a panel's scores of everything; of two sides the first's mean less the second's, over
    prompts that the two may share: what a prompt brings to both cancels.

    How to read it: `corrected` estimates the same as `human_only`, with a narrower interval where
    the panel agrees with people. It does not estimate what other people, or this panel, would give.

    Args:
        limits: between which people's ratings lie; a corrected mean or an end outside is cut there,
            a difference at plus and minus what that allows. It is of the means before they are cut.
        over: what the intervals are called to be over.

    >>> panel = [3, 5, 4, 6, 2, 5, 4, 3, 5, 6, 2, 4]
    >>> human = [2, 5, 3, 6, 2, 4, 4, 3] + [float("nan")] * 4
    >>> result = corrected_mean(RatedPart.of(panel, human))
    >>> [round(x, 3) for x in (result.human_only.value, result.corrected.value, result.tuning)]
    [3.625, 3.706, 0.325]
    """
    low, high = limits
    for side in sides:
        rated_by_people = side.human[side.rated]
        if ((rated_by_people < low - SAME) | (rated_by_people > high + SAME)).any():
            raise ValueError(f"people's ratings lie outside the limits {low:g} to {high:g}")
    kind, is_mean = (Estimate, True) if len(sides) == 1 else (Difference, False)
    names = dict.fromkeys(chain(*(side.names for side in sides)))
    place = {name: index for index, name in enumerate(names)}
    rated = {name for side in sides for name in compress(side.names, side.rated)}
    is_rated = np.array([name in rated for name in names], dtype=bool)
    n, least = len(rated), min(int(side.rated.sum()) for side in sides)
    cut = limits if is_mean else (low - high, high - low)
    none = kind(nan, over=over, n=n, limits=cut)
    signs = (1.0, -1.0)[: len(sides)]
    panels = [float(side.scores.mean()) if len(side.scores) else nan for side in sides]
    of_panel = float(np.dot(signs, panels))
    n_items, n_human = sum(side.n_items for side in sides), sum(side.n_human for side in sides)

    def undefined(human: Estimate, reason: Reason) -> CorrectedMean:
        corrected = replace(none, reason=reason)
        return CorrectedMean(of_panel, human, corrected, nan, n_items, n_human)

    if not n_items or not least:
        nobody = Reason.NO_RATINGS if not n_items else Reason.NOT_RATED_BY_PEOPLE
        return undefined(replace(none, reason=nobody), nobody)
    means = [side.means() for side in sides]
    # People's mean and the corrected one, of all prompts, then without each.
    moved = np.zeros((2, 1 + len(place)))
    for sign, side, (mean, _) in zip(signs, sides, means, strict=True):
        placed = np.repeat(mean[:, :1], moved.shape[1], axis=1)
        placed[:, [1 + place[name] for name in side.names]] = mean[:, 1:]
        moved += sign * placed
    own = left_out_variance(moved[0, 1:][is_rated])
    plain = sides[0].plain if is_mean else None
    sampled = None if plain is None else sampled_mean(plain, limits=limits)
    alone = _Reached(float(moved[0, 0]), 0.0, math.sqrt(own), n - 1.0, sampled)
    why_alone = Reason.FEW_CLUSTERS if least < 2 else alone.why_none
    human = replace(none, value=alone.value, reason=why_alone)
    if why_alone is None:
        human = alone.as_estimate(none, is_mean)
        human = replace(human, p=nan) if is_mean else human
    why = Reason.FEW_FOR_A_CORRECTION if least < RATED_PROMPTS else why_alone
    if why is not None:
        return undefined(human, why)
    result = _Reached.of(moved[1], is_rated)
    tuning = means[0][1] * sides[0].unrated
    # Where people rated everything the panel adds nothing.
    everything = all(side.unrated <= SAME for side in sides)
    too_few = not everything and any(side.few_exceptions for side in sides)
    if too_few or everything or result.reach > WIDEST * alone.reach:
        result, tuning = replace(alone, value=human.value), 0.0
    if result.why_none is not None:
        return undefined(human, result.why_none)
    differ = any(side.shares_differ for side in sides)
    return CorrectedMean(
        of_panel,
        human,
        result.as_estimate(none, is_mean),
        tuning if is_mean else nan,
        n_items,
        n_human,
        result.to_halve(n, n_human, len(place)),
        (Reason.FEW_EXCEPTIONS,) * too_few + (Reason.SHARES_DIFFER,) * differ,
        result.reach / alone.reach,
        assured(alone.value, alone.error * math.sqrt(n), n, 0.0, LEVEL) if everything else None,
    )


@dataclass(frozen=True, slots=True)
class _Reached:
    """A value, its variance by prompts that nobody rated, its standard error, and degrees of
    freedom; where it is the mean of prompts that count alike, that `mean`."""

    value: float
    by_others: float
    error: float
    df: float
    mean: SampledMean | None = None

    @classmethod
    def of(cls, moved: Array, is_rated: Mask) -> _Reached:
        n, n_others = int(is_rated.sum()), int((~is_rated).sum())
        # Without (n - 1)/n (HC3): with it, eight to twelve prompts covered in 0.92 to 0.94.
        by_rated = left_out_variance(moved[1:][is_rated]) * n / (n - 1)
        by_others = left_out_variance(moved[1:][~is_rated])
        # For a panel that agrees with people without error, only the other prompts add variance.
        parts = [VariancePart(by_rated, n - 2.0), VariancePart(by_others, n_others - 1.0)]
        return cls(float(moved[0]), by_others, *standard_errors(parts)[-1])

    @property
    def why_none(self) -> Reason | None:
        same = self.error <= SAME * max(1.0, abs(self.value))
        return Reason.NO_SPREAD if same else None

    @property
    def reach(self) -> float:
        return self.error * critical_t(self.df)

    def as_estimate(self, about: Estimate, is_mean: bool) -> Estimate:
        """Return the value within limits; a difference's interval is Student's, cut there."""
        low, high = about.limits
        value = min(max(self.value, low), high)
        scale = about.limits if is_mean else UNLIMITED
        errors = ((self.error, self.df),)
        mean = self.mean or SampledMean(value, errors, about.n or 0, limits=scale)
        ends, p = mean.interval(about.level), two_sided_p(value / self.error, self.df)
        ends = max(ends[0], low), min(ends[1], high)
        return replace(about, value=value, low=ends[0], high=ends[1], p=p, reason=mean.reason)

    def to_halve(self, n: int, n_human: int, n_prompts: int) -> int | None:
        by_panel = self.by_others * n_prompts / max(n_prompts - n, 1)
        by_people = max(self.error**2 - by_panel, 0.0) * n
        for more in range(n + 1, n_prompts + 1):
            error = math.sqrt(by_people / more + by_panel)
            if error * critical_t(max(more - 2.0, 1.0)) <= self.reach / 2:
                return math.ceil(more * n_human / n)
        return None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of `calibrate`: the means of systems, and of every pair of them the first's less
    the second's, p adjusted by Holm; on the composite, where there is one, then by dimension.

    Attributes:
        weighted: whether items count by given probabilities of being asked for.
        n_people: how many people rated something that the panel scored.
        labels: of dimensions, what people read in place of their names, as far as the panel's
            ratings have them.
        scales: the panel's and people's, where these differ; None where they do not.
    """

    systems: tuple[CorrectedMean, ...]
    pairs: tuple[CorrectedMean, ...]
    weighted: bool = False
    n_people: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    scales: tuple[Limits, Limits] | None = None

    @property
    def complete(self) -> bool:
        """Return whether people rated everything that the panel scored: then nothing needs
        correction."""
        return all(system.n_human == system.n_items for system in self.systems)

    @property
    def corrects(self) -> bool:
        """Return whether a mean or a difference is corrected."""
        return any(each.corrected.reason is None for each in (*self.systems, *self.pairs))

    def labelled(self, called: Callable[[str], str]) -> Calibration:
        """Return the same with each dimension's name replaced by its label."""
        systems, pairs = (
            tuple(replace(each, dimension=called(each.dimension)) for each in those)
            for those in (self.systems, self.pairs)
        )
        return replace(self, systems=systems, pairs=pairs, labels={})


def calibrate(
    panel: Ratings,
    humans: Ratings,
    *,
    inclusion: Mapping[str, float] | None = None,
) -> Calibration:
    """Estimate each system's mean by people, from a panel's scores of everything and people's
    ratings of a part, and the differences between systems.

    Systems are the panel's sources (`all`, where it names none); intervals are over its prompts
    (items, where it names none), of a difference over those that both have. Scores are means of
    raters, judges without a persona left out; of categories, each one's share is estimated. First
    comes the `composite`, where both have one; its p-values are a family of their own.

    Args:
        panel, humans: under the same names, as `load_aligned_ratings` gives them; the part that
            people rated is to be a random one, or drawn by `inclusion`.
        inclusion: by item, the probability with which people were asked for it; all the same if
            None.

    >>> names = tuple(f"i{n}" for n in range(12))
    >>> given = np.array([3.0, 5, 4, 6, 2, 5, 4, 3, 5, 6, 2, 4])[:, None, None]
    >>> panel = Ratings(given, names, ("judge",), ("all",), ("all",))
    >>> said = np.array([2.0, 4, 4, 5, 1, 3, 3, 3, 4])[:, None, None]
    >>> people = Ratings(said, names[:9], ("ada",), ("all",), ("all",))
    >>> [each] = calibrate(panel, people).systems
    >>> [round(x, 2) for x in (each.panel, each.human_only.value, each.corrected.value)]
    [4.08, 3.22, 3.2]
    """
    if panel.lower_is_better or humans.lower_is_better:
        raise ValueError("means of ranks say nothing of a system; scores or labels are needed")
    if not set(panel.items) & set(humans.items):
        raise ValueError("panel and people share no item")
    dimensions = [name for name in panel.dimensions if name in humans.dimensions]
    if not dimensions:
        raise ValueError("panel and people share no dimension")
    chance = np.array([(inclusion or {}).get(name, 1.0) for name in panel.items])
    sources = np.array(panel.sources or (ALL,) * len(panel.items))
    prompts = panel.prompts or panel.items
    of_system = {str(name): sources == name for name in dict.fromkeys(sources.tolist())}
    over = "items" if panel.prompts is None else "prompts"
    systems: list[CorrectedMean] = []
    pairs: list[CorrectedMean] = []
    for dimension, ours, theirs, limits in _scores(panel, humans, dimensions):
        part = partial(_part, ours, theirs, prompts, chance)
        sides = {name: part(of) for name, of in of_system.items()}
        for name, side in sides.items():
            mean = corrected_mean(side, limits=limits, over=over)
            systems.append(replace(mean, system=name, dimension=dimension))
        for a, b in combinations(sides, 2):
            two = sides[a], sides[b]
            # On those of one system alone its prompts, not the system, may make a difference.
            if panel.prompts is not None and {*two[0].names} != {*two[1].names}:
                both = {*two[0].names} & {*two[1].names}
                shared = np.array([prompt in both for prompt in prompts])
                two = part(of_system[a] & shared), part(of_system[b] & shared)
            mean = corrected_mean(*two, limits=limits, over=over)
            if not all(side.n_items for side in two):
                none = replace(mean.difference, reason=Reason.NO_SHARED_RATINGS)
                mean = replace(mean, human_only=none, corrected=none)
            named = replace(mean.difference, a=a, b=b)
            pairs.append(replace(mean, corrected=named, dimension=dimension))
    primary = [pair.dimension == COMPOSITE for pair in pairs]
    adjusted = holm_adjusted([pair.corrected for pair in pairs], primary)
    return Calibration(
        tuple(systems),
        tuple(replace(pair, corrected=p) for pair, p in zip(pairs, adjusted, strict=True)),
        weighted=inclusion is not None,
        n_people=humans.n_raters_of(panel),
        labels=_labels(panel),
        scales=_scales(*(on_composite(panel, humans) or (panel, humans))),
    )


def _part(ours: Array, theirs: Array, prompts: Labels, chance: Array, of: Mask) -> RatedPart:
    return RatedPart.of(ours[of], theirs[of], list(compress(prompts, of)), chance[of])


def _scales(panel: Ratings, humans: Ratings) -> tuple[Limits, Limits] | None:
    both = [
        (panel.scales[name], humans.scales[name])
        for name in panel.dimensions
        if name in panel.scales and name in humans.scales
    ]
    return next(((ours, theirs) for ours, theirs in both if ours != theirs), None)


def _labels(panel: Ratings) -> dict[str, str]:
    shares = {
        f"{name}:{category}": f"{label}: {category}"
        for name, label in panel.labels.items()
        for category in panel.categories.get(name, ())
    }
    return {**panel.labels, **shares}


def _scores(
    panel: Ratings, humans: Ratings, dimensions: list[str]
) -> Iterator[tuple[str, Array, Array, Limits]]:
    if (sides := on_composite(panel, humans)) is not None:
        our_own, their_own = sides
        yield from _scores(our_own, their_own, [COMPOSITE])
    judges = panel.panel_columns
    for dimension in dimensions:
        ours = panel.scores[:, judges, panel.dimensions.index(dimension)]
        rated = humans.scores[:, :, humans.dimensions.index(dimension)]
        theirs = rows_of(rated, humans.items, panel.items)
        labels = panel.categories.get(dimension)
        if labels is None:
            limits = limits_of_people(panel, humans, dimension)
            yield dimension, row_means(ours), row_means(theirs), limits
            continue
        for code, label in enumerate(labels):
            shares = [
                row_means(np.where(np.isnan(side), np.nan, side == code)) for side in (ours, theirs)
            ]
            yield f"{dimension}:{label}", shares[0], shares[1], (0.0, 1.0)
