"""How often the interval of a change of ρ, the advantage probability, holds what it is in truth.

`compare --human` says by how much one panel is more often than another at least as near to people
as a person is. People are drawn as in `benchmarks.annotator_test`: an item's quality, a part that
all items of a prompt share, a part that each rater sees in all items of a prompt, and noise, in
whole scores from 1 to 5: three people, or six with a fifth of all ratings missing. Panels are

- `alike`: two draws of one kind, whose ρ is the same;
- `nearly`: the second has nine scores of ten of the first, and the others drawn anew;
- `apart`: the second is noisier;
- `stricter`: the second gives a point less;
- `unequal`: alike, and the first prompt has ten times as many items as each of the others.

Of `alike`, `nearly` and `unequal` the truth is 0, and a p-value below 0.05 is a false claim.

    python -m benchmarks.compared_advantages                1,000 simulations a cell
    python -m benchmarks.compared_advantages --scale 0.2    a look
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from benchmarks.harness import simulated_cells, simulation_parser
from persona_panel.statistics.annotators import annotator_test, compared_advantages
from persona_panel.statistics.core.arrays import Array, IntArray

SIMULATIONS = 1000
KINDS = ("alike", "nearly", "apart", "stricter", "unequal")
SAME = ("alike", "nearly", "unequal")
PEOPLE = ((3, False), (6, True))
"""How many people, and whether a fifth of all ratings is missing."""
PROMPTS = (5, 8, 12, 30, 100)
RESPONSES = 4
MANY = 20_000


@dataclass(frozen=True, slots=True)
class Cell:
    kind: str
    people: int
    prompts: int
    gaps: bool
    simulations: int

    def sizes(self, prompts: int) -> IntArray:
        """How many items each prompt has: enough for people to have 30 that others rated, too."""
        few = max(RESPONSES, math.ceil((80 if self.gaps else 36) / self.prompts))
        found = np.full(prompts, few)
        if self.kind == "unequal":
            found[:] = max(3, few // 3)
            found[:: self.prompts] *= 10
        return found


def drawn(rng: np.random.Generator, cell: Cell, prompts: int) -> tuple[Array, Array, IntArray]:
    """Ratings by two panels `(items, 2)` and by people, and each item's prompt."""
    labels = np.repeat(np.arange(prompts), cell.sizes(prompts))
    n, raters = len(labels), cell.people + 2
    quality = rng.normal(size=n) + 0.7 * rng.normal(size=prompts)[labels]
    seen = 0.6 * rng.normal(size=(prompts, raters))[labels]
    own = np.ones(raters)
    own[1] = 1.6 if cell.kind == "apart" else 1.0
    raw = quality[:, None] + seen + own * rng.normal(size=(n, raters))
    if cell.kind == "nearly":
        raw[:, 1] = np.where(rng.random(n) < 0.9, raw[:, 0], raw[:, 1])
    if cell.kind == "stricter":
        raw[:, 1] -= 1
    ratings = np.clip(np.round(3 + raw), 1, 5)
    if cell.gaps:
        ratings[rng.random(ratings.shape) < 0.2] = np.nan
    return ratings[:, :2], ratings[:, 2:], labels


@cache
def truth_of(cell: Cell) -> float:
    """The change of ρ in many more prompts."""
    if cell.kind in SAME:
        return 0.0
    panels, people, _ = drawn(np.random.default_rng(7), cell, MANY)
    panels[np.isnan(panels).any(axis=1)] = np.nan
    a, b = (
        annotator_test(side, people, score="neg_rmse", epsilon=0.0).advantage.value
        for side in panels.T
    )
    return b - a


def measured(cell: Cell) -> dict[str, float]:
    """Shares of the simulations that have an interval: that hold the truth, and with p < 0.05."""
    truth = truth_of(cell)
    rng = np.random.default_rng([KINDS.index(cell.kind), cell.people, cell.prompts, cell.gaps])
    covered, claimed = [], []
    for _ in range(cell.simulations):
        panels, people, labels = drawn(rng, cell, cell.prompts)
        found = compared_advantages(*panels.T, people, labels.tolist()).difference
        if found.reason is None and found.ci_reason is None:
            covered.append(found.low <= truth <= found.high)
            claimed.append(found.p < 0.05)
    return {
        "truth": truth,
        "n": float(len(covered)),
        "covered": float(np.mean(covered)),
        "claimed": float(np.mean(claimed)),
    }


def main() -> int:
    options = simulation_parser(__doc__, SIMULATIONS, jobs=True).parse_args()
    cells = [
        Cell(kind, people, prompts, gaps, options.simulations)
        for kind, (people, gaps), prompts in product(KINDS, PEOPLE, PROMPTS)
    ]
    missed = 0
    for cell, found in simulated_cells(measured, cells, options.jobs):
        error = math.sqrt(0.95 * 0.05 / found["n"])
        holds = found["covered"] >= 0.93 - 3 * error
        holds &= cell.kind not in SAME or found["claimed"] <= 0.05 + 3 * error
        missed += not holds
        print(
            f"{cell.kind}, {cell.people} people, {cell.prompts} prompts"
            f"{', gaps' if cell.gaps else ''}: change of rho {found['truth']:.3f}, covered "
            f"{found['covered']:.3f}, p < 0.05 in {found['claimed']:.1%}, {found['n']:.0f} "
            f"tables{'' if holds else '  <- outside'}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
