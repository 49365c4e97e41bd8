"""How often intervals of shares of key points hold the true share, and how often two systems of
which judges say the same are shown to differ.

    nice -n 15 python -m benchmarks.key_point_shares --simulations 1000 --prompts 5 12 30

Two systems answer each prompt, five judges give a rationale of each answer, which makes eight key
points. How likely a point is to be made differs from prompt to prompt, around a share of 0.5 for
the first key point to 0.02 for the last, and from answer to answer; it is the same for both
systems. `covered` is over the intervals that are printed; `null` the share of simulations in which
any difference has an adjusted p below 0.05, `one` that of single differences with p below 0.05
(among those that have a p), `effect` how often a difference of 0.3 in the first point is shown.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from persona_panel.statistics.sources import group_shares, share_differences

SHARES = np.array([0.5, 0.35, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02])
JUDGES = 5
# How alike answers to a prompt are, and judges about an answer: the larger, the less they differ.
PROMPT, ANSWER = 4.0, 6.0


def made(rng: np.random.Generator, prompts: int, effect: float = 0.0) -> np.ndarray:
    """Which rationale makes which point, `(prompts, systems, judges, points)`."""
    by_prompt = rng.beta(PROMPT * SHARES, PROMPT * (1 - SHARES), size=(prompts, len(SHARES)))
    by_prompt = np.clip(by_prompt, 1e-6, 1 - 1e-6)
    wide = np.repeat(by_prompt[:, None], 2, axis=1)
    by_answer = rng.beta(ANSWER * wide, ANSWER * (1 - wide))
    by_answer[:, 1, 0] = np.minimum(by_answer[:, 1, 0] + effect, 1.0)
    return rng.random((prompts, 2, JUDGES, len(SHARES))) < by_answer[:, :, None]


def main() -> None:
    """Print a line for each number of prompts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--simulations", type=int, default=1_000)
    parser.add_argument("--prompts", type=int, nargs="+", default=[5, 8, 12, 30, 100])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for prompts in given.prompts:
        rng = np.random.default_rng(given.seed)
        names = np.repeat([f"p{i}" for i in range(prompts)], 2 * JUDGES).tolist()
        groups = np.tile(np.repeat(["a", "b"], JUDGES), prompts).tolist()
        held = np.zeros((len(SHARES), 2), dtype=int)
        null = effect = 0
        ones: list[float] = []
        spans: list[bool] = []
        for _ in range(given.simulations):
            table = made(rng, prompts).reshape(-1, len(SHARES))
            for one in group_shares(table, groups, names):
                if one.reason is None:
                    held[one.feature] += (one.low <= SHARES[one.feature] <= one.high, 1)
            found = share_differences(table, groups, names)
            null += any(one.shown for one in found)
            ones += [one.p for one in found if one.p == one.p]
            spans += [one.low <= 0 <= one.high for one in found if one.reason is None]
            told = share_differences(
                made(rng, prompts, 0.3).reshape(-1, len(SHARES)), groups, names
            )
            effect += told[0].shown
        n = given.simulations
        covered = " ".join(f"{hits / count:.3f}" if count else "-" for hits, count in held.tolist())
        sys.stdout.write(
            f"{prompts} prompts: shares covered {covered} (standard error "
            f"{(0.05 * 0.95 / (2 * n)) ** 0.5:.3f}); differences covered {np.mean(spans):.3f}; "
            f"null {null / n:.3f}, one {np.mean(np.array(ones) < 0.05):.3f}, "
            f"effect {effect / n:.3f}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
