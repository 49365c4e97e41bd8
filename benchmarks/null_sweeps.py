"""How often a sweep claims an effect where there is none: it should be 5 % at most.

    python -m benchmarks.null_sweeps [--seeds 200] [--prompts 30]

Whole sweeps against a local server (`tests/sycophant.py`) whose target answers every
framing alike and whose judge's scores are noise around fixed levels; other seeds have other
prompts and so other noise. The intervals given are Clopper and Pearson's, 95 %. Beside them
the share of seeds in which the sycophant is found, and found alone, with `--sycophant`.
Needs the extra `test`.

    nice python -m benchmarks.null_sweeps --simulated 1000 [--prompts 12] [--cells 20] [--nulls]

Δs drawn from distributions, no calls, every mean 0: the share of sweeps in which flipped signs
alone claim some cell, in which a sweep claims some mean, and in which it claims anything that is
not so: also that more prompts fall than rise, or rise than fall, where that is not true. Of four
conditions the first two less the others are a contrast, whose mean is 0 as well; behind stands the
share in which it is falsely claimed of some dimension. And the share in which one cell with an
effect of the smallest detectable size is found, by flipped signs alone and as a sweep claims it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.stats import binomtest

from persona_panel import Panel, Persona
from persona_panel.experiments.sweep.deltas import Measured, Names, measure
from persona_panel.experiments.sweep.detectable import smallest_claimed
from persona_panel.graphs.framing import Contrast
from persona_panel.statistics.core.levels import LEVEL
from persona_panel.statistics.core.significance import holm, sign_flip_p_values
from persona_panel.testing import serving
from tests.sycophant import questions, world

JUDGE = Persona(id="reader", label="Reader", axis="annotator", description="You read closely.")
TRUTH = {("pluralistic_engagement", "emotion_agree")}
COLLAPSE, SHARE = 5.0, 0.1
SIZES = (6, 12, 30)
DESIGNS = ((1, 1), (4, 1), (4, 5))
"""Numbers of conditions and dimensions."""
CELLS = [conditions * dimensions for conditions, dimensions in DESIGNS]
CONTRAST = Contrast(id="half", label="half", plus=("0", "1"), minus=("2", "3"))
NULLS = (
    "normal",
    "whole steps",
    "exponential",
    "lognormal",
    "10 % collapse, sd 0.2",
    "10 % collapse, sd 0.5",
    "10 % collapse, sd 1",
    "10 % collapse in 1 of 4 conditions",
    "10 % collapse in all cells at once",
    "10 % rise, sd 0.5",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--prompts", type=int, default=None, help="30; simulated: 6, 12 and 30")
    parser.add_argument("--simulated", type=int, metavar="N", help="draw Δs, N times each")
    parser.add_argument("--cells", type=int, choices=CELLS, nargs="+")
    parser.add_argument("--nulls", action="store_true", help="simulated: error rates alone")
    parser.add_argument("--sycophant", action="store_true", help="with the effect, for its power")
    options = parser.parse_args()
    if options.simulated:
        sizes = SIZES if options.prompts is None else (options.prompts,)
        designs = [one for one in DESIGNS if one[0] * one[1] in (options.cells or CELLS)]
        simulate(options.simulated, sizes, designs)
        if not options.nulls:
            simulate_effects(options.simulated, sizes, designs)
        return
    options.prompts = options.prompts or 30
    n, started = options.seeds, time.monotonic()
    cells = gaps = least = uncorrected = exactly = with_truth = 0
    for seed in range(n):
        with (
            tempfile.TemporaryDirectory() as cache,
            serving(world(sycophantic=options.sycophant)) as server,
        ):
            os.environ |= {"PERSONA_PANEL_CACHE": cache, "OPENAI_BASE_URL": server.base_url}
            panel = Panel([JUDGE], "openai:judge", seed=seed)
            sweep = panel.sweep(questions(options.prompts, seed), "openai:target")
        shown = {(c.dimension, c.condition) for c in sweep.cells if c.delta.shown}
        cells += bool(shown)
        exactly += shown == TRUTH
        with_truth += shown >= TRUTH
        gaps += any(gap.gap.shown for gap in sweep.gaps)
        least += any(cell.delta.p_value < 0.05 for cell in sweep.cells)
        uncorrected += sum(cell.delta.p_value < 0.05 for cell in sweep.cells)
    n_cells = len(sweep.cells)
    print(f"{n} sweeps of {options.prompts} prompts, {n_cells} cells, {len(sweep.gaps)} gaps")
    print(f"at least one cell is claimed:  {_share(cells, n)}")
    print(f"at least one gap is claimed:   {_share(gaps, n)}")
    print(f"one or more p < 0.05 unadjusted: {_share(least, n)}")
    print(f"unadjusted p < 0.05, by cell:  {_share(uncorrected, n * n_cells)}")
    if options.sycophant:
        print(f"the true cell is claimed:      {_share(with_truth, n)}")
        print(f"it and no other:               {_share(exactly, n)}")
    print(f"{time.monotonic() - started:.0f} s")


def deltas(name: str, rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Δs `(prompts, conditions, dimensions)` whose mean is 0, of one of `NULLS`."""
    noise = rng.normal(size=shape)
    match name:
        case "normal":
            return noise
        case "whole steps":
            return np.round(noise)
        case "exponential":
            return rng.exponential(size=shape) - 1
        case "lognormal":
            return rng.lognormal(size=shape) - np.exp(0.5)
        case "10 % collapse in 1 of 4 conditions":
            hit = rng.random(shape) < SHARE
            hit[:, 1:] = False
            drift = np.where(np.arange(shape[1]) == 0, SHARE * COLLAPSE, 0.0)[:, None]
            return 0.5 * noise + COLLAPSE * hit - drift
        case "10 % collapse in all cells at once":
            hit = rng.random(shape[0])[:, None, None] < SHARE
            return 0.5 * noise + COLLAPSE * hit - SHARE * COLLAPSE
        case "10 % rise, sd 0.5":
            return 0.5 * noise - COLLAPSE * (rng.random(shape) < SHARE) + SHARE * COLLAPSE
    sd = float(name.rpartition(" ")[2])
    return sd * noise + COLLAPSE * (rng.random(shape) < SHARE) - SHARE * COLLAPSE


