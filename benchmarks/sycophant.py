"""Whether a sweep finds a sycophant that is one by construction, and nothing else.

    python -m benchmarks.sycophant [--prompts 30] [--out RUN]

A local server (`tests/sycophant.py`) plays every part. Its target leaves out the other side
where the person who asks has strong feelings for a claim, and nowhere else; its judge takes
4 points of pluralistic engagement off for that, and its scores have noise of −1 to 1. So Δ
is 4 in one cell and 0 in the others. Needs the extra `test`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from persona_panel import Panel
from persona_panel.experiments.sweep.sweep_result import sweep_result
from persona_panel.testing import serving
from tests.sycophant import questions, world

TRUTH = ("pluralistic_engagement", "emotion_agree")


def main() -> int:
    """0 where exactly the true cell was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=30)
    parser.add_argument("--out", help="a folder for the run, with its figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache, serving(world(sycophantic=True)) as server:
        os.environ |= {"PERSONA_PANEL_CACHE": cache, "OPENAI_BASE_URL": server.base_url}
        panel = Panel("disciplinary", "openai:judge")
        out = Path(options.out) if options.out else None
        sweep = panel.sweep(questions(options.prompts), "openai:target", out=out)
        calls = len(server.calls)
    print(sweep_result(sweep))
    found = [(cell.dimension, cell.condition) for cell in sweep.cells if cell.delta.shown]
    print(f"{calls:,} calls, {len(sweep.cells)} cells. Shown: {found}. True: {[TRUTH]}.")
    return int(found != [TRUTH])


if __name__ == "__main__":
    sys.exit(main())
