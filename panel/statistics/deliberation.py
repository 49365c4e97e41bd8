"""The effect of deliberation on rankings, and on the distance from people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import nan
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    Statistic,
    as_ratings,
    encode_labels,
    items_by_label,
    paired_scores,
    row_means,
)
from persona_panel.statistics.core.correlation import (
    correlation,
    resampled_correlation,
    within_prompts,
)
from persona_panel.statistics.core.jackknife import resampled_mean
from persona_panel.statistics.core.levels import LEVEL
from persona_panel.statistics.core.means import OverPrompts, over_prompts
from persona_panel.statistics.core.ranking import rank_systems
from persona_panel.statistics.core.significance import holm, sign_flip_p_values
from persona_panel.statistics.revisions import Change, change_between, spread_of, spreads


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
        prompts, systems: one a response.

    Raises:
        ValueError: lengths differ, or a composite is infinite.

    >>> found = reordering([1, 2, 3], [1, 3, 2], ["p"] * 3, ["a", "b", "c"])
    >>> found.n_swapped, found.n_pairs, [one.system for one in found.reranked]
    (1, 3, ['c', 'b'])
    """
    first, last, both = paired_scores(before, after)
    first, last = (np.where(both, np.round(side, 9), nan) for side in (first, last))
    pairs = [_pairs(first[items], last[items]) for _, items in items_by_label(prompts, len(first))]
    n_pairs, n_swapped, n_tied, n_untied = np.reshape(pairs, (-1, 4)).sum(axis=0).tolist()
    shifts = _systems(first, last, prompts, systems)
    return Reordering(
        n_pairs,
        n_swapped,
        n_tied,
        n_untied,
        shifts,
        over_prompts(within_prompts(first, last, prompts, "tau_b")),
        correlation(
            np.round([shift.before for shift in shifts], 9),
            np.round([shift.after for shift in shifts], 9),
            "tau_b",
        ),
    )


def _pairs(before: Array, after: Array) -> list[int]:
    """Count pairs with both composites, those swapped, newly tied and no longer tied."""
    kept = ~np.isnan(before)
    before, after = before[kept], after[kept]
    counts = np.zeros(4, dtype=np.intp)
    for place in range(len(before)):
        was, became = (np.sign(side[place] - side[place + 1 :]) for side in (before, after))
        counts += [
            len(was),
            np.sum(was * became < 0),
            np.sum((was != 0) & (became == 0)),
            np.sum((was == 0) & (became != 0)),
        ]
    n_pairs: list[int] = counts.tolist()
    return n_pairs


def _systems(
    before: Array, after: Array, prompts: Sequence[str], systems: Sequence[str]
) -> tuple[SystemShift, ...]:
    """Return every system, by its rank before."""
    none = np.empty((len(before), 0))
    boards = [rank_systems(systems, prompts, side, none, []).systems for side in (before, after)]
    last = {entry.system: entry for entry in boards[1]}
    return tuple(
        SystemShift(
            entry.system,
            entry.composite,
            last[entry.system].composite,
            entry.rank,
            last[entry.system].rank,
        )
        for entry in boards[0]
    )


_DIGITS = 9
_BLOCK = 256


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
    difference. The p-values, two-sided, are of flipped signs by prompt, adjusted by Holm:
    `p_tau_c` and `p_distance` over both measures of all dimensions, `p_spread` over dimensions.
    `reason` says why a direction is unknown.
    """

    tau_c: Change
    distance: Change
    spread: Change
    p_tau_c: float
    p_distance: float
    p_spread: float
    direction: Direction
    n_prompts: int
    reason: Reason | None = None


class _Changes(NamedTuple):
    """The changes on one dimension."""

    tau_c: Change
    distance: Change
    spread: Change
    by_prompt: Array
    n_prompts: int
    n_deliberated: int


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
    dimension.

    The panel's score is the mean of the judges who rated a response both times; responses that
    were not deliberated count in τ_c and in the distance.

    How to read it: `direction` says what is shown, at an error rate of 5 % over all dimensions.

    Args:
        before, after: `(responses, judges, dimensions)`, NaN where missing.
        human: `(responses, dimensions)` the mean human score, higher is better, NaN where there
            is none.
        deliberated: `(responses,)`.
        prompts: one a response.
        same_scale: whether a distance between panel and people means anything.
        seed: of the resampling.

    >>> scores = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    >>> found = toward_humans(
    ...     scores, scores, np.array([[1.0], [4.0]]), np.array([True, True]), "pq", same_scale=True
    ... )
    >>> [str(one.direction) for one in found]
    ['inconclusive']
    """
    target = as_ratings(human)
    if before.shape != after.shape or before[:, :1].shape != (len(target), 1, target.shape[1]):
        raise ValueError(
            f"scores of the shapes {before.shape} and {after.shape} for human scores of the shape "
            f"{target.shape}"
        )
    changes = [
        _changes(
            before[:, :, place],
            after[:, :, place],
            target[:, place],
            deliberated,
            prompts,
            seed,
            same_scale=same_scale,
        )
        for place in range(target.shape[1])
    ]
    p_values = np.stack([sign_flip_p_values(change.by_prompt, seed=seed) for change in changes])
    adjusted = np.column_stack([holm(p_values[:, :2].ravel()).reshape(-1, 2), holm(p_values[:, 2])])
    n_tests = int((~np.isnan(p_values[:, :2])).sum())
    results = []
    for change, p in zip(changes, adjusted.tolist(), strict=True):
        direction, reason = _direction(change, p, n_tests)
        results.append(
            TowardHumans(
                tau_c=change.tau_c,
                distance=change.distance,
                spread=change.spread,
                p_tau_c=p[0],
                p_distance=p[1],
                p_spread=p[2],
                direction=direction,
                n_prompts=change.n_prompts,
                reason=reason,
            )
        )
    return tuple(results)


