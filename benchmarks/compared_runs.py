"""Whether `compare` claims a difference in 5 % of the runs that differ by chance, and whether its
intervals hold the true value in 95 %.

    nice -n 15 python -m benchmarks.compared_runs                  everything (an hour)
    python -m benchmarks.compared_runs texts --prompts 5 12 --simulations 200

`texts`: two systems answer each prompt, and the same ten judges (five personas through two models)
rate both on three dimensions. `panels`: two panels of such judges rate the same four responses to
each prompt. `people`: two panels and three people rate four responses to each prompt.

Judges `fixed`: as they are, the same in each simulation. `sampled`: drawn anew in each, with what
they like of a system, or how they are moved by another way of asking, and intervals over prompts
and judges. Data `plain` are whole scores from 1 to 10; `few`, 1 to 5, so that many pairs tie, and a
tenth of the ratings is missing.

`claims` is the share of simulations without a difference in which any figure (composite, three
dimensions; for `people` τ_b and distance of each) is said to differ. `covered` is the share of the
intervals of the composite's difference, and of what else is printed with one, that hold the true
value, of runs that do differ: the mean of large simulations. What was refused is counted beside it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from benchmarks.harness import add_parts
from persona_panel.statistics.core.arrays import Array, row_means
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.paired import (
    PairedDifference,
    PairedTerms,
    by_other_judges,
    by_same_judges,
    nearer_to_people,
    order_alike,
    paired_difference,
    scores_alike,
)

PROMPTS = (3, 5, 8, 12, 30)
PERSONAS, MODELS, DIMENSIONS = 5, 2, 3
RESPONSES, PEOPLE = 4, 3
LARGE_PROMPTS, LARGE_DRAWS = 200, 40
N_JUDGES = PERSONAS * MODELS
LABELS = {
    "persona": np.repeat(np.arange(PERSONAS), MODELS),
    "model": np.tile(np.arange(MODELS), PERSONAS),
}
SHIFT = 0.6
LOWEST, HIGHEST, LEVEL = 0.93, 0.97, 0.05


@dataclass(frozen=True, slots=True)
class Cell:
    """What is simulated; `effect` whether the two sides differ."""

    part: str
    prompts: int
    judges: str
    data: str
    effect: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """Ten judges `(judges,)`: severity (personas sd 0.4, models 0.3), and what side b gets more of
    them (0.25 and 0.2)."""

    severity: Array
    favour: Array


def panel_of(rng: np.random.Generator, cell: Cell) -> Panel:
    """Judges of a cell. Fixed ones favour no side where there is to be no difference."""

    def drawn(persona: float, model: float) -> Array:
        of = rng.normal(0, persona, PERSONAS)[LABELS["persona"]]
        found: Array = of + rng.normal(0, model, MODELS)[LABELS["model"]]
        return found

    severity, favour = drawn(0.4, 0.3), drawn(0.25, 0.2)
    return Panel(severity, favour * (cell.judges == "sampled" or cell.effect))


def rated(rng: np.random.Generator, quality: Array, severity: Array, data: str) -> Array:
    """Whole ratings `(texts, judges, dimensions)` of texts whose quality is `(texts,
    dimensions)`."""
    noise = rng.normal(0, 1, (len(quality), len(severity), DIMENSIONS))
    scores = quality[:, None] + severity[None, :, None] + noise
    if data == "plain":
        return np.clip(np.round(5.5 + scores), 1, 10)
    scores = np.clip(np.round(3 + 0.5 * scores), 1, 5)
    scores[rng.random(scores.shape[:2]) < 0.1] = np.nan
    return scores


def quality_of(rng: np.random.Generator, prompts: int, each: int, shift: float = 0.0) -> Array:
    """Of `each` texts to a prompt: a prompt's level, a text's, and a dimension's."""
    n = prompts * each
    level = rng.normal(0, 0.5, prompts).repeat(each)
    own: Array = (level + rng.normal(shift, 0.8, n))[:, None] + rng.normal(0, 0.5, (n, DIMENSIONS))
    return own


def differences(
    pair: Callable[[Array, Array], PairedTerms], a: Array, b: Array, labels: Array, cell: Cell
) -> list[PairedDifference]:
    """The composite's and each dimension's, adjusted, as `compare` has them."""
    factors = None
    if cell.judges == "sampled":
        twice = 1 if pair is by_same_judges else 2
        factors = {name: np.tile(those, twice) for name, those in LABELS.items()}
    whole = [(a, b), *((a[:, :, [d]], b[:, :, [d]]) for d in range(DIMENSIONS))]
    found = [paired_difference(pair(*sides), labels, factors) for sides in whole]
    return holm_adjusted(found, primary=[place == 0 for place in range(len(found))])


Found = tuple[bool, dict[str, tuple[float, float, float]]]
"""Whether anything is claimed, and of each figure the value and its interval."""


def texts(rng: np.random.Generator, cell: Cell, panel: Panel) -> Found:
    shift = SHIFT * cell.effect
    sides = [
        rated(rng, quality_of(rng, cell.prompts, 1, more), severity, cell.data)
        for more, severity in ((0.0, panel.severity), (shift, panel.severity + panel.favour))
    ]
    found = differences(by_same_judges, *sides, np.arange(cell.prompts), cell)
    first = found[0]
    figures = {"difference": (first.value, first.low, first.high)}
    return any(one.shown for one in found), figures


