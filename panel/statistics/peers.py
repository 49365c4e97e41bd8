"""Whom judges followed when they saw each other's readings: conformity and influence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    Statistic,
    encode_labels,
)
from persona_panel.statistics.human_raters import mean_of_others
from persona_panel.statistics.revisions import Revisions


@dataclass(frozen=True, slots=True)
class Conformity:
    """The direction of moves, relative to the mean of the peers: `n_moves` is `n_toward` + `n_away`
    + `n_undefined`, of a judge who had no peer, or stood at their mean already. `share` is
    `n_toward` by those with a direction."""

    n_moves: int
    n_toward: int
    n_away: int
    n_undefined: int
    share: Statistic


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """The influence of personas on each other; rows are the personas who moved, columns those whose
    scores they had seen.

    A case is one move beside one other judge who had given another score before. A persona
    that speaks through several models has as many judges, each a case of its own; on the
    diagonal are the other judges of the same persona.

    Attributes:
        personas: p names, in order of appearance.
        nearer, farther: `(p, p)`, the cases in which the move ended nearer to that other
            score than it began, and farther from it.
        n: `(p, p)`, all cases; some end as near as they began.
    """

    personas: tuple[str, ...]
    nearer: IntArray
    farther: IntArray
    n: IntArray

    def net(self, mover: int | slice, persuader: int) -> Statistic:
        """Return the share of cases that came nearer less the share that went farther, from −1 to
        1, with the number of cases or the reason why it is undefined; of the slice of all movers
        how far a persona drew all who had differed from it."""
        cells = mover, persuader
        nearer, farther, n = (int(of[cells].sum()) for of in (self.nearer, self.farther, self.n))
        if n:
            return Statistic((nearer - farther) / n, n, 2)
        return Statistic.undefined(Reason.NO_DIFFERENCE if self.n.any() else Reason.NO_MOVES)


def conformity(revisions: Revisions) -> dict[str, Conformity]:
    """Count the moves toward the mean of the peers' earlier readings, and those away from it:
    `all` moves, and those with (`stated`) and without (`unstated`) a stated reason.

    The direction alone counts. How to read it: 1/2 is what moves without regard to the peers would
    give in the middle of a scale; 1, every move went toward the peers.
    """
    moved, apart = revisions.moved, mean_of_others(revisions.before) - revisions.before
    side = np.where(np.abs(apart) <= ROUNDING, 0, np.sign(apart))
    way = side * np.sign(revisions.after - revisions.before)
    stated = np.broadcast_to(revisions.stated[:, :, None], moved.shape)
    of = {"all": moved, "stated": moved & stated, "unstated": moved & ~stated}
    return {name: _conformity(moves, way) for name, moves in of.items()}


def influence(revisions: Revisions, personas: Labels) -> Influence:
    """Count, persona by persona, the moves toward and away from each other persona; `personas` has
    a name for each judge. `net` 1, all who moved ended nearer to that persona's score; 0, as often
    farther.
    """
    before, after, moved = revisions.before, revisions.after, revisions.moved
    names, codes = encode_labels(personas, before.shape[1])
    nearer, farther, n = (np.zeros((len(names), len(names)), dtype=np.intp) for _ in range(3))
    for mover, row in enumerate(codes):
        was = np.abs(before[:, mover, None] - before)
        became = np.abs(after[:, mover, None] - before)
        # Comparisons with others' missing scores are false.
        case = moved[:, mover, None] & (was > ROUNDING)
        np.add.at(nearer[row], codes, (case & (became < was - ROUNDING)).sum(axis=(0, 2)))
        np.add.at(farther[row], codes, (case & (became > was + ROUNDING)).sum(axis=(0, 2)))
        np.add.at(n[row], codes, case.sum(axis=(0, 2)))
    return Influence(tuple(map(str, names)), nearer, farther, n)


def _conformity(moves: Mask, way: Array) -> Conformity:
    """Count these moves by direction; `way` is 1 toward the peers, −1 away, else 0 or NaN."""
    toward, away = moves & (way > 0), moves & (way < 0)
    n_moves, n_toward, n_away = (int(mask.sum()) for mask in (moves, toward, away))
    known = n_toward + n_away
    if known:
        n_judges = int((toward | away).any(axis=(0, 2)).sum())
        share = Statistic(n_toward / known, known, n_judges)
    else:
        share = Statistic.undefined(Reason.NO_DIRECTION if n_moves else Reason.NO_MOVES)
    return Conformity(n_moves, n_toward, n_away, n_moves - known, share)
