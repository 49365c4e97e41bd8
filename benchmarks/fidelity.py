"""How often the intervals of `fidelity` cover, and how often its verdicts are wrong.

People are drawn in two groups: an item's level, a difference between the groups that varies by
item, a severity of each rater and noise, rounded to two values or to five. Designs: a `crowd` in
which ten of 150 people rate the same ten of 150 items; a `survey` of 200 items with nine of 100
raters each; a `study` of 40 items with eight of 30 raters each; two groups of ten and of five who
rated all of 50 items, and of ten who rated ten. The true difference is computed from two million
draws.

Coverage: of the interval of people's difference, which adds variances over items and raters less
what both count (A. C. Cameron, J. B. Gelbach & D. L. Miller 2011); and for comparison of the
pigeonhole bootstrap (A. B. Owen 2007).

Verdicts: panels whose true ratio is known. `people` is a rating of another person of the group for
each item and persona; `half` are half of the people, the other half being the people; the others
are models whose difference is so many times people's, varies by item as theirs does and by model.

With prompts: `benchmarks.fidelity_prompts`.

    python -m benchmarks.fidelity                  1,000 simulations a cell
    python -m benchmarks.fidelity --scale 0.1      a look
    python -m benchmarks.fidelity --part coverage
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks.harness import simulated_cells, simulation_parser
from persona_panel.statistics.core.arrays import Array, Mask
from persona_panel.statistics.group_fidelity import (
    VERDICTS,
    PairedGroupDifference,
    difference_by_model,
    fidelity_contrast,
    group_difference,
)

SIMULATIONS = 1000
BOOTSTRAPS = 200
LEVEL = 0.05
ALLOWED = 4
"""Standard errors of a simulated share above `LEVEL` from which a cell counts as missed."""


class Design(NamedTuple):
    """How many items and raters of each group there are, and how many rate an item (0, all)."""

    items: int
    a: int
    b: int
    each: int
    in_batches: bool = False


DESIGNS = {
    "crowd": Design(150, 80, 70, 10, in_batches=True),
    "survey": Design(200, 60, 40, 9),
    "study": Design(40, 15, 15, 8),
    "ten and ten": Design(50, 10, 10, 0),
    "five and five": Design(50, 5, 5, 0),
    "ten items": Design(10, 10, 10, 0),
}


class Spread(NamedTuple):
    """Standard deviations: of items, of the group's difference over items, of raters' severity, of
    noise."""

    items: float
    by_item: float
    raters: float
    noise: float


SPREADS = {"mild raters": Spread(0.6, 0.3, 0.3, 0.9), "severe raters": Spread(0.6, 0.3, 0.8, 0.6)}
SCALES = ("0 to 1", "1 to 5")
SHIFT = -0.45


def rounded(levels: Array, scale: str) -> Array:
    """Levels as ratings."""
    if scale == "0 to 1":
        return (levels > 0.3).astype(np.float64)
    return np.clip(np.round(2.5 + levels), 1, 5)


@cache
def true_difference(spread: Spread, scale: str) -> float:
    """The expected difference of two people of either group on one item."""
    rng = np.random.default_rng(9)
    total = math.hypot(spread.items, spread.raters, spread.noise)
    levels = rng.normal(size=2_000_000)
    a = SHIFT + math.hypot(total, spread.by_item) * levels
    return float(rounded(a, scale).mean() - rounded(total * levels, scale).mean())


def who_rates(design: Design, rng: np.random.Generator) -> Mask:
    """Which rater rates which item `(items, raters)`, group A's raters first."""
    n = design.a + design.b
    there = np.ones((design.items, n), dtype=bool)
    if design.each:
        there[:] = False
        step = 10 if design.in_batches else 1
        order = rng.permutation(n)
        for batch, start in enumerate(range(0, design.items, step)):
            chosen = (
                order[(batch * design.each + np.arange(design.each)) % n]
                if design.in_batches
                else rng.choice(n, design.each, replace=False)
            )
            there[start : start + step, chosen] = True
    return there


@dataclass(frozen=True, slots=True)
class Drawn:
    """People's ratings by group, and the items' levels and differences."""

    a: Array
    b: Array
    level: Array
    shift: Array


