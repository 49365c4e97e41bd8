"""What `persona-panel view` costs beside a run, and what it adds to that run.

    python -m benchmarks.view                       five runs of 30,000 judgments: four minutes
    python -m benchmarks.view --judgments 3000 --repeat 1

Beside a run by a stub the list is open in a page (its events are read, as a browser reads them) in
every other span of three seconds, and closed in between. Of `view`: its CPU over the whole run, as
a share of a core and of the run's own CPU; a span in which it is open also reads what came while it
was closed. Of the run: CPU per judgment in the spans with `view` open against those on either side
without, which is a ratio within one run: what else the machine does changes from run to run by more
than what is measured. Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import (
    COMMAND,
    ROOT,
    environment,
    resident_mb,
    score,
    scratch,
    stub,
    write_responses,
    write_stubs,
)
from benchmarks.overhead import JUDGES, MODELS

SPAN_S = 3.0
CONCURRENCY, LATENCY_S = 198, 0.2
RESAMPLES = 10_000


class Beside(NamedTuple):
    """One run: CPU and time of it and of `view`, and the ratios of its spans."""

    run_cpu_s: float
    wall_s: float
    view_cpu_s: float
    view_mb: float
    ratios: Sequence[float]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.view",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--judgments", type=int, default=30_000, help="default: 30000")
    parser.add_argument("--repeat", type=int, default=5, help="runs (default: 5)")
    options = parser.parse_args()
    responses = max(4, options.judgments // JUDGES)
    ratios: list[float] = []
    for number in range(options.repeat):
        # What opens first takes turns: the beginning of a run is no other than its end.
        of = beside(responses, opens_first=number % 2 == 0)
        ratios += of.ratios
        print(
            f"{responses * JUDGES:,} judgments in {of.wall_s:.1f} s, {of.run_cpu_s:.1f} s of CPU; "
            f"view: {of.view_cpu_s:.2f} s of CPU, {of.view_cpu_s / of.wall_s:.2%} of a core, "
            f"{of.view_cpu_s / of.run_cpu_s:.2%} of the run's; {of.view_mb:.0f} MB",
            flush=True,
        )
    if len(ratios) > 1:
        low, high = interval(ratios)
        print(
            f"CPU a judgment of the run with view open: {statistics.fmean(ratios) - 1:+.2%} "
            f"(95 % interval {low - 1:+.2%} to {high - 1:+.2%}, {len(ratios)} spans)"
        )


def beside(responses: int, *, opens_first: bool) -> Beside:
    """A run with `view` beside it."""
    with scratch("view") as folder, stub(latency_s=LATENCY_S) as url:
        panel = write_stubs(folder, url, MODELS, CONCURRENCY)
        batch = write_responses(folder / "batch.jsonl", responses)
        (folder / "runs").mkdir()
        env = environment(PERSONA_PANEL_CACHE=str(folder / "cache"))
        view = subprocess.Popen(
            [*COMMAND, "view", str(folder / "runs")],
            cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert view.stdout is not None
        address = view.stdout.readline().strip()
        judgments = folder / "runs" / "run" / "judgments.jsonl"
        command = [*score(batch, panel, "--no-report"), str(folder / "runs" / "run")]
        begun_cpu, began = cpu_s(view.pid), time.monotonic()
        quiet = subprocess.DEVNULL
        run = Watched(subprocess.Popen(command, cwd=ROOT, env=env, stdout=quiet, stderr=quiet))
        try:
            while not (judgments.exists() and judgments.stat().st_size):
                time.sleep(0.05)
            spans = list[tuple[bool, float]]()
            is_open = opens_first
            while run.goes_on():
                span = costs_of_span(run, judgments, f"{address}events" if is_open else None)
                if span is not None:
                    spans.append((is_open, span))
                is_open = not is_open
            wall_s = time.monotonic() - began
            used = cpu_s(view.pid) - begun_cpu
            mb = resident_mb(view.pid)
        finally:
            run.process.kill()
            run.process.wait()
            view.terminate()
            view.wait()
        return Beside(run.cpu_s, wall_s, used, mb, ratios_of(spans))


class Watched:
    """A run and the CPU that it had used when it was last looked at."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.cpu_s = 0.0

    def goes_on(self) -> bool:
        """Look at it; whether it goes on."""
        self.cpu_s = max(self.cpu_s, cpu_s(self.process.pid))
        return self.process.poll() is None


def costs_of_span(run: Watched, judgments: Path, events: str | None) -> float | None:
    """The CPU of the run for each byte of judgments over a span; None where it ended before, or
    began its judgments anew."""
    stop = threading.Event()
    reader = threading.Thread(target=read, args=(events, stop)) if events else None
    if reader is not None:
        reader.start()
    before, began = run.cpu_s, judgments.stat().st_size
    until = time.monotonic() + SPAN_S
    while (goes_on := run.goes_on()) and time.monotonic() < until:
        time.sleep(0.02)
    grown = judgments.stat().st_size - began
    stop.set()
    if reader is not None:
        reader.join()
    return (run.cpu_s - before) / grown if goes_on and grown > 0 else None


def ratios_of(spans: Sequence[tuple[bool, float]]) -> list[float]:
    """Each span with `view` open over the mean of those without on either side."""
    return [
        cost / statistics.fmean([spans[place - 1][1], spans[place + 1][1]])
        for place, (is_open, cost) in enumerate(spans)
        if is_open and 0 < place < len(spans) - 1
    ]


def read(events: str, stop: threading.Event) -> None:
    """Read what a page is told."""
    with urllib.request.urlopen(events, timeout=60) as answer:
        while not stop.is_set():
            answer.readline()


def cpu_s(pid: int) -> float:
    """The CPU that a process has used; 0 once it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean, by the bootstrap."""
    draw = random.Random(0)
    means = sorted(statistics.fmean(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[round(0.025 * RESAMPLES)], means[round(0.975 * RESAMPLES)]


if __name__ == "__main__":
    main()
