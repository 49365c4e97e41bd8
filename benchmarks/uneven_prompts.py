"""How often 95 % intervals miss where one or two prompts have most of the texts.

    python -m benchmarks.uneven_prompts                          100 tables a cell: a look
    nice -n 15 python -m benchmarks.uneven_prompts --scale 1     1,000, as in the documentation
    python -m benchmarks.uneven_prompts human strengths --prompts 12 --sizes one

Differences of two figures over the same texts: of a panel of one judge and one of three people, by
τ_b (`human`); of α with and without an added rater (`added`); of τ_b of judges with and without
personas (`personas`); of what judges give to their own family and others do (`self`); of τ_c after
and before deliberation (`change`). `alike`: nothing differs, so that the true value is 0; `unlike`:
the judges in question are noisier, favour their family, or deliberated, and the true value is the
mean over the tables. Raters differ in what they like from prompt to prompt.

`strengths`: four systems that are equal over prompts but not in each; `missed` is of their
strengths, `claims` the share of tables in which some two are said to differ.

Of the interval that is printed, and of two that are not, the share that misses and the median half
of the width: `plain` counts each prompt alike in the variance, `HC4` by its share of the texts,
both with Student's t over prompts, and `Kish` is plain with as many degrees of freedom as prompts
of one size would have that are worth as much. A printed one that misses in more than 7 %, or claims
in more than 5 %, by two Monte Carlo standard errors is marked, and the exit status is 1 then.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy import special

from benchmarks.harness import add_parts, simulation_parser
from persona_panel.analyses.bias import self_preference
from persona_panel.statistics.core.arrays import Array, IntArray, Resampled, row_means, unit_weights
from persona_panel.statistics.core.correlation import correlation
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.jackknife import jackknife, left_out_variance, left_out_weights
from persona_panel.statistics.core.significance import holm
from persona_panel.statistics.core.strengths import (
    LEAST_PROMPTS,
    DavidsonFit,
    WinCounts,
    bradley_terry,
)
from persona_panel.statistics.human_raters import human_difference
from persona_panel.statistics.reliability import krippendorff_alpha
from persona_panel.statistics.votes import correlation_gain

TABLES = 1_000
PROMPTS = (5, 12, 30)
SIZES: dict[str, Callable[[int], list[int]]] = {
    "even": lambda n: [4] * n,
    "one": lambda n: [40] + [3] * (n - 1),
    "two": lambda n: [40, 40] + [3] * (n - 2),
}
"""How many texts each prompt has."""
BY_PROMPT, TASTE, NOISE, NOISIER, FAVOUR = 0.7, 0.7, 1.2, 1.7, 0.5
MERIT, BY_TEXT, TIES = 0.7, 0.5, 0.1
SYSTEMS = ("a", "b", "c", "d")
MOST_MISSED = 0.07
ONE_KIND = {"change": (True,), "strengths": (False,)}
"""Deliberation that changes nothing is not measured, nor are unequal systems."""
FORMS = ("printed", "plain", "HC4", "Kish")


@dataclass(frozen=True, slots=True)
class Cell:
    """What is simulated; `labels` has each text's prompt."""

    figure: str
    prompts: int
    sizes: str
    unlike: bool

    @property
    def labels(self) -> IntArray:
        return np.arange(self.prompts).repeat(SIZES[self.sizes](self.prompts))

    @property
    def shares(self) -> Array:
        """Of the texts, each prompt's `(prompts,)`."""
        counts = np.bincount(self.labels)
        shares: Array = counts / counts.sum()
        return shares

    @property
    def rng(self) -> np.random.Generator:
        place = list(SIZES).index(self.sizes)
        return np.random.default_rng([self.prompts, place, self.unlike])


def rated(rng: np.random.Generator, labels: IntArray, noise: list[float]) -> Array:
    """Scores from 1 to 5 `(texts, raters)` by raters with so much noise each."""
    prompts, raters = labels.max() + 1, len(noise)
    quality = rng.normal(size=(len(labels), 1)) + BY_PROMPT * rng.normal(size=(prompts, 1))[labels]
    taste = TASTE * rng.normal(size=(prompts, raters))[labels]
    scores = 3 + quality + taste + noise * rng.normal(size=(len(labels), raters))
    return np.clip(np.round(scores), 1, 5)


def _noise(cell: Cell) -> float:
    """Of the judges in question."""
    return NOISE * (NOISIER if cell.unlike else 1)


