"""A large run: a million judgments by one process, and the same texts by two workers at once.

    python -m benchmarks.scale                        some 20 minutes on two free cores
    python -m benchmarks.scale --judgments 30000      a look

One process: throughput, memory over time, and `report` on the run that it leaves. Two workers, a
tenth of the size, share a Redis server (`apt-get install redis-server`; left out without), which is
killed and started again in the middle: each judgment is to be paid for once. Linux only.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.harness import (
    COMMAND,
    Used,
    calls_received,
    environment,
    measure,
    model_line,
    resident_mb,
    score,
    scratch,
    stub,
    write_panel,
    write_responses,
)
from benchmarks.overhead import JUDGES, MODELS

CONCURRENCY = 198
OUTAGE_S = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--judgments", type=int, default=1_000_000, help="default: 1000000")
    options = parser.parse_args()
    responses = max(10, options.judgments // JUDGES)
    one_process(responses)
    if (server := shutil.which("redis-server")) is None:
        print("two workers: left out, there is no redis-server on this machine")
        return 0
    return 0 if two_workers(max(10, responses // 10), server) else 1


def one_process(responses: int) -> None:
    """A run with an empty cache, and the page of it."""
    judgments, held = responses * JUDGES, list[tuple[float, float]]()
    with scratch("scale") as folder, stub() as url:
        used = measure(
            [*command(folder, url, responses), str(folder / "run")],
            environment(PERSONA_PANEL_CACHE=str(folder / "cache")),
            watch=lambda pid, seconds: held.append((seconds, resident_mb(pid))),
        )
        say("one process", judgments, used)
        for part in range(1, 6):
            seconds, mb = held[(len(held) - 1) * part // 5]
            print(f"  after {seconds:,.0f} s: {mb:,.0f} MB")
        say("persona-panel report", judgments, measure(report(folder / "run"), environment()))
        for path in sorted([*(folder / "run").iterdir(), folder / "cache" / "cache.db"]):
            print(f"  {path.name}: {path.stat().st_size / judgments:,.0f} bytes a judgment")


def two_workers(responses: int, program: str) -> bool:
    """Whether two commands that score the same at once called the model once for each judgment,
    though their cache was killed."""
    from tests.helpers.redis_server import RedisServer

    judgments = responses * JUDGES
    with scratch("workers") as folder, stub() as url:
        server = RedisServer(program, folder)
        server.start()
        env = environment(PERSONA_PANEL_CACHE=server.address, XDG_CACHE_HOME=str(folder / "home"))
        whole = command(folder, url, responses)
        try:
            with ThreadPoolExecutor(2) as pool:
                jobs = [pool.submit(measure, [*whole, str(folder / name)], env) for name in "ab"]
                # Both must have begun: one that cannot open its cache makes no run.
                runs = [folder / name for name in "ab"]
                while not all(job.done() for job in jobs):
                    received = calls_received(url)["received"]
                    if received >= judgments / 3 and all(run.exists() for run in runs):
                        break
                    time.sleep(0.1)
                server.kill()
                time.sleep(OUTAGE_S)
                server.start()
                for name, job in zip("ab", jobs, strict=True):
                    say(f"worker {name}, with Redis", judgments, job.result())
        finally:
            server.kill()
        made = calls_received(url)["received"]
    print(f"  calls made by both: {made:,} for {judgments:,} judgments")
    return bool(made == judgments)


def command(folder: Path, url: str, responses: int) -> list[str]:
    """Scores so many responses, into the folder that is still to be added."""
    models = [
        model_line(f"stub-{n}", url, concurrency=CONCURRENCY // MODELS) for n in range(MODELS)
    ]
    panel = write_panel(folder / "panel.yaml", models)
    return score(write_responses(folder / "responses.jsonl", responses), panel)


def report(run: Path) -> Sequence[str]:
    """Writes the page of a run."""
    return [*COMMAND, "report", str(run)]


def say(what: str, judgments: int, used: Used) -> None:
    """What a command has used, on a line."""
    rate, cpu_ms = judgments / used.wall_s, 1_000 * used.cpu_s / judgments
    print(
        f"{what}: {judgments:,} judgments in {used.wall_s:,.0f} s ({rate:,.0f} a second), "
        f"CPU {cpu_ms:.3f} ms each, peak {used.peak_mb:,.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
