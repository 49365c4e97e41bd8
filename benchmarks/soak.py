"""A run that is killed again and again against a server full of faults: is all there, once?

    python -m benchmarks.soak [--judgments 20000] [--kills 5] [--fault-rate 0.3] [--seed 1]

tests/server.py, a process of its own, spoils its share of the calls in every way it knows.
`persona-panel score` is killed with SIGKILL at random moments and started again with the
same command; then again until no judgment is missing, and once more, which must call nothing.
Prints what the server and the run folder say, checks one against the other, and exits
with 1 if a check fails. Needs the extra `test`.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.harness import (
    calls_received,
    environment,
    model_line,
    score,
    scratch,
    stub,
    write_panel,
    write_responses,
)

JUDGES, CONCURRENCY, TIMEOUT_S, STALL_S = 10, 64, 2.0, 3.0
SHORT = "it depends."
MOST_RUNS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--fault-rate", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with (
        scratch("soak") as folder,
        stub(fault_rate=options.fault_rate, stall_s=STALL_S, seed=options.seed) as url,
    ):
        if not Soak(options, url, folder).holds():
            sys.exit(1)


class Soak:
    """One soak: a batch, its kills, and what is checked at the end."""

    def __init__(self, options: argparse.Namespace, url: str, folder: Path) -> None:
        self._judgments = options.judgments // JUDGES * JUDGES
        self._random = random.Random(options.seed)
        self._url = url
        self._kills: int = options.kills
        self._run = folder / "run"
        batch = write_responses(folder / "responses.jsonl", self._judgments // JUDGES, SHORT)
        model = model_line("stub", url, concurrency=CONCURRENCY, timeout=TIMEOUT_S)
        panel = write_panel(folder / "panel.yaml", [model])
        self._command = [*score(batch, panel), str(self._run)]
        self._environment = environment(PERSONA_PANEL_CACHE=str(folder / "cache"))
        self._failed = False

    def holds(self) -> bool:
        """Run it all; whether every check held."""
        started = time.monotonic()
        done = self._killed_and_resumed()
        status = self._finish()
        counted = calls_received(self._url)
        judgments = self._read()
        wall = time.monotonic() - started
        kinds = Counter(counted["kinds"])
        well, faults = kinds.pop("well", 0), kinds.total()
        print(f"\n{wall:.0f} s with {done} kills; the last of these runs exited with {status}")
        print(f"calls received {counted['received']:,}: {well:,} answered well, {faults:,} spoilt")
        print("  " + ", ".join(f"{kind} {n:,}" for kind, n in sorted(kinds.items())))
        print(f"judgments by status: {_counts(judgments)}")
        in_flight = CONCURRENCY * done
        # A judgment takes one good answer, with or without a re-ask before it.
        self._check(f"killed {self._kills} times", done == self._kills)
        self._check(f"every judgment once: {self._judgments:,}", self._once(judgments))
        self._check(
            f"{well:,} answered well <= {self._judgments:,} judgments + {in_flight} in flight",
            well <= self._judgments + in_flight,
        )
        self._check(
            "calls <= judgments + in flight + spoilt calls",
            counted["received"] <= self._judgments + in_flight + faults,
        )
        self._check("nothing is missing without a reason", _explained(judgments))
        self._until_nothing_is_missing(judgments)
        return not self._failed

    def _killed_and_resumed(self) -> int:
        """Start the command and kill it, at moments spread over the calls to come."""
        # Each in its own stretch of the work, so that no two fall together.
        share = self._judgments / max(1, self._kills)
        moments = [int(share * (i + self._random.uniform(0.1, 0.9))) for i in range(self._kills)]
        print(f"kills when so many calls were received: {moments}", flush=True)
        for done, moment in enumerate(moments):
            process = self._start()
            while (counted := calls_received(self._url))["received"] < moment:
                if process.poll() is not None:
                    print(f"exited with {process.returncode} before its kill")
                    return done
                time.sleep(self._random.uniform(0.001, 0.05))
            process.kill()
            process.wait()
            print(
                f"killed at {counted['received']:,} calls, {counted['in_flight']} of them with "
                f"the server; judgments.jsonl held {_lines(self._run)}",
                flush=True,
            )
        return self._kills

    def _until_nothing_is_missing(self, judgments: list[dict[str, Any]]) -> None:
        """Further runs ask for what is missing and nothing else, and the last for nothing."""
        for _ in range(MOST_RUNS):
            missing = _missing(judgments)
            before = calls_received(self._url)
            status = self._finish()
            after = calls_received(self._url)
            judgments = self._read()
            made = after["received"] - before["received"]
            well = after["kinds"]["well"] - before["kinds"]["well"]
            filled = missing - _missing(judgments)
            self._check(
                f"a further run, {missing} missing: {made} calls, {well} of them answered well, "
                f"{filled} judgments more",
                well == filled and (missing > 0 or made == 0),
            )
            self._check("  every judgment once", self._once(judgments))
            self._check(f"  exit status {status}", status == int(_missing(judgments) > 0))
            if missing == 0:
                return
        self._check(f"nothing is missing after {MOST_RUNS} runs more", False)

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _finish(self) -> int:
        return self._start().wait()

    def _read(self) -> list[dict[str, Any]]:
        """judgments.jsonl, every line of which has to be JSON."""
        judgments = []
        for line in (self._run / "judgments.jsonl").read_bytes().splitlines(keepends=True):
            try:
                judgments.append(json.loads(line))
            except ValueError:
                self._check(f"a line that is no JSON: {line[:80]!r}", False)
        return judgments

    def _once(self, judgments: list[dict[str, Any]]) -> bool:
        keys = {(j["prompt_id"], j["id"], j["judge"], j["round"]) for j in judgments}
        return len(keys) == len(judgments) == self._judgments

    def _check(self, what: str, holds: bool) -> None:
        print(f"{'ok    ' if holds else 'FAILED'} {what}", flush=True)
        self._failed = self._failed or not holds


def _counts(judgments: list[dict[str, Any]]) -> str:
    counts = Counter(judgment["status"] for judgment in judgments)
    return ", ".join(f"{status} {n:,}" for status, n in counts.most_common())


def _missing(judgments: list[dict[str, Any]]) -> int:
    return sum(judgment["status"] not in ("scored", "abstained") for judgment in judgments)


def _explained(judgments: list[dict[str, Any]]) -> bool:
    return all(
        judgment["status"] in ("scored", "abstained") or judgment["error"] for judgment in judgments
    )


def _lines(run: Path) -> str:
    file = run / "judgments.jsonl"
    if not file.exists():
        return "nothing: it was not there yet"
    content = file.read_bytes()
    torn = "" if content.endswith(b"\n") or not content else " and a torn one"
    whole = content.count(b"\n")
    return f"{whole:,} lines{torn}"


if __name__ == "__main__":
    main()
