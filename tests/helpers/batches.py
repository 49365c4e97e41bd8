"""A run by batches, in this process or in one that can be killed.

`python -m tests.helpers.batches` reads lines `FOLDER URL ROWS CACHE` and makes each run in a fork
of its own, whose process id it prints, and then how it ended; after ROWS answers that fork kills
itself. It begins once its number is printed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from panel import Panel, Persona, Response
from panel.calls.batch_rounds import BatchPace
from panel.calls.budget import NO_CAPS, Caps
from panel.models.batches import BatchRow, BatchStatus
from panel.models.catalogue import Price
from panel.models.config import ModelConfig
from panel.models.openai_batches import OpenAIBatches
from panel.models.openai_compatible import OpenAICompatible
from panel.runs import executor
from panel.runs.answered_elsewhere import ByBatches
from panel.runs.run import Run
from tests.helpers.judgments import PLAIN

FAST = BatchPace(first_look=0.01, longest_look=0.02, listed=0.1, patience=0.5)
PRICE = Price(input=2.0, output=10.0, batch=0.5)
PERSONAS = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
    for name in ("ann", "bob")
]
RESPONSES = [
    Response(id=f"r{i}", prompt="Why?", text=f"Text {i}.", system=f"s{i % 2}") for i in range(4)
]


def panel_at(url: str, *, temperature: float | None = None, **options: object) -> Panel:
    """Two judges by a model at a server, with a price."""
    model = ModelConfig(model="openai:stub", base_url=url, price=PRICE, temperature=temperature)
    return Panel(PERSONAS, model, PLAIN, **options)  # type: ignore[arg-type]


def scored(
    panel: Panel,
    folder: Path,
    caps: Caps = NO_CAPS,
    tell: Callable[[str], None] = lambda line: None,
    *,
    batches: bool = True,
    pace: BatchPace = FAST,
) -> Run:
    """The run of four responses."""
    by = ByBatches(folder, panel.plan, tell, pace) if batches else None
    return asyncio.run(executor.score(panel.plan, RESPONSES, out=folder, caps=caps, batches=by))


class _Killed(OpenAIBatches):
    rows = 0

    async def results(self, status: BatchStatus, folder: Path) -> AsyncIterator[BatchRow]:
        number = 0
        async for row in super().results(status, folder):
            if number == self.rows:
                os.kill(os.getpid(), signal.SIGKILL)
            number += 1
            yield row


def _main() -> None:
    for line in sys.stdin:
        folder, url, rows, cache = line.split()
        begun, begin = os.pipe()
        if not (pid := os.fork()):
            os.environ["PERSONA_PANEL_CACHE"] = cache
            os.read(begun, 1)
            _Killed.rows = int(rows)
            OpenAICompatible.batches = lambda self: _Killed(self)  # type: ignore[method-assign]
            scored(panel_at(url), Path(folder))
            os._exit(0)
        print(pid, flush=True)
        time.sleep(0.05)
        os.write(begin, b"1")
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    _main()
