"""How often the intervals of `fidelity` over prompts cover, and how often its verdicts are wrong.

Some 150 items of some topics, of equal sizes or with one of 60 to 130 items, whose differences
between two groups of 40 people vary by topic (standard deviation 0.4); a quarter of the people rate
each item. Coverage of people's interval over items and over prompts; null controls, whose interval
leaves 0 out or which a model without a difference on average gets a verdict on; and verdicts on
models of ratio 1 without topics and of ratio 2 with their own.

    python -m benchmarks.fidelity_prompts                  1,000 simulations a cell
    python -m benchmarks.fidelity_prompts --scale 0.1      a look
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from functools import partial

import numpy as np

from benchmarks.fidelity import ALLOWED, LEVEL, SIMULATIONS, WRONG
from benchmarks.harness import simulated_cells, simulation_parser
from persona_panel.statistics.group_fidelity import (
    VERDICTS,
    difference_by_model,
    fidelity_contrast,
    group_difference,
)

TOPICS = {
    "5 x 30": [30] * 5,
    "70 + 4 x 20": [70] + [20] * 4,
    "130 + 4 x 5": [130] + [5] * 4,
    "8 x 15": [15] * 8,
    "10 x 15": [15] * 10,
    "60 + 9 x 10": [60] + [10] * 9,
    "60 + 19 x 5": [60] + [5] * 19,
    "30 x 5": [5] * 30,
}
BY_TOPIC = 0.4
FALSE = {
    "1": WRONG["1"],
    "2": WRONG["2"],
    "none": tuple(set(VERDICTS) - {"not measurable"}),
}
"""By the ratio of a model; there is none where people do not differ, and so no true verdict."""


def prompts(topics: str, simulations: int) -> Counter[str]:
    """How often each interval holds the true difference, a null control leaves 0 out, and models
    get a verdict that is false of them."""
    rng = np.random.default_rng([3, *TOPICS[topics]])
    sizes = TOPICS[topics]
    topic = np.repeat(np.arange(len(sizes)), sizes)
    n, raters, found = len(topic), 40, Counter[str]()
    for _ in range(simulations):
        level = 3 + 0.5 * rng.normal(size=len(sizes))[topic] + 0.7 * rng.normal(size=n)
        shift = BY_TOPIC * rng.normal(size=len(sizes))[topic]
        sides = []
        for of_group in (shift, np.zeros(n)):
            levels = (level + of_group)[:, None] + 0.4 * rng.normal(size=raters)
            levels = levels + 0.9 * rng.normal(size=(n, raters))
            sides.append(np.where(rng.random((n, raters)) < 0.25, levels, np.nan))
        own = BY_TOPIC * rng.normal(size=len(sizes))[topic] + 0.3 * rng.normal(size=n)
        plain = 0.3 * rng.normal(size=n)
        # The mean difference of people, and what models add to it, in points.
        for mean, models in ((-0.5, (-0.5 + plain, -1 + 2 * own)), (0.0, (plain,))):
            for over, labels in (("items", None), ("prompts", topic)):
                theirs = group_difference(sides[0] + mean, sides[1], prompts=labels)
                low, high = theirs.interval()
                found[f"{over}: {'covered' if mean else 'null control without 0'}"] += (
                    low <= mean <= high if mean else not low <= 0 <= high
                )
                for ratio, model in zip(("1", "2") if mean else ("none",), models, strict=True):
                    panel = difference_by_model(model[:, None], theirs.signs, prompts=labels)
                    row = fidelity_contrast("a-b", theirs, panel)
                    found[f"{over}: false of ratio {ratio}"] += row.verdict in FALSE[ratio]
    return found


def main() -> int:
    """Print each cell; the exit status is 1 where one is outside of what is allowed."""
    options = simulation_parser(__doc__, SIMULATIONS, jobs=True).parse_args()
    simulations = options.simulations
    missed = 0
    print(f"items of topics, {simulations:,} simulations a cell")
    error = math.sqrt(LEVEL * (1 - LEVEL) / simulations)
    measured = partial(prompts, simulations=simulations)
    for topics, found in simulated_cells(measured, tuple(TOPICS), options.jobs):
        missed += found["prompts: covered"] / simulations < 1 - LEVEL - ALLOWED * error
        told = "; ".join(f"{name} {count / simulations:.3f}" for name, count in found.items())
        print(f"{topics:12} {told}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
