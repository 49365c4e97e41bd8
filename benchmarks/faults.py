"""A panel of three models, one of them dead, the others on a server full of faults.

    python -m benchmarks.faults [--judgments 3000] [--fault-rate 0.3] [--seed 1]

tests/server.py, a process of its own, spoils its share of the calls in every way it knows;
the third model's port refuses connections, and it is tried with the patience that models get
where a user says nothing. Prints what became of every judgment and why, on how many judges the
verdicts stand, the wall time against the bound that the retry policy implies, and what the dead
model cost the other two: the same batch is read again, by them alone, with a fresh server and an
empty cache. Exits with 1 if a check fails. Needs the extra `test`.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
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
from benchmarks.soak import CONCURRENCY, SHORT, STALL_S, TIMEOUT_S
from tests.helpers.ports import free_port

JUDGES = 10
"""What the stub asks for, and the most that the caller adds to it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=3000)
    parser.add_argument("--fault-rate", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    responses = options.judgments // (3 * JUDGES)
    outcomes = []
    for with_dead in (True, False):
        with (
            scratch("faults") as folder,
            stub(fault_rate=options.fault_rate, stall_s=STALL_S, seed=options.seed) as url,
        ):
            outcomes.append(_run(folder, url, responses, with_dead))
    if not _report(responses, *outcomes):
        sys.exit(1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run came to. `served_s` is when the server had received 99 % of its calls: the
    last few hang on the longest of a thousand chains of random waits, and tell nothing."""

    status: int
    wall_s: float
    served_s: float
    kinds: Counter[str]
    judgments: list[dict[str, Any]]
    verdicts: list[dict[str, str]]
    summary: dict[str, Any]


def _run(folder: Path, url: str, responses: int, with_dead: bool) -> Outcome:
    servers = {"first": url, "second": url}
    if with_dead:
        servers["dead"] = f"http://127.0.0.1:{free_port()}"
    models = [
        model_line(name, server, concurrency=CONCURRENCY, timeout=TIMEOUT_S)
        for name, server in servers.items()
    ]
    panel = write_panel(folder / "panel.yaml", models)
    batch = write_responses(folder / "responses.jsonl", responses, SHORT)
    run = folder / "run"
    started = time.monotonic()
    process = subprocess.Popen(
        [*score(batch, panel), str(run)],
        env=environment(PERSONA_PANEL_CACHE=str(folder / "cache")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    received = [(0.0, 0)]
    while process.poll() is None:
        received.append((time.monotonic() - started, calls_received(url)["received"]))
        time.sleep(0.05)
    most = 0.99 * received[-1][1]
    with (run / "verdicts.csv").open(newline="") as file:
        verdicts = list(csv.DictReader(file))
    return Outcome(
        status=process.returncode,
        wall_s=time.monotonic() - started,
        served_s=next(seconds for seconds, calls in received if calls >= most),
        kinds=Counter(calls_received(url)["kinds"]),
        judgments=[json.loads(line) for line in (run / "judgments.jsonl").open()],
        verdicts=verdicts,
        summary=json.loads((run / "summary.json").read_text()),
    )


def bound_s(responses: int, models: int) -> tuple[float, str]:
    """The longest that a run may take, whatever the servers do, and how it comes about.

    At each moment either a model's slots are all taken or every response in flight moves
    on. The first lasts no longer than all attempts at their longest, shared by the slots;
    the second no longer than the responses one after the other in their lanes, and one
    more. The program's own work comes on top.
    """
    from persona_panel.calls.endpoint import (
        _FIRST_WAIT_S,
        _LONGEST_WAIT_S,
        ATTEMPTS,
        PATIENCE_S,
        TOTAL_S,
    )

    waits = sum(min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**n) for n in range(1, ATTEMPTS))
    call_s = min(ATTEMPTS * TIMEOUT_S + waits, TOTAL_S + TIMEOUT_S)
    # The first judge of a model, then the others; each may be asked again once.
    response_s = 2 * 2 * call_s
    lanes = math.ceil(3 * CONCURRENCY * models / (JUDGES * models)) + 1
    slots_s = responses * JUDGES * 2 * ATTEMPTS * TIMEOUT_S / CONCURRENCY
    # The last of the dead model's judgments come when it is given up, and its last try is made.
    dead_s = PATIENCE_S + TIMEOUT_S
    total = slots_s + responses / lanes * response_s + response_s + dead_s
    how = (
        f"a call: {ATTEMPTS} attempts x {TIMEOUT_S:g} s + waits {waits:g} s = {call_s:g} s; "
        f"a response: 2 judges in turn x 2 calls = {response_s:g} s;\n  a model's slots: "
        f"{responses * JUDGES:,} judgments x 2 calls x {ATTEMPTS} x {TIMEOUT_S:g} s / "
        f"{CONCURRENCY} = {slots_s:.0f} s; responses: {responses} / {lanes} in flight + 1, each "
        f"{response_s:g} s;\n  the dead model: {PATIENCE_S:g} s of patience + {TIMEOUT_S:g} s"
    )
    return total, how


def _report(responses: int, three: Outcome, two: Outcome) -> bool:
    print(f"{responses} responses x {JUDGES} personas x 3 models, one of them dead")
    _show_coverage(three)
    n_judges = Counter(int(verdict["n_judges"]) for verdict in three.verdicts)
    print("\nverdicts by the number of judges that they stand on:")
    print("  " + ", ".join(f"{n} judges: {count}" for n, count in sorted(n_judges.items())))
    bound, how = bound_s(responses, models=3)
    print(f"\nwall {three.wall_s:.1f} s; without the dead model {two.wall_s:.1f} s")
    print(f"99 % of the calls had reached the server after {three.served_s:.1f} s; ", end="")
    print(f"without the dead model after {two.served_s:.1f} s")
    print(f"bound {bound:,.0f} s:\n  {how}\n")
    scored = Counter((j["prompt_id"], j["id"]) for j in three.judgments if j["status"] == "scored")
    stated = {(v["prompt_id"], v["id"]): int(v["n_judges"]) for v in three.verdicts}
    held_back = three.served_s - two.served_s
    # The dead model is found to be down only after three seconds.
    allowance = max(5.0, 0.15 * two.served_s)
    checks = {
        "every judgment is there once": len(three.judgments) == responses * 3 * JUDGES
        and len({(j["prompt_id"], j["id"], j["judge"]) for j in three.judgments})
        == responses * 3 * JUDGES,
        "none is missing without a reason": all(
            j["error"] for j in three.judgments if j["status"] not in ("scored", "abstained")
        ),
        "summary.json counts the same": _missing(three.judgments)
        == three.summary["coverage"]["missing"],
        "the exit status says that some are missing": three.status == 1,
        "the wall time is within the bound": three.wall_s <= bound,
        "the dead model's judgments failed or were skipped": all(
            j["status"] in ("failed", "skipped") for j in three.judgments if _dead(j)
        ),
        "the others' coverage is that of a run without it, within 3 points": abs(
            _share_scored(three) - _share_scored(two)
        )
        <= 0.03,
        f"the others finished {held_back:.1f} s later with it, at most {allowance:.1f} s": held_back
        <= allowance,
        "each verdict's n_judges is its number of scored judgments": stated
        == {key: scored[key] for key in stated},
    }
    for what, holds in checks.items():
        print(f"{'ok    ' if holds else 'FAILED'} {what}")
    return all(checks.values())


def _show_coverage(outcome: Outcome) -> None:
    """By model, status and reason; what varies within a reason is left out."""
    table = Counter((j["model"], j["status"], _reason(j)) for j in outcome.judgments)
    for (model, status, reason), n in sorted(table.items()):
        print(f"  {model:<14}{status:<10}{n:>6,}  {reason}")
    kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(outcome.kinds.items()))
    print(f"calls at the server: {kinds}")
    print(f"calls: {json.dumps(outcome.summary['calls'])}")


def _reason(judgment: dict[str, Any]) -> str:
    error = re.sub(r"127\.0\.0\.1:\d+", "HOST", judgment["error"] or "")
    error = re.sub(r"'127\.0\.0\.1', \d+", "HOST", error)
    error = re.sub(r"\b(\w+) is 'rather high'", "… is 'rather high'", error)
    return error if len(error) <= 110 else error[:109] + "…"


def _dead(judgment: dict[str, Any]) -> bool:
    return bool(judgment["model"] == "openai:dead")


def _missing(judgments: list[dict[str, Any]]) -> dict[str, int]:
    counts = Counter(judgment["status"] for judgment in judgments)
    return {status: n for status, n in counts.items() if status not in ("scored", "abstained")}


def _share_scored(outcome: Outcome) -> float:
    living = [judgment for judgment in outcome.judgments if not _dead(judgment)]
    scored = sum(judgment["status"] == "scored" for judgment in living)
    return scored / len(living)


if __name__ == "__main__":
    main()