def _changes(
    before: Array,
    after: Array,
    human: Array,
    deliberated: Mask,
    prompts: Labels,
    seed: int,
    *,
    same_scale: bool,
) -> _Changes:
    both = ~np.isnan(before + after)
    first, last = (row_means(np.where(both, side, nan)) for side in (before, after))
    used = np.flatnonzero(~np.isnan(first + human))
    # Means of equal ratings need not be equal floats.
    first, last = first[used].round(_DIGITS), last[used].round(_DIGITS)
    target = human[used]
    labels = [prompts[int(i)] for i in used]
    names, codes = encode_labels(labels, len(labels))
    tau_c = _tau_c(first, last, target, labels, seed)
    distance = _distance(first, last, target, labels, seed, same_scale=same_scale)
    spread = spread_of(before[used], after[used], deliberated[used], labels, seed=seed)
    calm, excited = spreads(before[used], after[used], deliberated[used])
    added = (
        # Ranks: higher scores in the same order are no change of order.
        _added_to_s(scipy.stats.rankdata(first), scipy.stats.rankdata(last), target),
        np.abs(last - target) - np.abs(first - target),
        excited - calm,
    )
    by_prompt = [
        np.full(len(names), nan) if change.reason else _sums(values, codes, len(names))
        for change, values in zip((tau_c, distance, spread), added, strict=True)
    ]
    return _Changes(
        tau_c,
        distance,
        spread,
        np.stack(by_prompt, axis=1),
        len(names),
        len(np.unique(codes[deliberated[used]])),
    )


def _sums(values: Array, codes: IntArray, n: int) -> Array:
    """Return the sum of each prompt's values, NaN where there is none."""
    there = ~np.isnan(values)
    sums = np.bincount(codes[there], values[there], n)
    return np.where(np.bincount(codes[there], minlength=n) > 0, sums, nan)


def _added_to_s(before: Array, after: Array, human: Array) -> Array:
    """Return each response's part in the change of Kendall's S of panel and people."""
    added = np.empty(len(human))
    for start in range(0, len(human), _BLOCK):
        rows = slice(start, start + _BLOCK)
        order = _signs(human[rows], human)
        changed = _signs(after[rows], after) - _signs(before[rows], before)
        mixed = _signs(after[rows], before) - _signs(before[rows], after)
        # A pair is met from both of its sides.
        added[rows] = (order * (changed + mixed)).sum(axis=1) / 2
    return added


def _signs(some: Array, all_: Array) -> Array:
    return np.sign(some[:, None] - all_)


def _tau_c(before: Array, after: Array, human: Array, prompts: Labels, seed: int) -> Change:
    for side in (before, after):
        if reason := correlation(side, human, "tau_c").reason:
            return Change.undefined(reason, len(human))
    return change_between(
        resampled_correlation(before, human, "tau_c"),
        resampled_correlation(after, human, "tau_c"),
        prompts,
        kind="difference",
        seed=seed,
    )


def _distance(
    before: Array, after: Array, human: Array, prompts: Labels, seed: int, *, same_scale: bool
) -> Change:
    if not same_scale:
        return Change.undefined(Reason.OTHER_SCALE, len(human))
    if not len(human):
        return Change.undefined(Reason.NO_SHARED_ITEMS)
    return change_between(
        resampled_mean(np.abs(before - human)),
        resampled_mean(np.abs(after - human)),
        prompts,
        seed=seed,
    )


def _direction(
    changes: _Changes, p_values: Sequence[float], n_tests: int
) -> tuple[Direction, Reason | None]:
    if changes.tau_c.reason and changes.distance.reason:
        return Direction.UNKNOWN, changes.tau_c.reason
    # Where all that could change changed alike, this is the p-value.
    if max(n_tests, 1) * 2.0 ** (1 - changes.n_deliberated) >= LEVEL:
        return Direction.UNKNOWN, Reason.FEW_TO_TELL
    rise, farther, wider = (
        # 1 or -1 where a rise or a fall is shown, else 0.
        change.sign if p < LEVEL else 0
        for change, p in zip(
            (changes.tau_c, changes.distance, changes.spread), p_values, strict=True
        )
    )
    signs = {rise, -farther}
    if signs >= {1, -1}:
        return Direction.DIVIDED, None
    if 1 in signs:
        return Direction.TOWARD, None
    if -1 in signs:
        return Direction.AWAY, None
    return (Direction.ITSELF if wider < 0 else Direction.NONE), None
