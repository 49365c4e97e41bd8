"""What judges did when they saw each other's readings: moves, means and spread, before and after.

Whom a move followed is in `conformity`, what it did to rankings in `reordering`, and
whether it led to people in `toward_humans`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    Labels,
    Mask,
    Resampled,
    difference_of,
    divide,
    unit_weights,
)
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.resampling.jackknife import EstimateKind, Interval, jackknife
from persona_panel.statistics.resampling.weights import resampled_mean


@dataclass(frozen=True, slots=True, eq=False)
class Revisions:
    """Every judge's first and last reading of each response.

    Attributes:
        before, after: `(responses, judges, dimensions)` numbers, NaN where missing; of several
            rounds, what was said before the first and after the last. What
            compares the two takes only ratings that are there both times, so that no change
            is one of who answered.
        stated: `(responses, judges)`, whether the judge said what changed its mind.
        deliberated: `(responses,)`; the others have no moves.
        prompts: one a response.
        steps: `(dimensions,)`, the distance of neighbouring ratings; a change of half of it
            or more is a move.

    Raises:
        ValueError: the shapes do not fit, a score is infinite, a step is not above 0, or a
            response that was not deliberated has changed.
    """

    before: Array
    after: Array
    stated: Mask
    deliberated: Mask
    prompts: Labels
    steps: Array

    def __post_init__(self) -> None:
        if self.before.ndim != 3:
            raise ValueError(
                f"scores have the shape (responses, judges, dimensions), found {self.before.shape}"
            )
        n_responses, n_judges, n_dimensions = self.before.shape
        wanted = {
            "after": (n_responses, n_judges, n_dimensions),
            "stated": (n_responses, n_judges),
            "deliberated": (n_responses,),
            "steps": (n_dimensions,),
        }
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has the shape {getattr(self, name).shape}, not {shape}")
        if len(self.prompts) != n_responses:
            raise ValueError(f"{len(self.prompts)} prompts for {n_responses} responses")
        if np.isinf(self.before).any() or np.isinf(self.after).any():
            raise ValueError("a score is infinite")
        if not (self.steps > 0).all():
            raise ValueError("a step is above 0")
        quiet = ~self.deliberated
        if not np.array_equal(self.before[quiet], self.after[quiet], equal_nan=True):
            raise ValueError("a response that was not deliberated has changed")

    @property
    def paired(self) -> Mask:
        """Return which ratings of deliberated responses are there both times."""
        both: Mask = ~np.isnan(self.before + self.after) & self.deliberated[:, None, None]
        return both

    @property
    def moved(self) -> Mask:
        """Return which ratings changed by half a step or more."""
        # What is missing once compares as false.
        far: Mask = np.abs(self.after - self.before) >= self.steps / 2 - ROUNDING
        return far


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Means over the `n` ratings of deliberated responses that are there both times, of which
    `n_moved` moved; NaN exactly when `reason` says why."""

    before: float
    after: float
    change: float
    n_moved: int
    n: int
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A statistic before and after, over the same `n_items` responses.

    `interval` is of `change` (after − before), both sides without the same prompt. The
    numbers are NaN and the interval None exactly when `reason` says why.
    """

    before: float
    after: float
    change: float
    interval: Interval | None
    n_items: int
    reason: Reason | None = None

    @classmethod
    def undefined(cls, reason: Reason, n_items: int = 0) -> Change:
        """The change that has no value, and why."""
        return cls(nan, nan, nan, None, n_items, reason)

    @property
    def sign(self) -> int:
        """1 or −1 where the interval lies above or below 0, or the change is the same whichever
        prompt is left out, so that it has no interval; else 0."""
        if self.interval is None:
            return 0
        if self.interval.reason is Reason.NO_SPREAD:
            return int(self.change > ROUNDING) - int(self.change < -ROUNDING)
        return int(self.interval.low > ROUNDING) - int(self.interval.high < -ROUNDING)


def change_between(
    before: Resampled,
    after: Resampled,
    prompts: Labels,
    *,
    kind: EstimateKind = "mean",
    seed: int = 0,
) -> Change:
    """The change of a statistic, with a 95 % interval over prompts.

    Args:
        before, after: functions of the same items' weights, defined on those items.
        prompts: one an item.
        kind: of the statistic, as for `jackknife`.
        seed: as for `jackknife`.
    """
    n_items = len(prompts)
    first, last = (float(side(unit_weights(n_items))[0]) for side in (before, after))
    interval = jackknife(difference_of(after, before), n_items, prompts, kind=kind, seed=seed)
    return Change(first, last, last - first, interval, n_items)


def by_judge(revisions: Revisions) -> tuple[BeforeAfter, ...]:
    """Each judge's ratings before and after, all dimensions together.

    A mean over dimensions says something where they have one scale.

    >>> revisions = Revisions(
    ...     before=np.array([[[1.0], [5.0]]]),
    ...     after=np.array([[[3.0], [5.0]]]),
    ...     stated=np.array([[True, False]]),
    ...     deliberated=np.array([True]),
    ...     prompts=["p"],
    ...     steps=np.array([1.0]),
    ... )
    >>> [(one.before, one.after, one.n_moved) for one in by_judge(revisions)]
    [(1.0, 3.0, 1), (5.0, 5.0, 0)]
    """
    return _before_after(revisions, (0, 2))


def by_dimension(revisions: Revisions) -> tuple[BeforeAfter, ...]:
    """Each dimension's ratings before and after, all judges together.

    >>> revisions = Revisions(
    ...     before=np.array([[[1.0], [5.0]]]),
    ...     after=np.array([[[3.0], [5.0]]]),
    ...     stated=np.array([[True, False]]),
    ...     deliberated=np.array([True]),
    ...     prompts=["p"],
    ...     steps=np.array([1.0]),
    ... )
    >>> [(one.before, one.after) for one in by_dimension(revisions)]
    [(3.0, 4.0)]
    """
    return _before_after(revisions, (0, 1))


def spread(revisions: Revisions, *, seed: int = 0) -> tuple[Change, ...]:
    """Each dimension's standard deviation across judges (n − 1), as `spread_of`.

    How to read it: a change below 0 means that judges came nearer to each other, which says
    nothing of whether they came nearer to what is right.

    >>> revisions = Revisions(
    ...     before=np.array([[[1.0], [5.0]]]),
    ...     after=np.array([[[3.0], [5.0]]]),
    ...     stated=np.array([[True, False]]),
    ...     deliberated=np.array([True]),
    ...     prompts=["p"],
    ...     steps=np.array([1.0]),
    ... )
    >>> [round(one.change, 3) for one in spread(revisions)]
    [-1.414]
    """
    return tuple(
        spread_of(
            revisions.before[:, :, place],
            revisions.after[:, :, place],
            revisions.deliberated,
            revisions.prompts,
            seed=seed,
        )
        for place in range(revisions.before.shape[2])
    )


def spread_of(
    before: Array, after: Array, deliberated: Mask, prompts: Labels, *, seed: int = 0
) -> Change:
    """The standard deviation across judges (n − 1), the mean of deliberated responses.

    A response enters with the judges who rated it both times, if there are two.

    Args:
        before, after: `(responses, judges)`, NaN where missing.
        deliberated: `(responses,)`.
        prompts: one a response.
        seed: of the resampling.
    """
    if not deliberated.any():
        return Change.undefined(Reason.NOT_DELIBERATED)
    first, last = spreads(before, after, deliberated)
    used = np.flatnonzero(~np.isnan(first))
    if not len(used):
        return Change.undefined(Reason.FEW_RATERS)
    return change_between(
        resampled_mean(first[used]),
        resampled_mean(last[used]),
        [prompts[int(i)] for i in used],
        seed=seed,
    )


def spreads(before: Array, after: Array, deliberated: Mask) -> tuple[Array, Array]:
    """Each response's standard deviation across judges (n − 1), before and after `(responses,)`;
    NaN where it was not deliberated or fewer than two judges rated it both times."""
    both = ~np.isnan(before + after)
    used = deliberated & (both.sum(axis=1) >= 2)
    first, last = np.full(len(both), nan), np.full(len(both), nan)
    for found, scores in ((first, before), (last, after)):
        found[used] = np.nanstd(np.where(both, scores, nan)[used], axis=1, ddof=1)
    return first, last


def _before_after(revisions: Revisions, over: tuple[int, int]) -> tuple[BeforeAfter, ...]:
    paired = revisions.paired
    counts, moved = paired.sum(axis=over), revisions.moved.sum(axis=over)
    before, after = (
        divide(np.where(paired, scores, 0).sum(axis=over), counts)
        for scores in (revisions.before, revisions.after)
    )
    missing = Reason.NO_RATINGS if revisions.deliberated.any() else Reason.NOT_DELIBERATED
    return tuple(
        BeforeAfter(
            float(first),
            float(last),
            float(last - first),
            int(n_moved),
            int(n),
            None if n else missing,
        )
        for first, last, n_moved, n in zip(before, after, moved, counts, strict=True)
    )
