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
    score,
    scratch,
    stub,
    write_responses,
    write_stubs,
)
from benchmarks.report import FLOOR, Figure, Outcome, Row, ratios, row_of
from persona_panel.reports.page import AUTOMATIC

JUDGES, MODELS = 30, 3
LOOP = (sys.executable, str(ROOT / "benchmarks" / "contenders" / "loops.py"))
COLD, WARM = "persona-panel", "persona-panel, from its cache"
READ, PAGE = "the run read back", "the same, with its summary and page"
PAGE_SHARE = 0.03


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
        field = [
            script(FLOOR, [*LOOP, "aiohttp"], folder, url, options),
            *ours(folder, url, options),
            *page_of_the_run(folder),
        ]
        rows = race(field, responses * JUDGES, options.repeat, url)
    return Outcome(rows, _figures(rows), [f"{options.concurrency} calls in flight"])


def _figures(rows: Sequence[Row]) -> list[Figure]:
    """What was asked of the command; none where a run failed, whose row says why."""
    figures = []
    if all(row_of(rows, name).runs for name in (FLOOR, COLD)):
        costs = ratios(rows, COLD)
        name = "CPU of the whole command over that of a bare loop"
        figures.append(Figure(name, costs, "<= 2", max(costs) <= 2))
    warm = row_of(rows, WARM)
    # A busy machine stretches the wall time; what the CPU allows is the bound on a free one.
    for what, seconds in {
        "second": [used.wall_s for used in warm.runs],
        "CPU second": [used.cpu_s for used in warm.runs],
    }.items():
        rates = tuple(warm.judgments / spent for spent in seconds)
        if rates:
            name = f"judgments a {what} from a warm cache, start and end included"
            figures.append(Figure(name, rates, ">= 10,000", min(rates) >= 10_000))
    return figures + _share_of_the_page(rows)


def _share_of_the_page(rows: Sequence[Row]) -> list[Figure]:
    """What summary.json and report.html take of the run's CPU at its end, or would, where the page
    is left to `persona-panel report`."""
    run, read, page = (row_of(rows, name).runs for name in (COLD, READ, PAGE))
    shares = tuple(
        (whole.cpu_s - least.cpu_s) / one.cpu_s
        for one, least, whole in zip(run, read, page, strict=False)
    )
    if not shares:
        return []
    left = row_of(rows, COLD).judgments > AUTOMATIC
    asked = f"<= {PAGE_SHARE:g}, or above {AUTOMATIC:,} judgments left to a command"
    holds = left or max(shares) <= PAGE_SHARE
    return [Figure("CPU of summary.json and report.html over the run's", shares, asked, holds)]


def page_of_the_run(folder: Path) -> list[Contender]:
    """The run that went before in the round, read back without and with its summary and page."""
    script = [sys.executable, str(ROOT / "benchmarks" / "contenders" / "page.py")]

    def of(*page: str) -> Callable[[int], tuple[list[str], dict[str, str]]]:
        return lambda n: ([*script, str(folder / f"cold-{n}"), *page], environment())

    return [Contender(READ, of(), calls=0), Contender(PAGE, of("--page"), calls=0)]


def prepare(folder: Path, responses: int) -> None:
    """The responses and, for all but persona-panel itself, the prompts."""
    write_responses(folder / "responses.jsonl", responses)
    command = [sys.executable, "-m", "benchmarks.calls", str(folder / "calls.json"), str(JUDGES)]
    measure(command, environment())


def race(field: Sequence[Contender], judgments: int, repeat: int, url: str) -> list[Row]:
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
            if not due <= made <= 1.01 * due:  # a client may try a call again
                failed[contender.name] = f"it made {made:,} calls where {due:,} are due"
    return [
        Row(name, judgments, absent=failed[name])
        if name in failed
        else Row(name, judgments, tuple(used))
        for name, used in runs.items()
    ]


def script(
    name: str, command: Sequence[str], folder: Path, url: str, options: argparse.Namespace
) -> Contender:
    """One of contenders/, told where the batch and the server are."""
    whole = [*command, str(folder), url, str(options.concurrency)]
    return Contender(name, lambda n: (whole, environment()))


def ours(folder: Path, url: str, options: argparse.Namespace) -> list[Contender]:
    """The whole command, and the same again: its replies are in the cache by then."""
    panel = write_stubs(folder, url, MODELS, options.concurrency)
    command = score(folder / "responses.jsonl", panel)

    def of(name: str) -> Callable[[int], tuple[list[str], dict[str, str]]]:
        return lambda n: (
            [*command, str(folder / f"{name}-{n}")],
            environment(PERSONA_PANEL_CACHE=str(folder / f"cache-{n}")),
        )

    return [Contender(COLD, of("cold")), Contender(WARM, of("warm"), calls=0)]
