"""What changed in the rankings between two sets of composites of the same responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, items_by_label, paired_scores
from persona_panel.statistics.core.prompts import OverPrompts, over_prompts
from persona_panel.statistics.core.ranking import rank_systems
from persona_panel.statistics.core.statistic import Statistic
from persona_panel.statistics.humans.correlation import correlation, within_prompts


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
    """What changed in the order of responses and of systems.

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
        """The systems whose rank changed; one that ties with others has the better rank."""
        return tuple(one for one in self.systems if one.rank_before != one.rank_after)


def reordering(
    before: ArrayLike, after: ArrayLike, prompts: Sequence[str], systems: Sequence[str]
) -> Reordering:
    """Return how the order of responses within prompts, and of systems over prompts, changed.

    Composites equal to nine decimals are ties, as in `competition_ranks`. A response enters
    if it has both composites. A system's value is its mean over prompts, as on the
    leaderboard.

    How to read it: τ_b of 1, the order is what it was; `n_swapped` over `n_pairs` is the share of
    pairs that changed places.

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
            np.round([one.before for one in shifts], 9),
            np.round([one.after for one in shifts], 9),
            "tau_b",
        ),
    )


def _pairs(before: Array, after: Array) -> list[int]:
    """Pairs with both composites, those swapped, those newly tied and those no longer tied."""
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
    found: list[int] = counts.tolist()
    return found


def _systems(
    before: Array, after: Array, prompts: Sequence[str], systems: Sequence[str]
) -> tuple[SystemShift, ...]:
    """Every system, by its rank before."""
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
