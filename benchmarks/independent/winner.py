"""How often the best system is named, and how often a system is that is not the best.

Boards of systems by prompts are drawn with known means. The product's claims (`rank_systems`) stand
beside tests that are written here: all pairs by Holm, the leader against the runner-up by the
paired t-test, and the same with the residual variance of all systems pooled.

Power is the share of boards on which the best system is named, error the share on which the
claim is false: a system is named that has no higher mean than all others, a pair is said to differ
that does not, or a true rank lies outside of its range. Ties of true means share all of their
places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.independent import Row
from persona_panel.statistics import rank_systems
from persona_panel.statistics.core.ranking import Leaderboard, verified_places
from persona_panel.statistics.core.sampled_mean import JudgeSample

Table = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Table]
"""Residuals `(prompts, systems)` with the mean 0 from a generator and these two numbers."""
LEVEL = 0.05
FAR = 6.0
"""A mean that is far below others, in standard deviations of a residual."""


def normal(rng: np.random.Generator, prompts: int, systems: int) -> Table:
    return rng.normal(size=(prompts, systems))


def heavy_tails(rng: np.random.Generator, prompts: int, systems: int) -> Table:
    return rng.standard_t(3, size=(prompts, systems)) / 3**0.5


def skewed(rng: np.random.Generator, prompts: int, systems: int) -> Table:
    return rng.exponential(size=(prompts, systems)) - 1


def first_varies(rng: np.random.Generator, prompts: int, systems: int) -> Table:
    """The first two systems vary three times as much as the others."""
    return rng.normal(size=(prompts, systems)) * np.where(np.arange(systems) < 2, 1.5, 0.5)


def spread_out(rng: np.random.Generator, prompts: int, systems: int) -> Table:
    """Standard deviations from 0.2 to 2."""
    return rng.normal(size=(prompts, systems)) * np.geomspace(0.2, 2, systems)


def families(rng: np.random.Generator, prompts: int, systems: int) -> Table:
    """Two families, every second system in one; what a family shares is 0.9 of the variance."""
    shared = rng.normal(size=(prompts, 2))[:, np.arange(systems) % 2]
    return 0.9**0.5 * shared + 0.1**0.5 * rng.normal(size=(prompts, systems))


def one_large(rng: np.random.Generator, prompts: int, systems: int) -> Table:
    """One prompt's residuals are ten times as large."""
    return rng.normal(size=(prompts, systems)) * np.where(np.arange(prompts) < 1, 10, 1)[:, None]


@dataclass(frozen=True)
class Case:
    """A number of systems and prompts with true means, residuals and a scale.

    `ordinal`: scores are whole numbers from 1 to 5, cut there, around this value.
    """

    means: tuple[float, ...]
    prompts: int
    residuals: Draw = normal
    ordinal: float | None = None

    def board(self, rng: np.random.Generator) -> Table:
        """Scores `(prompts, systems)`; a prompt's difficulty moves all of them."""
        scores = np.array(self.means) + self.residuals(rng, self.prompts, len(self.means))
        scores += rng.normal(size=(self.prompts, 1))
        if self.ordinal is not None:
            scores = np.clip(np.round(scores + self.ordinal), 1, 5)
        return scores


def board_of(scores: Table, judges: JudgeSample | None = None, **options: Any) -> Leaderboard:
    """The product's ranking of systems `s00`, `s01`, … from scores `(prompts, systems)`; `options`
    as of `rank_systems`."""
    prompts, systems = scores.shape
    return rank_systems(
        [f"s{i:02}" for i in range(systems)] * prompts,
        [f"p{i:04}" for i in range(prompts) for _ in range(systems)],
        scores.ravel(),
        np.empty((scores.size, 0)),
        [],
        judges=judges,
        **options,
    )


def claims_of(board: Leaderboard, means: Table) -> dict[str, tuple[bool, bool]]:
    """What a ranking claims, and whether it is false."""
    names = [f"s{i:02}" for i in range(len(means))]
    mean = dict(zip(names, means, strict=True))
    best = [name for name in names if mean[name] == means.max()]
    named = None if board.winner is None else board.winner.system
    shown = [each for each in board.differences if each.shown]
    wrong = [each for each in shown if (mean[each.a] - mean[each.b]) * each.value <= 0]
    ranges = {each.system: (each.rank_low, each.rank_high) for each in board.systems}
    outside = False
    for name, (low, high) in ranges.items():
        if low is not None and high is not None:
            above = sum(other > mean[name] for other in means)
            tied = sum(other == mean[name] for other in means)
            outside |= low > 1 + above or high < above + tied
    places = board.ranked[: verified_places(board.ranked, board.differences)]
    order = [mean[name] for name in places]
    left = [mean[name] for name in names if name not in places]
    ordered = all(a > b for a, b in pairwise(order))
    verified = not order or (ordered and all(order[-1] > each for each in left))
    return {
        "named": (named is not None and best == [named], named is not None and best != [named]),
        "places": (bool(places), not verified),
        "pairs": (bool(shown), bool(wrong)),
        "ranges": (any(low == high for low, high in ranges.values()), outside),
    }


