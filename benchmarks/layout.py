"""What the order of a prompt costs: ten personas on one response, with the embedded model.

Rubric and response first, or the persona first. Each layout has a process of its own
(`python -m benchmarks.layout NAME`), which loads the model on a short response before it
measures. CPU counts all threads.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import TEXT, environment, measure, scratch
from benchmarks.report import Figure, Outcome

LAYOUTS = ("shared-prefix", "persona-first")
ALLOWED = 0.25


@dataclass(frozen=True, slots=True)
class Cost:
    """What ten personas cost, in seconds, for so many judgments."""

    cpu_s: float
    wall_s: float
    judgments: int


def run(options: argparse.Namespace) -> Outcome:
    """Both layouts in turn, as often as asked."""
    costs: dict[str, list[Cost]] = {name: [] for name in LAYOUTS}
    for n in range(options.repeat):
        for name in LAYOUTS:
            print(f"  round {n + 1}: {name}", file=sys.stderr, flush=True)
            costs[name].append(_measured(name))
    pairs = list(zip(*costs.values(), strict=True))
    cpu = tuple(shared.cpu_s / first.cpu_s for shared, first in pairs)
    wall = tuple(shared.wall_s / first.wall_s for shared, first in pairs)
    notes = [f"one response of {len(TEXT):,} characters, 10 personas, local:smollm2-135m"]
    for name, measured in costs.items():
        shown = "; ".join(f"CPU {cost.cpu_s:.1f} s, wall {cost.wall_s:.1f} s" for cost in measured)
        notes.append(f"{name}: {shown}")
    return Outcome(
        figures=[_figure("CPU", cpu), _figure("wall time", wall)],
        notes=notes,
    )


def _figure(what: str, values: tuple[float, ...]) -> Figure:
    name = f"{what} of shared-prefix over persona-first"
    return Figure(name, values, f"<= {ALLOWED:g}", max(values) <= ALLOWED)


def _measured(name: str) -> Cost:
    with scratch("layout") as folder:
        command = [sys.executable, "-m", "benchmarks.layout", name, str(folder / "cost.json")]
        measure(command, environment(PERSONA_PANEL_CACHE=str(folder / "cache")))
        return Cost(**json.loads((folder / "cost.json").read_text()))


def read_by_ten(layout: str) -> Cost:
    """Have the ten personas read one response."""
    from panel import Panel, Response

    panel = Panel(personas="perspectives", rubric="scrub", layout=layout)
    panel.score([Response(id="short", prompt="Why?", text="Because.", system="warm-up")])
    response = Response(id="r", prompt="Is merit a myth?", text=TEXT, system="a")
    cpu, wall = time.process_time(), time.perf_counter()
    run = panel.score([response])
    cost = Cost(time.process_time() - cpu, time.perf_counter() - wall, run.coverage.scored)
    if cost.judgments != run.coverage.expected:
        sys.exit(f"judgments are missing: {run.coverage.missing}")
    return cost


if __name__ == "__main__":
    spent = read_by_ten(sys.argv[1])
    Path(sys.argv[2]).write_text(
        json.dumps({"cpu_s": spent.cpu_s, "wall_s": spent.wall_s, "judgments": spent.judgments})
    )
