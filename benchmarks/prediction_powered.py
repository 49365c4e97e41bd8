"""How often intervals of means corrected by people's ratings cover, and how wide they are.

Three systems answer each prompt. What people would give on average to a response is a system's
quality, a prompt's difficulty and its own; several people rate a part of the prompts, each with
noise. The panel's score correlates with people's by `r`, is shifted by two points and uses two
thirds of their scale; it favours the first system by one more. The true value is the mean over all
such prompts of what people would give. `met` is how often a requirement that the corrected value be
at least, or at most, the true one is met: the interval lies on one side of it.

Kinds: `plain`; `gaps`, whole ratings from 1 to 5, a tenth of the panel's scores missing, and of a
rated prompt each system's response is rated in 80 %, by one to four people; `uneven`, two or three
responses of a system to a prompt, of which people rate one or more; `skewed`, most responses are
good and some very bad; `chosen`, single responses are rated, as `select` draws them: as many of
each system, with probabilities that go with the judges' variance, where the panel's noise differs
between responses; of few values, one person without noise a response: `labels`, a share of 0.3, and
the panel, which knows people's label as often as the agreement says, calls a fifth of the first
system's others by it, too; `points`, 1, 2 or 3, mostly 3, the panel missing 40 % of the first
system's faults; `rare`, 9 but 2 in 5 %, each side with noise of half a point. Of these all systems
are equal.

    python -m benchmarks.prediction_powered                1,000 simulations a cell
    python -m benchmarks.prediction_powered --scale 0.1    a look
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple, get_args

import numpy as np

from benchmarks.harness import simulated_cells, simulation_parser
from persona_panel.statistics.calibration import CorrectedMean, RatedPart, corrected_mean
from persona_panel.statistics.core.arrays import Array, row_means
from persona_panel.statistics.selection import inclusion_probabilities, systematic_sample

SIMULATIONS = 1000
Kind = Literal["plain", "gaps", "uneven", "skewed", "chosen", "labels", "points", "rare"]
FEW_VALUES: dict[Kind, dict[float, float]] = {
    "labels": {0: 0.7, 1: 0.3},
    "points": {1: 0.1, 2: 0.15, 3: 0.75},
    "rare": {2: 0.05, 9: 0.95},
}
"""Of each value its share."""
RATED = (8, 12, 30, 100)
LIMITS = {"labels": (0.0, 1.0), "points": (1.0, 3.0)}
"""The ends of the scale of people's ratings."""
AGREEMENT = (0.0, 0.5, 0.9)
AGREEMENT_OF_FEW_VALUES = (0.5, 0.9, 1.0)
PROMPTS = 200
PEOPLE = 4
MANY = 200_000
QUALITY = (0.0, 0.3, -0.4)


@dataclass(frozen=True, slots=True)
class Cell:
    kind: Kind
    rated: int
    agreement: float
    prompts: int
    simulations: int


class Drawn(NamedTuple):
    """Of one system `(items,)`: the panel's scores, people's means, prompts, probabilities."""

    panel: Array
    human: Array
    prompts: Array
    inclusion: Array


def drawn(rng: np.random.Generator, cell: Cell) -> list[Drawn]:
    """The ratings of each system."""
    if cell.kind in FEW_VALUES:
        return drawn_of_few_values(rng, cell)
    n = cell.prompts
    difficulty = rng.normal(0, 0.6, n)
    is_rated = np.zeros(n, dtype=bool)
    # Where some of it is missing, so many more that about as many are left.
    n_rated = round(cell.rated / (0.8 * 0.9)) + 1 if cell.kind == "gaps" else cell.rated
    is_rated[rng.permutation(n)[:n_rated]] = True
    found = []
    order, start = rng.permutation(n), float(rng.random())
    for system, quality in enumerate(QUALITY):
        sizes = rng.integers(2, 4, n) if cell.kind == "uneven" else np.ones(n, dtype=int)
        prompts = np.repeat(np.arange(n), sizes)
        own = rng.normal(0, 1, len(prompts))
        if cell.kind == "skewed":
            own = 1 - rng.exponential(1, len(prompts))
        truth = 3 + quality + difficulty[prompts] + own
        people = truth[:, None] + rng.normal(0, 0.8, (len(prompts), PEOPLE))
        a = cell.agreement
        level = np.exp(rng.normal(0, 0.5, len(prompts))) if cell.kind == "chosen" else 1.0
        noise = level * rng.normal(0, 1.2, len(prompts))
        seen = a * (truth - 3 - quality) + math.sqrt(1 - a**2) * noise
        panel = 5 + (system == 0) + quality + seen * 2 / 3
        asked = np.full(people.shape, True)
        chance = np.ones(len(prompts))
        if cell.kind == "gaps":
            people = np.clip(np.round(people), 1, 5)
            asked = np.arange(PEOPLE) < rng.integers(1, PEOPLE + 1, (len(prompts), 1))
            asked &= rng.random((len(prompts), 1)) < 0.8
            panel = np.where(rng.random(len(panel)) < 0.1, np.nan, np.round(panel))
        if cell.kind == "uneven":
            first = np.r_[True, prompts[1:] != prompts[:-1]]
            asked &= (first | (rng.random(len(prompts)) < 0.5))[:, None]
        rated = is_rated[prompts]
        if cell.kind == "chosen":
            variances = level**2 * rng.chisquare(4, n) / 4
            relative = np.sqrt((variances / variances.mean() + 1) / 2)
            chance = inclusion_probabilities(relative, cell.rated)
            rated = np.zeros(n, dtype=bool)
            rated[order] = systematic_sample(chance[order], start)
        human = row_means(np.where(asked & rated[:, None], people, np.nan))
        found.append(Drawn(panel, human, prompts.astype(np.float64), chance))
    return found