def compared(scores: Table, means: Table) -> dict[str, tuple[bool, bool]]:
    """What the tests for comparison claim, and whether it is false."""
    prompts, systems = scores.shape
    first, second = np.argsort(-scores.mean(axis=0))[:2]
    gaps = scores[:, [first]] - np.delete(scores, first, axis=1)
    paired = stats.ttest_1samp(gaps, 0).pvalue.max()
    rest = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
    df = (prompts - 1) * (systems - 1)
    error = (2 * (rest**2).sum() / df / prompts) ** 0.5
    lead = scores[:, first].mean() - scores[:, second].mean()
    pooled = 2 * stats.t.sf(lead / error, df)
    pairs = list(combinations(range(systems), 2))
    p = stats.ttest_1samp(np.column_stack([scores[:, a] - scores[:, b] for a, b in pairs]), 0)
    order = np.argsort(p.pvalue)
    steps = p.pvalue[order] * np.arange(len(pairs), 0, -1)
    adjusted = np.empty(len(pairs))
    adjusted[order] = np.maximum.accumulate(steps)
    own = max(p for p, pair in zip(adjusted, pairs, strict=True) if first in pair)
    best = means[first] == means.max() and (means == means.max()).sum() == 1
    claims = {"Holm": own, "paired t": paired, "pooled t": pooled}
    return {name: (best and p < LEVEL, not best and p < LEVEL) for name, p in claims.items()}


def shares(case: Case, boards: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """The share of boards with each claim, true of `named` and the tests, and with a false one."""
    rng = np.random.default_rng([seed, case.prompts, len(case.means)])
    means, total = np.array(case.means), dict[str, np.ndarray]()
    for _ in range(boards):
        scores = case.board(rng)
        with np.errstate(all="ignore"):
            claims = claims_of(board_of(scores), means) | compared(scores, means)
        for name, claim in claims.items():
            total[name] = total.get(name, np.zeros(2)) + claim
    return {name: tuple(sums / boards) for name, sums in total.items()}


def lead(systems: int, by: float) -> tuple[float, ...]:
    return (by, *[0.0] * (systems - 1))


def tied(systems: int) -> tuple[float, ...]:
    """Two at the top, the others far below and far apart."""
    return (0.0, 0.0, *(-FAR * place for place in range(1, systems - 1)))


def in_pairs(pairs: int) -> tuple[float, ...]:
    return tuple(-FAR * pair for pair in range(pairs) for _ in range(2))


POWER = {
    (systems, prompts, by): Case(lead(systems, by), prompts)
    for systems, prompts, by in (
        (3, 12, 0.8), (5, 12, 0.8), (5, 12, 0), (5, 24, 0.8), (5, 48, 0.8), (10, 24, 0.8),
        (10, 24, 0),
    )
}  # fmt: skip


def errors() -> Mapping[str, Case]:
    """The cases in which nothing is to be named."""
    cases = {}
    for residuals in (normal, heavy_tails, skewed, first_varies, spread_out, families, one_large):
        for prompts in (2, 3, 5, 12, 48):
            what = f"{residuals.__name__}, {prompts} prompts"
            cases[f"all equal, {what}"] = Case(lead(5, 0), prompts, residuals)
            cases[f"two tied, {what}"] = Case(tied(5), prompts, residuals)
    for prompts in (5, 12):
        cases[f"three tied, normal, {prompts} prompts"] = Case((0, 0, 0, -FAR, -FAR), prompts)
        cases[f"three pairs tied, normal, {prompts} prompts"] = Case(in_pairs(3), prompts)
        for middle in (3.0, 5.0):
            what = f"points 1 to 5 around {middle:g}, {prompts} prompts"
            cases[f"all equal, {what}"] = Case(lead(5, 0), prompts, ordinal=middle)
            cases[f"two tied, {what}"] = Case((0, 0, -2, -2, -2), prompts, ordinal=middle)
    return cases


CLAIMS = {
    "named": "a system is the best",
    "places": "the first places",
    "pairs": "two systems differ",
    "ranges": "rank intervals",
}


def rows(boards: int) -> Iterator[Row]:
    """Yield in how many boards each claim errs, and in how many the best is named."""
    power = [shares(case, boards) for key, case in POWER.items() if key[2]]
    found = [shares(case, boards) for case in errors().values()]
    for claim, label in CLAIMS.items():
        powers = ()
        if claim == "named":
            powers = tuple((own["named"][0], own["paired t"][0]) for own in power)
        yield Row(label, "boards", tuple(own[claim][1] for own in found), boards, powers)
