"""Changes of judges who saw each other's readings: moves, means, spread, nearness to people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isnan, nan
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    EstimateKind,
    Labels,
    Mask,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    difference_of,
    divide,
    encode_labels,
    items_by_label,
    paired_scores,
    resampled_mean,
    row_means,
    value_of,
    variance_there,
)
from persona_panel.statistics.core.correlation import correlation, correlation_by_prompt
from persona_panel.statistics.core.estimate import LEVEL, Difference
from persona_panel.statistics.core.jackknife import jackknife
from persona_panel.statistics.core.means import OverPrompts
from persona_panel.statistics.core.ranking import rank_systems
from persona_panel.statistics.core.significance import holm, sign_flip_p_values


@dataclass(frozen=True, slots=True, eq=False)
class Revisions:
    """Every judge's first and last reading of each response.

    Attributes:
        before, after: `(responses, judges, dimensions)` numbers, NaN where missing; of several
            rounds, what was said before the first and after the last.
        stated: `(responses, judges)`, whether the judge said what changed its mind.
        deliberated: `(responses,)`; the others have no moves.
        steps: `(dimensions,)`, the distance of neighbouring ratings; a change of half of it
            or more is a move.
    """

    before: Array
    after: Array
    stated: Mask
    deliberated: Mask
    prompts: Labels
    steps: Array

    @property
    def paired(self) -> Mask:
        """Return a mask of the ratings of deliberated responses that are there both times."""
        return ~np.isnan(self.before + self.after) & self.deliberated[:, None, None]

    @property
    def moved(self) -> Mask:
        """Return a mask of the ratings that changed by half a step or more."""
        # What is missing once compares as false.
        return np.abs(self.after - self.before) >= self.steps / 2 - ROUNDING


@dataclass(frozen=True, slots=True)
class Change(Difference):
    """A statistic after less before, over the same `n_items` responses, with its interval over
    prompts, both sides without the same prompt; of a mean without an interval, over `n` ratings of
    which `n_moved` moved."""

    before: float = nan
    after: float = nan
    n_items: int = 0
    n_moved: int = 0

    @classmethod
    def undefined(cls, reason: Reason, n_items: int = 0) -> Change:
        """Return the change that has no value, with the reason."""
        return cls(nan, reason=reason, n_items=n_items)

    @property
    def sign(self) -> int:
        """Return 1 or −1 where the interval lies above or below 0, or where the change is the same
        without any of the prompts, which leaves no interval; else 0."""
        low, high = (self.value,) * 2 if self.reason is Reason.NO_SPREAD else self.ends
        return int(low > ROUNDING) - int(high < -ROUNDING)


def change_between(
    before: Resampled,
    after: Resampled,
    prompts: Labels,
    *,
    kind: EstimateKind = "mean",
    seed: int = 0,
) -> Change:
    """Return the change of a statistic, with a 95 % interval over prompts; `before` and `after` are
    functions of the same items' weights, defined on those items, `kind` and `seed` as for
    `jackknife`."""
    n_items = len(prompts)
    first, last = (value_of(side, n_items) for side in (before, after))
    moved = jackknife(difference_of(after, before), n_items, prompts, kind=kind, seed=seed)
    return Change(
        last - first, moved.low, moved.high, over="prompts", n=moved.n_clusters,
        df=moved.degrees_of_freedom, reason=moved.reason, a="after", b="before", before=first,
        after=last, n_items=n_items,
    )  # fmt: skip


def spread(revisions: Revisions, *, seed: int = 0) -> tuple[Change, ...]:
    """Return each dimension's standard deviation across judges (n − 1), as `spread_of`.

    How to read it: a change below 0 means that judges came nearer to each other, which says
    nothing of whether they came nearer to what is right.
    """
    before, after = (side.transpose(2, 0, 1) for side in (revisions.before, revisions.after))
    return tuple(
        spread_of(first, last, revisions.deliberated, revisions.prompts, seed=seed)
        for first, last in zip(before, after, strict=True)
    )


def spread_of(
    before: Array, after: Array, deliberated: Mask, prompts: Labels, *, seed: int = 0
) -> Change:
    """Return the standard deviation across judges (n − 1) of `(responses, judges)`, NaN where
    missing: the mean over the deliberated responses."""
    first, last = spreads(before, after, deliberated)
    used = np.flatnonzero(~np.isnan(first))
    if not len(used):
        none = Reason.FEW_RATERS if deliberated.any() else Reason.NOT_DELIBERATED
        return Change.undefined(none)
    sides = resampled_mean(first[used]), resampled_mean(last[used])
    return change_between(*sides, [prompts[int(i)] for i in used], seed=seed)


def spreads(before: Array, after: Array, deliberated: Mask) -> tuple[Array, Array]:
    """Return each response's standard deviation across judges (n − 1), before and after
    `(responses,)`; NaN where it was not deliberated or fewer than two judges rated it both
    times."""
    both = ~np.isnan(before + after)
    kept = both & deliberated[:, None]
    first, last = (
        np.sqrt(variance_there(np.where(kept, side, nan), 1)) for side in (before, after)
    )
    return first, last


def mean_changes(revisions: Revisions, of: Literal["judges", "dimensions"]) -> tuple[Change, ...]:
    """Return the means before and after of each judge, all dimensions together (which says
    something where these have one scale), or of each dimension, all judges together."""
    over = (0, 2) if of == "judges" else (0, 1)
    paired = revisions.paired
    counts, moved = paired.sum(axis=over), revisions.moved.sum(axis=over)
    before, after = (
        divide(np.where(paired, scores, 0).sum(axis=over), counts)
        for scores in (revisions.before, revisions.after)
    )
    missing = Reason.NO_RATINGS if revisions.deliberated.any() else Reason.NOT_DELIBERATED
    return tuple(
        Change(
            last - first, n=n, reason=None if n else missing, before=first, after=last,
            n_moved=n_moved,
        )
        for first, last, n_moved, n in zip(
            before.tolist(), after.tolist(), moved.tolist(), counts.tolist(), strict=True
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SystemShift:
    """One system's mean composite and rank, before and after; NaN and None where it has none."""

    system: str
    before: float
    after: float
    rank_before: int | None
    rank_after: int | None


