"""How often the smallest subset of judges that is reported does not keep the ranking: 5 % at most.

Judges differ in severity, steepness and noise, some of it shared by the responses to a prompt.
`alike`: all are equally noisy; `mixed`: some are noisier; `ties`: whole scores from 1 to 5, 5 % of
them missing. Of the judges that `smallest_subset` reports the true τ_b with the full panel is
computed on 1,500 further items. Shown: how often a subset is reported, of how many judges; how far
the reported lower bound is from the truth, on average; and the share of all trials in which the
true τ_b is below the threshold, with its standard error.

    python -m benchmarks.null_subset [--trials 400]
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np

from persona_panel.statistics import correlation, row_means, smallest_subset
from persona_panel.statistics.core.arrays import Array

LEVEL = 0.05
THRESHOLD = 0.95
N_JUDGES = 10
N_FURTHER = 1500
DESIGNS = ((5, 3), (20, 3), (30, 2), (60, 1), (30, 4), (60, 4))
"""Prompts and responses to each."""


@dataclass(frozen=True, slots=True)
class Judges:
    """Each judge's noise, steepness and severity `(judges,)`."""

    noise: Array
    steepness: Array
    severity: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator, data: str) -> Judges:
        level, spread = {"alike": (0.25, 0), "mixed": (0.17, 0.8), "ties": (0.2, 0.6)}[data]
        noise = level * np.exp(rng.normal(0, spread, N_JUDGES))
        return cls(noise, rng.normal(1, 0.1, N_JUDGES), rng.normal(0, 0.5, N_JUDGES))

    def rate(
        self, rng: np.random.Generator, n_prompts: int, responses: int, data: str
    ) -> tuple[Array, list[int]]:
        """Ratings `(items, judges)`, and each item's prompt."""
        prompts = np.repeat(np.arange(n_prompts), responses)
        n = len(prompts)
        truth = rng.normal(0, 0.5, n_prompts)[prompts] + rng.normal(0, 1, n)
        own = rng.normal(0, 0.5, (n_prompts, N_JUDGES))[prompts]
        noise = self.noise * (own + rng.normal(0, 0.9, (n, N_JUDGES)))
        scores = truth[:, None] * self.steepness + self.severity + noise
        if data == "ties":
            scores = np.clip(np.round(3 + scores), 1, 5)
            scores = np.where(rng.random(scores.shape) < 0.05, np.nan, scores)
        return scores, prompts.tolist()


def main() -> int:
    """Print a line for each design; 1 where the share of failures is too high or bounds are above
    the truth on average."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    n = parser.parse_args().trials
    print(f"{'data':>7}{'design':>8}{'reported':>10}{'judges':>8}{'bound-true':>12}{'below':>8}"
          f"{'error':>7}")  # fmt: skip
    missed = 0
    for data, (n_prompts, responses) in product(("alike", "mixed", "ties"), DESIGNS):
        rng = np.random.default_rng([n_prompts, responses])
        sizes, away, below = [], [], 0
        for _ in range(n):
            judges = Judges.drawn(rng, data)
            ratings, prompts = judges.rate(rng, n_prompts, responses, data)
            found = smallest_subset(ratings, prompts, threshold=THRESHOLD)
            if found.reason:
                continue
            further, _ = judges.rate(rng, N_FURTHER // responses, responses, data)
            kept = row_means(further[:, list(found.judges)])
            true = correlation(kept, row_means(further), "tau_b").value
            sizes.append(len(found.judges))
            away.append(found.low[len(found.judges) - 1] - true)
            below += true < THRESHOLD
        share, mean = below / n, float(np.mean(away)) if away else math.nan
        error = math.sqrt(max(share, LEVEL) * (1 - share) / n)
        high = share > LEVEL + 2 * error or mean > 0
        missed += high
        print(
            f"{data:>7}{n_prompts:>5}x{responses:<2}{len(sizes) / n:>10.1%}"
            f"{np.mean(sizes) if sizes else math.nan:>8.1f}{mean:>12.4f}{share:>8.1%}{error:>7.1%}"
            f"{'  <- too high' if high else ''}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
