"""Whether deliberation led a panel to the humans, or only to itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import nan

import numpy as np

from panel.statistics.arrays import Array, Labels, Mask, as_scores, labelled, row_means
from panel.statistics.bootstrap import resampled_mean
from panel.statistics.correlation import correlation, resampled_correlation
from panel.statistics.deliberation import Change, change_between, spread_of
from panel.statistics.estimate import Reason

FEWEST_PROMPTS = 6
"""From as many a direction is told. Resampling fewer says too much: even if each of five
prompts changed for the better, chance alone does that, or the contrary, once in 16 times."""


class Direction(StrEnum):
    """Where deliberation led; the first of these that holds, read from 95 % intervals.

    - `UNKNOWN`: fewer than six prompts, or neither measure of the humans is defined.
    - `DIVIDED`, `TOWARD`, `AWAY`: the interval of the change in τ_c lies above 0, or that of
      the change in distance below it, is toward; the contrary of either is away.
    - `ITSELF`: neither measure of the humans changed beyond 0, and the interval of the change
      in spread lies below it.
    - `NONE`: nothing of that. That no change is shown does not show that there is none.

    Neither the two measures nor dimensions are corrected for being several. Where before and
    after differed by chance alone (three responses to a prompt, ten judges, 400 panels), a
    direction toward or away was found in 15 % of panels on 6 and on 10 prompts, in 10 % on 20
    and 11 % on 40, as often one as the other.
    """

    UNKNOWN = "cannot be told"
    DIVIDED = "toward the humans by one measure, away by the other"
    TOWARD = "toward the humans"
    AWAY = "away from the humans"
    ITSELF = "only toward itself"
    NONE = "no change shown"


@dataclass(frozen=True, slots=True)
class TowardHumans:
    """The panel against the humans before and after, and its own spread.

    `tau_c` is between the panel's mean and the humans', `distance` the mean of their absolute
    difference; `spread` is that of the deliberated ones among the same responses. `reason`
    says why a direction is unknown.
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
) -> TowardHumans:
    """How deliberation changed a panel's agreement with humans on one dimension.

    The panel's score is the mean of the judges who rated a response both times. Responses
    that were not deliberated count in τ_c and in the distance, as they do in the result of
    the panel.

    Args:
        before, after: `(responses, judges)`, NaN where missing.
        human: `(responses,)` the mean human score, higher is better, NaN where there is none.
        deliberated: `(responses,)`.
        prompts: one a response.
        same_scale: whether a distance between panel and humans means anything.
        seed: of the resampling.

    Raises:
        ValueError: the shapes do not fit.
    """
    target = as_scores(human)
    if before.shape != after.shape or before.ndim != 2 or len(before) != len(target):
        raise ValueError(
            f"scores of the shapes {before.shape} and {after.shape} for {len(target)} human scores"
        )
    both = ~np.isnan(before + after)
    first, last = (row_means(np.where(both, side, nan)) for side in (before, after))
    used = np.flatnonzero(~np.isnan(first + target))
    first, last, target = first[used], last[used], target[used]
    labels = [prompts[int(i)] for i in used]
    tau_c = _tau_c(first, last, target, labels, seed)
    distance = _distance(first, last, target, labels, seed, same_scale=same_scale)
    spread = spread_of(before[used], after[used], deliberated[used], labels, seed=seed)
    n_prompts = len(labelled(labels, len(labels))[0])
    direction, reason = _direction(tau_c, distance, spread, n_prompts)
    return TowardHumans(tau_c, distance, spread, direction, n_prompts, reason)


def _tau_c(before: Array, after: Array, human: Array, prompts: Labels, seed: int) -> Change:
    for side in (before, after):
        if reason := correlation(side, human, "tau_c").reason:
            return Change.undefined(reason, len(human))
    return change_between(
        resampled_correlation(before, human, "tau_c"),
        resampled_correlation(after, human, "tau_c"),
        prompts,
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
    tau_c: Change, distance: Change, spread: Change, n_prompts: int
) -> tuple[Direction, Reason | None]:
    if n_prompts < FEWEST_PROMPTS:
        return Direction.UNKNOWN, Reason.FEW_TO_TELL
    if tau_c.reason and distance.reason:
        return Direction.UNKNOWN, tau_c.reason
    signs = {tau_c.sign, -distance.sign}
    if signs >= {1, -1}:
        return Direction.DIVIDED, None
    if 1 in signs:
        return Direction.TOWARD, None
    if -1 in signs:
        return Direction.AWAY, None
    return (Direction.ITSELF if spread.sign < 0 else Direction.NONE), None