def human(rng: np.random.Generator, cell: Cell) -> Resampled:
    """Three people and a judge."""
    scores = rated(rng, cell.labels, [NOISE] * 3 + [_noise(cell)])
    return human_difference(scores[:, 3:], scores[:, :3], "tau_b").panel.resampled


def added(rng: np.random.Generator, cell: Cell) -> Resampled:
    """Three people, and one rater added to them."""
    scores = rated(rng, cell.labels, [NOISE] * 3 + [_noise(cell)])
    with_it, without = (
        krippendorff_alpha(scores, "ordinal").resampled,
        krippendorff_alpha(scores[:, :3], "ordinal").resampled,
    )
    return lambda weights: with_it(weights) - without(weights)


def personas(rng: np.random.Generator, cell: Cell) -> Resampled:
    """Four judges with personas, four without, and five people."""
    scores = rated(rng, cell.labels, [_noise(cell)] * 4 + [NOISE] * 9)
    ours, plain, people = (row_means(side) for side in np.split(scores, [4, 8], axis=1))
    return correlation_gain(ours, plain, people, "tau_b").resampled


def own(rng: np.random.Generator, cell: Cell) -> Resampled:
    """Two families of three judges, each the author of half of the texts."""
    labels = cell.labels
    scores = rated(rng, labels, [NOISE] * 6)
    first = rng.random(len(labels)) < 0.5
    if cell.unlike:
        scores[first, :3] += FAVOUR
    authors = ["first" if each else "second" for each in first]
    return self_preference(scores, ["first"] * 3 + ["second"] * 3, authors)[0].resampled


def change(rng: np.random.Generator, cell: Cell) -> Resampled:
    """Five judges and five people; half of the judges move two fifths of the way to the mean."""
    before, people = np.split(rated(rng, cell.labels, [NOISE] * 10), [5], axis=1)
    toward = before + 0.4 * (before.mean(axis=1, keepdims=True) - before)
    moved = np.clip(np.round(toward + rng.normal(0, 0.5, before.shape)), 1, 5)
    after = np.where(rng.random(before.shape) < 0.5, moved, before)
    first, last = (
        correlation(row_means(side), row_means(people), "tau_c").resampled
        for side in (before, after)
    )
    return lambda weights: last(weights) - first(weights)


FIGURES: dict[str, Callable[[np.random.Generator, Cell], Resampled]] = {
    "human": human,
    "added": added,
    "personas": personas,
    "self": own,
    "change": change,
}


def reaches(left_out: Array, shares: Array) -> Array:
    """Half of the widths of the intervals that are not printed, `plain`, `HC4` and `Kish`, from
    what a figure is without each prompt."""
    n = len(shares)
    plain = math.sqrt(left_out_variance(left_out, np.full(n, 1 / n)))
    steep = math.sqrt(left_out_variance(left_out, shares))
    over_prompts, worth = special.stdtrit([n - 1, 1 / np.sum(shares**2) - 1], 0.975)
    return np.array([plain * over_prompts, steep * over_prompts, plain * worth])


def differences(cell: Cell, tables: int) -> bool:
    """Prints how often each form misses; whether what is printed does so seldom enough."""
    rng, labels, shares = cell.rng, cell.labels, cell.shares
    weights = np.concatenate([unit_weights(len(labels)), left_out_weights(labels, cell.prompts)])
    values, lows, highs = [], [], []
    for _ in range(tables):
        figure = FIGURES[cell.figure](rng, cell)
        value, *left_out = figure(weights).tolist()
        found = jackknife(figure, len(labels), labels.tolist(), kind="difference")
        if math.isnan(found.low) or np.isnan(left_out).any():
            continue
        reach = reaches(np.array(left_out), shares)
        values.append(value)
        lows.append([found.low, *value - reach])
        highs.append([found.high, *value + reach])
    low, high = np.array(lows), np.array(highs)
    true = np.mean(values) if cell.unlike else 0.0
    missed = ((low > true) | (high < true)).mean(axis=0)
    return _show(cell, len(values), missed, np.median(high - low, axis=0) / 2)