@dataclass(frozen=True, slots=True)
class Reordering:
    """The changes in the order of responses and of systems.

    Of `n_pairs` pairs of responses to one prompt, `n_swapped` changed their order,
    `n_tied` had one and are tied since, and `n_untied` were tied and have one since. A tie
    made or undone is no swap. `tau_b` is inside prompts, `systems_tau_b` over systems' means.
    """

    n_pairs: int
    n_swapped: int
    n_tied: int
    n_untied: int
    systems: tuple[SystemShift, ...]
    tau_b: OverPrompts
    systems_tau_b: Statistic

    @property
    def reranked(self) -> tuple[SystemShift, ...]:
        """Return the systems whose rank changed; tied systems share the better rank."""
        return tuple(shift for shift in self.systems if shift.rank_before != shift.rank_after)


def reordering(
    before: ArrayLike, after: ArrayLike, prompts: Sequence[str], systems: Sequence[str]
) -> Reordering:
    """Return how the order of responses within prompts, and of systems over prompts, changed.
    Composites equal to nine decimals are ties; a response enters if it has both.

    Args:
        before, after: `(responses,)` composites, higher is better, NaN where undefined.
    """
    first, last, both = paired_scores(before, after)
    first, last = (np.where(both, np.round(side, 9), nan) for side in (first, last))
    pairs = [_pairs(first[items], last[items]) for _, items in items_by_label(prompts, len(first))]
    n_pairs, n_swapped, n_tied, n_untied = np.reshape(pairs, (-1, 4)).sum(axis=0).tolist()
    none = np.empty((len(first), 0))
    then, since = (
        {each.system: each for each in rank_systems(systems, prompts, side, none, []).systems}
        for side in (first, last)
    )
    shifts = tuple(
        SystemShift(name, was.composite.value, now.composite.value, was.rank, now.rank)
        for name, was in then.items()
        for now in (since[name],)
    )
    means = np.reshape([[shift.before, shift.after] for shift in shifts], (-1, 2)).round(9)
    return Reordering(
        n_pairs, n_swapped, n_tied, n_untied, shifts,
        correlation_by_prompt(first, last, prompts, "tau_b"),
        correlation(means[:, 0], means[:, 1], "tau_b"),
    )  # fmt: skip


