"""How often added raters are said to change the humans' α where they do not: 5 % at most.

Humans and added raters are drawn alike: an item's quality, its prompt's difficulty, what each
rater alone sees in a prompt (so the items of a prompt are not independent), and noise. Scores are
whole, from 1 to 10 (`plain`) or from 1 to 5 with 15 % of them missing (`gaps`). What is counted is
how often any of the added raters changes α by an adjusted p-value below 0.05, which is where any
of the intervals leaves 0 out. `severity` gives each rater a severity of their own (standard
deviation 0.5): the added rater is then exchangeable with the humans, but these raters, as they are,
do differ, and what is found grows with the number of prompts: those lines are shown, not judged.

    python -m benchmarks.null_added_raters [--trials 2000]
"""

from __future__ import annotations

import argparse
import math
import sys
from itertools import product

import numpy as np

from persona_panel.statistics import added_raters
from persona_panel.statistics.core.arrays import Array

LEVEL = 0.05
N_RESPONSES = 4
PANELS = ((3, 1), (3, 5), (5, 10))
"""Humans and added raters."""


def drawn(rng: np.random.Generator, n_prompts: int, n_raters: int, data: str) -> Array:
    """Ratings `(items, raters)`."""
    of = np.repeat(np.arange(n_prompts), N_RESPONSES)
    shape = (len(of), n_raters)
    scores = (rng.normal(0, 0.7, n_prompts)[of] + rng.normal(0, 1, len(of)))[:, None]
    scores = scores + rng.normal(0, 0.7, (n_prompts, n_raters))[of] + rng.normal(0, 0.8, shape)
    if data == "severity":
        scores = scores + rng.normal(0, 0.5, n_raters)
    if data != "gaps":
        return np.asarray(np.clip(np.round(5.5 + 1.2 * scores), 1, 10))
    scores = np.clip(np.round(3 + 0.7 * scores), 1, 5)
    return np.asarray(np.where(rng.random(shape) < 0.15, np.nan, scores))


def main() -> int:
    """Print the share of trials with a claim and its standard error; 1 where one is too high."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    n = parser.parse_args().trials
    print(f"{'data':>9}{'prompts':>9}{'humans':>8}{'added':>7}{'claims':>8}{'error':>7}{'none':>6}")
    missed = 0
    for data, n_prompts, (humans, added) in product(
        ("plain", "gaps", "severity"), (3, 5, 12, 30), PANELS
    ):
        rng = np.random.default_rng([n_prompts, added])
        prompts = np.repeat(np.arange(n_prompts), N_RESPONSES).tolist()
        claims = refused = 0
        for _ in range(n):
            ratings = drawn(rng, n_prompts, humans + added, data)
            _, more = added_raters(ratings[:, :humans], ratings[:, humans:], clusters=prompts)
            p_values = np.array([each.p_adjusted for each in more])
            claims += bool((p_values < LEVEL).any())
            refused += bool(np.isnan(p_values).all())
        share = claims / n
        error = math.sqrt(max(share, LEVEL) * (1 - share) / n)
        high = data != "severity" and share > LEVEL + 2 * error
        missed += high
        print(
            f"{data:>9}{n_prompts:>9}{humans:>8}{added:>7}{share:>8.1%}{error:>7.1%}{refused:>6}"
            f"{'  <- too high' if high else ''}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