def drawn_of_few_values(rng: np.random.Generator, cell: Cell) -> list[Drawn]:
    """The ratings of each system, on the same prompts, of `FEW_VALUES`."""
    n = cell.prompts
    values, shares = (list(side) for side in zip(*FEW_VALUES[cell.kind].items(), strict=True))
    rated = np.isin(np.arange(n), rng.choice(n, cell.rated, replace=False))
    found = []
    for system in range(len(QUALITY)):
        human = rng.choice(values, n, p=shares)
        known = rng.random(n) < cell.agreement
        panel = np.where(known, human, rng.choice(values, n, p=shares))
        if system == 0 and cell.kind != "rare":
            wrong = rng.random(n) < (0.2 if cell.kind == "labels" else 0.4)
            panel = np.where(wrong, max(values), panel)
        if cell.kind == "rare":
            human, panel = (
                np.clip(np.round(side + 0.5 * rng.normal(size=n)), 1, 10) for side in (human, panel)
            )
        found.append(
            Drawn(panel, np.where(rated, human, np.nan), np.arange(n, dtype=float), np.ones(n))
        )
    return found


def truths(kind: Kind) -> list[float]:
    """What people would give to each system, on average over many prompts."""
    if kind in FEW_VALUES:
        mean = sum(value * share for value, share in FEW_VALUES[kind].items())
        return [mean] * len(QUALITY)
    cell = Cell(kind, MANY, 0.5, MANY, 1)
    if kind in ("skewed", "chosen", "plain"):
        return [3 + quality for quality in QUALITY]
    found = drawn(np.random.default_rng(5), cell)
    return [
        float(np.nanmean([np.nanmean(one.human)])) if kind == "gaps" else 3 + quality
        for one, quality in zip(found, QUALITY, strict=True)
    ]


def measured(cell: Cell) -> dict[str, float]:
    """Coverage, bias and width of people's and of corrected intervals."""
    truth = truths(cell.kind)
    rng = np.random.default_rng(
        [cell.rated, round(10 * cell.agreement), get_args(Kind).index(cell.kind)]
    )
    sums: dict[str, list[float]] = {}

    def take(name: str, found: CorrectedMean, value: float) -> None:
        if found.human_only.reason is None:
            sums.setdefault(f"{name}, people", []).append(
                found.human_only.low <= value <= found.human_only.high
            )
        if found.corrected.reason is None:
            sums.setdefault(name, []).append(found.corrected.low <= value <= found.corrected.high)
            sums.setdefault(f"{name}, at least", []).append(found.corrected.low >= value)
            sums.setdefault(f"{name}, at most", []).append(found.corrected.high <= value)
            sums.setdefault(f"{name}, bias", []).append(found.corrected.value - value)
            sums.setdefault(f"{name}, width", []).append(
                found.corrected.width / found.human_only.width
            )

    for _ in range(cell.simulations):
        sides = [
            RatedPart.of(
                one.panel, one.human, one.prompts.tolist(),
                one.inclusion if cell.kind == "chosen" else None,
            )
            for one in drawn(rng, cell)[:2]
        ]  # fmt: skip
        for number in (0, 1):
            limits = LIMITS.get(cell.kind, (-math.inf, math.inf))
            found = corrected_mean(sides[number], limits=limits)
            take("mean", found, truth[number])
        take("difference", corrected_mean(*sides), truth[0] - truth[1])
    figures = {"n": float(len(sums.get("mean", [])))}
    for name, values in sums.items():
        figures[name] = float(np.mean(values))
        if name.endswith("width"):
            figures[f"{name}, 95 %"] = float(np.quantile(values, 0.95))
            figures[f"{name}, most"] = float(np.max(values))
        if name.endswith("bias"):
            figures[f"{name}, error"] = float(np.std(values)) / math.sqrt(len(values))
    return figures


def main() -> int:
    parser = simulation_parser(__doc__, SIMULATIONS, jobs=True)
    parser.add_argument("--kinds", nargs="*", choices=get_args(Kind), default=get_args(Kind))
    options = parser.parse_args()
    cells = [
        Cell(kind, rated, agreement, PROMPTS, options.simulations)
        for kind, rated in product(options.kinds, RATED)
        for agreement in (AGREEMENT_OF_FEW_VALUES if kind in FEW_VALUES else AGREEMENT)
    ]
    missed = 0
    for cell, found in simulated_cells(measured, cells, options.jobs):
        error = math.sqrt(0.95 * 0.05 / options.simulations)
        # Of few values people's own interval is wide, or short, as well.
        few = cell.kind in FEW_VALUES
        holds = all(
            min(0.93, found.get(f"{name}, people", 1.0) if few else 1.0) - 3 * error
            <= found.get(name, 0.95)
            <= (1.0 if few else 0.97 + 3 * error)
            for name in ("mean", "difference")
        )
        missed += not holds and cell.kind not in ("skewed", "rare")
        told = "; ".join(
            f"{name} {found[name]:.3f} (people {found[f'{name}, people']:.3f}), met: at least "
            f"{found[f'{name}, at least']:.1%}, at most {found[f'{name}, at most']:.1%}, bias "
            f"{found[f'{name}, bias']:+.3f} +- {found[f'{name}, bias, error']:.3f}, width "
            f"{found[f'{name}, width']:.2f}, 95 % {found[f'{name}, width, 95 %']:.2f}, at most "
            f"{found[f'{name}, width, most']:.2f}"
            for name in ("mean", "difference")
            if name in found
        )
        print(
            f"{cell.kind}, {cell.rated} rated, agreement {cell.agreement}: {told}"
            f"{'' if holds else '  <- outside'}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