def _pairs(before: Array, after: Array) -> list[int]:
    kept = ~np.isnan(before)
    before, after = before[kept], after[kept]
    a, b = np.triu_indices(len(before), 1)
    was, became = (np.sign(side[a] - side[b]) for side in (before, after))
    tied, untied = (was != 0) & (became == 0), (was == 0) & (became != 0)
    return [len(was), *(int(np.sum(mask)) for mask in (was * became < 0, tied, untied))]


_DIGITS = 9


class Direction(StrEnum):
    """The direction in which deliberation moved the panel; the first of these that holds.

    A change is shown where its 95 % interval leaves 0 out and its adjusted p-value is below
    `LEVEL`.

    - `UNKNOWN`: neither measure of people is defined, or too few prompts were deliberated
      for any change to be shown.
    - `DIVIDED`, `TOWARD`, `AWAY`: a τ_c shown to rise or a distance shown to fall is toward;
      the contrary of either is away.
    - `ITSELF`: no change of either is shown, and the spread is shown to fall.
    - `NONE`: nothing of that. That no change is shown does not show that there is none.
    """

    UNKNOWN = "inconclusive"
    DIVIDED = "toward people by one measure, away by the other"
    TOWARD = "toward people"
    AWAY = "away from people"
    ITSELF = "only toward itself"
    NONE = "no change shown"


@dataclass(frozen=True, slots=True)
class TowardHumans:
    """The panel against people before and after, and its own spread (of deliberated responses).

    `tau_c` is between the panel's mean and people's, `distance` the mean of their absolute
    difference. The p-values, two-sided, are of flipped signs by prompt, adjusted by Holm: those of
    `tau_c` and `distance` over both measures of all dimensions, those of `spread` over dimensions.
    `reason` says why a direction is unknown.
    """

    tau_c: Change
    distance: Change
    spread: Change
    direction: Direction
    n_prompts: int
    reason: Reason | None = None


def toward_humans(
    before: Array,
    after: Array,
    human: Array,
    deliberated: Mask,
    prompts: Labels,
    *,
    same_scale: bool,
    seed: int = 0,
) -> tuple[TowardHumans, ...]:
    """Compare a panel's agreement with people before and after deliberation, dimension by
    dimension; `direction` says what is shown, at an error rate of 5 % over all dimensions.

    The panel's score is the mean of the judges who rated a response both times; responses that were
    not deliberated count in τ_c and in the distance.

    Args:
        before, after: `(responses, judges, dimensions)`, NaN where missing.
        human: `(responses, dimensions)` the mean human score, higher is better, NaN where there is
            none.
        deliberated: `(responses,)`.
        same_scale: whether a distance between panel and people means anything.
    """
    target = as_ratings(human)
    changes, by_prompt, n_deliberated = zip(
        *(
            _changes(
                before[:, :, place], after[:, :, place], target[:, place], deliberated, prompts,
                seed, same_scale=same_scale,
            )
            for place in range(target.shape[1])
        ),
        strict=True,
    )  # fmt: skip
    p_values = np.stack([sign_flip_p_values(sums, seed=seed)[0] for sums in by_prompt])
    adjusted = np.column_stack([holm(p_values[:, :2].ravel()).reshape(-1, 2), holm(p_values[:, 2])])
    n_tests = int((~np.isnan(p_values[:, :2])).sum())
    toward = []
    for own, p, sums, n in zip(changes, adjusted.tolist(), by_prompt, n_deliberated, strict=True):
        tested = [replace(change, p_adjusted=each) for change, each in zip(own, p, strict=True)]
        tau_c, distance, spread = tested
        direction, reason = _direction(tested, n, n_tests)
        toward.append(TowardHumans(tau_c, distance, spread, direction, len(sums), reason))
    return tuple(toward)


