"""How often a conclusion claims what is not so where judges are a sample, too.

    nice python -m benchmarks.null_judges [--runs 1000] [--prompts 3,5,12,30]

`--random prompts-and-judges`: each run draws its prompts and its judges, personas through models or
raters, from populations in which there is nothing to claim.

`score`: four systems are equally good in the mean over all prompts and judges, while each persona,
each model and each judge likes some of them more (standard deviations 0.2, 0.2 and 0.2) and each
prompt suits some of them (0.5). Counted are leaderboards whose conclusion says that a system is
ahead of another, and the intervals over prompts alone beside them. `agree`: α is 2/3 in the
population, a third of what is no quality being how severe raters are; counted are runs of one
dimension that say it is above or below 0.667.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from persona_panel.analyses.agree_conclusion import agree_conclusion
from persona_panel.statistics import AnalysisOptions, Ratings, agree
from persona_panel.statistics.core.arrays import Random
from persona_panel.statistics.core.ranking import rank_systems
from persona_panel.statistics.core.sampled_mean import JudgeSample

DESIGNS = ((3, 1), (5, 1), (10, 1), (3, 2), (3, 3), (5, 2), (10, 3))
"""Numbers of personas and models; of one model, raters."""
RATERS = (3, 5, 10)
SYSTEMS, RESPONSES = 4, 4
_OPTIONS = AnalysisOptions(random="prompts-and-judges", n_permutations=0)


def leaderboard(draw: np.random.Generator, prompts: int, personas: int, models: int) -> list[bool]:
    """Return whether a difference is claimed: over prompts and judges, and over prompts."""
    shape = (prompts, SYSTEMS, personas, models)
    scores = draw.normal(0, 0.5, (prompts, SYSTEMS, 1, 1)) + draw.normal(0, 1, shape)
    scores += draw.normal(0, 0.5, (1, 1, personas, 1)) + draw.normal(0, 0.5, (1, 1, 1, models))
    # A single model is taken as it is: what it likes would be no sample of anything.
    for size in ((1, SYSTEMS, personas, 1), (1, SYSTEMS, personas, models)) + (
        ((1, SYSTEMS, 1, models),) if models > 1 else ()
    ):
        scores += draw.normal(0, 0.2, size)
    scores = np.clip(np.round(5.5 + scores), 1, 10).reshape(prompts * SYSTEMS, personas * models)
    factors = {"persona": np.arange(personas).repeat(models).tolist()}
    if models > 1:
        factors["model"] = np.tile(np.arange(models), personas).tolist()
    names = [f"s{n % SYSTEMS}" for n in range(len(scores))]
    labels = [f"p{n // SYSTEMS}" for n in range(len(scores))]
    sample = JudgeSample(scores[:, :, None], factors)
    over: tuple[Random, ...] = ("prompts-and-judges", "prompts")
    claimed = []
    for random in over:
        board = rank_systems(
            names, labels, scores.mean(axis=1), np.empty((len(scores), 0)), [],
            judges=sample, random=random,
        )  # fmt: skip
        claimed.append(any(difference.shown for difference in board.differences))
    return claimed


def alpha(draw: np.random.Generator, prompts: int, raters: int) -> list[bool]:
    """Whether an α of 2/3 is said to be above or below 0.667, likewise."""
    n = prompts * RESPONSES
    quality = draw.normal(0, 2**0.5, (n, 1, 1))
    severity = draw.normal(0, (1 / 3) ** 0.5, (1, raters, 1))
    scores = quality + severity + draw.normal(0, (2 / 3) ** 0.5, (n, raters, 1))
    ratings = Ratings(
        scores,
        tuple(f"i{i}" for i in range(n)),
        tuple(f"r{r}" for r in range(raters)),
        ("quality",),
        ("judges",) * raters,
        prompts=tuple(f"p{i // RESPONSES}" for i in range(n)),
    )
    claimed = []
    for random in ("prompts-and-judges", "prompts"):
        options = replace(_OPTIONS, random=random, level="interval")
        rows = agree(ratings, options, only=["krippendorff_alpha"])
        said = " ".join(agree_conclusion(rows, ratings, "dimension"))
        claimed.append(": shown to be" in said)
    return claimed


def main() -> None:
    """A line for each design and number of prompts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--prompts", default="3,5,12,30")
    options = parser.parse_args()
    sizes = [int(n) for n in options.prompts.split(",")]
    print("false claims, judges as a sample / judges as they are")
    for personas, models in DESIGNS:
        for n in sizes:
            draw = np.random.default_rng([n, personas, models])
            found = [leaderboard(draw, n, personas, models) for _ in range(options.runs)]
            _show(f"score, {personas} personas x {models} models", n, found)
    for raters in RATERS:
        for n in sizes:
            draw = np.random.default_rng([n, raters])
            _show(
                f"agree, {raters} raters", n, [alpha(draw, n, raters) for _ in range(options.runs)]
            )


def _show(label: str, prompts: int, found: list[list[bool]]) -> None:
    sampled, fixed = np.mean(found, axis=0)
    error = (max(sampled * (1 - sampled), 0.01) / len(found)) ** 0.5
    print(f"{label:34} {prompts:3} prompts  {sampled:.3f} +- {error:.3f} / {fixed:.3f}", flush=True)


if __name__ == "__main__":
    main()
