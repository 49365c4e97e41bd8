"""What the order of a prompt costs: ten personas on one response, with the embedded model.

Rubric and response first, or the persona first; what is shared weighs the more, the longer
the response and the fewer the rubric's questions. Each layout has a process of its own
(`python -m benchmarks.layout NAME RUBRIC WORDS FILE`), which loads the model on a short
response before it measures. CPU counts all threads.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from benchmarks.harness import TEXT, environment, measure, scratch
from benchmarks.report import Figure, Outcome
from persona_panel import Panel, Response
from persona_panel.rubrics import Layout

LAYOUTS = ("shared-prefix", "persona-first")
ALLOWED = 0.25
# A debate speech has 610 words on average, an answer in the SCRuB study about 400.
CASES = (("debate-speech", 600), ("scrub", 400), ("scrub", 1200))


@dataclass(frozen=True, slots=True)
class Cost:
    """What ten personas cost, in seconds, for so many judgments."""

    cpu_s: float
    wall_s: float
    judgments: int


def run(options: argparse.Namespace) -> Outcome:
    """Both layouts in turn, for each case, as often as asked."""
    outcome = Outcome(notes=["10 personas on one response, local:smollm2-135m"])
    for rubric, words in CASES:
        costs: dict[str, list[Cost]] = {name: [] for name in LAYOUTS}
        for n in range(options.repeat):
            for name in LAYOUTS:
                print(f"  round {n + 1}: {rubric}, {words} words, {name}", file=sys.stderr)
                costs[name].append(_measured(name, rubric, words))
        ratios = tuple(
            shared.cpu_s / first.cpu_s for shared, first in zip(*costs.values(), strict=True)
        )
        what = f"CPU of shared-prefix over persona-first, {rubric}, {words:,} words"
        outcome.figures.append(Figure(what, ratios, f"<= {ALLOWED:g}", max(ratios) <= ALLOWED))
        for name, measured in costs.items():
            shown = "; ".join(f"CPU {one.cpu_s:.1f} s, wall {one.wall_s:.1f} s" for one in measured)
            outcome.notes.append(f"{rubric}, {words:,} words, {name}: {shown}")
    return outcome


def _measured(name: str, rubric: str, words: int) -> Cost:
    with scratch("layout") as folder:
        cost = str(folder / "cost.json")
        command = [sys.executable, "-m", "benchmarks.layout", name, rubric, str(words), cost]
        measure(command, environment(PERSONA_PANEL_CACHE=str(folder / "cache")))
        return Cost(**json.loads(Path(cost).read_text()))


def read_by_ten(layout: Layout, rubric: str, words: int) -> Cost:
    """Have the ten personas read one response."""
    panel = Panel(personas="perspectives", rubric=rubric, layout=layout)
    panel.score([Response(id="short", prompt="Why?", text="Because.", system="warm-up")])
    said = TEXT.split()
    text = " ".join(said[place % len(said)] for place in range(words))
    cpu, wall = time.process_time(), time.perf_counter()
    run = panel.score([Response(id="r", prompt="Is merit a myth?", text=text, system="a")])
    cost = Cost(time.process_time() - cpu, time.perf_counter() - wall, run.coverage.scored)
    if cost.judgments != run.coverage.expected:
        sys.exit(f"judgments are missing: {run.coverage.missing}")
    return cost


if __name__ == "__main__":
    _, chosen, asked, length, target = sys.argv
    spent = read_by_ten(cast(Layout, chosen), asked, int(length))
    Path(target).write_text(
        json.dumps({"cpu_s": spent.cpu_s, "wall_s": spent.wall_s, "judgments": spent.judgments})
    )
