"""Whether judges prefer responses by models of their own family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Mask,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    difference_of,
    row_means,
)
from persona_panel.statistics.core.jackknife import resampled_mean


@dataclass(frozen=True, slots=True, eq=False)
class SelfPreference:
    """Of one family: how much more its judges give its responses than other judges do, less
    the same for others' responses; in points of the scale. `resampled` takes weights."""

    family: str
    estimate: Statistic
    resampled: Resampled
    n_own: int
    n_others: int


def self_preference(
    scores: ArrayLike, judges: Sequence[str | None], authors: Sequence[str | None]
) -> list[SelfPreference]:
    """The self-preference of every family that judges.

    A difference of differences: neither that a family's judges are lenient nor that its
    responses are good makes one.

    Args:
        scores: `(items, judges)`, NaN where missing.
        judges, authors: the family of each judge and of each response's author, None where
            it is not known; those are left out.

    Raises:
        ValueError: a wrong shape, or not one family a judge and an item.
    """
    array = as_ratings(scores)
    if array.shape != (len(authors), len(judges)):
        raise ValueError(f"{len(authors)} authors and {len(judges)} judges for {array.shape}")
    found = []
    for family in dict.fromkeys(name for name in judges if name is not None):
        ours = [place for place, name in enumerate(judges) if name == family]
        theirs = [place for place, name in enumerate(judges) if name not in (family, None)]
        gap = row_means(array[:, ours]) - row_means(array[:, theirs])
        there = ~np.isnan(gap)
        own = there & np.array([name == family for name in authors], dtype=bool)
        others = there & np.array([name not in (family, None) for name in authors], dtype=bool)
        n_items = int(own.sum() + others.sum())
        if reason := _why_no_preference(theirs, own, others):
            estimate = Statistic.undefined(reason, n_items=n_items, n_raters=len(ours))
        else:
            value = float(gap[own].mean() - gap[others].mean())
            estimate = Statistic(value, n_items, len(ours))
        mean_own, mean_others = (
            resampled_mean(np.where(mask, gap, np.nan)) for mask in (own, others)
        )
        found.append(
            SelfPreference(
                family,
                estimate,
                difference_of(mean_own, mean_others),
                int(own.sum()),
                int(others.sum()),
            )
        )
    return found


def _why_no_preference(theirs: Sequence[int], own: Mask, others: Mask) -> Reason | None:
    if not theirs:
        return Reason.NO_OTHER_JUDGES
    if not own.any():
        return Reason.NO_OWN_FAMILY
    return None if others.any() else Reason.NO_OTHER_AUTHORS
