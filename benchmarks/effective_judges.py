"""How near the effective number of judges comes to the truth where the humans' mean is noisy.

Ten judges whose errors are independent, or correlate by 0.2, and people with noise of their own:
all rate everything, or each item has other people, of a pool who differ in severity. Shown: the
median number without the correction for the noise of the humans' mean and with it (where it is
undefined, as the judges' mean correlation is not above 0, it counts as 10), with the true number;
and how often the 95 % interval holds that.

    python -m benchmarks.effective_judges [--trials 100]
"""

from __future__ import annotations

import argparse
import math
import sys
from itertools import product

import numpy as np

from persona_panel.statistics import effective_judges, row_means
from persona_panel.statistics.core.arrays import Array

N_PROMPTS, N_RESPONSES, N_JUDGES, POOL = 100, 4, 10, 60
LEAST_COVERED = 0.93


def people(rng: np.random.Generator, truth: Array, n: int, design: str) -> Array:
    """Ratings `(items, people)` with noise of standard deviation 1.5."""
    noise = 1.5 * rng.normal(size=(len(truth), n))
    if design == "same":
        return np.asarray(truth[:, None] + rng.normal(0, 1, n) + noise)
    severity = rng.normal(0, 0.7, POOL)
    found = np.full((len(truth), POOL), np.nan)
    for item, of_item in enumerate(noise):
        who = rng.permutation(POOL)[:n]
        found[item, who] = truth[item] + severity[who] + of_item
    return found


def main() -> int:
    """Print a line for each number of people; 1 where an interval covers too little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    n = parser.parse_args().trials
    print(f"{'correlation':>12}{'people':>8}{'of an item':>12}{'true':>7}{'without':>9}"
          f"{'corrected':>11}{'covered':>9}")  # fmt: skip
    missed = 0
    for shared, design, size in product((0.0, 0.2), ("same", "other"), (50, 10, 3)):
        rng = np.random.default_rng([size, int(10 * shared)])
        true = N_JUDGES / (1 + (N_JUDGES - 1) * shared)
        prompts = np.repeat(np.arange(N_PROMPTS), N_RESPONSES)
        plain, corrected, held = [], [], 0
        for _ in range(n):
            truth = rng.normal(0, 0.5, N_PROMPTS)[prompts] + rng.normal(0, 1, len(prompts))
            common = rng.normal(size=(len(prompts), 1))
            own = rng.normal(size=(len(prompts), N_JUDGES))
            errors = math.sqrt(shared) * common + math.sqrt(1 - shared) * own
            judges, humans = truth[:, None] + errors, people(rng, truth, size, design)
            plain.append(effective_judges(judges, row_means(humans), intervals=False).value)
            found = effective_judges(judges, humans, prompts.tolist())
            corrected.append(N_JUDGES if found.reason else found.value)
            interval = found.ci
            assert interval is not None
            held += interval.low - 1e-9 <= true <= interval.high + 1e-9
        error = math.sqrt(max(held / n * (1 - held / n), 0.01) / n)
        low = held / n < LEAST_COVERED - 2 * error
        missed += low
        print(
            f"{shared:>12}{design:>8}{size:>12}{true:>7.2f}{np.nanmedian(plain):>9.2f}"
            f"{np.median(corrected):>11.2f}{held / n:>9.1%}{'  <- too low' if low else ''}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
