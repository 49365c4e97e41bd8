"""What judges did when they saw each other's readings: moves, means, spread, whom they followed."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    Resampled,
    Statistic,
    difference_of,
    divide,
    encode_labels,
    value_of,
)
from persona_panel.statistics.core.jackknife import (
    EstimateKind,
    Interval,
    jackknife,
    resampled_mean,
)


@dataclass(frozen=True, slots=True, eq=False)
class Revisions:
    """Every judge's first and last reading of each response.

    Attributes:
        before, after: `(responses, judges, dimensions)` numbers, NaN where missing; of several
            rounds, what was said before the first and after the last.
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
        """Return a mask of the ratings of deliberated responses that are there both times."""
        both: Mask = ~np.isnan(self.before + self.after) & self.deliberated[:, None, None]
        return both

    @property
    def moved(self) -> Mask:
        """Return a mask of the ratings that changed by half a step or more."""
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
        """Return the change that has no value, with the reason."""
        return cls(nan, nan, nan, None, n_items, reason)

    @property
    def sign(self) -> int:
        """Return 1 or −1 where the interval lies above or below 0, or where the change is the same
        whichever prompt is left out, so that it has no interval; else 0."""
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
    """Return the change of a statistic, with a 95 % interval over prompts.

    Args:
        before, after: functions of the same items' weights, defined on those items.
        prompts: one an item.
        kind: of the statistic, as for `jackknife`.
        seed: as for `jackknife`.
    """
    n_items = len(prompts)
    first, last = (value_of(side, n_items) for side in (before, after))
    interval = jackknife(difference_of(after, before), n_items, prompts, kind=kind, seed=seed)
    return Change(first, last, last - first, interval, n_items)


def by_judge(revisions: Revisions) -> tuple[BeforeAfter, ...]:
    """Return each judge's ratings before and after, all dimensions together.

    A mean over dimensions says something where they have one scale.

    >>> before, after = np.array([[[1.0], [5.0]]]), np.array([[[3.0], [5.0]]])
    >>> stated, deliberated, steps = np.array([[True, False]]), np.array([True]), np.array([1.0])
    >>> revisions = Revisions(before, after, stated, deliberated, ["p"], steps)
    >>> [(one.before, one.after, one.n_moved) for one in by_judge(revisions)]
    [(1.0, 3.0, 1), (5.0, 5.0, 0)]
    """
    return _before_after(revisions, (0, 2))


def by_dimension(revisions: Revisions) -> tuple[BeforeAfter, ...]:
    """Return each dimension's ratings before and after, all judges together.

    >>> before, after = np.array([[[1.0], [5.0]]]), np.array([[[3.0], [5.0]]])
    >>> stated, deliberated, steps = np.array([[True, False]]), np.array([True]), np.array([1.0])
    >>> revisions = Revisions(before, after, stated, deliberated, ["p"], steps)
    >>> [(one.before, one.after) for one in by_dimension(revisions)]
    [(3.0, 4.0)]
    """
    return _before_after(revisions, (0, 1))


def spread(revisions: Revisions, *, seed: int = 0) -> tuple[Change, ...]:
    """Return each dimension's standard deviation across judges (n − 1), as `spread_of`.

    How to read it: a change below 0 means that judges came nearer to each other, which says
    nothing of whether they came nearer to what is right.

    >>> before, after = np.array([[[1.0], [5.0]]]), np.array([[[3.0], [5.0]]])
    >>> stated, deliberated, steps = np.array([[True, False]]), np.array([True]), np.array([1.0])
    >>> revisions = Revisions(before, after, stated, deliberated, ["p"], steps)
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
    """Return the standard deviation across judges (n − 1), the mean of deliberated responses.

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
    """Return each response's standard deviation across judges (n − 1), before and after
    `(responses,)`; NaN where it was not deliberated or fewer than two judges rated it both
    times."""
    both = ~np.isnan(before + after)
    used = deliberated & (both.sum(axis=1) >= 2)
    first, last = np.full(len(both), nan), np.full(len(both), nan)
    for deviations, scores in ((first, before), (last, after)):
        deviations[used] = np.nanstd(np.where(both, scores, nan)[used], axis=1, ddof=1)
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