def drawn(design: Design, spread: Spread, scale: str, rng: np.random.Generator) -> Drawn:
    """People's ratings of one simulation."""
    there = who_rates(design, rng)
    n = there.shape[1]
    level = spread.items * rng.normal(size=(design.items, 1))
    shift = SHIFT + spread.by_item * rng.normal(size=(design.items, 1))
    in_a = np.arange(n) < design.a
    levels = level + shift * in_a + spread.raters * rng.normal(size=(1, n))
    levels = levels + spread.noise * rng.normal(size=there.shape)
    ratings = np.where(there, rounded(levels, scale), np.nan)
    return Drawn(ratings[:, in_a], ratings[:, ~in_a], level, shift)


# Coverage


def pigeonhole(a: Array, b: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Percentiles of differences with items and raters drawn again, independently."""
    found = []
    there = [~np.isnan(side) for side in (a, b)]
    values = [np.nan_to_num(side) for side in (a, b)]
    for _ in range(BOOTSTRAPS):
        items = rng.multinomial(len(a), np.full(len(a), 1 / len(a)))
        means, rated = [], items > 0
        for side, where in zip(values, there, strict=True):
            n = side.shape[1]
            weights = rng.multinomial(n, np.full(n, 1 / n))
            counts = where @ weights
            rated = rated & (counts > 0)
            means.append(np.divide(side @ weights, counts, where=counts > 0, out=np.zeros(len(a))))
        found.append(np.sum(((means[0] - means[1]) * items)[rated]) / items[rated].sum())
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Covered:
    design: str
    spread: str
    scale: str


def coverage(cell: Covered, simulations: int) -> dict[str, tuple[float, float]]:
    """Of each interval the share that holds the true difference, and its mean half-width."""
    rng = np.random.default_rng(
        [1, *map(len, (cell.design, cell.spread)), SCALES.index(cell.scale)]
    )
    design, spread = DESIGNS[cell.design], SPREADS[cell.spread]
    truth = true_difference(spread, cell.scale)
    held: Counter[str] = Counter()
    width: Counter[str] = Counter()
    few = max(2, simulations // 10)
    for trial in range(simulations):
        people = drawn(design, spread, cell.scale, rng)
        found = group_difference(people.a, people.b)
        ends = {"two-way": found.interval()}
        if trial < few:
            ends["pigeonhole"] = pigeonhole(people.a, people.b, rng)
        for name, (low, high) in ends.items():
            held[name] += low <= truth <= high
            width[name] += (high - low) / 2
    n = {"two-way": simulations, "pigeonhole": few}
    return {name: (held[name] / n[name], width[name] / n[name]) for name in n}


# Verdicts


@dataclass(frozen=True, slots=True)
class Judged:
    """A cell: what the panel is, and of how many models."""

    design: str
    scale: str
    panel: str
    models: int
    contrasts: int = 1


def panel_difference(
    cell: Judged, people: Drawn, rng: np.random.Generator
) -> tuple[PairedGroupDifference, PairedGroupDifference]:
    """People's and the panel's difference of one simulation."""
    spread = SPREADS["mild raters"]
    if cell.panel == "half":
        ours = people.a[:, ::2], people.b[:, ::2]
        theirs = group_difference(people.a[:, 1::2], people.b[:, 1::2])
        panel = group_difference(*ours, theirs.signs)
        return group_difference(people.a[:, 1::2], people.b[:, 1::2], panel.signs), panel
    theirs = group_difference(people.a, people.b)
    if cell.panel == "people":
        shape = (len(people.a), 1)
        noise = math.hypot(spread.raters, spread.noise)
        a = rounded(people.level + people.shift + noise * rng.normal(size=shape), cell.scale)
        b = rounded(people.level + noise * rng.normal(size=shape), cell.scale)
        return theirs, group_difference(a, b, theirs.signs, sampled=False)
    ratio = float(cell.panel)
    truth = true_difference(spread, cell.scale)
    # As far as people's own difference varies over items, in points.
    by_item = truth * people.shift / SHIFT
    model = 0.0 if cell.models == 1 else 0.25
    of_model = ratio + model * rng.normal(size=(1, cell.models))
    noise = 0.3 * rng.normal(size=(len(people.a), cell.models))
    return theirs, difference_by_model(of_model * by_item + noise, theirs.signs)


def verdicts(cell: Judged, simulations: int) -> Counter[str]:
    """How often each verdict is given; of several contrasts, how often one of them has it."""
    rng = np.random.default_rng([2, len(cell.design), len(cell.panel), cell.models])
    found: Counter[str] = Counter()
    for _ in range(simulations):
        given = set()
        for _ in range(cell.contrasts):
            people = drawn(DESIGNS[cell.design], SPREADS["mild raters"], cell.scale, rng)
            theirs, panel = panel_difference(cell, people, rng)
            row = fidelity_contrast("a-b", theirs, panel, n_tests=cell.contrasts)
            given.add(row.verdict)
        found.update(given)
    return found


WRONG = {
    "people": ("exaggerated", "caricature", "flattened", "reversed"),
    "half": ("exaggerated", "caricature", "flattened", "reversed"),
    "1": ("exaggerated", "caricature", "flattened", "reversed"),
    "2": ("caricature", "as people", "flattened", "reversed"),
    "0.5": ("exaggerated", "caricature", "flattened", "as people", "reversed"),
    "0": ("exaggerated", "caricature", "as people", "reversed"),
    "3": ("as people", "flattened", "reversed"),
    "-1": ("as people", "exaggerated", "caricature"),
}
"""Claims that are false of a panel; of a ratio of 2, and of 0.5, `as people` is false of any ratio
beyond, and so counts."""


def _coverage(simulations: int, jobs: int) -> int:
    cells = [Covered(*names) for names in product(DESIGNS, SPREADS, SCALES)]
    missed = 0
    print(f"coverage and half-width of 95 % intervals, {simulations:,} simulations a cell")
    measured = partial(coverage, simulations=simulations)
    for cell, found in simulated_cells(measured, cells, jobs):
        share = found["two-way"][0]
        error = math.sqrt(LEVEL * (1 - LEVEL) / simulations)
        missed += share < 1 - LEVEL - ALLOWED * error
        told = "; ".join(f"{name} {held:.3f} ({half:.3f})" for name, (held, half) in found.items())
        print(f"{cell.design:14} {cell.spread:14} {cell.scale:7} {told}", flush=True)
    return missed


def _verdicts(simulations: int, jobs: int) -> int:
    cells = [
        Judged(design, scale, panel, models)
        for design, scale in (("crowd", "1 to 5"), ("survey", "1 to 5"), ("survey", "0 to 1"))
        for panel, models in (
            ("people", 1), ("half", 1), ("1", 1), ("1", 3), ("0", 1), ("0.5", 1),
            ("2", 1), ("2", 3), ("3", 1), ("3", 3), ("-1", 1),
        )
        if scale == "1 to 5" or models == 1
    ] + [Judged("survey", "1 to 5", "people", 1, 4)]  # fmt: skip
    missed = 0
    print(f"share of verdicts, {simulations:,} simulations a cell")
    measured = partial(verdicts, simulations=simulations)
    for cell, found in simulated_cells(measured, cells, jobs):
        wrong = sum(found[name] for name in WRONG[cell.panel]) / simulations
        holds = wrong <= LEVEL + ALLOWED * math.sqrt(LEVEL * (1 - LEVEL) / simulations)
        missed += not holds
        told = ", ".join(f"{name} {found[name] / simulations:.3f}" for name in VERDICTS)
        of = f"{cell.panel}, {cell.models} models, {cell.contrasts} contrasts"
        print(
            f"{cell.design:8} {cell.scale:7} {of:30} wrong {wrong:.3f}: {told}"
            f"{'' if holds else '  <- outside'}",
            flush=True,
        )
    return missed


def main() -> int:
    """Print each cell; the exit status is 1 where one is outside of what is allowed."""
    parser = simulation_parser(__doc__, SIMULATIONS, jobs=True)
    parser.add_argument("--part", choices=("coverage", "verdicts"), help="one of these")
    options = parser.parse_args()
    missed = 0
    for part, run in (("coverage", _coverage), ("verdicts", _verdicts)):
        if options.part in (None, part):
            missed += run(options.simulations, options.jobs)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
