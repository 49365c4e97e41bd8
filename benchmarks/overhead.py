"""How much CPU and memory a judgment costs: the whole command against a bare client loop.

A local stub (tests/server.py, 20 ms latency, a process of its own) answers the same calls to
each contender, one after the other, in one run. Figures are each contender's own process
and its children: user + system CPU, peak resident memory. Only the ratios mean anything on
another machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import (
    ROOT,
    Used,
    calls_received,
    environment,
    measure,
    model_line,
    score,
    scratch,
    stub,
    write_panel,
    write_responses,
)
from benchmarks.report import FLOOR, Figure, Outcome, Row, ratios, row_of

JUDGES, MODELS = 30, 3
LOOPS = ROOT / "benchmarks" / "contenders" / "loops.py"
COLD, WARM = "persona-panel", "persona-panel, from its cache"


@dataclass(frozen=True, slots=True)
class Contender:
    """A name and, for the round of that number, a command and its environment.

    `calls` are those that the server has to receive for each judgment.
    """

    name: str
    command: Callable[[int], tuple[list[str], dict[str, str]]]
    calls: int = 1


def run(options: argparse.Namespace) -> Outcome:
    """1,000 responses by 30 judges."""
    responses = max(1, round(1000 * options.scale))
    with scratch("overhead") as folder, stub() as url:
        prepare(folder, responses)
        field = [loop(FLOOR, "aiohttp", folder, url, options), *ours(folder, url, options)]
        rows = race(field, responses * JUDGES, options.repeat, url)
    costs = ratios(rows, COLD)
    replayed = tuple(responses * JUDGES / used.wall_s for used in row_of(rows, WARM).runs)
    return Outcome(
        rows,
        [
            Figure("CPU of the whole command over that of a bare loop", costs, "<= 3", max(costs) <= 3),
            Figure(
                "judgments a second from a warm cache, start and end included",
                replayed,
                ">= 5,000",
                min(replayed) >= 5000,
            ),
        ],
        [f"{options.concurrency} calls in flight, stub latency 20 ms"],
    )


def prepare(folder: Path, responses: int) -> None:
    """The responses and, for all but persona-panel itself, the prompts."""
    write_responses(folder / "responses.jsonl", responses)
    command = [sys.executable, "-m", "benchmarks.calls", str(folder / "calls.json"), str(JUDGES)]
    measure(command, environment())


def race(
    field: Sequence[Contender], judgments: int, repeat: int, url: str
) -> list[Row]:
    """Every contender in turn, and all of them again; a round is the fairest comparison.

    One that fails is reported with the reason and is not tried again.
    """
    runs: dict[str, list[Used]] = {contender.name: [] for contender in field}
    failed: dict[str, str] = {}
    for n in range(repeat):
        for contender in field:
            if contender.name in failed:
                continue
            print(f"  round {n + 1}: {contender.name}", file=sys.stderr, flush=True)
            before = calls_received(url)["received"]
            try:
                runs[contender.name].append(measure(*contender.command(n)))
            except RuntimeError as error:
                failed[contender.name] = str(error)
                continue
            made, due = calls_received(url)["received"] - before, contender.calls * judgments
            if made != due:
                failed[contender.name] = f"it made {made:,} calls where {due:,} are due"
    return [
        Row(name, judgments, absent=failed[name])
        if name in failed
        else Row(name, judgments, tuple(used))
        for name, used in runs.items()
    ]


def loop(
    name: str, client: str, folder: Path, url: str, options: argparse.Namespace
) -> Contender:
    """A bare loop over a client (contenders/loops.py)."""
    command = [sys.executable, str(LOOPS), client, str(folder), url, str(options.concurrency)]
    return Contender(name, lambda n: (command, environment()))


def ours(folder: Path, url: str, options: argparse.Namespace) -> list[Contender]:
    """The whole command, and the same again: its replies are in the cache by then."""
    limit = max(1, options.concurrency // MODELS)
    models = [model_line(f"stub-{n}", url, concurrency=limit) for n in range(MODELS)]
    panel = write_panel(folder / "panel.yaml", models)
    command = score(folder / "responses.jsonl", panel)

    def of(name: str) -> Callable[[int], tuple[list[str], dict[str, str]]]:
        return lambda n: (
            [*command, str(folder / f"{name}-{n}")],
            environment(PERSONA_PANEL_CACHE=str(folder / f"cache-{n}")),
        )

    return [Contender(COLD, of("cold")), Contender(WARM, of("warm"), calls=0)]
