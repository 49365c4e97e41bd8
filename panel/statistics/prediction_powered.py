"""Means of a panel's scores, corrected by people's ratings of a part."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import inf, nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Mask,
    Reason,
    as_scores,
    check_confidence,
    divide,
    encode_labels,
)
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.means import critical_t, two_sided_p

LEAST_OFF = 3
"""The fewest rated prompts that have to lie off the straight line on which most prompts have
people's ratings and the panel's: see the simulations of labels in
docs/explanation/statistics.md."""
SAME = 1e-9
"""Differences up to here are those of floating-point numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class RatedPart:
    """Items by prompt.

    Attributes:
        names: the prompts with a score of the panel's.
        scores: `(prompts,)`, the panel's mean.
        weight, human, panel: `(prompts,)`, of the rated items their weights' sum, and their
            weighted means of people and panel; weight 0 where nobody rated.
        unrated: the share of the panel's prompts and items that people did not rate.
        shares_differ: whether people rated a larger share of some rated prompts than of others,
            without a probability below 1.
    """

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
        cls, panel: ArrayLike, human: ArrayLike, prompts: Labels | None, inclusion: ArrayLike | None
    ) -> RatedPart:
        ours, theirs = as_scores(panel), as_scores(human)
        chance = np.ones(len(ours)) if inclusion is None else as_scores(inclusion)
        if not len(ours) == len(theirs) == len(chance):
            raise ValueError(
                f"{len(ours)} scores of the panel, {len(theirs)} of people, {len(chance)} "
                "probabilities: expected as many of each"
            )
        there = ~np.isnan(ours)
        rated = ~np.isnan(theirs[there])
        chance = np.where(rated, chance[there], 1.0)
        if not ((chance > 0) & (chance <= 1)).all():
            raise ValueError("an inclusion probability lies above 0, and is at most 1")
        labels: Sequence[Hashable] = list(range(len(ours)) if prompts is None else prompts)
        if len(labels) != len(ours):
            raise ValueError(f"{len(labels)} prompts for {len(ours)} items")
        kept = [label for label, is_there in zip(labels, there, strict=True) if is_there]
        names, codes = encode_labels(kept, len(kept))
        n = len(names) if kept else 0

        def total(values: Array) -> Array:
            summed: Array = np.bincount(codes, values, n).astype(np.float64) if n else np.zeros(0)
            return summed

        sizes = np.bincount(codes) if n else np.ones(0)
        share = 1 / sizes[codes] if n else np.zeros(0)
        weights = np.where(rated, share / chance, 0.0)
        weight = total(weights)
        safe = np.where(weight > 0, weight, 1.0)
        return cls(
            names[:n],
            total(ours[there] * share),
            weight,
            total(weights * np.nan_to_num(theirs[there])) / safe,
            total(weights * ours[there]) / safe,
            1 - float(share[rated].sum()) / n if n else nan,
            bool((chance == 1).all() and np.ptp(weight[weight > 0]) > SAME if rated.any() else 0),
            len(kept),
            int(rated.sum()),
        )

    @property
    def rated(self) -> Mask:
        return self.weight > 0

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

    def estimates(self) -> Estimates:
        """Return the means of all prompts, and those without each prompt."""
        w, of = self.weight, self.rated
        # About the means: sums of products of large numbers would lose what differs.
        y = np.where(of, self.human - self.human[of].mean(), 0.0)
        f = np.where(of, self.panel - self.panel[of].mean(), 0.0)
        parts = np.array([w, w * y, w * f, w * f * f, w * f * y, w * y * y, of.astype(float)])
        all_scores = self.scores - self.panel[of].mean()
        n = len(all_scores)
        everything = all_scores.sum()
        whole = parts.sum(axis=1, keepdims=True)
        slope = _slope(whole)
        without = _slope(whole - parts)
        means = np.array([everything / n, *((everything - all_scores) / max(n - 1, 1))])
        sums = np.concatenate([whole, whole - parts], axis=1)
        slopes = np.concatenate([slope, without])
        human = divide(sums[1], sums[0])
        moved = human + slopes * (means - divide(sums[2], sums[0]))
        shift = self.human[of].mean()
        return Estimates(human + shift, moved + shift, float(slope[0]))


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """People's mean and the corrected one, each of all prompts, then without each."""

    human: Array
    corrected: Array
    slope: float