@dataclass(frozen=True, slots=True)
class Conformity:
    """The direction of moves, relative to the mean of the peers.

    `n_moves` is `n_toward` + `n_away` + `n_undefined`: a move has no direction where the
    judge had no peer, or stood at their mean already. `share` is `n_toward` by those with
    a direction.
    """

    n_moves: int
    n_toward: int
    n_away: int
    n_undefined: int
    share: Statistic


@dataclass(frozen=True, slots=True)
class Conformities:
    """All moves, and those with and without a stated reason."""

    all: Conformity
    stated: Conformity
    unstated: Conformity


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

    @property
    def net(self) -> Array:
        """Return the share of cases that came nearer less the share that went farther `(p, p)`,
        from −1 to 1; NaN where there is no case."""
        return divide(self.nearer - self.farther, self.n)

    def cell(self, mover: int, persuader: int) -> Statistic:
        """Return one entry of `net`, with its number of cases or the reason why it is undefined."""
        return self._estimate(
            self.nearer[mover, persuader], self.farther[mover, persuader], self.n[mover, persuader]
        )

    def pull(self, persuader: int) -> Statistic:
        """Return a whole column taken together: how far a persona drew all who had differed from
        it."""
        return self._estimate(
            self.nearer[:, persuader].sum(),
            self.farther[:, persuader].sum(),
            self.n[:, persuader].sum(),
        )

    def _estimate(self, nearer: int, farther: int, n: int) -> Statistic:
        if n:
            return Statistic(float(nearer - farther) / int(n), int(n), 2)
        return Statistic.undefined(Reason.NO_DIFFERENCE if self.n.any() else Reason.NO_MOVES)


def conformity(revisions: Revisions) -> Conformities:
    """Count the moves toward the mean of the peers' earlier readings, and those away from it.

    The direction alone counts. How to read it: 1/2 is what moves without regard to the peers would
    give in the middle of a scale; 1, every move went toward the peers.

    >>> before, after = np.array([[[1.0], [5.0]]]), np.array([[[3.0], [5.0]]])
    >>> stated, deliberated, steps = np.array([[True, False]]), np.array([True]), np.array([1.0])
    >>> revisions = Revisions(before, after, stated, deliberated, ["p"], steps)
    >>> conformity(revisions).all.share.value
    1.0
    """
    moved = revisions.moved
    present = ~np.isnan(revisions.before)
    filled = np.where(present, revisions.before, 0)
    peers = divide(
        filled.sum(axis=1, keepdims=True) - filled,
        present.sum(axis=1, keepdims=True) - present,
    )
    side = _sign(peers - revisions.before)
    way = side * np.sign(revisions.after - revisions.before)
    stated = np.broadcast_to(revisions.stated[:, :, None], moved.shape)
    return Conformities(
        all=_conformity(moved, way),
        stated=_conformity(moved & stated, way),
        unstated=_conformity(moved & ~stated, way),
    )


def influence(revisions: Revisions, personas: Labels) -> Influence:
    """Count, persona by persona, the moves toward and away from each other persona.

    How to read it: `net` 1, all who moved ended nearer to that persona's score; 0, as often
    farther; below 0, they moved away from it.

    Args:
        personas: one name a judge.

    >>> before, after = np.array([[[1.0], [5.0]]]), np.array([[[3.0], [5.0]]])
    >>> stated, deliberated, steps = np.array([[True, False]]), np.array([True]), np.array([1.0])
    >>> revisions = Revisions(before, after, stated, deliberated, ["p"], steps)
    >>> influence(revisions, ["a", "b"]).net.tolist()
    [[nan, 1.0], [nan, nan]]
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


def _sign(differences: Array) -> Array:
    """Return signs, with 0 for differences of rounding and NaN for missing ones."""
    small = np.abs(differences) <= ROUNDING
    return np.where(small, 0, np.sign(differences))