def _changes(
    before: Array,
    after: Array,
    human: Array,
    deliberated: Mask,
    prompts: Labels,
    seed: int,
    *,
    same_scale: bool,
) -> tuple[list[Change], Array, int]:
    """Return the changes of τ_c, distance and spread on one dimension, what each prompt adds to
    them `(prompts, 3)`, and how many prompts were deliberated."""
    both = ~np.isnan(before + after)
    first, last = (row_means(np.where(both, side, nan)) for side in (before, after))
    used = np.flatnonzero(~np.isnan(first + human))
    # Means of equal ratings need not be equal floats.
    first, last = first[used].round(_DIGITS), last[used].round(_DIGITS)
    target, of = human[used], deliberated[used]
    labels = [prompts[int(i)] for i in used]
    names, codes = encode_labels(labels, len(labels))
    away = np.abs(first - target), np.abs(last - target)
    distance = Change.undefined(Reason.NO_SHARED_ITEMS)
    if not same_scale:
        distance = Change.undefined(Reason.OTHER_SCALE, len(target))
    elif len(target):
        closer, farther = map(resampled_mean, away)
        distance = change_between(closer, farther, labels, seed=seed)
    was, became = (correlation(side, target, "tau_c") for side in (first, last))
    if reason := was.reason or became.reason:
        order = Change.undefined(reason, len(target))
    else:
        order = change_between(
            was.resampled, became.resampled, labels, kind="difference", seed=seed
        )
    changes = [
        order,
        distance,
        spread_of(before[used], after[used], of, labels, seed=seed),
    ]
    calm, excited = spreads(before[used], after[used], of)
    # Ranks: higher scores in the same order are no change of order.
    added = _added_to_s(scipy.stats.rankdata(first), scipy.stats.rankdata(last), target)
    sums = np.full((len(names), len(changes)), nan)
    by_item = added, away[1] - away[0], excited - calm
    for place, (change, values) in enumerate(zip(changes, by_item, strict=True)):
        there = ~np.isnan(values) & (not isnan(change.value))
        own = np.unique(codes[there])
        sums[own, place] = np.bincount(codes[there], values[there])[own]
    return changes, sums, len(np.unique(codes[of]))


def _added_to_s(before: Array, after: Array, human: Array) -> Array:
    """Return what each item adds to the change of Kendall's S, half of that of its pairs."""
    both, added = np.concatenate([after, before]), np.empty(len(human))
    for place, (last, first) in enumerate(zip(after, before, strict=True)):
        order = np.tile(np.sign(human[place] - human), 2)
        added[place] = order @ (np.sign(last - both) - np.sign(first - both)) / 2
    return added


def _direction(
    changes: Sequence[Change], n_deliberated: int, n_tests: int
) -> tuple[Direction, Reason | None]:
    tau_c, distance, _ = changes
    if isnan(tau_c.value) and isnan(distance.value):
        return Direction.UNKNOWN, Reason(tau_c.lacks)
    # Where all that could change changed alike, this is the p-value.
    if max(n_tests, 1) * 2.0 ** (1 - n_deliberated) >= LEVEL:
        return Direction.UNKNOWN, Reason.FEW_TO_TELL
    # 1 or -1 where a rise or a fall is shown, else 0.
    rise, farther, wider = (change.sign if change.shown else 0 for change in changes)
    signs = {rise, -farther} - {0}
    if signs:
        only = Direction.TOWARD if 1 in signs else Direction.AWAY
        return only if len(signs) == 1 else Direction.DIVIDED, None
    return (Direction.ITSELF if wider < 0 else Direction.NONE), None
