"""Memory over time: what a process holds every second.

The command, on 300,000 judgments against 30,000; and a stream of 200,000 responses
(`Panel.astream`), each with a prompt of its own, to a consumer that is slower than the models.

The responses are written one by one, and the process that measures holds none of them.
Linux only: what a process holds is read from /proc.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median

from benchmarks.harness import (
    ROOT,
    Used,
    environment,
    measure,
    resident_mb,
    score,
    scratch,
    stub,
    write_responses,
    write_stubs,
)
from benchmarks.overhead import JUDGES, MODELS
from benchmarks.report import Figure, Outcome

ALLOWED_MB, ALLOWED_STREAM_MB = 64, 16
STREAM = 200_000
COLUMNS = 60
BARS = " ▁▂▃▄▅▆▇█"


def run(options: argparse.Namespace) -> Outcome:
    """1,000 responses and 10,000, each with an empty cache."""
    outcome, peaks = Outcome(), []
    for full in (1000, 10_000):
        responses = max(1, round(full * options.scale))
        print(f"  {responses:,} responses", file=sys.stderr, flush=True)
        with scratch("memory") as folder, stub() as url:
            used, samples = watched(folder, url, responses, options.concurrency)
        peaks.append(used.peak_mb)
        outcome.notes += _lines(f"{responses:,} responses x {JUDGES} judges", used, samples)
    grown = peaks[1] - peaks[0]
    outcome.figures.append(
        Figure(
            "growth of peak memory from 1,000 to 10,000 responses",
            (grown,),
            f"< {ALLOWED_MB} MB",
            grown < ALLOWED_MB,
            "MB",
        )
    )
    _stream(options, outcome)
    return outcome


def _stream(options: argparse.Namespace, outcome: Outcome) -> None:
    """A stream with an empty cache: what is held at its end and once it had got going."""
    count = max(1000, round(STREAM * options.scale))
    print(f"  a stream of {count:,} responses", file=sys.stderr, flush=True)
    samples: list[tuple[float, float]] = []
    script = ROOT / "benchmarks" / "contenders" / "streaming.py"
    with scratch("stream") as folder, stub() as url:
        used = measure(
            [sys.executable, str(script), url, str(count), str(options.concurrency)],
            environment(PERSONA_PANEL_CACHE=str(folder / "cache")),
            watch=lambda pid, seconds: samples.append((seconds, resident_mb(pid))),
        )
    outcome.notes += _lines(f"a stream of {count:,} responses to one judge", used, samples)
    held = [mb for _, mb in samples if mb]
    tenth = max(1, len(held) // 10)
    grown = median(held[-tenth:]) - median(held[tenth : 2 * tenth] or held)
    outcome.figures.append(
        Figure(
            f"growth of memory over a stream of {count:,}, from the second tenth to the last",
            (grown,),
            f"< {ALLOWED_STREAM_MB} MB",
            grown < ALLOWED_STREAM_MB,
            "MB",
        )
    )


def watched(
    folder: Path, url: str, responses: int, concurrency: int
) -> tuple[Used, list[tuple[float, float]]]:
    """A run, and its (seconds, MB) every second."""
    samples: list[tuple[float, float]] = []
    panel = write_stubs(folder, url, MODELS, concurrency)
    batch = write_responses(folder / "responses.jsonl", responses)
    used = measure(
        [*score(batch, panel), str(folder / "run")],
        environment(PERSONA_PANEL_CACHE=str(folder / "cache")),
        watch=lambda pid, seconds: samples.append((seconds, resident_mb(pid))),
    )
    return used, samples


def _lines(what: str, used: Used, samples: list[tuple[float, float]]) -> list[str]:
    """A table of ten moments and a line of bars, from 0 to the peak."""
    moments = [samples[i * (len(samples) - 1) // 9] for i in range(10)]
    cells = [samples[i * len(samples) // COLUMNS][1] for i in range(COLUMNS)]
    bars = "".join(BARS[min(8, round(8 * cell / used.peak_mb))] for cell in cells)
    return [
        f"{what}: peak {used.peak_mb:.0f} MB, {used.wall_s:.0f} s, CPU {used.cpu_s:.0f} s",
        f"  s  {''.join(f'{seconds:>7.0f}' for seconds, _ in moments)}",
        f"  MB {''.join(f'{held:>7.0f}' for _, held in moments)}",
        f"  |{bars}|",
    ]
