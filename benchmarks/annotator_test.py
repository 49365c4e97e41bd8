"""How often the alternative annotator test errs, and the interval of the advantage ρ covers.

People are drawn alike: an item's quality, a part that all items of a prompt share, a part that each
rater sees in all items of a prompt, and noise; in whole scores from 1 to 5, or in three labels. The
judge has as much more noise as puts each human ahead by exactly ε: so no win is true, and at most
5 % of the tables may have one (Benjamini and Yekutieli keep the share of false wins, which is 1
where all are false). The interval of ρ is to hold what many more prompts give; a requirement that ρ
be at least, or at most, what it is in truth is met where the interval lies on one side of that
(`met`). `before` takes items as independent, as the published test does.

    python -m benchmarks.annotator_test                1,000 simulations a cell
    python -m benchmarks.annotator_test --scale 0.1    a look
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from benchmarks.harness import simulated_cells, simulation_parser
from persona_panel.statistics.annotators import (
    AlignmentScore,
    annotator_test,
)
from persona_panel.statistics.core.arrays import Array, unit_weights
from persona_panel.statistics.core.jackknife import jackknife

SIMULATIONS = 1000
PEOPLE = (3, 6)
PROMPTS = (8, 12, 30, 100)
SCORES: tuple[AlignmentScore, ...] = ("neg_rmse", "accuracy")
RESPONSES = 4
EPSILON = 0.15
FALSE = 0.05
MANY = 20_000


@dataclass(frozen=True, slots=True)
class Cell:
    score: AlignmentScore
    people: int
    prompts: int
    gaps: bool
    simulations: int

    @property
    def responses(self) -> int:
        """To a prompt: four, or as many as make 36 items, of which with gaps people rate 30."""
        return max(RESPONSES, math.ceil((50 if self.gaps else 36) / self.prompts))


def drawn(rng: np.random.Generator, cell: Cell, prompts: int, noise: float) -> Array:
    """Ratings by the judge, then by people `(items, raters)`."""
    n = cell.people + 1
    shape = prompts, cell.responses
    quality = rng.normal(size=shape) + 0.7 * rng.normal(size=(prompts, 1))
    seen = 0.6 * rng.normal(size=(prompts, 1, n))
    own = np.r_[noise, np.ones(cell.people)]
    raw = quality[:, :, None] + seen + own * rng.normal(size=(*shape, n))
    scores = (
        np.clip(np.round(3 + raw), 1, 5)
        if cell.score == "neg_rmse"
        else np.digitize(raw, (-0.6, 0.9))
    )
    ratings: Array = scores.reshape(-1, n).astype(np.float64)
    if cell.gaps:
        ratings[rng.random(ratings.shape) < 0.2] = np.nan
    return ratings


@cache
def at_the_bound(cell: Cell) -> tuple[float, float]:
    """The judge's noise with which people are ahead by ε, and ρ there."""
    low, high, found = 0.5, 6.0, 0.0
    for _ in range(18):
        noise = (low + high) / 2
        ratings = drawn(np.random.default_rng(7), cell, MANY, noise)
        test = annotator_test(ratings[:, 0], ratings[:, 1:], score=cell.score, epsilon=EPSILON)
        ahead = np.mean([one.human_advantage - one.advantage for one in test.humans])
        found = test.advantage.value
        low, high = (noise, high) if ahead < EPSILON else (low, noise)
    return noise, found


def measured(cell: Cell) -> dict[str, float]:
    """Shares of the simulations: with any win, with ω ≥ 0.5, with any win before, and of the
    intervals of ρ that hold it, lie above it and lie below it."""
    noise, truth = at_the_bound(cell)
    rng = np.random.default_rng([cell.people, cell.prompts, cell.gaps, SCORES.index(cell.score)])
    labels = np.repeat(np.arange(cell.prompts), cell.responses)
    won, passed, before, covered, above, below = [], [], [], [], [], []
    for _ in range(cell.simulations):
        ratings = drawn(rng, cell, cell.prompts, noise)
        sides = ratings[:, 0], ratings[:, 1:]
        test = annotator_test(*sides, score=cell.score, epsilon=EPSILON, clusters=labels)
        if test.winning_rate.reason:
            continue
        won.append(test.winning_rate.value > 0)
        passed.append(test.winning_rate.value >= 0.5)
        plain = annotator_test(*sides, score=cell.score, epsilon=EPSILON)
        before.append(plain.winning_rate.value > 0)
        resampled = test.advantage.resampled
        assert abs(float(resampled(unit_weights(len(labels)))[0]) - test.advantage.value) < 1e-9
        interval = jackknife(resampled, len(labels), labels, kind="share", limits=(0.0, 1.0))
        covered.append(interval.low <= truth <= interval.high)
        above.append(interval.low >= truth)
        below.append(interval.high <= truth)
    found = {"won": won, "passed": passed, "before": before, "covered": covered}
    found |= {"above": above, "below": below}
    return {"n": float(len(won)), **{name: float(np.mean(those)) for name, those in found.items()}}


def main() -> int:
    options = simulation_parser(__doc__, SIMULATIONS, jobs=True).parse_args()
    cells = [
        Cell(*sizes, options.simulations)
        for sizes in product(SCORES, PEOPLE, PROMPTS, (False, True))
    ]
    missed = 0
    for cell, found in simulated_cells(measured, cells, options.jobs):
        n = found["n"]
        holds = found["won"] <= FALSE + 3 * math.sqrt(FALSE * (1 - FALSE) / n)
        holds &= abs(found["covered"] - 0.95) <= 0.02 + 3 * math.sqrt(0.95 * 0.05 / n)
        missed += not holds
        print(
            f"{cell.score}, {cell.people} people, {cell.prompts} prompts of {cell.responses}"
            f"{', gaps' if cell.gaps else ''}: any win {found['won']:.1%} (before "
            f"{found['before']:.1%}), omega >= 0.5 {found['passed']:.1%}, rho covered "
            f"{found['covered']:.3f}, met at its bound: at least {found['above']:.1%}, at most "
            f"{found['below']:.1%}, {n:.0f} tables{'' if holds else '  <- outside'}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
