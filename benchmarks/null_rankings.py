"""How often W of incomplete rankings is significant at random, and what its interval covers.

The design is the SCRuB study's: of each prompt ten texts by people and three by models, of which a
judge ranks the three and a triple of the ten that no other judge of the prompt sees. Ratings are
whole, so that there are ties. At random, p is to be at most 0.05 in 5 %; where raters share an
order in part, the 95 % interval over prompts is to hold the mean W of many prompts.

    python -m benchmarks.null_rankings                400 simulations a cell
    python -m benchmarks.null_rankings --scale 0.1    a look
"""

from __future__ import annotations

import math
import sys
from itertools import combinations

import numpy as np

from benchmarks.harness import simulation_parser
from persona_panel.statistics.concordance import incomplete_concordance
from persona_panel.statistics.core.arrays import Array, IntArray
from persona_panel.statistics.core.jackknife import jackknife
from persona_panel.statistics.core.means import resampled_over_prompts

SIMULATIONS = 400
PERMUTATIONS = 199
HUMAN_TEXTS, MODEL_TEXTS, SEEN = 10, 3, 3
TRIPLES = list(combinations(range(HUMAN_TEXTS), SEEN))
MANY_PROMPTS = 2000
NULL, LOWEST, HIGHEST = 0.05, 0.93, 0.97


def drawn(
    rng: np.random.Generator, n_prompts: int, n_judges: int, shared: float, steps: float
) -> tuple[Array, IntArray]:
    """Ratings `(items, judges)` and each item's prompt.

    Args:
        shared: how much the items' common quality counts beside each judge's own opinion.
        steps: between two ratings, in standard deviations of opinion; wide ones make ties.
    """
    n_items = HUMAN_TEXTS + MODEL_TEXTS
    ratings = np.full((n_prompts, n_items, n_judges), np.nan)
    for block in ratings:
        quality = shared * rng.normal(size=n_items)
        for judge, chosen in enumerate(rng.choice(len(TRIPLES), n_judges, replace=False)):
            items = [*TRIPLES[chosen], *range(HUMAN_TEXTS, n_items)]
            block[items, judge] = np.round((quality[items] + rng.normal(size=len(items))) / steps)
    return ratings.reshape(-1, n_judges), np.repeat(np.arange(n_prompts), n_items)


def main() -> int:
    """Print each cell; the exit status is 1 where a figure is outside."""
    simulations = simulation_parser(__doc__, SIMULATIONS).parse_args().simulations
    missed = 0
    for n_judges in (3, 5, 10):
        for n_prompts in (1, 5, 30):
            for steps in (0.4, 1.5):
                rng = np.random.default_rng([n_judges, n_prompts, int(10 * steps)])
                rejected = 0
                for seed in range(simulations):
                    ratings, prompts = drawn(rng, n_prompts, n_judges, 0, steps)
                    found = incomplete_concordance(
                        ratings, prompts, n_permutations=PERMUTATIONS, seed=seed
                    )
                    rejected += found.over_prompts.mean.p_value <= NULL
                share = rejected / simulations
                holds = share <= NULL + 3 * math.sqrt(NULL * (1 - NULL) / simulations)
                missed += not holds
                print(
                    f"random, {n_judges} judges, {n_prompts} prompts, steps {steps}: p <= 0.05 in "
                    f"{share:.1%}{'' if holds else '  <- outside'}",
                    flush=True,
                )
        many = incomplete_concordance(
            *drawn(np.random.default_rng(n_judges), MANY_PROMPTS, n_judges, 0.8, 0.4)
        )
        truth = many.over_prompts.mean.value
        for n_prompts in (5, 12, 30):
            rng = np.random.default_rng([n_judges, n_prompts])
            covered = printed = 0
            for _ in range(simulations):
                ratings, prompts = drawn(rng, n_prompts, n_judges, 0.8, 0.4)
                result = incomplete_concordance(ratings, prompts).over_prompts
                interval = jackknife(
                    resampled_over_prompts(result, prompts), len(prompts), prompts, kind="share"
                )
                printed += not math.isnan(interval.low)
                covered += interval.low <= truth <= interval.high
            share = covered / max(printed, 1)
            error = math.sqrt(NULL * (1 - NULL) / max(printed, 1))
            holds = LOWEST - 2 * error <= share <= HIGHEST + 2 * error
            missed += not holds
            print(
                f"shared, {n_judges} judges, {n_prompts} prompts: W {truth:.3f} covered in "
                f"{share:.1%} of {printed}{'' if holds else '  <- outside'}",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
