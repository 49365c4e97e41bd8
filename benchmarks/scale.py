"""A large run: a million judgments by one process, and the same texts by several workers at once.

    python -m benchmarks.scale                        some 20 minutes on two free cores
    python -m benchmarks.scale --judgments 30000      a look
    python -m benchmarks.scale --only ray             one of its parts: one, redis, ray

One process: throughput, memory over time, and `report` on the run that it leaves. Two commands, a
tenth of the size, share a Redis server (`apt-get install redis-server`; left out without), which is
killed and started again in the middle: each judgment is to be paid for once. Two and four workers
on Ray (`pip install 'persona-panel[ray]'`; left out without), a tenth of the size, one of which is
killed in the middle; then four within a limit per minute and a cap. Linux only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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
    write_stubs,
)
from benchmarks.overhead import JUDGES, MODELS

CONCURRENCY = 198
OUTAGE_S = 1.0
RAY_PORT = 6389
START_S = 120.0
MARK, MARKED = "PERSONA_PANEL_SCALE", str(os.getpid())
"""A variable that the processes of this benchmark's cluster have, and those of others do not."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--judgments", type=int, default=1_000_000, help="default: 1000000")
    parser.add_argument("--only", choices=("one", "redis", "ray"), help="default: all three")
    options = parser.parse_args()
    responses = max(10, options.judgments // JUDGES)
    fewer = max(10, responses // 10)
    well = True
    if options.only in (None, "one"):
        one_process(responses)
    if options.only in (None, "redis"):
        if (server := shutil.which("redis-server")) is None:
            print("two workers: left out, there is no redis-server on this machine")
        else:
            well &= two_workers(fewer, server)
    if options.only in (None, "ray"):
        if (program := shutil.which("ray")) is None:
            print("Ray: left out, it is not installed")
        else:
            well &= on_ray(fewer, program)
    return 0 if well else 1


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


def on_ray(responses: int, program: str) -> bool:
    """Whether workers on Ray repeated no more than what a killed one had in flight, and kept to
    what they share."""
    env = environment(RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0", **{MARK: MARKED})
    with ray_cluster(program, env):
        well = [killed_on_ray(responses, workers, env) for workers in (2, 4)]
        return all([*well, within_limits_on_ray(env)])


@contextmanager
def ray_cluster(program: str, env: Mapping[str, str]) -> Iterator[None]:
    """A cluster of this benchmark's own: other clusters on the machine are neither found nor
    stopped, as `ray stop` would."""
    # Short: the path of a socket in it has 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:
        start = ["start", "--head", "--block", "--port", str(RAY_PORT), "--num-cpus", "4"]
        start += ["--include-dashboard", "false", "--temp-dir", folder]
        process = subprocess.Popen([program, *start], env=env, stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_S
            while True:
                with suppress(OSError), socket.create_connection(("127.0.0.1", RAY_PORT)):
                    break
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"Ray's cluster does not answer on port {RAY_PORT}")
                time.sleep(0.2)
            yield
        finally:
            # It ends what it has started.
            process.terminate()
            process.wait()


def killed_on_ray(responses: int, workers: int, env: Mapping[str, str]) -> bool:
    """A run of so many workers, one of which is killed in the middle."""
    judgments, held, killed = responses * JUDGES, list[float](), list[int]()
    with scratch("ray") as folder, stub() as url:

        def watch(pid: int, seconds: float) -> None:
            pids = ray_workers()
            held.append(max(map(resident_mb, pids), default=0.0))
            if not killed and calls_received(url)["received"] > judgments / 3:
                killed.extend(pids[:1])
                os.kill(pids[0], signal.SIGKILL)

        used = measure(
            [
                *command(folder, url, responses),
                *(str(folder / "run"), "--engine", f"ray:127.0.0.1:{RAY_PORT}"),
                *("--workers", str(workers)),
            ],
            {**env, "PERSONA_PANEL_CACHE": str(folder / "cache")},
            watch=watch,
        )
        made = calls_received(url)["received"]
        say(f"{workers} workers on Ray, the driver", judgments, used)
        print(f"  the largest worker: {max(held):,.0f} MB; workers killed: {len(killed)}")
        print(f"  calls made: {made:,} for {judgments:,} judgments")
    return bool(killed) and judgments <= made <= judgments + CONCURRENCY


def within_limits_on_ray(env: Mapping[str, str]) -> bool:
    """Whether four workers make as many calls as a cap allows, at the rate that a limit allows."""
    cap, per_minute = 600, 2400
    with scratch("limits") as folder, stub() as url:
        model = model_line("stub", url, requests_per_minute=per_minute)
        texts = write_responses(folder / "responses.jsonl", 2 * cap // 10)
        whole = score(texts, write_panel(folder / "panel.yaml", [model]), "--max-calls", str(cap))
        whole += [str(folder / "run"), "--engine", f"ray:127.0.0.1:{RAY_PORT}", "--workers", "4"]
        seen = list[tuple[float, int]]()

        def watch(pid: int, seconds: float) -> None:
            seen.append((time.monotonic(), calls_received(url)["received"]))

        with suppress(RuntimeError):  # Exit status 1: judgments are missing.
            measure(whole, {**env, "PERSONA_PANEL_CACHE": str(folder / "cache")}, watch=watch)
        made = calls_received(url)["received"]
    (first, before), (last, after) = (
        next(one for one in seen if one[1] > 0),
        next(one for one in seen if one[1] == made),
    )
    rate = 60 * (after - before) / (last - first)
    print(f"4 workers on Ray: {made} calls under a cap of {cap}, {rate:,.0f} a minute of at most")
    print(f"  {per_minute:,}")
    return made == cap and rate <= 1.02 * per_minute


def ray_workers() -> list[int]:
    """The processes of this benchmark's workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            marked = f"{MARK}={MARKED}\0".encode() in path.with_name("environ").read_bytes()
            if marked and path.read_bytes().startswith(b"ray::_Actor"):
                found.append(int(path.parent.name))
    return sorted(found)


def command(folder: Path, url: str, responses: int) -> list[str]:
    """Scores so many responses, into the folder that is still to be added."""
    panel = write_stubs(folder, url, MODELS, CONCURRENCY)
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