def panels(rng: np.random.Generator, cell: Cell, panel: Panel) -> Found:
    quality = quality_of(rng, cell.prompts, RESPONSES)
    # Of another way of asking, some texts gain more than others.
    moved = quality * (1.2 if cell.effect else 1.0) + SHIFT * cell.effect
    labels = np.arange(cell.prompts).repeat(RESPONSES)
    a = rated(rng, quality, panel.severity, cell.data)
    b = rated(rng, moved, panel.severity + panel.favour, cell.data)
    found = differences(by_other_judges, a, b, labels, cell)
    first = found[0]
    figures = {"difference": (first.value, first.low, first.high)}
    if cell.judges == "fixed" and cell.effect:
        scores = [side.mean(axis=2) for side in (a, b)]
        means = [row_means(side) for side in scores]
        within, over_all = order_alike(*means, labels)
        named = {"τ_b within": within, "τ_b": over_all, "α": scores_alike(*means, labels)}
        figures |= {name: (one.value, one.low, one.high) for name, one in named.items()}
    return any(one.shown for one in found), figures


def people(rng: np.random.Generator, cell: Cell, panel: Panel) -> Found:
    quality = quality_of(rng, cell.prompts, RESPONSES)
    labels = np.arange(cell.prompts).repeat(RESPONSES)
    # The panel that differs follows people's judgment of quality less, and is more severe.
    other = quality * 0.4 - SHIFT if cell.effect else quality
    a = rated(rng, quality, panel.severity, cell.data)
    b = rated(rng, other, panel.severity, cell.data)
    humans = rated(rng, quality, np.zeros(PEOPLE), cell.data)
    wholes = [(a, b, humans), *((s[:, :, [d]] for s in (a, b, humans)) for d in range(DIMENSIONS))]
    found = [
        nearer_to_people(*(row_means(side.mean(axis=2)) for side in sides), labels)
        for sides in wholes
    ]
    figures = [
        (place, one) for place, each in enumerate(found) for one in (each.tau, each.distance)
    ]
    every = holm_adjusted([one for _, one in figures], [place == 0 for place, _ in figures])
    first = {"τ_b, b − a": every[0], "distance, b − a": every[1]}
    return any(one.shown for one in every), {
        name: (one.value, one.low, one.high) for name, one in first.items()
    }


PARTS = {"texts": texts, "panels": panels, "people": people}


@cache
def truth(cell: Cell) -> dict[str, float]:
    """The mean of each figure over many simulations with many prompts."""
    rng = np.random.default_rng(2)
    values: dict[str, list[float]] = defaultdict(list)
    sampled = cell.judges == "sampled"
    for _ in range(LARGE_DRAWS * (10 if sampled else 1)):
        panel = panel_of(rng if sampled else np.random.default_rng(1), cell)
        for name, found in PARTS[cell.part](rng, cell, panel)[1].items():
            values[name].append(found[0])
    return {name: float(np.mean(those)) for name, those in values.items()}


def simulated(cell: Cell, n: int) -> list[str]:
    """The lines of a cell."""
    rng = np.random.default_rng([7, cell.prompts])
    claims = 0
    hits: dict[str, int] = defaultdict(int)
    printed: dict[str, int] = defaultdict(int)
    true = truth(Cell(cell.part, LARGE_PROMPTS, *_rest(cell))) if cell.effect else {}
    for _ in range(n):
        panel = panel_of(rng if cell.judges == "sampled" else np.random.default_rng(1), cell)
        claimed, figures = PARTS[cell.part](rng, cell, panel)
        claims += claimed
        for name, (_, low, high) in figures.items():
            if cell.effect and not math.isnan(low):
                printed[name] += 1
                hits[name] += low <= true[name] <= high
    if not cell.effect:
        error = math.sqrt(max(claims / n, 0.01) / n)
        mark = "" if claims / n <= LEVEL + 2 * error else "  too often"
        return [f"claims          {claims / n:6.1%} (± {error:.1%}){mark}"]
    lines = []
    for name in true:
        share = hits[name] / printed[name] if printed[name] else math.nan
        error = math.sqrt(max(share * (1 - share), 0.01) / max(printed[name], 1))
        holds = printed[name] < 30 or LOWEST - 2 * error <= share <= HIGHEST + 2 * error
        lines.append(
            f"covered         {share:6.3f} (± {error:.3f}) {name}, refused {n - printed[name]}, "
            f"true {true[name]:.3f}{'' if holds else '  outside'}"
        )
    return [*lines, f"found           {claims / n:6.1%}"]


def _rest(cell: Cell) -> tuple[str, str, bool]:
    return cell.judges, cell.data, cell.effect


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_parts(parser, PARTS)
    parser.add_argument("--prompts", nargs="+", type=int, default=PROMPTS)
    parser.add_argument("--judges", nargs="+", choices=["fixed", "sampled"])
    parser.add_argument("--data", nargs="+", choices=["plain", "few"], default=["plain", "few"])
    parser.add_argument("--simulations", type=int, default=1_000)
    options = parser.parse_args()
    failed = False
    for part in options.parts:
        # People's ratings are compared with panels as they are.
        judges = options.judges or (["fixed"] if part == "people" else ["fixed", "sampled"])
        for judged, data, n, effect in product(judges, options.data, options.prompts, (0, 1)):
            cell = Cell(part, n, judged, data, bool(effect))
            for line in simulated(cell, options.simulations):
                print(f"{part:7}{n:4} prompts  {judged:8} {data:6} {line}", flush=True)
                failed |= "too often" in line or "outside" in line
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
