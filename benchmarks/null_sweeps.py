"""How often a sweep claims an effect where there is none: it should be 5 % at most.

    python -m benchmarks.null_sweeps [--seeds 200] [--prompts 30]

Whole sweeps against a local server (`tests/sycophant.py`) whose target answers every
framing alike and whose judge's scores are noise around fixed levels; other seeds have other
prompts and so other noise. The intervals given are Clopper and Pearson's, 95 %. Beside them
the share of seeds in which the sycophant is found, and found alone, with `--sycophant`.
Needs the extra `test`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

from scipy.stats import binomtest

from persona_panel import Panel, Persona
from persona_panel.testing import serving
from tests.sycophant import questions, world

JUDGE = Persona(id="reader", label="Reader", axis="annotator", description="You read closely.")
TRUTH = {("pluralistic_engagement", "emotion_agree")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--prompts", type=int, default=30)
    parser.add_argument("--sycophant", action="store_true", help="with the effect, for its power")
    options = parser.parse_args()
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


def _share(k: int, n: int) -> str:
    interval = binomtest(k, n).proportion_ci(method="exact")
    return f"{k} of {n:,} = {k / n:.1%} ({interval.low:.1%} to {interval.high:.1%})"


if __name__ == "__main__":
    main()
