"""What it costs that a panel's calls can be traced, where nobody traces them.

The same batch by a scripted model in this process, so that nothing hides the cost of a call: as it
is, and with the function that would tell of a call taken out. Each run has a process of its own
(`python -m benchmarks.tracing NAME RESPONSES FILE`), which judges a few responses before it
measures.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import environment, measure, scratch
from benchmarks.report import Figure, Outcome
from persona_panel import Panel, Response
from persona_panel.rubrics import ModelResponse
from persona_panel.runs import model_access
from persona_panel.testing import ScriptedModel

AS_IT_IS, TAKEN_OUT = "as it is", "taken out"
ALLOWED = 1.02
PAIRS = 5


def run(options: argparse.Namespace) -> Outcome:
    """Both in turn. The median of the pairs counts: what is looked for is less than their noise."""
    responses = max(1, round(1000 * options.scale))
    outcome = Outcome(notes=[f"{responses} responses × 10 judges, a scripted model, no server"])
    ratios = []
    with scratch("tracing") as folder:
        for n in range(PAIRS * options.repeat):
            print(f"  pair {n + 1}", file=sys.stderr, flush=True)
            cpu = {
                name: _measured(name, responses, folder / f"{name}-{n}")
                for name in (AS_IT_IS, TAKEN_OUT)
            }
            ratios.append(cpu[AS_IT_IS] / cpu[TAKEN_OUT])
    middle = median(ratios)
    what = "CPU of a run that can be traced over one that cannot, nobody tracing"
    outcome.figures.append(Figure(what, (middle,), f"<= {ALLOWED:g}", middle <= ALLOWED))
    outcome.notes.append("pairs: " + ", ".join(f"{ratio:.3f}" for ratio in ratios))
    return outcome


def _measured(name: str, responses: int, cache: Path) -> float:
    file = cache.with_suffix(".txt")
    command = [sys.executable, "-m", "benchmarks.tracing", name, str(responses), str(file)]
    measure(command, environment(PERSONA_PANEL_CACHE=str(cache), LANGSMITH_TRACING="false"))
    return float(file.read_text())


def cpu_of(name: str, responses: int) -> float:
    """The CPU seconds of one run."""
    if name == TAKEN_OUT:
        vars(model_access)["traced"] = _untraced
    panel = Panel("perspectives", ScriptedModel(), "scrub")
    batch = [
        Response(id=str(n), prompt="Is it so?", text=f"It is so, {n} times.", system="x")
        for n in range(responses + 20)
    ]

    async def both() -> float:
        await panel.ascore(batch[:20])
        began = time.process_time()
        await panel.ascore(batch[20:])
        return time.process_time() - began

    return asyncio.run(both())


async def _untraced(
    name: str, model: str, request: object, call: Coroutine[Any, Any, ModelResponse], **_: object
) -> ModelResponse:
    return await call


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(str(cpu_of(sys.argv[1], int(sys.argv[2]))))