def compared(rng: np.random.Generator, cell: Cell) -> WinCounts:
    """A text of each system against one of each other."""
    labels, m = cell.labels, len(SYSTEMS)
    merit = MERIT * rng.normal(size=(cell.prompts, m))[labels]
    merit += BY_TEXT * rng.normal(size=merit.shape)
    wins, ties = np.zeros((2, cell.prompts, m, m))
    for a, b in combinations(range(m), 2):
        tied = rng.random(len(labels)) < TIES
        first = rng.random(len(labels)) < special.expit(merit[:, a] - merit[:, b])
        wins[:, a, b] = np.bincount(labels, first & ~tied, cell.prompts)
        wins[:, b, a] = np.bincount(labels, ~first & ~tied, cell.prompts)
        ties[:, a, b] = ties[:, b, a] = np.bincount(labels, tied, cell.prompts)
    return WinCounts(wins, ties)


def strengths(cell: Cell, tables: int) -> bool:
    """Prints how often each form misses a strength, and some two systems are said to differ."""
    rng, shares, m = cell.rng, cell.shares, len(SYSTEMS)
    dfs = np.array([cell.prompts - 1, cell.prompts - 1, 1 / np.sum(shares**2) - 1])
    first, second = np.triu_indices(m, 1)
    lows, highs, claims = [], [], np.zeros(len(FORMS))
    for _ in range(tables):
        counts = compared(rng, cell)
        found = bradley_terry(SYSTEMS, counts)
        fit = DavidsonFit.of(counts)
        without = fit.without_each(counts)[:, :m]
        value = fit.parameters[:-1]
        reach = np.array([reaches(each, shares) for each in without.T])
        apart = np.array([reaches(each, shares) for each in (without.T[first] - without.T[second])])
        errors = apart / special.stdtrit(dfs, 0.975)
        p_values = 2 * special.stdtr(dfs, -np.abs(value[first] - value[second])[:, None] / errors)
        claims[0] += any(each.p_adjusted < LEVEL for each in found.differences)
        claims[1:] += [(holm(each) < LEVEL).any() for each in p_values.T]
        by_system = {each.system: each for each in found.systems}
        printed = [by_system[name] for name in SYSTEMS]
        lows.append(
            np.column_stack([[each.strength.low for each in printed], value[:, None] - reach])
        )
        highs.append(
            np.column_stack([[each.strength.high for each in printed], value[:, None] + reach])
        )
    low, high = np.array(lows), np.array(highs)
    there = ~np.isnan(low).any(axis=(1, 2))
    # Where none is printed, the others say what it would have been.
    kept = there if there.any() else ~there
    widths = np.median((high - low)[kept], axis=(0, 1)) / 2
    missed = ((low > 0) | (high < 0))[kept].mean(axis=(0, 1))
    missed = np.where(np.isnan(widths), math.nan, missed)
    return _show(cell, int(there.sum()), missed, widths, claims / tables)


def _show(
    cell: Cell, printed: int, missed: Array, widths: Array, claims: Array | None = None
) -> bool:
    """The line of a cell, and whether what is printed misses and claims seldom enough."""

    def within(share: float, most: float) -> bool:
        # Of no table nothing is known.
        return not share > most + 2 * math.sqrt(most * (1 - most) / max(printed, 1))

    holds = within(missed[0], MOST_MISSED) and (claims is None or within(claims[0], LEVEL))
    parts = {"missed": missed, "half": widths} | ({} if claims is None else {"claims": claims})
    told = "; ".join(
        f"{name} " + " ".join(f"{value:.3f}" for value in values) for name, values in parts.items()
    )
    kind = "unlike" if cell.unlike else "alike"
    mark = "" if holds else "  <- outside"
    print(
        f"{cell.figure:9} {cell.prompts:>3} {cell.sizes:4} {kind:6} {told} ({printed}){mark}",
        flush=True,
    )
    return holds


def main() -> int:
    """A line for each cell; the exit status is 1 where one is outside."""
    parser = simulation_parser(__doc__, TABLES, scale=0.1)
    add_parts(parser, (*FIGURES, "strengths"), one="figure")
    parser.add_argument("--prompts", nargs="+", type=int, default=PROMPTS)
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    options = parser.parse_args()
    if min(options.prompts) < LEAST_PROMPTS:
        parser.error(f"there is no interval with fewer than {LEAST_PROMPTS} prompts")
    print(f"each in the order {', '.join(FORMS)}; in brackets the tables with an interval")
    holds = True
    for figure, prompts, sizes in product(options.parts, options.prompts, options.sizes):
        for unlike in ONE_KIND.get(figure, (False, True)):
            measure = strengths if figure == "strengths" else differences
            holds &= measure(Cell(figure, prompts, sizes, unlike), options.simulations)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
