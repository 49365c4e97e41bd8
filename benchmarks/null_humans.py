"""How often the interval of panel less human excludes 0 where a judge rates as people do.

People and judges are drawn alike: an item's quality, a prompt's difficulty, and noise of each
rater's own, in whole scores from 1 to 5; with gaps, three in ten ratings are missing. A panel of
one judge is compared with a person, and so is one judge of a panel of three: the mean difference
is to be 0, and a 95 % interval to exclude 0 in at most 5 %. `unlike` (on request) draws raters
who differ in noise and in taste: the interval is over prompts, so that it excludes 0 the more
often the more prompts there are, as these judges and these people do differ.

    python -m benchmarks.null_humans                  400 simulations a cell
    python -m benchmarks.null_humans --scale 0.1      a look
    python -m benchmarks.null_humans --unlike
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np

from benchmarks.harness import simulated_cells, simulation_parser
from persona_panel.statistics.core.arrays import Array, row_means, unit_weights
from persona_panel.statistics.core.correlation import CorrelationKind, correlation
from persona_panel.statistics.core.jackknife import jackknife
from persona_panel.statistics.core.means import resampled_over_prompts
from persona_panel.statistics.human_raters import (
    human_ceiling,
    human_difference,
    human_difference_by_prompt,
)

SIMULATIONS = 400
PEOPLE = (2, 3, 5)
PROMPTS = (3, 5, 12, 30)
RESPONSES = 4
JUDGES = 3
GAPS = 0.3
NULL = 0.05
KINDS = tuple(kind for kind in get_args(CorrelationKind) if kind != "tau_c")


@dataclass(frozen=True, slots=True)
class Cell:
    people: int
    prompts: int
    gaps: bool
    unlike: bool
    simulations: int


def drawn(rng: np.random.Generator, cell: Cell) -> Array:
    """Ratings by people, then by judges `(items, raters)`."""
    n = cell.people + JUDGES
    quality = rng.normal(size=(cell.prompts, RESPONSES)) + 0.7 * rng.normal(size=(cell.prompts, 1))
    noise = np.ones(n)
    taste = np.zeros((cell.prompts, RESPONSES, n))
    if cell.unlike:
        noise = np.exp(rng.normal(0, 0.5, n))
        taste += rng.normal(0, 0.7, (RESPONSES, n))
    scores = 3 + quality[:, :, None] + taste + 1.2 * noise * rng.normal(size=taste.shape)
    ratings: Array = np.clip(np.round(scores), 1, 5).reshape(-1, n)
    if cell.gaps:
        ratings[rng.random(ratings.shape) < GAPS] = np.nan
    return ratings


def measured(cell: Cell) -> dict[str, tuple[float, float, float, int]]:
    """Of each figure the mean difference, its Monte Carlo error, the share of printed intervals
    that exclude 0, and how many were printed; `before` is the judge's correlation with the mean
    of all people less the people's own with the others."""
    rng = np.random.default_rng([cell.people, cell.prompts, cell.gaps])
    labels = np.repeat(np.arange(cell.prompts), RESPONSES)
    values: dict[str, list[float]] = defaultdict(list)
    excluded: dict[str, list[bool]] = defaultdict(list)
    for _ in range(cell.simulations):
        ratings = drawn(rng, cell)
        people, judges = ratings[:, : cell.people], ratings[:, cell.people :]
        for kind in KINDS:
            means = human_difference_by_prompt(judges[:, :1], people, labels, kind).panel
            figures = {
                f"panel of one, {kind}": human_difference(
                    judges[:, :1], people, kind
                ).panel.resampled,
                f"one of three, {kind}": human_difference(judges, people, kind).judge.resampled,
                f"panel of one, {kind}, within prompts": resampled_over_prompts(means, labels),
            }
            for name, function in figures.items():
                form = "skewed_difference" if name.endswith("prompts") else "difference"
                found = jackknife(function, len(labels), labels, kind=form, limits=(-2, 2))  # type: ignore[arg-type]
                values[name].append(float(function(unit_weights(len(labels)))[0]))
                if not math.isnan(found.low):
                    excluded[name].append(found.low > 0 or found.high < 0)
        before = correlation(judges[:, 0], row_means(people), "pearson").value
        values["before"].append(before - human_ceiling(people, "pearson").value)
    return {
        name: (
            float(np.nanmean(found)),
            float(np.nanstd(found) / math.sqrt(len(found))),
            float(np.mean(excluded[name])) if excluded[name] else math.nan,
            len(excluded[name]),
        )
        for name, found in values.items()
    }


def main() -> int:
    """Print each cell; the exit status is 1 where a figure is outside three errors."""
    parser = simulation_parser(__doc__, SIMULATIONS, jobs=True)
    parser.add_argument("--unlike", action="store_true", help="raters who differ; nothing checked")
    options = parser.parse_args()
    gaps = (False,) if options.unlike else (False, True)
    cells = [
        Cell(*sizes, options.unlike, options.simulations)
        for sizes in product(PEOPLE, PROMPTS, gaps)
    ]
    missed = 0
    for cell, found in simulated_cells(measured, cells, options.jobs):
        print(
            f"{cell.people} people, {cell.prompts} prompts{', gaps' if cell.gaps else ''}; "
            f"before: {found.pop('before')[0]:+.3f}",
            flush=True,
        )
        for name, (mean, error, share, printed) in found.items():
            most = NULL + 3 * math.sqrt(NULL * (1 - NULL) / max(printed, 1))
            holds = abs(mean) <= 3 * error and not share > most
            missed += not holds
            print(
                f"  {name:40} {mean:+.3f} +- {error:.3f}, excludes 0 in {share:6.1%} of "
                f"{printed}{'' if holds or cell.unlike else '  <- outside'}",
                flush=True,
            )
    return 1 if missed and not options.unlike else 0


if __name__ == "__main__":
    sys.exit(main())
