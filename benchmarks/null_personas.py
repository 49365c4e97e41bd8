"""How often the intervals of what personas add exclude 0 where they add nothing.

Judges "with personas" and replicates "without" are drawn alike: an item's quality, a prompt's
difficulty that all judges share in part, and noise of each judge's own, rounded to a scale from 1
to 10. Humans are drawn likewise. What is counted is how often a 95 % interval excludes 0.

    python -m benchmarks.null_personas
"""

from __future__ import annotations

import numpy as np

from persona_panel.statistics.core.arrays import Array, EstimateKind, Resampled, resampled_mean
from persona_panel.statistics.core.jackknife import jackknife
from persona_panel.statistics.reliability import disagreement_by_item
from persona_panel.statistics.votes import correlation_gain

N_TRIALS = 400
N_RESPONSES = 4
N_JUDGES = 5


def drawn(rng: np.random.Generator, quality: Array, n: int) -> Array:
    """Ratings 1 to 10 `(items, n)`."""
    noise = rng.normal(size=(len(quality), n))
    scores: Array = np.clip(np.round(5.5 + 1.5 * quality[:, None] + 1.5 * noise), 1, 10)
    return scores


def main() -> None:
    """Print the share of trials in which each interval excludes 0, by the number of prompts."""
    print(f"{'prompts':>8}{'gain, τ_b':>17}{'disagreement':>15}")
    for n_prompts in (8, 12, 20, 40, 80):
        rng = np.random.default_rng(n_prompts)
        excluded = np.zeros(2)
        for _ in range(N_TRIALS):
            prompts = np.repeat(np.arange(n_prompts), N_RESPONSES)
            quality = rng.normal(size=len(prompts)) + rng.normal(size=n_prompts)[prompts]
            panel, plain = (drawn(rng, quality, N_JUDGES) for _ in range(2))
            people = drawn(rng, quality, 3).mean(axis=1)
            means = panel.mean(axis=1), plain.mean(axis=1), people
            spread = disagreement_by_item(panel) - disagreement_by_item(plain)
            functions: tuple[tuple[Resampled, EstimateKind], ...] = (
                (correlation_gain(*means, "tau_b").resampled, "difference"),
                (resampled_mean(spread), "mean"),
            )
            for place, (function, kind) in enumerate(functions):
                found = jackknife(function, len(prompts), prompts, kind=kind)
                excluded[place] += found.low > 0 or found.high < 0
        shares = excluded / N_TRIALS
        print(
            f"{n_prompts:>8}"
            + "".join(f"{x:>{w}.1%}" for x, w in zip(shares, (17, 15), strict=True))
        )


if __name__ == "__main__":
    main()