def more_prompts(name: str, design: tuple[int, int]) -> dict[str, int]:
    """Whether more prompts fall than rise, 1, or rise than fall, −1, under each condition."""
    signs = np.sign(deltas(name, np.random.default_rng(3), (100_000, *design)))
    means = signs.mean(axis=(0, 2))
    # Six standard errors.
    told = np.where(np.abs(means) > 0.02, np.sign(means), 0)
    return {str(place): int(sign) for place, sign in enumerate(told)}


def by_flipped_signs(delta: np.ndarray) -> bool:
    """Whether flipped signs show any cell, as `measured` adjusts them."""
    p_values = sign_flip_p_values(delta.reshape(len(delta), -1))
    return bool((holm(p_values) < LEVEL).any())


def measured(delta: np.ndarray) -> Measured:
    """One system's Δs `(prompts, conditions, dimensions)`."""
    axes = [tuple(map(str, range(n))) for n in delta.shape]
    none = np.zeros((1, *delta.shape[:2]), dtype=np.intp)
    return measure(delta[None], Names(("s",), *axes), none, none, [CONTRAST])


def contrasts_by_flipped_signs(delta: np.ndarray) -> bool:
    """Whether flipped signs show any contrast."""
    return delta.shape[1] > 3 and by_flipped_signs(delta[:, :2].mean(1) - delta[:, 2:4].mean(1))


def simulate(n: int, sizes: Sequence[int], designs: Sequence[tuple[int, int]]) -> None:
    """Error rates."""
    print(f"{n:,} sweeps each; standard error of 5 %: {(0.05 * 0.95 / n) ** 0.5:.1%}")
    shown = "flipped signs alone   mean claimed   false claims   contrasts"
    print(f"{'mean 0':36} prompts cells  {shown}")
    for name in NULLS:
        for prompts in sizes:
            for design in designs:
                rng = np.random.default_rng([1, prompts, *design])
                alone = claimed = false = gaps = 0
                tends = more_prompts(name, design)
                for _ in range(n):
                    delta = deltas(name, rng, (prompts, *design))
                    if not by_flipped_signs(delta) and not contrasts_by_flipped_signs(delta):
                        continue  # then nothing is claimed, and the other tests take long
                    whole = measured(delta)
                    cells = whole.cells
                    # The difference of conditions that are alike is symmetric.
                    alike = name != "10 % collapse in 1 of 4 conditions"
                    gaps += any(
                        one.gap.claim == "mean" or (one.gap.shown and alike) for one in whole.gaps
                    )
                    alone += any(
                        one.delta.p_holm < LEVEL and not one.delta.ci_low <= 0 <= one.delta.ci_high
                        for one in cells
                    )
                    claimed += any(one.delta.claim == "mean" for one in cells)
                    false += any(
                        one.delta.claim == "mean"
                        or (one.delta.shown and tends[one.condition] * one.delta.value <= 0)
                        for one in cells
                    )
                row = f"{name:36} {prompts:7} {design[0] * design[1]:5}"
                shares = f"{alone / n:15.1%} {claimed / n:17.1%} {false / n:14.1%} {gaps / n:13.1%}"
                print(row, shares, flush=True)


def simulate_effects(n: int, sizes: Sequence[int], designs: Sequence[tuple[int, int]]) -> None:
    """Power."""
    print("an effect in one cell, of the smallest detectable size where it is normal")
    for name in NULLS:
        for prompts in sizes:
            for design in designs:
                effect = smallest_claimed(prompts, design[0] * design[1])
                if np.isnan(effect):
                    continue
                rng, found = np.random.default_rng([2, prompts, *design]), Counter[str]()
                sd = deltas(name, rng, (100_000, *design))[:, 0, 0].std()
                for _ in range(n):
                    for side in (1, -1):
                        delta = deltas(name, rng, (prompts, *design))
                        delta[:, 0, 0] += side * effect * sd
                        one = measured(delta).cells[0].delta
                        found[f"{side} alone"] += one.p_holm < LEVEL and one.value * side > 0
                        found[f"{side}"] += one.shown and one.value * side > 0
                shares = [found[key] / n for key in ("1 alone", "1", "-1 alone", "-1")]
                row = f"{name:36} {prompts:7} {design[0] * design[1]:5} effect {effect:.2f} sd"
                print(
                    f"{row}: degradation {shares[0]:.1%} -> {shares[1]:.1%}, "
                    f"improvement {shares[2]:.1%} -> {shares[3]:.1%}",
                    flush=True,
                )


def _share(k: int, n: int) -> str:
    interval = binomtest(k, n).proportion_ci(method="exact")
    return f"{k} of {n:,} = {k / n:.1%} ({interval.low:.1%} to {interval.high:.1%})"


if __name__ == "__main__":
    main()
