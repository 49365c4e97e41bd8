"""Processes that ask the same at the same time, by one cache on a disk: is each reply paid once?

    python -m benchmarks.shared_cache [--rounds 100] [--responses 12] [--seed 1]

In each round two to eight processes score one batch, each into a folder of its own, with an empty
cache that they share; one of them is killed with SIGKILL at a random moment. A scripted server
counts requests by content. What is asked more than once may only be what the killed one had in
flight, and every other process must have all judgments. At last, how long a process waits for a
reply after another has put it. Exits with 1 if a check fails. Needs the extra `test`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.harness import environment, model_line, score, scratch, write_panel, write_responses
from benchmarks.soak import SHORT
from persona_panel.calls.stores.disk import DiskReplyStore
from persona_panel.rubrics import ModelResponse
from persona_panel.testing import ScriptedServer, always, ok, serving
from tests.helpers import forked

JUDGES, CONCURRENCY = 10, 8
PAGE = "a" * 64


@dataclass(frozen=True, slots=True)
class Round:
    """What came of a round: how many requests were sent, how many of them were different, how
    often one was sent again, how many the killed process may have had in flight, and whether all
    other processes ended well with all judgments."""

    calls: int
    distinct: int
    in_flight: int
    whole: bool

    @property
    def again(self) -> int:
        return self.calls - self.distinct

    @property
    def holds(self) -> bool:
        return self.whole and self.again <= self.in_flight


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--responses", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    drawn = random.Random(options.seed)
    found = []
    for number in range(options.rounds):
        processes = 2 + number % 7
        with serving(always(ok()), latency_s=0.02) as server, scratch("shared") as folder:
            found.append(killed_round(folder, server, processes, options.responses, drawn))
        if not found[-1].holds:
            print(f"round {number}, {processes} processes: {found[-1]}", flush=True)
    calls, distinct = sum(one.calls for one in found), sum(one.distinct for one in found)
    again = [one.again for one in found]
    print(
        f"{options.rounds} rounds of two to eight processes, one killed in each: {calls:,} calls "
        f"for {distinct:,} different requests; {sum(again)} again, at most {max(again)} in a round "
        f"with {CONCURRENCY} in flight"
    )
    failed = sum(not one.holds for one in found)
    print(f"{failed} rounds failed")
    for call_s in (0.02, 0.2, 2.0):
        waits = asyncio.run(delays(call_s))
        print(
            f"a reply after {call_s:g} s is with who waits for it {1_000 * median(waits):.0f} ms "
            f"later (median; at most {1_000 * max(waits):.0f} ms)"
        )
    sys.exit(failed > 0)


def killed_round(
    folder: Path, server: ScriptedServer, processes: int, responses: int, drawn: random.Random
) -> Round:
    """So many processes on one batch, one of them killed."""
    batch = write_responses(folder / "responses.jsonl", responses, SHORT)
    url = server.base_url.removesuffix("/v1")
    panel = write_panel(folder / "panel.yaml", [model_line("s", url, concurrency=CONCURRENCY)])
    command = ["persona-panel", *score(batch, panel)[3:]]
    env = environment(PERSONA_PANEL_CACHE=str(folder / "cache"))
    runs = [folder / f"run-{n}" for n in range(processes)]
    begun = [forked.begun([*command, run], folder, env) for run in runs]
    questions = responses * JUDGES
    moment, victim = drawn.randrange(questions), drawn.randrange(processes)
    while len(server.calls) < moment and begun[victim].poll() is None:
        time.sleep(0.001)
    time.sleep(drawn.uniform(0, 0.02))
    begun[victim].kill()
    statuses = [process.wait(120) for process in begun]
    others = [n for n in range(processes) if n != victim]
    whole = all(statuses[n] == 0 and _scored(runs[n]) == questions for n in others)
    asked = Counter(json.dumps(call.payload, sort_keys=True) for call in server.calls)
    return Round(asked.total(), len(asked), CONCURRENCY, whole and len(asked) == questions)


def _scored(run: Path) -> int:
    lines = (run / "judgments.jsonl").read_text().splitlines()
    return sum(json.loads(line)["status"] == "scored" for line in lines)


async def delays(call_s: float, calls: int = 20) -> list[float]:
    """How long after a reply was put by one store another has it, in seconds."""
    with (
        scratch("delays") as folder,
        closing(DiskReplyStore(folder)) as one,
        closing(DiskReplyStore(folder)) as two,
    ):

        async def delay(key: bytes) -> float:
            async with one.claimed(PAGE, key):
                waiting = asyncio.create_task(two.claimed(PAGE, key).__aenter__())
                await asyncio.sleep(call_s)
                one.put(PAGE, key, ModelResponse("7"))
                put = time.perf_counter()
            assert await waiting is not None
            return time.perf_counter() - put

        return await asyncio.gather(*(delay(os.urandom(32)) for _ in range(calls)))


if __name__ == "__main__":
    main()