def _slope(sums: Array) -> Array:
    """Return the slope of people's ratings on the panel's, drawn toward 0 and not below it."""
    w, wy, wf, wff, wfy, wyy, n = sums
    spread = wff - divide(wf**2, w)
    known = (spread > SAME * np.maximum(wff, SAME)) & (n > 2)
    safe = np.where(known, spread, 1.0)
    slope = np.where(known, (wfy - divide(wf * wy, w)) / safe, 0.0)
    left = np.maximum(wyy - divide(wy**2, w) - slope**2 * spread, 0.0) / np.maximum(n - 2, 1)
    # 1 / t², which is 0 where the panel's scores are a straight line of people's.
    chance = np.where(slope > 0, left / np.maximum(slope**2 * safe, 1e-300), 1.0)
    drawn: Array = np.where(slope > 0, slope * np.maximum(0.0, 1 - chance), 0.0)
    return drawn


LEAST_PROMPTS = 8
"""With fewer prompts that people rated there is no correction."""
WIDEST = 1.2
"""The largest ratio of a corrected interval's width to that of people's own."""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean over prompts: the panel's, people's of what they rated, and the corrected one.

    Attributes:
        panel: the panel's mean of everything that it scored.
        human_only: people's mean of what they rated; its n are the prompts that they rated.
        corrected: a difference where it is of two sides; p is of a corrected value of 0.
        tuning: λ, the weight that the panel has; 0 or more, above 1 where the panel uses less of
            its scale than people do. Of a difference NaN: each side has its own.
        n_items, n_human: items that the panel scored, and those of them that people rated.
        n_prompts: of these the prompts that the panel scored.
        to_halve: how many items people would have to rate, in prompts of the same kind, for half
            of the corrected interval; None where it is more than the panel scored, or not known.
        notes: what to know of a corrected mean: `FEW_EXCEPTIONS` where it is that of people alone,
            `SHARES_DIFFER` where probabilities may be lacking.
    """

    panel: float
    human_only: Estimate
    corrected: Estimate
    tuning: float
    n_items: int
    n_human: int
    n_prompts: int
    to_halve: int | None
    notes: tuple[Reason, ...] = ()

    @property
    def width_ratio(self) -> float:
        """Return the width of the corrected interval as a share of the width of people's own, both
        as if no end of the scale cut them, unless both do; NaN without either."""
        corrected, human = self.corrected, self.human_only
        if not corrected.has_interval or not human.has_interval:
            return nan
        # An end that is not cut is as far from the mean as both would be.
        reach = max(corrected.high - corrected.value, corrected.value - corrected.low)
        return reach / max(human.high - human.value, human.value - human.low)


def corrected_mean(
    panel: ArrayLike,
    human: ArrayLike,
    prompts: Labels | None = None,
    *,
    inclusion: ArrayLike | None = None,
    limits: tuple[float, float] = (-inf, inf),
    confidence: float = 0.95,
) -> CorrectedMean:
    """Estimate the mean over prompts of people's ratings of everything, from their ratings of a
    part and a panel's scores of everything.

    How to read it: `corrected` estimates the same as `human_only`, with a narrower interval where
    the panel agrees with people. It does not estimate what other people, or this panel, would give.

    Args:
        panel: the panel's score of each item `(items,)`; NaN where it has none: the item does not
            enter.
        human: people's mean rating `(items,)`, NaN where nobody rated. The rated part is to be
            drawn at random, or by `inclusion`.
        prompts: a label an item; of the panel's mean a prompt counts once, however many items it
            has, of people's by the share of its items that they rated.
        inclusion: `(items,)` in (0, 1], the probability with which people were asked for an item;
            all the same if None.
        limits: between which people's ratings lie; a corrected mean or an end outside is cut there.
        confidence: in (0, 1).

    Raises:
        ValueError: other lengths, an infinite value, a probability outside (0, 1], or a rating by
            people outside the limits.

    >>> panel = [3, 5, 4, 6, 2, 5, 4, 3, 5, 6, 2, 4]
    >>> human = [2, 5, 3, 6, 2, 4, 4, 3] + [float("nan")] * 4
    >>> found = corrected_mean(panel, human)
    >>> [round(x, 3) for x in (found.human_only.value, found.corrected.value, found.tuning)]
    [3.625, 3.706, 0.325]
    """
    check_confidence(confidence)
    sample = RatedPart.of(panel, human, prompts, inclusion)
    _check_limits(sample, limits)
    over = "items" if prompts is None else "prompts"
    return _estimated([sample], sample.names, limits, confidence, over)


def corrected_difference(
    first: tuple[ArrayLike, ArrayLike, Labels],
    second: tuple[ArrayLike, ArrayLike, Labels],
    *,
    inclusion: tuple[ArrayLike, ArrayLike] | None = None,
    limits: tuple[float, float] = (-inf, inf),
    confidence: float = 0.95,
) -> CorrectedMean:
    """Return the first mean less the second, over prompts that the two may share: what a prompt
    brings to both cancels.

    Args:
        first, second: of each side panel, human and prompts as for `corrected_mean`.
        inclusion: of each side.
        limits: between which people's ratings of both lie: the difference is cut at plus and minus
            what that allows. It is of the means before they are cut.

    >>> panel, human = [3, 5, 4, 6, 2, 5, 4, 3], [2, 5, 3, 6, 2, 4, 4, 3]
    >>> higher = [one + 1 for one in human]
    >>> found = corrected_difference((panel, higher, range(8)), (panel, human, range(8)))
    >>> found.corrected.value, found.corrected.reason is Reason.NO_SPREAD
    (nan, True)
    >>> found.human_only.value
    1.0
    """
    check_confidence(confidence)
    chances = inclusion or (None, None)
    sides = [RatedPart.of(*side, of) for side, of in zip((first, second), chances, strict=True)]
    for side in sides:
        _check_limits(side, limits)
    most = limits[1] - limits[0]
    names = tuple(dict.fromkeys(sides[0].names + sides[1].names))
    return _estimated(sides, names, (-most, most), confidence)


def _check_limits(sample: RatedPart, limits: tuple[float, float]) -> None:
    rated = sample.human[sample.rated]
    if ((rated < limits[0] - SAME) | (rated > limits[1] + SAME)).any():
        raise ValueError(f"people's ratings lie outside the limits {limits[0]:g} to {limits[1]:g}")


def _estimated(
    sides: Sequence[RatedPart],
    names: Sequence[Hashable],
    limits: tuple[float, float],
    confidence: float,
    over: str = "prompts",
) -> CorrectedMean:
    """Return the first side's mean, or its difference from the second's."""
    n_items, n_human = sum(side.n_items for side in sides), sum(side.n_human for side in sides)
    place = {name: index for index, name in enumerate(names)}
    rated = {name for side in sides for name, of in zip(side.names, side.rated, strict=True) if of}
    is_rated = np.array([name in rated for name in names], dtype=bool)
    n = int(is_rated.sum())
    signs = (1.0, -1.0)[: len(sides)]
    panel = sum(
        (sign * float(side.scores.mean()) if len(side.scores) else nan)
        for sign, side in zip(signs, sides, strict=True)
    )
    least = min(int(side.rated.sum()) for side in sides)
    human = low = high = nan
    corrected = ci_low = ci_high = tuning = p = nan
    to_halve = None
    notes: tuple[Reason, ...] = ()
    human_reason = None if least >= 2 else Reason.FEW_CLUSTERS
    reason = None if least >= LEAST_PROMPTS else Reason.FEW_FOR_A_CORRECTION
    if not n_items or not least:
        human_reason = reason = Reason.NO_RATINGS if not n_items else Reason.NOT_RATED_BY_PEOPLE
    else:
        every = [side.estimates() for side in sides]
        of_people, moved = (
            _combined([estimate.human for estimate in every], sides, signs, place),
            _combined([estimate.corrected for estimate in every], sides, signs, place),
        )
        human = float(of_people[0])
        if human_reason is None:
            error = math.sqrt(jackknife_variance(of_people[1:][is_rated]))
            human_reason = Reason.NO_SPREAD if error <= SAME * max(1.0, abs(human)) else None
        if human_reason is None:
            reach = error * critical_t(n - 1, confidence)
            human, low, high = _within(human, reach, limits)
        reason = reason or human_reason
        if reason is None:
            result = _interval(moved, is_rated, n, confidence)
            tuning = every[0].slope * sides[0].unrated
            # Where people rated everything the panel adds nothing.
            everything = all(side.unrated <= SAME for side in sides)
            too_few = not everything and any(side.few_exceptions for side in sides)
            if too_few or everything or result.reach > WIDEST * reach:
                own = jackknife_variance(of_people[1:][is_rated])
                result = _Reached(human, reach, error, n - 1.0, own, 0.0)
                tuning = 0.0
            differ = any(side.shares_differ for side in sides)
            conditions = ((Reason.FEW_EXCEPTIONS, too_few), (Reason.SHARES_DIFFER, differ))
            notes = tuple(note for note, holds in conditions if holds)
            corrected = result.value
        if reason is None and result.error <= SAME * max(1.0, abs(corrected)):
            corrected, tuning, reason, notes = nan, nan, Reason.NO_SPREAD, ()
        if reason is None:
            corrected, ci_low, ci_high = _within(corrected, result.reach, limits)
            p = two_sided_p(corrected / result.error, result.df)
            tuning = tuning if len(sides) == 1 else nan
            to_halve = _to_halve(result, n, n_human, len(names), confidence)
    kind = Estimate if len(sides) == 1 else Difference
    about = kind(nan, level=confidence, over=over, n=n, limits=limits)
    return CorrectedMean(
        float(panel),
        replace(about, value=human, low=low, high=high, reason=human_reason),
        replace(about, value=corrected, low=ci_low, high=ci_high, p=p, reason=reason),
        tuning,
        n_items,
        n_human,
        len(names),
        to_halve,
        notes,
    )


def _within(value: float, reach: float, limits: tuple[float, float]) -> tuple[float, float, float]:
    """Return a value and the ends of its interval, cut at the limits."""
    value = min(max(value, limits[0]), limits[1])
    return value, max(value - reach, limits[0]), min(value + reach, limits[1])


@dataclass(frozen=True, slots=True)
class _Reached:
    """A value, its reach, error and degrees of freedom, and the parts of its variance."""

    value: float
    reach: float
    error: float
    df: float
    by_rated: float
    by_others: float


def _interval(moved: Array, is_rated: Mask, n: int, confidence: float) -> _Reached:
    # Without the factor (n - 1)/n (HC3): with it, eight to twelve prompts covered in 0.92 to 0.94.
    by_rated = jackknife_variance(moved[1:][is_rated]) * n / (n - 1)
    by_others = jackknife_variance(moved[1:][~is_rated])
    total = by_rated + by_others
    n_others = len(is_rated) - n
    parts = by_rated**2 / (n - 2) + (by_others**2 / (n_others - 1) if n_others > 1 else 0.0)
    # For a panel that agrees with people without error, only the other prompts add variance.
    df = total**2 / parts if parts else n - 2.0
    error = math.sqrt(total)
    return _Reached(
        float(moved[0]), error * critical_t(df, confidence), error, df, by_rated, by_others
    )


def _combined(
    values: Sequence[Array],
    sides: Sequence[RatedPart],
    signs: Sequence[float],
    place: dict[Hashable, int],
) -> Array:
    """Return the sum of the sides' values by sign: of all prompts, then without each of `place`."""
    total = np.zeros(1 + len(place))
    for of, side, sign in zip(values, sides, signs, strict=True):
        own = np.full(1 + len(place), of[0])
        own[[1 + place[name] for name in side.names]] = of[1:]
        total += sign * own
    return total


def jackknife_variance(left_out: Array) -> float:
    """Return the jackknife variance over one stratum of prompts."""
    n = len(left_out)
    return 0.0 if n < 2 else float((n - 1) / n * np.sum((left_out - left_out.mean()) ** 2))


def _to_halve(
    reached: _Reached, n: int, n_human: int, n_prompts: int, confidence: float
) -> int | None:
    """Return how many items people have to rate for half of the interval."""
    by_panel = reached.by_others * n_prompts / max(n_prompts - n, 1)
    by_people = max(reached.error**2 - by_panel, 0.0) * n
    for more in range(n + 1, n_prompts + 1):
        error = math.sqrt(by_people / more + by_panel)
        if error * critical_t(max(more - 2.0, 1.0), confidence) <= reached.reach / 2:
            return math.ceil(more * n_human / n)
    return None
