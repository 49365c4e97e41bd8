"""The ranking that stands below a run's progress: what it costs, and how often its leader changes.

    python -m benchmarks.ranking_so_far                     a run of 30,000 judgments: two minutes
    python -m benchmarks.ranking_so_far --judgments 3000

A run by a stub draws its progress on a pseudo-terminal. Of its CPU: the share of working out the
ranking and laying it out (`Board.lines`), and of all of the display, the ranking in it. Then, in
simulated runs, the share in which another system leads after 10 % of the prompts, and after 50 %,
than in the end: systems that are equal, and one that is better by 0.8 standard deviations of the
scores of one system on the prompts, the prompts' own difficulty left out. Linux only.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import pty
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, environment, score, scratch, stub, write_responses, write_stubs
from benchmarks.overhead import JUDGES, MODELS

LATENCY_S, CONCURRENCY = 0.02, 198
ALLOWED = 0.01
RUNS, BETTER_BY = 400, 0.8
_TIMED = "import benchmarks.ranking_so_far as b; b.timed_command()"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ranking_so_far",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--judgments", type=int, default=30_000, help="default: 30000")
    parser.add_argument("--latency", type=float, default=LATENCY_S, help="of the stub, in seconds")
    options = parser.parse_args()
    used = cost(max(8, options.judgments // JUDGES), options.latency)
    share = used["ranking"] / used["run"]
    print(
        f"{options.judgments:,} judgments in {used['wall']:.1f} s, {used['run']:.2f} s of CPU: "
        f"the ranking takes {share:.2%} of it, all of the display {used['display']:.2f} s"
    )
    print("\nsystems  prompts  best by  another leads at 10 %  at 50 %")
    for n_systems in (2, 4, 8):
        for n_prompts in (30, 100):
            for better_by in (0.0, BETTER_BY):
                tenth, half = changes(n_systems, n_prompts, better_by)
                print(
                    f"{n_systems:>7}  {n_prompts:>7}  {better_by:>7}  {tenth:>21.1%}  {half:>7.1%}"
                )
    return 0 if share < ALLOWED else 1


def cost(responses: int, latency_s: float) -> dict[str, float]:
    """Seconds of CPU of a run, of its ranking and of its display, and of the wall clock."""
    with scratch("ranking") as folder, stub(latency_s=latency_s) as url:
        panel = write_stubs(folder, url, MODELS, CONCURRENCY)
        batch = write_responses(folder / "batch.jsonl", responses)
        command = [sys.executable, "-c", _TIMED, *score(batch, panel)[3:], str(folder / "run")]
        env = environment(
            PERSONA_PANEL_CACHE=str(folder / "cache"), TIMES=str(folder / "times.json"),
            TERM="xterm-256color", COLUMNS="100", LINES="40",
        )  # fmt: skip
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=theirs
        )
        os.close(theirs)
        with process, open(ours, "rb", buffering=0) as drawn:  # noqa: PTH123
            while True:
                try:
                    if not drawn.read(65_536):
                        break
                except OSError:
                    break
        times: dict[str, float] = json.loads((folder / "times.json").read_text())
        return times


def timed_command() -> None:
    """Run the command of this process, and write what its parts took to the file $TIMES."""
    # What intervals load is loaded at the end of any run.
    from persona_panel.cli.main import main as command
    from persona_panel.cli.progress import Board, ScoreProgress
    from persona_panel.statistics.core import special

    special.stdtr(1, 0.0)

    took = {"ranking": 0.0, "display": 0.0}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            began = time.thread_time()
            try:
                return function(*args)
            finally:
                took[name] += time.thread_time() - began

        return call

    Board.lines = timed("ranking", Board.lines)  # type: ignore[method-assign]
    ScoreProgress._refresh = timed("display", ScoreProgress._refresh)  # type: ignore[method-assign]
    began = time.monotonic()

    def write() -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        whole = {"run": usage.ru_utime + usage.ru_stime, "wall": time.monotonic() - began}
        Path(os.environ["TIMES"]).write_text(json.dumps(took | whole))

    atexit.register(write)
    command()


def changes(n_systems: int, n_prompts: int, better_by: float) -> tuple[float, float]:
    """The shares of simulated runs whose leader after 10 % and after 50 % of the prompts is
    another one than in the end."""
    draw = np.random.default_rng(0)
    scores = draw.normal(size=(RUNS, n_prompts, n_systems))
    scores[:, :, 0] += better_by
    # Which prompt comes when is random, and so are these already.
    last, tenth, half = (
        scores[:, : round(share * n_prompts)].mean(axis=1).argmax(axis=1)
        for share in (1.0, 0.1, 0.5)
    )
    return float((tenth != last).mean()), float((half != last).mean())


if __name__ == "__main__":
    sys.exit(main())
